//! The unit of work of the benchmark as a textbook loop on the SDK. After each refusal, the loop
//! sleeps with full jitter and reads the items again.

use std::{collections::HashMap, time::Duration};

use aws_sdk_dynamodb::{
    Client,
    operation::transact_write_items::TransactWriteItemsError,
    types::{AttributeValue, TransactWriteItem, Update},
};

use crate::simulated::sleep;

/// The number of attempts before the loop gives up.
const ATTEMPTS: u32 = 10;

/// The longest pause after the first refusal. The longest pause doubles with each refusal.
const JITTER: Duration = Duration::from_millis(25);

/// The longest pause after any refusal.
const LONGEST: Duration = Duration::from_secs(1);

/// A transfer that was refused in each attempt.
#[derive(Debug)]
pub(crate) struct GaveUp;

/// Moves a cent from one account to the other.
pub(crate) async fn transfer(client: &Client, [from, to]: [&str; 2], rng: &mut fastrand::Rng) -> Result<(), GaveUp> {
    for refusals in 0..ATTEMPTS {
        let actions = [action(client, from, -1).await, action(client, to, 1).await];
        match client.transact_write_items().set_transact_items(Some(actions.into())).send().await {
            Ok(_) => return Ok(()),
            Err(error)
                if error.as_service_error().is_some_and(TransactWriteItemsError::is_transaction_canceled_exception) =>
            {
                sleep(JITTER.saturating_mul(1 << refusals).min(LONGEST).mul_f64(rng.f64())).await;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    Err(GaveUp)
}

/// Reads an account, and returns its update on the condition that the account has not changed.
async fn action(client: &Client, owner: &str, cents: i64) -> TransactWriteItem {
    let owner = AttributeValue::S(owner.to_owned());
    let read = client.get_item().table_name("accounts").key("owner", owner.clone()).consistent_read(true).send();
    let account = read.await.expect("an answer").item.expect("an account");
    let update = Update::builder()
        .table_name("accounts")
        .key("owner", owner)
        .condition_expression("#v = :v")
        .update_expression("SET #v = :next, cents = :cents, transfers = :transfers")
        .expression_attribute_names("#v", "_version")
        .expression_attribute_values(":v", account["_version"].clone())
        .expression_attribute_values(":next", number(&account, "_version", 1))
        .expression_attribute_values(":cents", number(&account, "cents", cents))
        .expression_attribute_values(":transfers", number(&account, "transfers", 1));
    TransactWriteItem::builder().update(update.build().expect("an update")).build()
}

fn number(account: &HashMap<String, AttributeValue>, name: &str, more: i64) -> AttributeValue {
    let number: i64 = account[name].as_n().expect("a number").parse().expect("an integer");
    AttributeValue::N((number + more).to_string())
}
