//! The ranges of sort keys that a query can read.

use std::{
    cmp::Ordering,
    ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive},
};

use crate::{
    codec::key_value,
    expression::AsPrefix,
    key::{AsKey, KeyAttribute, KeyValue},
    number,
};

/// A range of a sort key of type `S`, for [`Query::sort`](super::Query::sort).
///
/// | range | sort keys |
/// |---|---|
/// | `a` | the sort key that is equal to `a` |
/// | `a..`, `a..=b`, `..=b`, `..b` | the same keys as for a Rust range, in the order of DynamoDB: numbers by value, strings by their UTF-8 bytes |
/// | `a..b` | the integers from `a` to `b - 1`, only for an integer sort key |
/// | `..` | all sort keys |
///
/// A bound is a value of the type `S` or a reference to such a value. For a string sort key, a
/// bound may be a `&str`. The trait `SortRange` is implemented for single values, for Rust ranges
/// and for [`Prefix`]. The type parameter `M` distinguishes the implementations of `SortRange`, and
/// the compiler infers `M`, so a caller never names `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no range of a sort key of type `{S}`",
    label = "expected a `{S}`, or a range of it",
    note = "the ranges are a value, `a..`, `a..=b`, `..=b`, `..b` and `..`; `a..b` is for whole numbers, since DynamoDB has no range without its end"
)]
pub trait SortRange<S, M> {
    /// Converts the range into [`SortBounds`], from which the library makes the condition on the
    /// sort key.
    fn into_bounds(self) -> SortBounds;
}

/// The type argument `M` of [`SortRange`] in the implementations for a single value.
#[derive(Debug)]
pub enum Value {}

/// The type argument `M` of [`SortRange`] in the implementations for [`Prefix`] and for Rust
/// ranges, for example `a..=b`.
#[derive(Debug)]
pub enum Bounds {}

/// The range of all sort keys that begin with a prefix, for
/// [`Query::sort_prefix`](super::Query::sort_prefix).
#[derive(Debug)]
pub struct Prefix<P>(pub(super) P);

/// A range of sort keys. The bounds of the range are key values as DynamoDB stores them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SortBounds {
    /// The range contains all sort keys.
    All,
    /// The range contains no sort key, for example because its end is before its start.
    Nothing,
    /// The range contains exactly one sort key.
    Is(KeyValue),
    /// The range contains all sort keys that are equal to or larger than the given value.
    AtLeast(KeyValue),
    /// The range contains all sort keys that are equal to or smaller than the given value.
    AtMost(KeyValue),
    /// The range contains all sort keys that are smaller than the given value.
    Below(KeyValue),
    /// The range contains all sort keys from the first value to the second value, including both
    /// values.
    Between(KeyValue, KeyValue),
    /// The range contains all sort keys (strings or bytes) that begin with the given prefix.
    Prefix(KeyValue),
}

/// An integer type that a sort key can have. A query sends the range `a..b` of integers as
/// `a..=b - 1`, because DynamoDB's BETWEEN includes both bounds.
pub trait WholeNumber: KeyAttribute + Copy + Ord + sealed::Sealed {
    /// Returns the integer minus one, or `None` for the lowest integer of the type.
    fn before(self) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

impl SortBounds {
    /// Returns `true` if a sort key is in the range. Sort keys have the same order as in DynamoDB:
    /// numbers by value, strings and bytes by their bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{query::SortBounds, table::KeyValue};
    ///
    /// let n = |number: u64| KeyValue::N(number.to_string());
    /// assert!(SortBounds::Between(n(9), n(100)).contains(&n(10)));
    /// assert!(!SortBounds::Below(n(10)).contains(&n(10)));
    /// ```
    pub fn contains(&self, key: &KeyValue) -> bool {
        let at_least = |from: &KeyValue| compare(key, from).is_some_and(Ordering::is_ge);
        let at_most = |to: &KeyValue| compare(key, to).is_some_and(Ordering::is_le);
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Is(one) => compare(key, one) == Some(Ordering::Equal),
            Self::AtLeast(from) => at_least(from),
            Self::AtMost(to) => at_most(to),
            Self::Below(end) => compare(key, end) == Some(Ordering::Less),
            Self::Between(from, to) => at_least(from) && at_most(to),
            Self::Prefix(prefix) => match (key, prefix) {
                (KeyValue::S(key), KeyValue::S(prefix)) => key.starts_with(prefix),
                (KeyValue::B(key), KeyValue::B(prefix)) => key.starts_with(prefix),
                _ => false,
            },
        }
    }

