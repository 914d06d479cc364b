//! Books lines as many programs do without a library: get, change, put. If two workers write the
//! same item at the same time, a booking is lost.

use std::collections::HashMap;

use aws_sdk_dynamodb::{Client, types::AttributeValue};
use dynalock::{Versioned, private::Model};

use crate::{
    Product,
    failure::{Failure, chain},
    invoices::Line,
};

/// Books one line. A booking of another worker on the same product between the get and the put is
/// lost.
///
/// The put increments the version, but has no condition on the version, so the version protects
/// nothing.
pub(crate) async fn book(client: Client, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    let failure = |reason| Failure::NaiveBooking { number, reason };
    let Model { table, version, .. } = *Product::MODEL;

    let read = client.get_item().table_name(table).key("sku", AttributeValue::S(sku)).consistent_read(true);
    let found = read.send().await.map_err(|error| failure(chain(&error)))?;
    let mut item = found.item.ok_or_else(|| failure("the product is gone".to_owned()))?;

    add(&mut item, "stock", -quantity).map_err(failure)?;
    add(&mut item, "booked", 1).map_err(failure)?;
    add(&mut item, version, 1).map_err(failure)?;

    client.put_item().table_name(table).set_item(Some(item)).send().await.map_err(|error| failure(chain(&error)))?;
    Ok(())
}

fn add(item: &mut HashMap<String, AttributeValue>, name: &str, amount: i64) -> Result<(), String> {
    let number = item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse::<i64>().ok());
    let sum = number.and_then(|number| number.checked_add(amount));
    let sum = sum.ok_or_else(|| format!("its attribute {name} is not a number, or not one of 64 bits"))?;
    item.insert(name.to_owned(), AttributeValue::N(sum.to_string()));
    Ok(())
}
