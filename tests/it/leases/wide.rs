//! A holder's update that is sent as a put of the whole item, with late requests. The put compares
//! the queue, and the queue may return to an earlier content.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use dynalock::{Error, Versioned, local::Fault};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, expect_error, millis, n, settle};

/// The type has as many attributes as there are measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "samples")]
#[lockable(ttl = "30s")]
struct Samples {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    values: BTreeMap<String, i64>,
}

async fn samples() -> (Shop, Table<Samples>) {
    let values = (0..700).map(|index| (format!("m{index}"), 1)).collect();
    Shop::with_items([Samples { id: "a".to_owned(), values }]).await
}

fn count(samples: &mut Samples) {
    samples.values.values_mut().for_each(|value| *value += 1);
}

/// The first put arrives late. A waiter enters before the second put and leaves after it, so the
/// second put is refused.
fn refused_for_a_waiter(shop: &Shop, table: &Table<Samples>) {
    shop.faults.script_on("PutItem", 0, Fault::DeliverLate(millis(300)));
    let waiter = Arc::new(Mutex::new(None));
    let (others, entered) = (table.others.clone(), Arc::clone(&waiter));
    shop.rival.before("PutItem", 1, async move || {
        let queued = others.lock("a").fair().enter().await.unwrap();
        *entered.lock().unwrap() = Some(queued);
    });
    // The waiter leaves when the script of the rival drops its ticket.
    shop.rival.before("GetItem", 1, async move || drop(waiter.lock().unwrap().take()));
}

#[tokio::test(start_paused = true)]
async fn a_put_in_doubt_that_met_another_queue_is_indeterminate() {
    let (shop, table) = samples().await;
    let mut lease = table.items.lock("a").fair().await.unwrap();
    refused_for_a_waiter(&shop, &table);
    let mut runs = 0;
    let update = lease.update(|samples| {
        runs += 1;
        count(samples);
    });
    expect_error!(update.await, Error::Indeterminate { expected: Some(1), found: Some(1), .. });
    assert_eq!((runs, lease.values["m0"]), (1, 1));
    settle().await;
    let stored = table.raw.get("a").await.unwrap();
    assert!(stored["m0"] == n(1) || stored["m0"] == n(2), "at most once: {:?}", stored["m0"]);
}

#[tokio::test(start_paused = true)]
async fn a_put_whose_reply_was_lost_recognises_itself() {
    for fault in [Fault::LoseReply, Fault::LoseRequest, Fault::DeliverTwice, Fault::ErrorAfterApply] {
        for fair in [false, true] {
            let (shop, table) = samples().await;
            let mut lease = match fair {
                true => table.items.lock("a").fair().await.unwrap(),
                false => table.items.lock("a").await.unwrap(),
            };
            shop.faults.script_on("PutItem", 0, fault.clone());
            lease.update(count).await.unwrap_or_else(|error| panic!("{fault:?} {fair}: {error}"));
            lease.update(count).await.unwrap_or_else(|error| panic!("{fault:?} {fair}: {error}"));
            let samples = lease.commit(count).await.unwrap();
            assert_eq!((samples.values["m0"], samples.version()), (4, 4), "{fault:?} {fair}");
            settle().await;
            assert_eq!(table.others.get("a").await.unwrap(), Some(samples), "{fault:?} {fair}");
        }
    }
}
