//! The measured calls. Each call is made by hand and with the library, on items with a short or a
//! full ring of write ids.

use crate::{leases, many, single, transactions};

/// One call of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Get,
    Create,
    UpdateWith,
    MeteredUpdateWith,
    Update,
    Conflict,
    TransactionOf2,
    TransactionOf25,
    TransactionOf100,
    Transact,
    QueryOf100,
    GetMany100,
    LeaseOfItem,
    LockByName,
}

/// The side that makes the call: the hand-written code or the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Hand,
    Library,
}

/// The number of write ids of the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ring {
    Short,
    Full,
}

impl Case {
    pub(crate) const ALL: [Self; 14] = [
        Self::Get,
        Self::Create,
        Self::UpdateWith,
        Self::MeteredUpdateWith,
        Self::Update,
        Self::Conflict,
        Self::TransactionOf2,
        Self::TransactionOf25,
        Self::TransactionOf100,
        Self::Transact,
        Self::QueryOf100,
        Self::GetMany100,
        Self::LeaseOfItem,
        Self::LockByName,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::UpdateWith => "update_with, 3 of 9 attributes",
            Self::MeteredUpdateWith => "update_with of a metered repository",
            Self::Update => "update(stored)",
            Self::Conflict => "one conflict, against a loop that reads again",
            Self::TransactionOf2 => "transaction of 2 updates",
            Self::TransactionOf25 => "transaction of 25 updates",
            Self::TransactionOf100 => "transaction of 100 updates",
            Self::Transact => "transact of 2 items",
            Self::QueryOf100 => "page of a query, 100 items",
            Self::GetMany100 => "get_many of 100 items",
            Self::LeaseOfItem => "lock an item, update, commit",
            Self::LockByName => "acquire and release a name",
        }
    }

    /// The numbers of write ids that make a difference to the call.
    pub(crate) fn rings(self) -> &'static [Ring] {
        match self {
            Self::Create | Self::LockByName => &[Ring::Short],
            _ => &[Ring::Short, Ring::Full],
        }
    }

    /// The numbers of calls in two runs. The benchmark subtracts one run from the other, which
    /// removes one-time costs.
    pub(crate) fn runs(self) -> [u64; 2] {
        match self {
            Self::TransactionOf25 => [5, 30],
            Self::TransactionOf100 | Self::QueryOf100 | Self::GetMany100 => [3, 13],
            _ => [20, 120],
        }
    }

    /// Makes the call this number of times, on one client.
    pub(crate) fn run(self, side: Side, ring: Ring, runs: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            match self {
                Self::Get => single::get(side, ring, runs).await,
                Self::Create => single::create(side, runs).await,
                Self::UpdateWith => single::update_with(side, ring, runs).await,
                Self::MeteredUpdateWith => single::metered_update_with(side, ring, runs).await,
                Self::Update => single::update(side, ring, runs).await,
                Self::Conflict => single::conflict(side, ring, runs).await,
                Self::TransactionOf2 => transactions::updates(2, side, ring, runs).await,
                Self::TransactionOf25 => transactions::updates(25, side, ring, runs).await,
                Self::TransactionOf100 => transactions::updates(100, side, ring, runs).await,
                Self::Transact => transactions::unit_of_work(side, ring, runs).await,
                Self::QueryOf100 => many::query(side, ring, runs).await,
                Self::GetMany100 => many::get_many(side, ring, runs).await,
                Self::LeaseOfItem => leases::item(side, ring, runs).await,
                Self::LockByName => leases::name(side, runs).await,
            }
        });
    }
}

impl Side {
    const ALL: [Self; 2] = [Self::Hand, Self::Library];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Library => "library",
        }
    }
}

impl Ring {
    const ALL: [Self; 2] = [Self::Short, Self::Full];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
        }
    }
}

/// The arguments of one run: `run <case> <side> <ring> <runs>`. Returns `None` for other arguments,
/// which `cargo bench` gives.
pub(crate) fn of_arguments(arguments: &[String]) -> Option<(Case, Side, Ring, u64)> {
    let [word, case, side, ring, runs] = arguments else { return None };
    let case = Case::ALL.into_iter().find(|known| known.name() == case)?;
    let side = Side::ALL.into_iter().find(|known| known.name() == side)?;
    let ring = Ring::ALL.into_iter().find(|known| known.name() == ring)?;
    (word == "run").then_some((case, side, ring, runs.parse().ok()?))
}