    /// Removes bounds that are an empty string or empty bytes, because DynamoDB refuses empty key
    /// values. Each stored key is greater than an empty value, so the returned range contains the
    /// same stored keys as the original range.
    pub(super) fn without_empty(self) -> Self {
        match self {
            Self::AtLeast(from) | Self::Prefix(from) if from.is_empty() => Self::All,
            Self::AtMost(to) | Self::Below(to) | Self::Between(_, to) | Self::Is(to) if to.is_empty() => Self::Nothing,
            Self::Between(from, to) if from.is_empty() => Self::AtMost(to),
            // DynamoDB refuses a BETWEEN whose first bound is greater than the second bound.
            Self::Between(from, to) if compare(&from, &to) == Some(Ordering::Greater) => Self::Nothing,
            bounds => bounds,
        }
    }
}

fn compare(one: &KeyValue, other: &KeyValue) -> Option<Ordering> {
    match (one, other) {
        (KeyValue::S(one), KeyValue::S(other)) => Some(one.cmp(other)),
        (KeyValue::B(one), KeyValue::B(other)) => Some(one.cmp(other)),
        (KeyValue::N(one), KeyValue::N(other)) => number::compare(one, other),
        _ => None,
    }
}

#[diagnostic::do_not_recommend]
impl<S, V: AsKey<S>> SortRange<S, Value> for V {
    fn into_bounds(self) -> SortBounds {
        SortBounds::Is(self.as_key())
    }
}

impl<S, B: AsKey<S>> SortRange<S, Bounds> for RangeFrom<B> {
    fn into_bounds(self) -> SortBounds {
        SortBounds::AtLeast(self.start.as_key())
    }
}

impl<S, B: AsKey<S>> SortRange<S, Bounds> for RangeInclusive<B> {
    fn into_bounds(self) -> SortBounds {
        SortBounds::Between(self.start().as_key(), self.end().as_key())
    }
}

impl<S, B: AsKey<S>> SortRange<S, Bounds> for RangeToInclusive<B> {
    fn into_bounds(self) -> SortBounds {
        SortBounds::AtMost(self.end.as_key())
    }
}

impl<S, B: AsKey<S>> SortRange<S, Bounds> for RangeTo<B> {
    fn into_bounds(self) -> SortBounds {
        SortBounds::Below(self.end.as_key())
    }
}

impl<S> SortRange<S, Bounds> for RangeFull {
    fn into_bounds(self) -> SortBounds {
        SortBounds::All
    }
}

impl<S: WholeNumber> SortRange<S, Bounds> for Range<S> {
    fn into_bounds(self) -> SortBounds {
        match self.end.before() {
            Some(last) if self.start <= last => SortBounds::Between(self.start.to_key_value(), last.to_key_value()),
            // No integer is less than the lowest integer `MIN` of an integer type, so the range
            // `a..MIN` is empty.
            Some(_) | None => SortBounds::Nothing,
        }
    }
}

