//! Holders and plain writers of one item. Each process has its own clock, and its requests meet all
//! kinds of faults.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use dynalock::{Error, LeaseGuard, Repository, Transaction, private::ClockAhead as _};
use fastrand::Rng;
use tokio::task::JoinSet;

use super::{
    births::Births,
    ground::{Grant, Ground, Told, life_of},
};
use crate::{
    storms::{Deviation, Tally, Weather, ahead, deviations, seeds, survives},
    support::{Archive, Crate, Kept, SKEW, Shop, TTL, layer::Layer, millis, secs, travel},
};

const SEEDS: u64 = 16;

const HOLDERS: u64 = 4;
const WRITERS: u64 = 2;

/// The number of incarnations of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lives {
    One,
    Many,
}

/// An item that counts its writes, and stores a mark of each write.
pub(super) trait Counted: Kept {
    fn write(&mut self, mark: &str) {
        *self.items() += 1;
        let marks = self.label().get_or_insert_default();
        marks.push_str(mark);
        marks.push(' ');
    }

    /// The number of the incarnation in which its fences grow. The fences of a separate row grow
    /// over all incarnations.
    fn life(&mut self) -> u64 {
        if Self::IS_SEPARATE {
            return 0;
        }
        life_of(self.label().as_deref().unwrap_or_default())
    }
}

impl<T: Kept> Counted for T {}

#[derive(Clone)]
struct Process<T> {
    client: Client,
    items: Repository<T>,
    /// `true` if holders delete the item and create it again.
    lives: Lives,
    ground: Arc<Mutex<Ground<T>>>,
}

impl<T: Counted> Process<T> {
    async fn lease(self, mut rng: Rng) {
        for _ in 0..8 {
            travel(millis(rng.u64(0..3_000))).await;
            if let Some(lease) = self.ask(&mut rng).await {
                self.hold(lease, &mut rng).await;
            }
        }
    }

    /// Acquires the lease, with or without the queue, until it is granted, refused or dropped.
    async fn ask(&self, rng: &mut Rng) -> Option<LeaseGuard<T>> {
        let lock = self.items.lock("a").heartbeat(rng.f64() < 0.8).wait(secs(rng.u64(1..60)));
        let lock = if rng.bool() { lock.fair().into_future() } else { lock.into_future() };
        let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
        let mut task = tokio::spawn(lock);
        tokio::select! {
            granted = &mut task => match granted.unwrap() {
                Ok(lease) => Some(lease),
                Err(Error::Exhausted { .. } | Error::Lost(_) | Error::Locked(_)) => None,
                Err(Error::NotFound { .. }) if self.lives == Lives::Many => {
                    // The item may exist by now, and the outcome of its create may be unknown. The
                    // next caller learns whether the item exists.
                    self.create().await;
                    None
                }
                Err(Error::Evicted { .. }) => {
                    self.ground.lock().unwrap().tally.evicted += 1;
                    None
                }
                Err(other) => panic!("{other:?}"),
            },
            () = travel(patience) => {
                task.abort();
                self.ground.lock().unwrap().tally.cancelled += 1;
                None
            }
        }
    }

    async fn hold(&self, lease: LeaseGuard<T>, rng: &mut Rng) {
        let grant = Grant::of(&lease);
        self.ground.lock().unwrap().enter(lease);
        let writes = rng.u32(1..4);
        let mut last = Told::Done;
        for round in 0..writes {
            // Without heartbeats, a long pause is like a paused process.
            let pause = if rng.f64() < 0.1 { rng.u64(8_000..20_000) } else { rng.u64(0..3_000) };
            travel(millis(pause)).await;
            last = self.update(grant, grant.mark(round)).await;
        }
        let lease = self.ground.lock().unwrap().leave(grant);
        if self.lives == Lives::Many && rng.f64() < 0.3 {
            // After a lost reply, the guard does not know which item it deletes.
            return match last {
                Told::Done if rng.bool() => self.delete_by_guard(lease).await,
                _ => self.delete(lease).await,
            };
        }
        match rng.u32(0..10) {
            0..3 => {
                let mark = grant.mark(writes);
                let written = lease.commit(|it| it.write(&mark)).await.map(drop);
                self.ground.lock().unwrap().wrote(mark, &written);
            }
            3..6 => drop(lease.release().await),
            6..8 => drop(lease),
            8 => drop(lease.detach()),
            _ => self.die(lease, rng).await,
        }
    }

