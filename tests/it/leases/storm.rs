//! Holders and plain writers of one item, while requests and replies are lost: every write that was acknowledged counts once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use dynalock::{
    Error, Lockable, Repository,
    local::{Fault, Faults},
};
use tokio::task::JoinSet;

use super::{Crate, CrateKey, separate::Archive};
use crate::support::{Shop, millis, secs, travel};

/// An item that counts its writes.
pub(super) trait Counted: Lockable {
    fn empty(id: &str) -> Self;

    fn key(id: &str) -> Self::Key;

    fn count(&mut self) -> &mut u32;
}

impl Counted for Crate {
    fn empty(id: &str) -> Self {
        Self::new(id, 0)
    }

    fn key(id: &str) -> CrateKey {
        id.into()
    }

    fn count(&mut self) -> &mut u32 {
        &mut self.items
    }
}

/// What the writers of one storm have been told.
#[derive(Debug, Default)]
struct Tally {
    done: u32,
    in_doubt: u32,
    refused: u32,
    fences: BTreeSet<u64>,
    grants: usize,
}

type Shared = Arc<Mutex<Tally>>;

impl Tally {
    fn count(&mut self, result: &Result<(), Error>) {
        match result {
            Ok(()) => self.done += 1,
            Err(Error::Indeterminate { .. }) => self.in_doubt += 1,
            Err(Error::Locked(_) | Error::Lost(_) | Error::Exhausted { .. }) => self.refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Leases the item, writes it three times, and goes; sometimes without a word.
async fn hold<T: Counted>(items: Repository<T>, tally: Shared, dies: bool) {
    for round in 0..4 {
        let mut lease = match items.lock(<T as Counted>::key("a")).wait(secs(300)).await {
            Ok(lease) => lease,
            Err(Error::Exhausted { .. } | Error::Lost(_) | Error::Locked(_)) => continue,
            Err(other) => panic!("{other:?}"),
        };
        {
            let mut tally = tally.lock().unwrap();
            tally.grants += 1;
            tally.fences.insert(lease.fence());
        }
        for _ in 0..2 {
            let written = lease.update(|it| *it.count() += 1).await;
            tally.lock().unwrap().count(&written);
        }
        if dies && round % 2 == 1 {
            drop(lease.detach());
            continue;
        }
        let written = lease.commit(|it| *it.count() += 1).await.map(drop);
        tally.lock().unwrap().count(&written);
    }
}

/// Writes the item whenever nobody holds it.
async fn write<T: Counted>(items: Repository<T>, tally: Shared) {
    for _ in 0..12 {
        let written = items.update_with(<T as Counted>::key("a"), |it| *it.count() += 1).await.map(drop);
        tally.lock().unwrap().count(&written);
        travel(millis(1_700)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_acknowledged_write_counts_once_whoever_holds_the_item() {
    storm::<Crate>().await;
}

#[tokio::test(start_paused = true)]
async fn every_acknowledged_write_counts_once_whoever_holds_the_row_beside_the_item() {
    storm::<Archive>().await;
}

async fn storm<T: Counted>() {
    let mut grants = 0;
    for seed in 0..40 {
        let faults = Faults::seeded(seed)
            .rate(Fault::LoseReply, 0.04)
            .rate(Fault::LoseRequest, 0.04)
            .rate(Fault::ErrorAfterApply, 0.02)
            .rate(Fault::NeverAnswerAfterApply, 0.01)
            .rate(Fault::DeliverTwice, 0.02)
            .rate(Fault::DeliverLate(millis(2_500)), 0.01)
            .rate(Fault::Throttle, 0.02);
        let shop = Shop::in_process(faults);
        let table = shop.table::<T>().await;
        table.others.create(T::empty("a")).await.unwrap();
        let tally = Shared::default();
        let mut tasks = JoinSet::new();
        for dies in [false, false, true] {
            tasks.spawn(hold(table.items.clone(), Arc::clone(&tally), dies));
        }
        for _ in 0..2 {
            tasks.spawn(write(table.items.clone(), Arc::clone(&tally)));
        }
        tasks.join_all().await;
        travel(secs(60)).await;
        let mut stored = table.others.get(<T as Counted>::key("a")).await.unwrap().unwrap();
        let (version, count) = (stored.version(), *stored.count());
        let tally = std::mem::take(&mut *tally.lock().unwrap());
        let range = tally.done..=tally.done + tally.in_doubt;
        assert!(range.contains(&count), "seed {seed}: {count} of {tally:?}");
        assert_eq!(tally.fences.len(), tally.grants, "seed {seed}: a fence was given twice");
        assert_eq!(version, u64::from(count) + 1, "seed {seed}");
        let last = table.others.lock(<T as Counted>::key("a")).wait(secs(60)).await.unwrap();
        assert!(last.fence() > *tally.fences.last().unwrap(), "seed {seed}");
        grants += tally.grants;
    }
    assert!(grants > 300, "{grants}");
}
