//! The capacity units that calls consume, counted separately for each cause.
//!
//! A [`metered`](crate::Repository::metered) repository or `Locks` asks DynamoDB for the consumed
//! capacity of each request. For a failed call, [`Error::cost`](crate::Error::cost) returns the
//! cost of the call. The [`Meter`] of the repository contains the costs of all calls.
//!
//! # Causes
//!
//! The library assigns the cost of each request to one cause. If several rows of the table of
//! causes match a request, the first matching row names the cause of the request.
//!
//! | request | cause |
//! |---|---|
//! | a heartbeat of a lease or of a lock | heartbeats |
//! | after a request without an answer: each repetition of the request and each read of the call, until DynamoDB answers | retries |
//! | a read of a lock's row or of a lease's row, by a waiter or by the release of a fair lock | polls |
//! | a refused attempt to acquire a lock or lease; the removal of queue entries that a failed attempt may have left, and of an empty queue | polls |
//! | a write that DynamoDB refused because of a condition or a running transaction; after the refusal, the reads of the call until DynamoDB applies a write of the call | conflicts |
//! | a request that matches no other row of the table of causes | useful |
//!
//! If a request receives no answer, the library sends the request again. The cost of the first
//! attempt has the cause "useful". The cost of each later attempt has the cause "retries". A
//! throttled request consumes no capacity, so the cost of the repeated
//! request counts as useful.
//!
//! The cause "conflicts" contains the cost of each refused write, for example a write whose `.when`
//! condition was false. The metric `dynalock_conflicts_total` counts only the conflicts between
//! different writers.
//!
//! # Estimates
//!
//! DynamoDB reports the consumed capacity only of a successful request. For a failed or dropped
//! request, the library estimates the consumed capacity by the following rules:
//!
//! | request | estimate |
//! |---|---|
//! | a write whose condition was false | the units of the larger of two items: the item that the refusal returned, and the item in the request; at least 1 write unit |
//! | a cancelled transaction | for each action of the transaction, twice the estimate of a write whose condition was false |
//! | a write or transaction that DynamoDB refused because of a running transaction on the same item | the same units as for a write whose condition was false |
//! | a request without an answer, or a request whose future the caller dropped | the units of the item in the request, or of the item that the call has last read; at least the smallest cost of the request. A request without an answer may never have reached DynamoDB |
//! | a throttled request, a request with invalid content, a request that was never sent | no units |
//!
//! If a call has a [budget](crate::Repository::budget), the library estimates the units of each
//! request before the library sends the request:
//!
//! | request | estimate before the request |
//! |---|---|
//! | a request for one item | the units of the item in the request, or of the item that the call has last read; at least the smallest cost of the request |
//! | a batch or a transaction | the sum of the units of all items in the request |
//! | a page of a query or a scan | the units of the previous page of the call; for the first page, the smallest cost of a page |
//!
//! A request may consume more capacity than the library has estimated. A call can exceed the budget
//! by the cost of one request, for example by 256 units for the first page of a scan. A parallel
//! scan can exceed the budget by the cost of one page for each segment.
//!
//! The budget does not apply to reads that the call sends after an applied write, or after a write
//! without an answer. Such a read has one of two purposes: it finds out whether DynamoDB has
//! applied the write, or it returns the written item.
//!
//! The estimates do not include the costs of the indexes of the table. A write that changes entries
//! of an index consumes additional write units for each changed index entry. A refused write
//! changes no index entry.

mod meter;

pub(crate) use meter::Charge;
pub use meter::{CostReport, KeyCost, Meter};

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign},
};

/// A number of capacity units, exact to half a unit.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::cost::Units;
///
/// let units = Units::whole(2) + Units::HALF;
/// assert_eq!(units.to_string(), "2.5");
/// assert_eq!(units.as_f64(), 2.5);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Units {
    halves: u64,
}

impl Units {
    /// No units.
    pub const ZERO: Self = Self { halves: 0 };

    /// Half a unit: the cost of an eventually consistent read of up to 4 KB.
    pub const HALF: Self = Self { halves: 1 };

