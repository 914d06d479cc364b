//! The types of the values that a patch can add to a number, insert into a set or delete from a
//! set.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    marker::PhantomData,
};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::{AsOperand, AsPart, HasSize, Opaque};
use crate::{codec::encode_attribute, number};

/// A type of number that a patch can change by `add`: an integer of at most 64 bits, a float, or an
/// `Option` of an integer or a float.
///
/// A type with a smaller range than its primitive type, for example `NonZeroU32`, is not a
/// `Number`. If a patch could add to a `NonZeroU32`, DynamoDB could store the sum 0. Serde cannot
/// read 0 as a `NonZeroU32`.
#[diagnostic::on_unimplemented(
    message = "a patch cannot add to an attribute of type `{Self}`",
    label = "not a number with a known range",
    note = "integers of at most 64 bits, `f32`, `f64`, and an `Option` of one of them are numbers; set another type with `set`"
)]
pub trait Number: sealed::Addition<Self::Delta> {
    /// The number that `add` adds is an `i128` for integers, and an `f64` for floats.
    type Delta;
}

/// The type parameter of the [`Attribute`](super::Attribute) handle for a field of type `C` with
/// `#[serde(with = "serde_dynamo::string_set")]`.
#[derive(Debug)]
pub struct StringSet<C>(PhantomData<fn() -> C>);

/// The type parameter of the [`Attribute`](super::Attribute) handle for a field of type `C` with
/// `#[serde(with = "serde_dynamo::number_set")]`.
#[derive(Debug)]
pub struct NumberSet<C>(PhantomData<fn() -> C>);

/// The type parameter of the [`Attribute`](super::Attribute) handle for a field of type `C` with
/// `#[serde(with = "serde_dynamo::binary_set")]`.
#[derive(Debug)]
pub struct BinarySet<C>(PhantomData<fn() -> C>);

/// A type of attribute that DynamoDB stores as a set. A patch can insert elements into a set, and
/// delete elements from a set.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set",
    label = "serde does not write it as a set",
    note = "add `#[serde(with = \"serde_dynamo::string_set\")]`, `number_set` or `binary_set` to the field; \
            serde writes other collections as lists, which take `append` and `prepend`"
)]
pub trait Set: sealed::SetType {}

/// An element of a set: a value of the element type, or a reference to a value of the element type.
/// A `&str` is an element of a set of strings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of a `{S}`",
    label = "not an element of the set",
    note = "the elements have the type of the elements of the field"
)]
pub trait SetElement<S> {
    /// Returns a value that serde writes with the DynamoDB type of the set's elements: as a string,
    /// a number or bytes.
    fn as_element(&self) -> impl Serialize;
}

#[derive(Debug, Clone)]
pub struct Sum {
    pub(super) delta: AttributeValue,
    /// The least and the greatest stored number to which a patch can add `delta` without leaving
    /// the range of the attribute's type. `range` is `None` if `delta` is too large to be added to
    /// any number of the attribute's type.
    pub(super) range: Option<(AttributeValue, AttributeValue)>,
    /// The number from which `add` starts if the attribute is missing, and the sum of this number
    /// and `delta`. `start` is `None` if this sum is outside the range of the attribute's type.
    pub(super) start: Option<(AttributeValue, AttributeValue)>,
    /// The number that replaces a stored null: zero plus `delta`. `from_null` is `None` if `delta`
    /// is outside the range of the attribute's type.
    pub(super) from_null: Option<AttributeValue>,
}

pub(super) mod sealed {
    use super::{AttributeValue, Sum};

    pub trait Addition<D>: Sized {
        fn zero() -> Self;

        /// `self` is the number from which `add` starts if the attribute is missing.
        fn add(self, delta: D) -> Option<Sum>;
    }

    pub trait SetType {
        fn collect(elements: Vec<AttributeValue>) -> Option<AttributeValue>;
    }
}

