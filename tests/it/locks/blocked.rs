//! Work that blocks the runtime, in real time, with an engine in the process and an engine behind a
//! port.

use std::{thread, time::Duration};

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Expiry, Heartbeat, LockGuard, Locks, Result, Versioned, Wait, error::Lost, local::Database};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

use crate::support::{endpoint, expect_error, millis};

const TTL: Duration = millis(1_000);
const EXPIRY: Expiry = Expiry::Clock { max_skew: millis(100) };
/// More than twice the time after which a lease without heartbeats is taken over.
const BLOCKED: Duration = millis(2_500);
/// The time for the actions of other callers. This time ends before the runtime continues.
const MEANWHILE: Duration = millis(2_300);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn locks(client: &Client) -> Locks {
    Locks::new(client, "locks").ttl(TTL).wait(Wait::Forever).expiry(EXPIRY)
}

#[expect(clippy::disallowed_methods, reason = "it is what blocks a runtime")]
fn block(time: Duration) {
    thread::sleep(time);
}

/// Attempts to acquire the lock again and again, on a separate thread and runtime. Returns whether
/// the lock was granted.
fn rival(client: Client, time: Duration) -> thread::JoinHandle<bool> {
    thread::spawn(move || {
        runtime().block_on(async {
            let locks = locks(&client).heartbeat(Heartbeat::Off);
            let rounds = time.as_millis() / 25;
            for _ in 0..rounds {
                if let Some(held) = locks.try_acquire("report").await.unwrap() {
                    drop(held.detach());
                    return true;
                }
                block(millis(25));
            }
            false
        })
    })
}

/// Returns whether a rival got the lock of a holder whose runtime was blocked, and what the holder
/// knows afterwards.
async fn blocked(client: &Client, rivals: Client, heartbeat: Heartbeat) -> (bool, LockGuard) {
    let held = locks(client).acquire("report").heartbeat(heartbeat).await.unwrap();
    let rival = rival(rivals, MEANWHILE);
    block(BLOCKED);
    (rival.join().unwrap(), held)
}

async fn keeps(client: &Client, rivals: Client) {
    locks(client).create_table().await.unwrap();
    let (taken, held) = blocked(client, rivals.clone(), Heartbeat::Thread).await;
    assert!(!taken, "{held:?}");
    held.extend().await.unwrap();
    // A dropped guard is released, although the runtime is blocked at once.
    drop(held);
    let rival = rival(rivals, BLOCKED);
    block(TTL * 4 / 5);
    assert!(rival.is_finished(), "only the end of the lease lets it in");
    assert!(rival.join().unwrap());
}

async fn loses(client: &Client, rivals: Client) {
    locks(client).create_table().await.unwrap();
    let (taken, held) = blocked(client, rivals, Heartbeat::Task).await;
    assert!(taken, "{held:?}");
    expect_error!(held.extend().await, Error::Lost(Lost::Expired));
}

/// Starts an engine behind a port, on a runtime that no other code blocks.
fn served() -> (Runtime, dynalock::local::Server) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let serve = async { Database::in_memory().unwrap().serve(([127, 0, 0, 1], 0).into()).await.unwrap() };
    let server = runtime.block_on(serve);
    (runtime, server)
}

#[test]
fn a_heartbeat_on_a_thread_keeps_the_lock_of_a_blocked_runtime() {
    let client = Database::in_memory().unwrap().client();
    runtime().block_on(keeps(&client, client.clone()));
}

#[test]
fn a_heartbeat_on_a_thread_keeps_the_lock_of_a_blocked_runtime_over_connections_of_its_own() {
    let (_runtime, server) = served();
    let [client, rivals] = [(); 2].map(|()| endpoint::client(&server.url()));
    runtime().block_on(keeps(&client, rivals));
}

#[test]
fn a_heartbeat_on_a_task_loses_the_lock_of_a_blocked_runtime() {
    let client = Database::in_memory().unwrap().client();
    runtime().block_on(loses(&client, client.clone()));
}

#[test]
fn a_heartbeat_on_a_task_loses_the_lock_of_a_blocked_runtime_behind_a_port_too() {
    let (_runtime, server) = served();
    let [client, rivals] = [(); 2].map(|()| endpoint::client(&server.url()));
    runtime().block_on(loses(&client, rivals));
}

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "cartons")]
#[lockable(ttl = "1s")]
struct Carton {
    #[dynalock(partition_key)]
    id: String,
    items: u32,
}

#[test]
fn an_item_is_kept_from_a_blocked_runtime_as_a_lock_is() {
    let client = Database::in_memory().unwrap().client();
    let cartons = Carton::repository(&client).expiry(EXPIRY);
    let others = cartons.clone();
    let written: Result<()> = runtime().block_on(async {
        cartons.create_table().await?;
        cartons.create(Carton { id: "a".to_owned(), items: 1 }).await?;
        let lease = cartons.lock("a").heartbeat(Heartbeat::Thread).await?;
        let rival = thread::spawn(move || {
            block(MEANWHILE);
            runtime().block_on(others.update_with("a", |it| it.items = 99).into_future()).unwrap_err()
        });
        block(BLOCKED);
        expect_error!(Err::<(), _>(rival.join().unwrap()), Error::Locked(_));
        assert_eq!(lease.commit(|it| it.items += 1).await?.items, 2);
        Ok(())
    });
    written.unwrap();
}
