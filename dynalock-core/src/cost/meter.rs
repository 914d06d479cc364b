use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Capacity, Cause, Cost};

/// The costs of all calls of a metered repository or of a metered `Locks`. Clones of a meter share
/// the costs.
///
/// The meter adds up each request when its answer arrives. The requests of calls that fail, and of
/// calls whose future the caller drops, count as well.
///
/// The meter keeps the costs of the most expensive keys, at least 1,000 of them. The costs of the
/// other keys are in one sum. A key that comes back after its costs went into this sum begins at
/// zero.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// let products = dynalock::Repository::<Product>::new(client).metered();
/// products.update_with("85123A", |product| product.stock -= 3).await?;
/// if let Some(meter) = products.meter() {
///     println!("{}", meter.total());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Meter(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    total: Cost,
    calls: u64,
    keys: HashMap<String, Cost>,
    others: Cost,
}

/// The costs in a [`Meter`] at one moment.
#[derive(Clone)]
#[non_exhaustive]
pub struct CostReport {
    /// The costs of all requests.
    pub total: Cost,
    /// The number of calls that consumed capacity. The heartbeats of a lock are no calls. Each item
    /// of a `create_many`, an `update_many` or a `delete_many` counts as a call.
    pub calls: u64,
    /// The most expensive keys, the most expensive key first: at most 1,000. A write unit counts
    /// five times as much as a read unit.
    pub keys: Vec<KeyCost>,
    /// The costs of all other keys, and of queries and scans, which have no key.
    pub others: Cost,
}

/// The costs of the requests for one key.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCost {
    /// The key as a text, in the form in which an error shows it. The costs of a separate lease row
    /// are in the costs of its item.
    pub key: String,
    /// The costs.
    pub cost: Cost,
}

/// The capacity of one request for one key.
pub(crate) struct Charge {
    pub(crate) cause: Cause,
    /// The text of the key, or `None` for a query and a scan.
    pub(crate) key: Option<String>,
    pub(crate) capacity: Capacity,
}

/// The number of keys in a report.
const KEPT: usize = 1_000;

impl Meter {
    /// Returns the costs of all requests so far.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(meter: &dynalock_core::cost::Meter) {
    /// println!("conflicts have cost {}", meter.total().conflicts);
    /// # }
    /// ```
    pub fn total(&self) -> Cost {
        self.record().total
    }

    /// Returns the costs so far, with the number of calls and the costs of each key.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(meter: &dynalock_core::cost::Meter) {
    /// for hot in meter.report().keys.iter().take(10) {
    ///     println!("{}: {}", hot.key, hot.cost);
    /// }
    /// # }
    /// ```
    pub fn report(&self) -> CostReport {
        let record = self.record();
        let keys = record.keys.iter().map(|(key, cost)| KeyCost { key: key.clone(), cost: *cost });
        let (mut keys, mut others): (Vec<_>, _) = (keys.collect(), record.others);
        keys.sort_unstable_by(|a, b| b.cost.price().cmp(&a.cost.price()).then_with(|| a.key.cmp(&b.key)));
        for rest in keys.drain(keys.len().min(KEPT)..) {
            others += rest.cost;
        }
        CostReport { total: record.total, calls: record.calls, keys, others }
    }

    pub(crate) fn count_call(&self) {
        self.record().calls += 1;
    }

    pub(crate) fn charge(&self, Charge { cause, key, capacity }: Charge) {
        let mut record = self.record();
        record.total.charge(cause, capacity);
        match key {
            Some(key) => record.keys.entry(key).or_default().charge(cause, capacity),
            None => record.others.charge(cause, capacity),
        }
        // The cheaper half is removed at once, so that a new key rarely causes the sort.
        if record.keys.len() > 2 * KEPT {
            record.forget_the_cheapest();
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic cannot leave the sums half-written, so a poisoned lock is used like any other.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn forget_the_cheapest(&mut self) {
        let mut keys: Vec<_> = self.keys.drain().collect();
        keys.sort_unstable_by_key(|(_, cost)| std::cmp::Reverse(cost.price()));
        for (_, cost) in keys.drain(KEPT..) {
            self.others += cost;
        }
        self.keys.extend(keys);
    }
}

// The output contains the total and no key, because a key is content.
debug_fields!(Meter, self => { total: self.total() });

/// The output contains the number of keys and not the keys, because a key is content.
impl fmt::Debug for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, calls, keys, others } = self;
        let mut shown = f.debug_struct("CostReport");
        shown.field("total", total).field("calls", calls).field("keys", &keys.len()).field("others", others).finish()
    }
}

// The output does not contain the key, because a key is content.
debug_fields!(KeyCost, self => { cost: self.cost });

#[cfg(test)]
mod tests {
    use super::{super::Units, *};

    fn charge(key: Option<String>, units: u64) -> Charge {
        Charge { cause: Cause::Useful, key, capacity: Capacity::write(Units::whole(units)) }
    }

    #[test]
    fn a_meter_keeps_the_most_expensive_keys_and_loses_no_unit() {
        let meter = Meter::default();
        for round in 0..5_u64 {
            for key in 0..1_000_u64 {
                meter.charge(charge(Some(format!("{round}-{key}")), round + 1));
            }
        }
        meter.charge(charge(Some("hot".to_owned()), 100));
        meter.charge(charge(None, 7));

        let report = meter.report();
        assert_eq!((report.keys.len(), &*report.keys[0].key), (1_000, "hot"));
        assert!(report.keys[1..].iter().all(|key| key.cost.useful.write == Units::whole(5)), "{report:?}");
        let kept: Units = report.keys.iter().map(|key| key.cost.total().write).sum();
        assert_eq!(kept + report.others.total().write, report.total.total().write);
        assert_eq!(report.total.total().write, Units::whole(15_000 + 107));
        assert!(meter.record().keys.len() <= 2_000);
    }
}
