//! A heartbeat thread that cannot be started, because its process has no file descriptors for its
//! runtime.

use std::{env, fmt::Debug, fs::File, process::Command};

use dynalock::{Error, Heartbeat, Locks, Result, error::Unavailable};

use crate::support::{Crate, Shop, expect_error};

/// The variable is set for the child process, which may open only few files.
const FEW_FILES: &str = "DYNALOCK_TEST_FEW_FILES";

const TEST: &str = "locks::no_thread::a_lock_is_not_asked_for_if_its_heartbeat_thread_cannot_be_started";

fn assert_no_thread<T: Debug>(result: Result<T>) {
    expect_error!(result, Error::Unavailable(Unavailable::NoThread(_)));
}

/// Opens files until the process cannot open another file.
fn all_files() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Runs the cases in a process that may open only few files.
async fn without_a_thread() {
    let shop = Shop::without_faults();
    let locks = Locks::new(&shop.client, "locks").heartbeat(Heartbeat::Thread);
    locks.create_table().await.unwrap();
    let token = locks.acquire("resumed").heartbeat(Heartbeat::Off).await.unwrap().detach();
    let crates = shop.table_of([Crate::new("a", 1)]).await.items;
    let lease_token = crates.lock("a").heartbeat(Heartbeat::Off).await.unwrap().detach();
    let sent = shop.requests();

    let files = all_files();
    assert_no_thread(locks.acquire("report").await);
    assert_no_thread(locks.try_acquire("report").await);
    assert_no_thread(locks.acquire("report").fair().await);
    assert_no_thread(locks.acquire("report").fair().enter().await);
    assert_no_thread(locks.acquire_all(["report", "ledger"]).await);
    assert_no_thread(locks.acquire_all(["report", "ledger"]).fair().await);
    assert_no_thread(locks.resume(token.clone()).await);
    assert_no_thread(crates.lock("a").heartbeat(Heartbeat::Thread).await);
    assert_no_thread(crates.try_lock("a").heartbeat(Heartbeat::Thread).await);
    assert_no_thread(crates.lock_any(["a", "b"]).heartbeat(Heartbeat::Thread).await);
    assert_no_thread(crates.lock("a").heartbeat(Heartbeat::Thread).fair().await);
    assert_no_thread(crates.clone().heartbeat(Heartbeat::Thread).resume(lease_token.clone()).await);
    assert_eq!(shop.requests(), sent, "nothing is asked for");

    drop(files);
    locks.acquire("report").await.unwrap().release().await.unwrap();
    locks.resume(token).await.unwrap().release().await.unwrap();
    crates.heartbeat(Heartbeat::Thread).resume(lease_token).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_lock_is_not_asked_for_if_its_heartbeat_thread_cannot_be_started() {
    if env::var(FEW_FILES).is_ok() {
        return without_a_thread().await;
    }
    let test = env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(test)
        .args(["--exact", TEST, "--nocapture"])
        .env(FEW_FILES, "yes")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{output:?}");
}
