//! The parts that are equal in all requests of one transaction, and the duration of its retries.

use dynalock::{Error, Transaction, error::InvalidTransaction, local::Fault, transact};

use super::purse::{Stored, WAYS, Way, purse, run, stored, transaction};
use crate::support::{Account, Shop, expect_error, millis, secs};

const TRANSACT: &str = "TransactWriteItems";

fn bodies(shop: &Shop) -> Vec<Vec<u8>> {
    let requests = shop.faults.requests();
    requests.iter().filter(|request| request.operation == TRANSACT).map(|request| request.body().to_vec()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_the_same_to_the_byte_token_included() {
    for way in WAYS {
        let (shop, table) = purse().await;
        for (nth, fault) in [
            Fault::LoseRequest,
            Fault::Throttle,
            Fault::canceled(["TransactionConflict", "None", "None", "None"]),
            Fault::TransactionInProgress,
            Fault::ServerError,
            Fault::NeverAnswer,
            Fault::LoseReply,
            Fault::GarbageAfterApply,
        ]
        .into_iter()
        .enumerate()
        {
            shop.faults.script_on(TRANSACT, nth, fault);
        }
        run(&shop, &table, way).await.unwrap();
        assert_eq!(stored(&table).await, Stored::After);
        let bodies = bodies(&shop);
        assert_eq!(bodies.len(), 9);
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{way:?}");
        let token = shop.sent(TRANSACT)[0]["ClientRequestToken"].as_str().unwrap().len();
        assert!((1..=36).contains(&token), "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_runs_of_a_unit_of_work_share_a_token() {
    let (shop, table) = purse().await;
    let others = table.others.clone();
    shop.faults.script_on(TRANSACT, 0, Fault::LoseRequest);
    shop.rival.before(TRANSACT, 1, async move || {
        others.update_with("update", |account| account.cents += 1).await.unwrap();
    });
    run(&shop, &table, Way::Transact).await.unwrap();
    let tokens: Vec<_> = shop.sent(TRANSACT).iter().map(|request| request["ClientRequestToken"].clone()).collect();
    assert_eq!(tokens.len(), 3);
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
}

#[tokio::test(start_paused = true)]
async fn a_transaction_in_progress_is_waited_for() {
    for way in WAYS {
        let (shop, table) = purse().await;
        for nth in 0..8 {
            shop.faults.script_on(TRANSACT, nth, Fault::TransactionInProgress);
        }
        run(&shop, &table, way).await.unwrap();
        assert_eq!((stored(&table).await, shop.counts([TRANSACT])), (Stored::After, [9]));
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_and_deadline_bound_it() {
    let (shop, table) = &purse().await;
    shop.faults.always(Fault::Throttle);
    let result = transaction(shop, table).await.attempts(3).commit().await;
    let attempts = expect_error!(result, Error::Exhausted { spent, .. } => spent.attempts);
    assert_eq!((attempts, shop.counts([TRANSACT])), (3, [3]));
    shop.faults.clear();
    shop.faults.always(Fault::canceled(["TransactionConflict", "None", "None", "None"]));
    let result = transaction(shop, table).await.deadline(secs(2)).commit().await;
    let (elapsed, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.elapsed, last));
    assert!(elapsed <= secs(2) && matches!(*last, Error::Cancelled(_)), "{elapsed:?} {last:?}");
    shop.faults.clear();
    shop.faults.always(Fault::NeverAnswer);
    for way in WAYS {
        let elapsed = match way {
            Way::Commit => {
                let tx = transaction(shop, table).await.attempt_timeout(millis(100)).deadline(secs(1));
                expect_error!(tx.commit().await, Error::Indeterminate { spent, .. } => spent.elapsed)
            }
            Way::Transact => {
                let unit = transact(&shop.client, |tx| async move { tx.get(&table.items, "update").await });
                let unit = unit.attempt_timeout(millis(100)).deadline(secs(1));
                expect_error!(unit.await, Error::Exhausted { spent, .. } => spent.elapsed)
            }
        };
        assert!(elapsed <= secs(1), "{way:?} {elapsed:?}");
    }
    shop.faults.clear();
    assert_eq!(stored(table).await, Stored::Before);
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_meets_conflicts_for_ever_ends_at_its_deadline() {
    let (shop, table) = purse().await;
    let others = table.others.clone();
    shop.rival.before_each(TRANSACT, move || {
        let others = others.clone();
        async move { drop(others.update_with("check", |account| account.cents += 1).await.unwrap()) }
    });
    let table = &table;
    let unit = transact(&shop.client, |tx| async move {
        let _ = tx.get(&table.items, "check").await?;
        tx.create(&table.items, Account::new("create", 5));
        Ok::<_, Error>(())
    });
    let result = unit.deadline(millis(300)).await;
    let (elapsed, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.elapsed, last));
    assert!(elapsed > millis(150) && elapsed <= millis(300), "{elapsed:?}");
    assert!(matches!(*last, Error::Cancelled(_)), "{last:?}");
    assert_eq!(table.raw.get("create").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_transaction_sends_nothing() {
    let (shop, table) = Shop::with_table::<Account>().await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Account::new("a", 5));
    drop(tx.commit());
    drop(transact(&shop.client, async |_| Err::<(), _>(Error::InvalidTransaction(InvalidTransaction::Empty))));
    assert_eq!(shop.requests(), 0);
}