    /// Writes under the lease, and records the result.
    async fn update(&self, grant: Grant, mark: String) -> Told {
        let mut lease = self.ground.lock().unwrap().take(grant);
        let written = lease.update(|it| it.write(&mark)).await;
        let mut ground = self.ground.lock().unwrap();
        ground.put(lease);
        ground.wrote(mark, &written)
    }

    /// Dies and leaves a token. Another process resumes the lease by the token, if the lease has
    /// not ended.
    async fn die(&self, lease: LeaseGuard<T>, rng: &mut Rng) {
        let token = lease.detach();
        travel(millis(rng.u64(0..15_000))).await;
        let Ok(lease) = self.items.resume(token).await else { return };
        let grant = Grant::of(&lease);
        self.ground.lock().unwrap().resume(lease);
        travel(millis(rng.u64(0..3_000))).await;
        self.update(grant, grant.mark("resumed")).await;
        drop(self.ground.lock().unwrap().leave(grant).detach());
    }

    /// Deletes the item under its lease, and creates it again. The same transaction stores the
    /// marks of the deleted item in another item.
    async fn delete(&self, lease: LeaseGuard<T>) {
        let Ok(Some(mut stored)) = self.items.get("a").await else { return };
        let marks = stored.label().clone();
        let number = self.ground.lock().unwrap().number_of_grave();
        let mut grave = T::new(&grave(number), 0);
        *grave.label() = marks;
        let mut tx = Transaction::new(&self.client);
        tx.guard(&lease);
        tx.delete(&self.items, stored);
        tx.create(&self.items, grave);
        drop(tx.commit().await);
        drop(lease);
        self.create().await;
    }

    /// Deletes the item by its guard, and creates it again.
    async fn delete_by_guard(&self, lease: LeaseGuard<T>) {
        let marks = T::clone(&lease).label().clone().unwrap_or_default();
        self.ground.lock().unwrap().may_end(marks);
        let deleted = lease.delete().await.is_ok();
        self.ground.lock().unwrap().tally.deleted += u64::from(deleted);
        self.create().await;
    }

    /// Creates the item once. A delayed duplicate of a plain create may bring a deleted item back.
    async fn create(&self) {
        let newborn = self.ground.lock().unwrap().newborn();
        drop(self.items.create(newborn).exactly_once().await);
    }

    /// Writes the item while no caller holds it.
    async fn write(self, name: u64, mut rng: Rng) {
        for round in 0..16 {
            let mark = format!("w{name}.{round}");
            let written = self.items.update_with("a", |it| it.write(&mark)).await.map(drop);
            self.ground.lock().unwrap().wrote(mark, &written);
            travel(millis(rng.u64(0..5_000))).await;
        }
    }
}

/// Returns the key of an item that stores the marks of a deleted incarnation.
fn grave(number: u64) -> String {
    format!("grave-{number}")
}

