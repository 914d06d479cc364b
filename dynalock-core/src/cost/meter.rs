use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Capacity, Cause, Cost};

/// A counter of the costs of all calls of a repository or of a `Locks`. Clones of a meter share the
/// counted costs.
///
/// The meter adds the cost of each request when the request ends. The meter includes the costs of
/// failed calls, and the costs of calls whose futures the caller has dropped.
///
/// The meter counts the costs of up to 2,000 keys separately. At 2,001 keys, the meter keeps only
/// the 1,000 most expensive keys, and adds all other costs to one sum. If a later request uses a
/// key that the meter has removed, the separate costs of the key start from zero.
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
    /// The costs of all requests that the meter had counted at the time of the report.
    pub total: Cost,
    /// The number of calls that have consumed capacity. A heartbeat of a lock does not count as a
    /// call. Each item of a `create_many`, an `update_many` or a `delete_many` counts as one call.
    pub calls: u64,
    /// The most expensive keys, at most 1,000, in descending order of their costs. For the order of
    /// the keys, a write unit counts as five read units.
    pub keys: Vec<KeyCost>,
    /// The costs of all requests for keys that are not in `keys`, and the costs of queries and
    /// scans.
    pub others: Cost,
}

/// The costs of the requests for one key.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCost {
    /// The text of the key, in the form that errors show. The costs of an item include the costs of
    /// the item's separate lease row.
    pub key: String,
    /// The costs of the requests for the key.
    pub cost: Cost,
}

pub(crate) struct Charge {
    pub(crate) cause: Cause,
    /// The text of the key, or `None` for a query or a scan.
    pub(crate) key: Option<String>,
    pub(crate) capacity: Capacity,
}

/// The largest number of keys in a report.
const KEPT: usize = 1_000;

impl Meter {
    /// Returns the costs of all requests that the meter has counted.
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

    /// Returns the costs that the meter has counted, with the number of calls and the costs of the
    /// most expensive keys.
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
        // The meter removes half of the keys at once, so that only about one in 1,000 new keys
        // causes a sort of all keys.
        if record.keys.len() > 2 * KEPT {
            record.forget_the_cheapest();
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // A panic cannot leave the sums in an invalid state, so a poisoned mutex is no error.
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

// The `Debug` output of a meter contains no keys, so that logs contain no data of the table.
debug_fields!(Meter, self => { total: self.total() });

/// The `Debug` output of a report contains no keys, so that logs contain no data of the table.
impl fmt::Debug for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, calls, keys, others } = self;
        let mut shown = f.debug_struct("CostReport");
        shown.field("total", total).field("calls", calls).field("keys", &keys.len()).field("others", others).finish()
    }
}

// The `Debug` output of a `KeyCost` contains no key, so that logs contain no data of the table.
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
