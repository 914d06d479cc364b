//! Asks DynamoDB for the consumed capacity of requests, and estimates the consumed capacity before
//! DynamoDB answers.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aws_sdk_dynamodb::{
    operation::{
        batch_get_item::{BatchGetItemInput, BatchGetItemOutput},
        batch_write_item::{BatchWriteItemInput, BatchWriteItemOutput},
        delete_item::{DeleteItemInput, DeleteItemOutput},
        get_item::{GetItemInput, GetItemOutput},
        put_item::{PutItemInput, PutItemOutput},
        query::{QueryInput, QueryOutput},
        scan::{ScanInput, ScanOutput},
        transact_get_items::{TransactGetItemsInput, TransactGetItemsOutput},
        transact_write_items::{TransactWriteItemsInput, TransactWriteItemsOutput},
        update_item::{UpdateItemInput, UpdateItemOutput},
    },
    types::{ConsumedCapacity, ReturnConsumedCapacity, TransactWriteItem},
};
use aws_smithy_runtime_api::client::interceptors::context::{Input, Output};

use crate::{
    codec::{Item, size},
    cost::{Capacity, Units, read_units, write_units},
};

tokio::task_local! {
    pub(crate) static IN_FLIGHT: InFlight;
}

pub(crate) struct InFlight {
    /// `true` if the SDK has handed the request to the HTTP client, and `false` while the SDK still
    /// fetches credentials and signs the request.
    pub(crate) departed: Cell<bool>,
    /// The measurement of the request's capacity, or `None` if the program does not measure the
    /// cost of the call.
    pub(crate) metered: Option<Arc<MeteredRequest>>,
}

/// A function that returns the text of a key for a cost report. The argument of a `KeyText`
/// contains either only the key attributes of an item or the whole item.
pub(crate) type KeyText = fn(&Item) -> Option<String>;

/// The facts from which the library estimates the capacity of a request.
pub(crate) struct RequestFacts {
    pub(crate) allowance: Arc<Allowance>,
    /// The functions that format keys for cost reports, each with the name of its table. A function
    /// with `None` instead of a table name formats the keys of all tables.
    pub(crate) keys: Vec<(Option<Arc<str>>, KeyText)>,
    pub(crate) seen: Option<SizedItem>,
    /// The consumed capacity of the previous page of a query or a scan.
    pub(crate) page: Capacity,
    /// `true` if the reads of the call may exceed the budget. A read after a write may exceed the
    /// budget, because the read finds out or returns the outcome of the write.
    pub(crate) reads_are_exempt: bool,
}

#[derive(Clone)]
pub(crate) struct SizedItem {
    table: String,
    key: Item,
    bytes: usize,
}

pub(crate) struct Allowance {
    budget: Option<Units>,
    used: Mutex<Units>,
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request would pass the budget of its call")]
pub(crate) struct OverBudget {
    pub(crate) needed: Units,
}

pub(crate) struct MeteredRequest {
    facts: RequestFacts,
    state: Mutex<RequestState>,
}

#[derive(Default)]
struct RequestState {
    shares: Vec<Share>,
    kind: RequestKind,
    reserved: Units,
    departed: bool,
    is_answered: bool,
    seen: Option<SizedItem>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RequestKind {
    #[default]
    Item,
    Page,
    Transaction,
}

/// The capacity that a request consumes for one key. The capacity is an estimate until DynamoDB's
/// answer reports the consumed capacity.
#[derive(Clone)]
pub(crate) struct Share {
    pub(crate) table: String,
    pub(crate) key: Option<String>,
    pub(crate) capacity: Capacity,
    /// The key attributes in the request, or `None` if the request contains a whole item or no key.
    key_item: Option<Item>,
}

impl Allowance {
    pub(crate) fn new(budget: Option<Units>) -> Self {
        Self { budget, used: Mutex::default() }
    }

    pub(crate) fn budget(&self) -> Option<Units> {
        self.budget
    }

    fn used(&self) -> MutexGuard<'_, Units> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the estimated units before the request, because requests of one call may run at the
    /// same time.
    fn reserve(&self, needed: Units) -> Result<(), OverBudget> {
        let mut used = self.used();
        if self.budget.is_some_and(|budget| *used + needed > budget) {
            return Err(OverBudget { needed });
        }
        *used += needed;
        Ok(())
    }