    /// Converts a whole number into `Units`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::cost::Units;
    ///
    /// assert_eq!(Units::whole(3).to_string(), "3");
    /// ```
    pub const fn whole(units: u64) -> Self {
        Self { halves: units.saturating_mul(2) }
    }

    /// DynamoDB reports each capacity as a multiple of half a unit.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
    pub(crate) fn reported(units: f64) -> Self {
        Self { halves: (units * 2.0).round() as u64 }
    }

    /// Returns the units as a floating-point number.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::cost::Units;
    ///
    /// assert_eq!(Units::HALF.as_f64(), 0.5);
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "no program consumes 2^53 units")]
    pub fn as_f64(self) -> f64 {
        self.halves as f64 / 2.0
    }

    /// Returns `true` if the number of units is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::cost::Units;
    ///
    /// assert!(Units::ZERO.is_zero());
    /// ```
    pub const fn is_zero(self) -> bool {
        self.halves == 0
    }

    pub(crate) const fn times(self, factor: u64) -> Self {
        Self { halves: self.halves.saturating_mul(factor) }
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self { halves: self.halves.saturating_sub(other.halves) }
    }

    /// Divides the units into `parts` shares, and returns the share with the given index. The sum
    /// of all shares is exactly the number of units.
    pub(crate) fn part(self, index: usize, parts: usize) -> Self {
        let (index, parts) = (index as u64, parts.max(1) as u64);
        Self { halves: self.halves / parts + u64::from(index < self.halves % parts) }
    }
}

impl Add for Units {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { halves: self.halves.saturating_add(other.halves) }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Units {
    fn sum<I: Iterator<Item = Self>>(units: I) -> Self {
        units.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.halves % 2 == 1 { ".5" } else { "" };
        write!(f, "{}{half}", self.halves / 2)
    }
}

/// A number of read units and a number of write units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Capacity {
    /// The number of read units.
    pub read: Units,
    /// The number of write units.
    pub write: Units,
}

impl Capacity {
    pub(crate) const fn read(units: Units) -> Self {
        Self { read: units, write: Units::ZERO }
    }

    pub(crate) const fn write(units: Units) -> Self {
        Self { read: Units::ZERO, write: units }
    }

    /// Returns the sum of the read units and the write units.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::cost::{Capacity, Units};
    ///
    /// let capacity = Capacity { read: Units::HALF, write: Units::whole(2) };
    /// assert_eq!(capacity.total().to_string(), "2.5");
    /// ```
    pub fn total(self) -> Units {
        self.read + self.write
    }
}

impl Add for Capacity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { read: self.read + other.read, write: self.write + other.write }
    }
}

impl AddAssign for Capacity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Capacity {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} read and {} write units", self.read, self.write)
    }
}

/// The capacity that a call or a repository has consumed, separately for each [cause](self#causes).
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::cost::Cost;
///
/// let cost = Cost::default();
/// assert_eq!(cost.to_string(), "0 read and 0 write units");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Cost {
    /// The capacity of the requests that the call would also send if no conflict happened and no
    /// reply were lost.
    pub useful: Capacity,
    /// The capacity of refused writes, and of the reads after refused writes.
    pub conflicts: Capacity,
    /// The capacity of repeated requests after a lost reply.
    pub retries: Capacity,
    /// The capacity of the requests that callers send while they wait for a lock.
    pub polls: Capacity,
    /// The capacity of the heartbeats of leases and locks.
    pub heartbeats: Capacity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Useful,
    Conflicts,
    Retries,
    Polls,
    Heartbeats,
}

impl Cost {
    /// Returns the consumed capacity of all [causes](self#causes) together.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(error: &dynalock_core::Error) {
    /// if let Some(cost) = error.cost() {
    ///     println!("{} write units in total", cost.total().write);
    /// }
    /// # }
    /// ```
    pub fn total(&self) -> Capacity {
        self.by_cause().into_iter().map(|(_, capacity)| capacity).sum()
    }

