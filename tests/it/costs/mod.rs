//! The costs of calls: their units, their causes, their meters and their budgets. A layer directly
//! above the engine adds up what the engine reports for each request that it receives.

mod bill;

mod budgets;
mod calls;
mod causes;
mod locks;
mod meters;

use dynalock::{
    Locks, Repository, Versioned,
    cost::{Capacity, Cost},
    local::Faults,
};

use crate::support::{Shop, TTL, Table};
use bill::Bill;

/// A shop whose requests are billed.
struct Metered {
    shop: Shop,
    bill: Bill,
}

impl Metered {
    fn new() -> Self {
        Self::behind(Faults::none())
    }

    fn behind(faults: Faults) -> Self {
        let bill = Bill::default();
        Self { shop: Shop::below(faults, &bill), bill }
    }

    /// Makes a table with these items. Returns the metered repository, and the table.
    async fn items<T: Versioned>(&self, items: impl IntoIterator<Item = T>) -> (Repository<T>, Table<T>) {
        let table = self.shop.table_of(items).await;
        (table.items.clone().metered(), table)
    }

    /// Makes the table of locks. Returns metered locks, and the locks of others.
    async fn locks(&self) -> (Locks, Locks) {
        let (mine, others) = self.shop.locks().await;
        (mine.ttl(TTL).metered(), others)
    }
}

/// Returns the read units and the write units of each cause that is not zero.
fn shown(cost: Cost) -> String {
    let part = |(name, Capacity { read, write }): (&str, Capacity)| {
        (!(read + write).is_zero()).then(|| format!("{name} {read}r {write}w"))
    };
    cost.by_cause().into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

fn cost_of<T>(items: &Repository<T>) -> Cost {
    items.meter().expect("a metered repository").total()
}