    fn settle(&self, reserved: Units, consumed: Units) {
        let mut used = self.used();
        *used = used.minus(reserved) + consumed;
    }
}

impl MeteredRequest {
    pub(crate) fn new(facts: RequestFacts) -> Self {
        Self { facts, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ask(&self, input: &mut Input) -> Result<(), OverBudget> {
        let shares = self.shares_of(input);
        let mut state = self.state();
        if let Some(shares) = shares {
            state.shares = shares;
        }
        let needed = state.shares.iter().map(|share| share.capacity.total()).sum();
        if state.is_read() && self.facts.reads_are_exempt {
            self.facts.allowance.settle(Units::ZERO, needed);
        } else {
            self.facts.allowance.reserve(needed)?;
        }
        state.reserved = needed;
        Ok(())
    }

    /// Sets the estimated capacity of each action of a transaction. The SDK builds an empty request
    /// for a retry of a transaction, so `ask` cannot find the keys in the request.
    pub(super) fn expect(&self, shares: Vec<Share>) {
        let mut state = self.state();
        (state.shares, state.kind) = (shares, RequestKind::Transaction);
    }

    pub(crate) fn depart(&self) {
        self.state().departed = true;
    }

    pub(crate) fn is_read(&self) -> bool {
        self.state().is_read()
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.state().is_answered
    }

    pub(crate) fn read(&self, output: &Output) {
        let mut state = self.state();
        state.is_answered = true;
        for consumed in consumed(output) {
            state.settle(consumed);
        }
        if let Some(item) = item_in(output)
            && let [share] = &state.shares[..]
        {
            state.seen = share.item(size(item));
        }
    }

    /// Raises the estimated write units of a refused write, because DynamoDB also charges a refused
    /// write for the size of the stored item. `sizes` contains the sizes of the stored items that
    /// DynamoDB returned with the refusal.
    pub(crate) fn refuse(&self, sizes: &[Option<usize>]) {
        let mut state = self.state();
        let factor = if state.kind == RequestKind::Transaction { 2 } else { 1 };
        for (share, bytes) in state.shares.iter_mut().zip(sizes).filter_map(|(share, bytes)| Some((share, (*bytes)?))) {
            if !share.capacity.write.is_zero() {
                share.capacity.write = share.capacity.write.max(write_units(bytes).times(factor));
            }
        }
        if let ([share], [Some(bytes)]) = (&state.shares[..], sizes) {
            state.seen = share.item(*bytes);
        }
    }

    /// Ends the measurement of a request, and replaces the reserved units of the budget by the
    /// consumed units. A request that the SDK has not handed to the HTTP client has consumed no
    /// capacity.
    pub(crate) fn end(&self, is_free: bool) -> Consumed {
        let RequestState { shares, kind, reserved, departed, seen, .. } = std::mem::take(&mut *self.state());
        let shares = if departed && !is_free { shares } else { Vec::new() };
        let capacity: Capacity = shares.iter().map(|share| share.capacity).sum();
        self.facts.allowance.settle(reserved, capacity.total());
        Consumed { shares, seen, page: (kind == RequestKind::Page).then_some(capacity) }
    }

    fn share(&self, table: Option<&String>, key: Option<&Item>, capacity: Capacity) -> Share {
        let table = table.cloned().unwrap_or_default();
        let mut texts = self.facts.keys.iter();
        let text = texts.find(|(of, _)| of.as_ref().is_none_or(|of| **of == *table)).map(|(_, text)| text);
        let key = key.and_then(|key| text?(key));
        Share { table, key, capacity, key_item: None }
    }

    /// Returns the size of an item if the call has last read or written this item, and 0 otherwise.
    /// `item` contains only the key attributes of the item or the whole item.
    fn seen(&self, table: &str, item: Option<&Item>) -> usize {
        let is_of = |seen: &&SizedItem| {
            seen.table == table
                && seen.key.iter().all(|(name, value)| item.and_then(|item| item.get(name)) == Some(value))
        };
        self.facts.seen.as_ref().filter(is_of).map_or(0, |seen| seen.bytes)
    }

    fn read_of(&self, table: Option<&String>, key: Option<&Item>, consistent: Option<bool>) -> Share {
        let share = self.share(table, key, Capacity::default());
        let units = read_units(self.seen(&share.table, key));
        let units = if consistent == Some(true) { units } else { units.part(0, 2) };
        Share { capacity: Capacity::read(units), key_item: key.cloned(), ..share }
    }

    fn write_of(&self, table: Option<&String>, key: Option<&Item>, bytes: usize) -> Share {
        let share = self.share(table, key, Capacity::default());
        let units = write_units(bytes.max(self.seen(&share.table, key)));
        // A put contains the whole item instead of only its key, so a put has no `key_item`.
        let key_item = if bytes == 0 { key.cloned() } else { None };
        Share { capacity: Capacity::write(units), key_item, ..share }
    }

    fn page_of(&self, table: Option<&String>, consistent: Option<bool>) -> Share {
        self.state().kind = RequestKind::Page;
        let least = if consistent == Some(true) { Units::whole(1) } else { Units::HALF };
        self.share(table, None, Capacity::read(least.max(self.facts.page.read)))
    }

    /// Makes a request ask for its consumed capacity, and returns an estimate for each key. Returns
    /// `None` for a request that consumes no capacity, and for a TransactWriteItems, whose
    /// estimates come from `expect`.
    fn shares_of(&self, input: &mut Input) -> Option<Vec<Share>> {
        macro_rules! asked {
            ($kind:ident) => {
                input.downcast_mut::<$kind>().map(|input| {
                    input.return_consumed_capacity = Some(ReturnConsumedCapacity::Total);
                    input
                })
            };
        }
        if let Some(get) = asked!(GetItemInput) {
            return Some(vec![self.read_of(get.table_name.as_ref(), get.key.as_ref(), get.consistent_read)]);
        }
        if let Some(update) = asked!(UpdateItemInput) {
            return Some(vec![self.write_of(update.table_name.as_ref(), update.key.as_ref(), 0)]);
        }
        if let Some(put) = asked!(PutItemInput) {
            let bytes = put.item.as_ref().map_or(0, size);
            return Some(vec![self.write_of(put.table_name.as_ref(), put.item.as_ref(), bytes)]);
        }
        if let Some(delete) = asked!(DeleteItemInput) {
            return Some(vec![self.write_of(delete.table_name.as_ref(), delete.key.as_ref(), 0)]);
        }
        if let Some(query) = asked!(QueryInput) {
            return Some(vec![self.page_of(query.table_name.as_ref(), query.consistent_read)]);
        }
        if let Some(scan) = asked!(ScanInput) {
            return Some(vec![self.page_of(scan.table_name.as_ref(), scan.consistent_read)]);
        }
        if let Some(get) = asked!(BatchGetItemInput) {
            let each = get.request_items.iter().flatten().flat_map(|(table, request)| {
                request.keys.iter().map(move |key| self.read_of(Some(table), Some(key), request.consistent_read))
            });
            return Some(each.collect());
        }
        if let Some(write) = asked!(BatchWriteItemInput) {
            let each = write.request_items.iter().flatten().flat_map(|(table, writes)| {
                let puts = writes.iter().filter_map(|write| write.put_request.as_ref());
                puts.map(move |put| self.write_of(Some(table), Some(&put.item), size(&put.item)))
            });
            return Some(each.collect());
        }
        if let Some(get) = asked!(TransactGetItemsInput) {
            let gets = get.transact_items.iter().flatten().filter_map(|item| item.get.as_ref());
            let twice = Capacity::read(Units::whole(2));
            return Some(gets.map(|get| self.share(Some(&get.table_name), Some(&get.key), twice)).collect());
        }
        let _ = asked!(TransactWriteItemsInput);
        None
    }

    pub(super) fn shares_of_actions(&self, actions: &[TransactWriteItem]) -> Vec<Share> {
        let share = |action: &TransactWriteItem| {
            let (table, key, bytes) = match action {
                TransactWriteItem { put: Some(put), .. } => (&put.table_name, &put.item, size(&put.item)),
                TransactWriteItem { update: Some(update), .. } => (&update.table_name, &update.key, 0),
                TransactWriteItem { delete: Some(delete), .. } => (&delete.table_name, &delete.key, 0),
                TransactWriteItem { condition_check: Some(check), .. } => (&check.table_name, &check.key, 0),
                _ => return None,
            };
            let share = self.write_of(Some(table), Some(key), bytes);
            Some(Share { capacity: Capacity::write(share.capacity.write.times(2)), ..share })
        };
        actions.iter().filter_map(share).collect()
    }
}

pub(crate) struct Consumed {
    pub(crate) shares: Vec<Share>,
    pub(crate) seen: Option<SizedItem>,
    /// The consumed capacity of a Query or a Scan.
    pub(crate) page: Option<Capacity>,
}

impl RequestState {
    fn is_read(&self) -> bool {
        self.shares.iter().all(|share| share.capacity.write.is_zero())
    }

    /// Replaces the estimates for one table by the reported capacity. DynamoDB reports one sum for
    /// all items of a table in a request, so each key gets an equal part of the sum.
    fn settle(&mut self, consumed: &ConsumedCapacity) {
        let capacity = capacity(consumed, self.is_read());
        let is_named = |share: &&mut Share| consumed.table_name.as_ref().is_none_or(|table| share.table == *table);
        let mut shares: Vec<_> = self.shares.iter_mut().filter(is_named).collect();
        // An answer may name a table by its ARN. If the request does not contain the reported name,
        // the reported capacity replaces all estimates of the request.
        if shares.is_empty() {
            shares = self.shares.iter_mut().collect();
        }
        let parts = shares.len();
        for (index, share) in shares.into_iter().enumerate() {
            let (read, write) = (capacity.read.part(index, parts), capacity.write.part(index, parts));
            share.capacity = Capacity { read, write };
        }
    }
}

impl Share {
    fn item(&self, bytes: usize) -> Option<SizedItem> {
        Some(SizedItem { table: self.table.clone(), key: self.key_item.clone()?, bytes })
    }
}

/// DynamoDB reports read units and write units separately only for transactions. A repeated
/// transaction consumes read units if DynamoDB still remembers the token.
fn capacity(consumed: &ConsumedCapacity, is_read: bool) -> Capacity {
    let units = |units: Option<f64>| units.map_or(Units::ZERO, Units::reported);
    match (consumed.read_capacity_units, consumed.write_capacity_units) {
        (None, None) if is_read => Capacity::read(units(consumed.capacity_units)),
        (None, None) => Capacity::write(units(consumed.capacity_units)),
        (read, write) => Capacity { read: units(read), write: units(write) },
    }
}

fn consumed(output: &Output) -> &[ConsumedCapacity] {
    macro_rules! first_of {
        ($($one:ident),*; $($many:ident),*) => {
            $(if let Some(output) = output.downcast_ref::<$one>() {
                return output.consumed_capacity.as_slice();
            })*
            $(if let Some(output) = output.downcast_ref::<$many>() {
                return output.consumed_capacity.as_deref().unwrap_or_default();
            })*
        };
    }
    first_of!(
        GetItemOutput, UpdateItemOutput, PutItemOutput, DeleteItemOutput, QueryOutput, ScanOutput;
        BatchGetItemOutput, BatchWriteItemOutput, TransactGetItemsOutput, TransactWriteItemsOutput
    );
    &[]
}

fn item_in(output: &Output) -> Option<&Item> {
    let get = output.downcast_ref::<GetItemOutput>().and_then(|get| get.item.as_ref());
    get.or_else(|| output.downcast_ref::<UpdateItemOutput>().and_then(|update| update.attributes.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_transaction_that_dynamodb_remembers_costs_read_units() {
        let consumed = ConsumedCapacity::builder().capacity_units(4.0);
        assert_eq!(capacity(&consumed.clone().build(), false), Capacity::write(Units::whole(4)));
        assert_eq!(capacity(&consumed.clone().build(), true), Capacity::read(Units::whole(4)));
        let repeated = consumed.read_capacity_units(4.0).build();
        assert_eq!(capacity(&repeated, false), Capacity::read(Units::whole(4)));
    }
}