impl<S, P: AsPrefix<S>> SortRange<S, Bounds> for Prefix<P> {
    fn into_bounds(self) -> SortBounds {
        SortBounds::Prefix(key_value(&self.0.as_prefix()))
    }
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}

        impl WholeNumber for $number {
            fn before(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

#[cfg(test)]
mod tests {
    use super::*;

    fn n(number: i64) -> KeyValue {
        KeyValue::N(number.to_string())
    }

    fn s(text: &str) -> KeyValue {
        KeyValue::S(text.to_owned())
    }

    fn bounds<S, M>(range: impl SortRange<S, M>) -> SortBounds {
        range.into_bounds().without_empty()
    }

    #[test]
    fn each_range_has_its_bounds() {
        for (range, expected) in [
            (bounds::<u64, _>(7), SortBounds::Is(n(7))),
            (bounds::<u64, _>(&7), SortBounds::Is(n(7))),
            (bounds::<u64, _>(7..), SortBounds::AtLeast(n(7))),
            (bounds::<u64, _>(7..=9), SortBounds::Between(n(7), n(9))),
            (bounds::<u64, _>(7..=7), SortBounds::Between(n(7), n(7))),
            (bounds::<u64, _>(..=9), SortBounds::AtMost(n(9))),
            (bounds::<u64, _>(..9), SortBounds::Below(n(9))),
            (bounds::<u64, _>(7..9), SortBounds::Between(n(7), n(8))),
            (bounds::<i8, _>(-128..127), SortBounds::Between(n(-128), n(126))),
            (bounds::<u64, _>(..), SortBounds::All),
            (bounds::<String, _>("a"), SortBounds::Is(s("a"))),
            (bounds::<String, _>("a"..="b"), SortBounds::Between(s("a"), s("b"))),
            (bounds::<String, _>(Prefix("2026-")), SortBounds::Prefix(s("2026-"))),
        ] {
            assert_eq!(range, expected);
        }
    }

    #[test]
    fn a_range_whose_end_is_before_its_start_holds_nothing() {
        #[expect(clippy::reversed_empty_ranges, reason = "that is the case")]
        let ranges = [
            bounds::<u64, _>(9..7),
            bounds::<u64, _>(7..7),
            bounds::<u64, _>(0..0),
            bounds::<i8, _>(-128..-128),
            bounds::<u64, _>(10..=9),
            bounds::<i64, _>(-9..=-10),
            bounds::<String, _>("b"..="a"),
            bounds::<String, _>("b"..="B"),
        ];
        assert!(ranges.iter().all(|range| *range == SortBounds::Nothing), "{ranges:?}");
    }

    #[test]
    fn a_range_contains_the_keys_that_dynamodb_would_return() {
        for (range, key, expected) in [
            (bounds::<u64, _>(..), n(7), true),
            (bounds::<u64, _>(7), n(7), true),
            (bounds::<u64, _>(7), n(70), false),
            (bounds::<u64, _>(9..), n(10), true),
            (bounds::<u64, _>(9..), n(8), false),
            (bounds::<u64, _>(..=9), n(9), true),
            (bounds::<u64, _>(..=9), n(10), false),
            (bounds::<u64, _>(..9), n(9), false),
            (bounds::<u64, _>(2..=10), n(10), true),
            (bounds::<u64, _>(2..=10), n(1), false),
            (bounds::<u64, _>(9..9), n(9), false),
            (bounds::<String, _>("b"..), s("B"), false),
            (bounds::<String, _>(Prefix("2026-")), s("2026-11"), true),
            (bounds::<String, _>(Prefix("2026-")), s("2025-11"), false),
            (bounds::<u64, _>(7..), s("8"), false),
        ] {
            assert_eq!(range.contains(&key), expected, "{range:?} {key}");
        }
    }

    #[test]
    fn an_empty_value_is_below_all_keys() {
        for (range, expected) in [
            (bounds::<String, _>(""..), SortBounds::All),
            (bounds::<String, _>(Prefix("")), SortBounds::All),
            (bounds::<String, _>(""..="b"), SortBounds::AtMost(s("b"))),
            (bounds::<String, _>(..""), SortBounds::Nothing),
            (bounds::<String, _>(..=""), SortBounds::Nothing),
            (bounds::<String, _>(""..=""), SortBounds::Nothing),
            (bounds::<String, _>(""), SortBounds::Nothing),
        ] {
            assert_eq!(range, expected);
        }
    }
}
