use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, ConditionCheck, TransactWriteItem, Update},
};
use dynalock::{Error, LockGuard, Locks, error::Lost, lock::LockSetGuard};
use fastrand::Rng;
use tokio::time::Instant;

use super::{Arena, Deviation, arena::Believer};
use crate::support::{TTL, item, millis, n, s, secs, travel};

/// A process that acquires locks of the table `locks` and holds them.
///
/// Each write under a lock is a transaction with a check of the lock's row, over the same faulty
/// connection.
#[derive(Clone)]
pub(crate) struct Tenant {
    pub(crate) locks: Locks,
    pub(crate) client: Client,
    pub(crate) deviation: Deviation,
    pub(crate) arena: Arc<Mutex<Arena>>,
}

/// The result of an acquire.
pub(crate) enum Asked<G> {
    Granted(G),
    Refused,
    /// The process dropped the call before its answer.
    Gone,
}

impl Tenant {
    /// Acquires a lock, and sometimes drops the call.
    pub(crate) async fn ask<G: Send + 'static>(
        &self,
        asking: impl Future<Output = Result<G, Error>> + Send + 'static,
        rng: &mut Rng,
    ) -> Asked<G> {
        let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
        let mut task = tokio::spawn(asking);
        let granted = tokio::select! {
            granted = &mut task => granted.unwrap(),
            () = travel(patience) => {
                task.abort();
                self.arena.lock().unwrap().tally.cancelled += 1;
                return Asked::Gone;
            }
        };
        if let Err(Error::Evicted { .. }) = &granted {
            self.arena.lock().unwrap().tally.evicted += 1;
        }
        granted.map_or(Asked::Refused, Asked::Granted)
    }

    /// Acquires two locks at once, and then treats them separately.
    pub(crate) async fn hold_all(&self, all: LockSetGuard, heartbeat: bool, rng: &mut Rng) {
        self.arena.lock().unwrap().tally.together += 1;
        let [one, other]: [LockGuard; 2] = all.into_iter().collect::<Vec<_>>().try_into().unwrap();
        let (mut mine, mut theirs) = (rng.fork(), rng.fork());
        tokio::join!(self.hold(one, heartbeat, &mut mine), self.hold(other, heartbeat, &mut theirs));
    }

    /// Writes under the lock several times, until it ends or dies.
    pub(crate) async fn hold(&self, held: LockGuard, heartbeat: bool, rng: &mut Rng) {
        let (name, held) = (held.name().to_owned(), Arc::new(held));
        let told = Arc::new(AtomicBool::new(false));
        let watcher = tokio::spawn({
            let (lost, told) = (held.lost(), Arc::clone(&told));
            async move {
                let why = lost.await;
                told.store(true, Ordering::Relaxed);
                why
            }
        });
        tokio::task::yield_now().await;
        let from_the_answer = self.deviation == Deviation::CountFromTheAnswer && !heartbeat;
        let until = from_the_answer.then(|| Arc::new(Mutex::new(Instant::now() + TTL)));
        self.arena.lock().unwrap().enter(&name, Believer { held: Arc::clone(&held), told, until: until.clone() });
        for _ in 0..rng.u32(1..5) {
            // Without heartbeats, a pause is like a paused process.
            let pause = if !heartbeat && rng.f64() < 0.4 { rng.u64(8_000..20_000) } else { rng.u64(0..4_000) };
            travel(millis(pause)).await;
            // A late holder does not know that its lease has ended. The check of the lock's row
            // refuses the write of a late holder.
            self.write(&held).await;
            if !heartbeat
                && rng.bool()
                && held.extend().await.is_ok()
                && let Some(until) = &until
            {
                *until.lock().unwrap() = Instant::now() + TTL;
            }
        }
        if heartbeat && watcher.is_finished() {
            let why = watcher.await.unwrap();
            assert!(!matches!(why, Lost::Deleted), "{why}");
            self.arena.lock().unwrap().tally.lost += 1;
        } else {
            watcher.abort();
        }
        self.arena.lock().unwrap().leave(&name, held.fence());
        self.end(Arc::into_inner(held).expect("the arena has let it go"), rng).await;
    }

    async fn end(&self, held: LockGuard, rng: &mut Rng) {
        match rng.u32(0..10) {
            0..6 => drop(held.release().await),
            6 => drop(held),
            // The process is killed, perhaps while a request is running.
            7 => drop(held.detach()),
            8 => self.die_beating(held, rng).await,
            _ => {
                let token = held.detach();
                travel(millis(rng.u64(0..15_000))).await;
                if let Ok(held) = self.locks.resume(token).await {
                    self.write(&held).await;
                    drop(held.release().await);
                }
            }
        }
    }

    /// Dies while a heartbeat is running, and leaves a token. Another process resumes it, and is
    /// sometimes paused.
    async fn die_beating(&self, held: LockGuard, rng: &mut Rng) {
        let (name, token) = (held.name().to_owned(), held.token());
        let dying = tokio::spawn(async move {
            let _ = tokio::time::timeout(millis(1), held.extend()).await;
            let _ = tokio::time::timeout(millis(1), held.extend()).await;
            drop(held.detach());
        });
        travel(millis(rng.u64(0..15_000))).await;
        dying.await.unwrap();
        let Ok(held) = self.locks.clone().heartbeat(false).resume(token).await else { return };
        let held = Arc::new(held);
        let believer = Believer { held: Arc::clone(&held), told: Arc::new(AtomicBool::new(true)), until: None };
        self.arena.lock().unwrap().resume(&name, believer);
        for _ in 0..rng.u32(1..4) {
            travel(millis(rng.u64(0..6_000))).await;
            self.write(&held).await;
        }
        self.arena.lock().unwrap().leave(&name, held.fence());
        let held = Arc::into_inner(held).expect("the arena has let it go");
        if rng.bool() { drop(held.release().await) } else { drop(held.detach()) }
    }

    /// Appends the fence to the log that the lock protects, if the lock is still held.
    async fn write(&self, held: &LockGuard) {
        let (name, fence) = (held.name(), held.fence());
        let is_fair = held.token().to_string().starts_with("fair-");
        let (holder, stored) = if is_fair { ("_queue", fence - 1) } else { ("_owner", fence) };
        let check = ConditionCheck::builder()
            .table_name("locks")
            .key("name", s(name))
            .condition_expression(if is_fair { "#h[0] = :o AND #f = :f" } else { "#h = :o AND #f = :f" })
            .expression_attribute_names("#h", holder)
            .expression_attribute_names("#f", "_fence")
            .expression_attribute_values(":o", s(&stored_owner(held)))
            .expression_attribute_values(":f", n(stored));
        let append = Update::builder()
            .table_name("locks")
            .key("name", s(&log_of(name)))
            .update_expression("SET #l = list_append(if_not_exists(#l, :e), :f)")
            .expression_attribute_names("#l", "log")
            .expression_attribute_values(":e", AttributeValue::L(Vec::new()))
            .expression_attribute_values(":f", AttributeValue::L(vec![n(fence)]));
        let check = TransactWriteItem::builder().condition_check(check.build().unwrap()).build();
        let append = TransactWriteItem::builder().update(append.build().unwrap()).build();
        let write = self.client.transact_write_items().transact_items(check).transact_items(append).send();
        let is_superseded = {
            let mut arena = self.arena.lock().unwrap();
            arena.write_outside(name, fence);
            arena.is_superseded(name, fence)
        };
        let outcome = tokio::time::timeout(secs(3), write).await;
        let mut arena = self.arena.lock().unwrap();
        match outcome {
            Ok(Ok(_)) => {
                arena.tally.writes += 1;
                arena.tally.stale += u64::from(is_superseded);
            }
            Ok(Err(_)) | Err(_) => arena.tally.refused += 1,
        }
    }
}

/// Returns the owner as the row stores it. In a token, the owner follows after four numbers. The
/// last number is its length.
fn stored_owner(held: &LockGuard) -> String {
    let token = held.token().to_string();
    let parts: Vec<_> = token.trim_start_matches("fair-").splitn(5, '-').collect();
    parts[4][..parts[3].parse().unwrap()].to_owned()
}

fn log_of(name: &str) -> String {
    format!("{name} log")
}

/// Returns the number of writes in the log of a lock that came after a write with a higher fence.
pub(crate) async fn stale(plain: &Client, name: &str) -> u64 {
    let log = plain.get_item().table_name("locks").set_key(Some(item([("name", s(&log_of(name)))])));
    let log = log.consistent_read(true).send().await.unwrap().item.unwrap_or_default();
    let log: Vec<u64> = match log.get("log") {
        Some(AttributeValue::L(log)) => log.iter().map(|fence| fence.as_n().unwrap().parse().unwrap()).collect(),
        _ => Vec::new(),
    };
    log.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64
}
