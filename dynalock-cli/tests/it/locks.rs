//! `dynalock locks list`, `show` and `break`.

use dynalock::{LockGuard, Wait, lock::QueueTicket};
use serde_json::json;

use crate::support::{Engine, LONG};

/// Lets `ann` hold the printer, and `bob` and `cy` wait for it.
async fn printer(engine: &Engine) -> (LockGuard, [QueueTicket<LockGuard>; 2]) {
    let locks = engine.locks().wait(LONG);
    let ann = locks.acquire("printer").owner("ann").fair().await.unwrap();
    let bob = locks.acquire("printer").owner("bob").fair().enter().await.unwrap();
    let cy = locks.acquire("printer").owner("cy").fair().enter().await.unwrap();
    (ann, [bob, cy])
}

#[tokio::test]
async fn a_list_shows_each_lock_with_its_holder() {
    let engine = Engine::with_locks().await;
    assert_eq!(engine.run("locks list locks").await.succeeded(), "no locks");
    engine.hold("nightly-report", "worker-7").await;
    let _printer = printer(&engine).await;
    engine.hold_until_past("import", "worker-9").await;
    engine.locks().acquire("old").await.unwrap().release().await.unwrap();
    assert_eq!(
        engine.run("locks list locks").await.succeeded(),
        "\
NAME            STATE    OWNER     REMAINING  WAITING  FENCE
import          expired  worker-9  <time> 0        <fence>
nightly-report  held     worker-7  <time> 0        <fence>
old             free                          0        <fence>
printer         held     ann       <time> 2        <fence>"
    );
}

#[tokio::test]
async fn a_list_shows_the_locks_of_one_owner() {
    let engine = Engine::with_locks().await;
    engine.hold("nightly-report", "worker-7").await;
    let _printer = printer(&engine).await;
    let names = async |owner: &str| {
        let locks = engine.json(&format!("locks list locks --owner {owner}")).await;
        locks.as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("worker-7").await, ["nightly-report"]);
    assert_eq!(names("cy").await, ["printer"]);
    assert_eq!(names("nobody").await, [""; 0]);
}

#[tokio::test]
async fn a_namespace_is_a_column_if_a_lock_has_one() {
    let engine = Engine::with_locks().await;
    engine.locks().namespace("eu").acquire("a").owner("ann").await.unwrap().detach();
    assert_eq!(
        engine.run("locks list locks").await.succeeded(),
        "\
NAME  NAMESPACE  STATE  OWNER  REMAINING  WAITING  FENCE
a     eu         held   ann    <time> 0        <fence>"
    );
    let shown = engine.json("locks show locks a --namespace eu").await;
    assert_eq!((&shown["namespace"], &shown["owner"]), (&json!("eu"), &json!("ann")));
    engine.run("locks show locks a").await.failed_with(3);
}

#[tokio::test]
async fn a_lock_is_shown_with_its_waiters() {
    let engine = Engine::with_locks().await;
    let (ann, _waiters) = printer(&engine).await;
    assert_eq!(
        engine.run("locks show locks printer").await.succeeded(),
        "\
lock       printer
state      held
owner      ann
nonce      <id>
fence      <fence>
remaining  <time>

POSITION  WAITER  WAITS  TICKET
1         bob     <time> <id>
2         cy      <time> <id>"
    );
    let shown = engine.json("locks show locks printer").await;
    assert_eq!((&shown["owner"], &shown["fence"]), (&json!("ann"), &json!(ann.fence())));
    assert_eq!((&shown["state"], &shown["waiters"][1]["owner"]), (&json!("held"), &json!("cy")));
    let remaining = shown["remaining_ms"].as_u64().unwrap();
    assert!((1..=600_000).contains(&remaining), "{remaining}");
}

#[tokio::test]
async fn a_missing_lock_and_a_missing_table_have_an_exit_code() {
    let engine = Engine::with_locks().await;
    let told =
        "lock `x` in table `locks` was never held, or was retired; list the locks with `dynalock locks list locks`";
    assert_eq!(engine.run("locks show locks x").await.failed_with(3), told);
    let run = engine.run("locks list none").await;
    assert!(run.failed_with(3).starts_with("table `none` does not exist; create it with"), "{run:?}");
}

#[tokio::test]
async fn a_list_of_a_table_of_items_is_an_error() {
    let (engine, _) = Engine::with_products().await;
    for arguments in ["locks list products", "locks list products --json"] {
        let run = engine.run(arguments).await;
        let told = run.failed_with(4);
        assert!(
            told.starts_with("table `products` is not a table of locks: the partition key of the table is"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_lock_is_broken_and_can_be_acquired() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let run = engine.run("locks break locks report --yes").await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout, format!("broke lock `report` of `worker-7` with fence {}\n", token.fence()));
    assert!(run.stderr.contains("owner      worker-7\n"), "the holder is shown first: {run:?}");
    let next = engine.locks().wait(Wait::No).acquire("report").await.unwrap();
    assert!(next.fence() > token.fence());
}

#[tokio::test]
async fn the_head_of_a_queue_is_broken_and_the_next_waiter_holds_the_lock() {
    let engine = Engine::with_locks().await;
    let (ann, [bob, _cy]) = printer(&engine).await;
    let broken = engine.run("locks break locks printer --yes --json").await;
    assert_eq!(broken.code, 0, "{broken:?}");
    let broken: serde_json::Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!(broken, json!({ "name": "printer", "owner": "ann", "fence": ann.fence(), "broken": true }));
    assert_eq!(bob.await.unwrap().owner(), "bob");
}

#[tokio::test]
async fn without_a_terminal_nothing_is_broken_without_yes() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let run = engine.run("locks break locks report").await;
    assert_eq!(run.failed_with(2), "nobody can confirm without a terminal; add --yes to break the lock");
    assert_eq!(engine.json("locks show locks report").await["fence"], json!(token.fence()));
}

#[tokio::test]
async fn another_fence_than_the_expected_one_is_not_broken() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let run = engine.run("locks break locks report --yes --fence 7").await;
    assert!(run.failed_with(5).contains("no longer held with fence 7; nothing was changed"), "{run:?}");
    assert_eq!(engine.json("locks show locks report").await["state"], "held");
    let run = engine.run(&format!("locks break locks report --yes --fence {}", token.fence())).await;
    assert_eq!(run.code, 0, "{run:?}");
}

#[tokio::test]
async fn a_free_lock_has_nothing_to_break() {
    let engine = Engine::with_locks().await;
    engine.locks().acquire("report").await.unwrap().release().await.unwrap();
    let run = engine.run("locks break locks report --yes").await;
    assert_eq!(run.failed_with(3), "lock `report` is free; there is nothing to break");
}

#[tokio::test]
async fn a_name_cannot_write_to_the_terminal() {
    let engine = Engine::with_locks().await;
    engine.hold("a\u{1b}[31mb", "c\nd").await;
    let run = engine.run("locks list locks").await;
    assert!(run.stdout.contains("a\\u{1b}[31mb") && run.stdout.contains("c\\nd"), "{run:?}");
}

#[tokio::test]
async fn a_lost_server_is_an_error_of_the_network() {
    let engine = Engine::with_locks().await;
    let mut command = engine.command("locks show locks a");
    engine.server.shutdown().await.unwrap();
    let run = crate::support::run(&mut command).await;
    assert!(run.failed_with(1).starts_with("gave up after "), "{run:?}");
}