    /// Returns the consumed capacity for each cause, with the name of the cause, for example
    /// `retries`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::cost::Cost;
    ///
    /// let names = Cost::default().by_cause().map(|(name, _)| name);
    /// assert_eq!(names, ["useful", "conflicts", "retries", "polls", "heartbeats"]);
    /// ```
    pub fn by_cause(&self) -> [(&'static str, Capacity); 5] {
        let Self { useful, conflicts, retries, polls, heartbeats } = *self;
        [
            ("useful", useful),
            ("conflicts", conflicts),
            ("retries", retries),
            ("polls", polls),
            ("heartbeats", heartbeats),
        ]
    }

    pub(crate) fn charge(&mut self, cause: Cause, capacity: Capacity) {
        *match cause {
            Cause::Useful => &mut self.useful,
            Cause::Conflicts => &mut self.conflicts,
            Cause::Retries => &mut self.retries,
            Cause::Polls => &mut self.polls,
            Cause::Heartbeats => &mut self.heartbeats,
        } += capacity;
    }

    /// Returns the capacity in read units, where a write unit counts as five read units.
    fn price(&self) -> Units {
        let Capacity { read, write } = self.total();
        read + write.times(5)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.useful += other.useful;
        self.conflicts += other.conflicts;
        self.retries += other.retries;
        self.polls += other.polls;
        self.heartbeats += other.heartbeats;
    }
}

/// The `Display` text of a `Cost` begins with the total capacity of all [causes](self#causes).
/// After the total, the text lists the causes with consumed capacity, except `useful`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.total())?;
        let mut before = ", of which ";
        for (name, capacity) in self.by_cause().into_iter().skip(1) {
            if !capacity.total().is_zero() {
                write!(f, "{before}{} for {name}", capacity.total())?;
                before = ", ";
            }
        }
        Ok(())
    }
}

/// Returns the write units of a write of `bytes` bytes outside a transaction.
pub(crate) fn write_units(bytes: usize) -> Units {
    Units::whole(write_blocks(bytes))
}

/// Returns the read units of a strongly consistent read of `bytes` bytes outside a transaction.
pub(crate) fn read_units(bytes: usize) -> Units {
    Units::whole(read_blocks(bytes))
}

/// A missing item has the size 0, and counts as one kilobyte.
pub(crate) fn write_blocks(bytes: usize) -> u64 {
    bytes.div_ceil(1024).max(1) as u64
}

/// A missing item has the size 0, and counts as one block of 4 KB.
pub(crate) fn read_blocks(bytes: usize) -> u64 {
    bytes.div_ceil(4096).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_to_units() {
        let writes = [0, 1, 1024, 1025, 409_600].map(|bytes| write_units(bytes).to_string());
        let reads = [0, 1, 4096, 4097, 409_600].map(|bytes| read_units(bytes).to_string());
        assert_eq!(writes, ["1", "1", "1", "2", "400"]);
        assert_eq!(reads, ["1", "1", "1", "2", "100"]);
    }

    #[test]
    fn units_are_exact_to_one_half() {
        assert_eq!([0.0, 0.5, 1.0, 128.5].map(|units| Units::reported(units).to_string()), ["0", "0.5", "1", "128.5"]);
        let parts = (0..3).map(|index| Units::reported(2.5).part(index, 3)).collect::<Vec<_>>();
        assert_eq!(parts, [Units::whole(1), Units::whole(1), Units::HALF]);
        assert_eq!(parts.into_iter().sum::<Units>(), Units::reported(2.5));
    }

    #[test]
    fn a_cost_shows_what_was_not_useful() {
        let mut cost = Cost::default();
        cost.charge(Cause::Useful, Capacity::read(Units::HALF));
        cost.charge(Cause::Useful, Capacity::write(Units::whole(1)));
        assert_eq!(cost.to_string(), "0.5 read and 1 write units");
        cost.charge(Cause::Conflicts, Capacity::write(Units::whole(2)));
        cost.charge(Cause::Polls, Capacity::read(Units::HALF));
        assert_eq!(cost.to_string(), "1 read and 3 write units, of which 2 for conflicts, 0.5 for polls");
    }
}