/// Runs one storm.
async fn storm<T: Counted>(seed: u64, weather: Weather, deviation: Deviation, lives: Lives) -> Tally {
    let (shop, table) = Shop::with_table::<T>().await;
    let mut ground = Ground::default();
    table.others.create(ground.newborn()).await.unwrap();
    let ground = Arc::new(Mutex::new(ground));
    let mut rng = Rng::with_seed(seed);
    let mut tasks = JoinSet::new();
    let births = Births::default();
    for process in 0..HOLDERS + WRITERS {
        let faults = weather.faults(seed * 16 + process);
        let http = deviation.wrap(faults.wrap(births.wrap(shop.plain.config().http_client().unwrap())));
        let client = Client::from_conf(shop.plain.config().to_builder().http_client(http).build());
        let ahead = ahead(process, weather, &mut rng);
        let items =
            Repository::<T>::new(&client).table(table.name()).expiry(weather.expiry).clock_ahead_by_millis(ahead);
        let process_of = Process { client, items, lives, ground: Arc::clone(&ground) };
        let fork = rng.fork();
        if process < HOLDERS {
            tasks.spawn(process_of.lease(fork));
        } else {
            tasks.spawn(process_of.write(process, fork));
        }
    }
    tasks.join_all().await;
    // Late requests arrive, and dropped guards are released.
    travel(weather.late + secs(1)).await;
    let others = table.others.clone().expiry(weather.expiry);
    if others.get("a").await.unwrap().is_none() {
        // The lease of a caller that died may outlive its item in a separate row.
        travel(2 * (TTL + SKEW)).await;
        let newborn = ground.lock().unwrap().newborn();
        others.create(newborn).await.unwrap();
    }
    // A caller that died, and a grant that no caller knows of, cost one ttl each.
    let last = others.lock("a").fair().wait(3 * (TTL + SKEW + SKEW / 2)).await;
    let mut stored = others.get("a").await.unwrap().unwrap();
    let (version, count) = (stored.version(), stored.count());
    let marks = stored.label().clone().unwrap_or_default();
    // The number of the incarnation is also a mark.
    assert_eq!([version, marks.split_whitespace().count() as u64], [u64::from(count) + 1; 2], "seed {seed}");
    let graves = ground.lock().unwrap().graves();
    let mut lives = Vec::new();
    for number in 0..graves {
        if let Some(mut grave) = others.get(&*grave(number)).await.unwrap() {
            lives.push(grave.label().clone().unwrap_or_default());
        }
    }
    lives.push(marks);
    let mut ground = ground.lock().unwrap();
    let mut lives = ground.with_lives_ended_by_guards(lives);
    ground.tally.lives += lives.len() as u64 - 1;
    if T::IS_SEPARATE {
        births.sort(&mut lives);
        lives = vec![lives.concat()];
    }
    ground.settle(&lives);
    ground.tally.left += u64::from(last.is_err());
    ground.tally.clone()
}

fn storms_of<T: Counted>(weather: Weather, seeds: u64) {
    let label = format!("{}, {:?}", T::MODEL.table, weather.expiry);
    let tally = survives(&label, seeds, |seed| storm::<T>(seed, weather, Deviation::None, Lives::One));
    assert!(tally.grants > seeds * 10, "{tally:?}");
    assert!(tally.writes > seeds * 10, "{tally:?}");
    assert!(tally.takeovers > seeds, "{tally:?}");
    assert!(tally.cancelled > seeds, "{tally:?}");
    assert!(tally.resumed > seeds / 2, "{tally:?}");
    assert_eq!(tally.evicted, 0, "one who shows itself in time is never taken out: {tally:?}");
}

#[test]
fn a_storm_lets_one_at_a_time_write_an_item_and_each_acknowledged_write_counts_once() {
    storms_of::<Crate>(Weather::ROUGH, seeds(SEEDS));
}

#[test]
fn a_storm_lets_one_at_a_time_write_an_item_with_a_separate_lease() {
    storms_of::<Archive>(Weather::ROUGH, seeds(SEEDS));
}

#[test]
fn a_storm_lets_one_at_a_time_write_an_item_whatever_the_clocks_show() {
    storms_of::<Crate>(Weather::OBSERVED, seeds(SEEDS).div_ceil(4));
    storms_of::<Archive>(Weather::OBSERVED, seeds(SEEDS).div_ceil(4));
}

fn storms_of_lives<T: Counted>(seeds: u64) {
    let label = format!("{}, many lives", T::MODEL.table);
    let tally = survives(&label, seeds, |seed| storm::<T>(seed, Weather::ROUGH, Deviation::None, Lives::Many));
    assert!(tally.grants > seeds * 10, "{tally:?}");
    assert!(tally.writes > seeds * 10, "{tally:?}");
    assert!(tally.lives > seeds * 2, "{tally:?}");
    assert!(tally.deleted > seeds / 2, "{tally:?}");
}

#[test]
fn a_storm_of_deletes_and_creates_lets_one_at_a_time_write_each_life_of_an_item() {
    storms_of_lives::<Crate>(seeds(SEEDS));
}

#[test]
fn a_storm_of_deletes_and_creates_lets_one_at_a_time_write_an_item_with_a_separate_lease() {
    storms_of_lives::<Archive>(seeds(SEEDS));
}

/// Runs a storm with separate leases. Only separate leases are renewed without a write of their
/// item.
async fn storm_of_rows(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    storm::<Archive>(seed, weather, deviation, Lives::One).await
}

deviations! {
    storm_of_rows;
    the_storm_of_items_shows_a_lease_that_is_taken_from_its_holder: AcquireWhatIsHeld, ROUGH, overlaps;
    the_storm_of_items_shows_releases_without_a_condition: ReleaseAlways, ROUGH, overlaps;
}