fn digits(number: i128) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            type Delta = i128;
        }

        impl sealed::Addition<i128> for $number {
            fn zero() -> Self {
                0
            }

            #[allow(clippy::cast_lossless, reason = "`i128` has no `From<usize>`")]
            fn add(self, delta: i128) -> Option<Sum> {
                let (least, most, start) = (Self::MIN as i128, Self::MAX as i128, self as i128);
                // Both the stored number and the sum must be in the range of the attribute's type.
                let low = least.max(least.saturating_sub(delta));
                let high = most.min(most.saturating_sub(delta));
                let sum = start.checked_add(delta).filter(|sum| (least..=most).contains(sum));
                Some(Sum {
                    delta: digits(delta),
                    range: (low <= high).then(|| (digits(low), digits(high))),
                    start: sum.map(|sum| (digits(start), digits(sum))),
                    from_null: (least..=most).contains(&delta).then(|| digits(delta)),
                })
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// A number with 126 digits before the decimal point, just below the largest number that DynamoDB
/// can store.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
const LARGEST: f64 = 9.99e125;

macro_rules! floats {
    ($($number:ty: $largest:expr),*) => {$(
        impl Number for $number {
            type Delta = f64;
        }

        impl sealed::Addition<f64> for $number {
            fn zero() -> Self {
                0.0
            }

            fn add(self, delta: f64) -> Option<Sum> {
                let float = |number: f64| encode_attribute(&number).ok();
                let (least, most, start) = (-$largest, $largest, f64::from(self));
                let (low, high, sum) = (least.max(least - delta), most.min(most - delta), start + delta);
                Some(Sum {
                    // A NaN or an infinity cannot be encoded, so `add` returns `None`.
                    delta: float(delta)?,
                    range: float(low).zip(float(high)).filter(|_| low <= high),
                    start: float(start).zip(float(sum)).filter(|_| sum >= least && sum <= most),
                    from_null: float(delta).filter(|_| delta >= least && delta <= most),
                })
            }
        }
    )*};
}

floats!(f32: f64::from(f32::MAX), f64: LARGEST);

impl<N: Number> Number for Option<N> {
    type Delta = N::Delta;
}

impl<D, N: sealed::Addition<D>> sealed::Addition<D> for Option<N> {
    fn zero() -> Self {
        Some(N::zero())
    }

    fn add(self, delta: D) -> Option<Sum> {
        self.unwrap_or_else(N::zero).add(delta)
    }
}

impl<C> Set for StringSet<C> {}
impl<C> Set for NumberSet<C> {}
impl<C> Set for BinarySet<C> {}

macro_rules! sets {
    ($($set:ident = $sets:ident of $element:ident($content:ident) => $distinct:expr;)*) => {$(
        impl<C> sealed::SetType for $set<C> {
            fn collect(elements: Vec<AttributeValue>) -> Option<AttributeValue> {
                let content = |element| match element {
                    AttributeValue::$element($content) => Some($distinct),
                    _ => None,
                };
                // DynamoDB refuses a set with equal elements.
                let elements = elements.into_iter().map(content).collect::<Option<BTreeSet<_>>>()?;
                Some(AttributeValue::$sets(elements.into_iter().map(Into::into).collect()))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<C: IntoIterator, E: AsOperand<C::Item>> SetElement<$set<C>> for E {
            fn as_element(&self) -> impl Serialize {
                self.as_operand()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<C: IntoIterator, E: AsOperand<C::Item>> AsPart<$set<C>> for E {
            fn as_part(&self) -> impl Serialize {
                self.as_operand()
            }
        }
    )*};
}

sets! {
    StringSet = Ss of S(text) => text;
    // Different notations of one number, for example `1` and `1.0`, are equal elements of a set.
    NumberSet = Ns of N(digits) => number::canonical(digits);
    BinarySet = Bs of B(bytes) => bytes.into_inner();
}

macro_rules! sizes {
    ($([$($parameter:ident),*] $sized:ty;)*) => {$(
        impl<$($parameter),*> HasSize for $sized {}
    )*};
}

sizes! {
    [] String;
    [] Box<str>;
    [] Cow<'static, str>;
    [] Opaque;
    [C] StringSet<C>;
    [C] NumberSet<C>;
    [C] BinarySet<C>;
    [E] Vec<E>;
    [E] VecDeque<E>;
    [E] Box<[E]>;
    [E] BTreeSet<E>;
    [E, S] HashSet<E, S>;
    [K, V] BTreeMap<K, V>;
    [K, V, S] HashMap<K, V, S>;
}

impl<V: HasSize> HasSize for Option<V> {}
