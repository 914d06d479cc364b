//! A call that does not fit its type is an error at the call, with the advice.

use dynalock::{Repository, Transaction, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    lines: Vec<String>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "lines")]
struct Line {
    #[dynalock(partition_key)]
    number: u64,
}

#[derive(Serialize, Deserialize)]
struct Plain {
    id: String,
}

fn leases(orders: &Repository<Order>) {
    let _ = orders.lock(("alice", 7_u64));
    let _ = orders.try_lock(("alice", 7_u64));
}

fn keys(orders: &Repository<Order>, lines: &Repository<Line>, tx: &mut Transaction, index: usize) {
    let _ = orders.get("alice");
    let _ = orders.get(("alice", "seven"));
    let _ = lines.get(index);
    let _ = lines.get((7_u64, 8_u64));
    let _ = tx.check_exists(lines, "seven");
}

fn types_without_the_derive(client: &aws_sdk_dynamodb::Client, plain: &Repository<Plain>) {
    let _ = Repository::<Plain>::new(client);
    let _ = plain.create_table();
    let _ = plain.create(Plain { id: String::new() });
}

fn closures(lines: &Repository<Line>, orders: &Repository<Order>) {
    let _ = lines.update_with(7_u64, async |line| line.number += 1);
    let _ = lines.update_with(7_u64, |line| async move { line.number += 1 });
    let _ = orders.update_with(("alice", 7_u64), |order| order.lines.pop());
    let _ = lines.upsert_with(7_u64, || Line { number: 7 }, async |line| line.number += 1);
    let _ = lines.update_with(7_u64, |_| panic!("a closure that does not return is fine"));
}

fn main() {}
