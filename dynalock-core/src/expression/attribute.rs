use std::{fmt, marker::PhantomData};

use super::{
    operand::{AsBound, AsOperand, AsPart, AsPrefix},
    user::{Condition, Test},
};
use crate::{
    codec::encode_attribute,
    error::{SerdeError, SerdeResult},
};

/// The maximum number of operands of an `IN`.
const MOST_OPERANDS: usize = 100;

/// The handle of one top-level attribute, of type `V`, of the items of `T`. `#[derive(Versioned)]`
/// makes a handle for each field, for example `Product::ATTR.stock`.
///
/// The methods of a handle make [`Condition`]s. The operand of a comparison is a `V` or a `&V`. A
/// `V` can also be compared with an `Option<V>`, and a `&str` can be compared with a string
/// ([`AsOperand`]).
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{condition::Attribute, private::attribute};
/// # struct Product;
/// # struct ProductAttributes {
/// #     stock: Attribute<Product, i64>,
/// #     note: Attribute<Product, Option<String>>,
/// #     tags: Attribute<Product, Vec<String>>,
/// # }
/// # impl Product {
/// #     const ATTR: ProductAttributes =
/// #         ProductAttributes { stock: attribute("stock"), note: attribute("note"), tags: attribute("tags") };
/// # }
/// use dynalock::condition::Condition;
///
/// let a = Product::ATTR;
/// let sellable: Condition<Product> = a.stock.ge(3).and(a.note.eq(None).or(!a.tags.contains("reserved")));
/// ```
///
/// # What a condition sees
///
/// A condition tests the stored attribute, under the name that serde writes.
///
/// | stored | effect |
/// |---|---|
/// | no item | all attributes are absent |
/// | an attribute that `skip_serializing_if` left out, or that another program stored under an alias | the attribute is [`absent`](Self::absent), whatever serde would read |
/// | an absent attribute, or an attribute of another type | each comparison is false, except [`ne`](Self::ne), which is true |
pub struct Attribute<T, V> {
    name: &'static str,
    of: PhantomData<fn(T) -> V>,
}

/// The type of an attribute that is written by `#[serde(with)]` or `#[serde(serialize_with)]`.
///
/// `Opaque` has no values, so an attribute of this type cannot be compared. The only conditions on
/// an opaque attribute are [`exists`](Attribute::exists) and [`absent`](Attribute::absent).
#[derive(Debug, Clone, Copy)]
pub enum Opaque {}

#[expect(clippy::needless_pass_by_value, reason = "`ge(3)` reads better than `ge(&3)`")]
impl<T, V> Attribute<T, V> {
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, of: PhantomData }
    }

    /// Returns the name of the attribute, as serde writes it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns a condition that is true if the attribute exists. A null exists, too.
    pub fn exists(self) -> Condition<T> {
        Condition::new(Test::Exists(self.name))
    }

    /// Returns a condition that is true if the attribute does not exist. A null exists, so the
    /// condition is false for a null. For an `Option`, the condition [`eq`](Self::eq)`(None)` is
    /// true for a null and for a missing attribute.
    pub fn absent(self) -> Condition<T> {
        Condition::new(Test::Absent(self.name))
    }

    /// Returns a condition that is true if the attribute equals `operand`.
    ///
    /// Serde writes `None` as a null or leaves it out, and reads both as `None`. The condition
    /// `eq(None)` is true for a null and for a missing attribute.
    pub fn eq(self, operand: impl AsOperand<V>) -> Condition<T> {
        self.test(|name| Ok(Test::equal(name, encode_attribute(&operand.as_operand())?)))
    }

    /// Returns a condition that is true if the attribute differs from `operand`. This condition is
    /// the opposite of [`eq`](Self::eq). An absent attribute differs from each operand except
    /// `None`.
    pub fn ne(self, operand: impl AsOperand<V>) -> Condition<T> {
        self.test(|name| Ok(Test::not_equal(name, encode_attribute(&operand.as_operand())?)))
    }

    /// Returns a condition that is true if the attribute equals one of `operands`. DynamoDB accepts
    /// 1 to 100 operands. With any other number of operands, the write with the condition fails
    /// with [`Error::Encode`](crate::Error::Encode).
    pub fn is_in<O: AsOperand<V>>(self, operands: impl IntoIterator<Item = O>) -> Condition<T> {
        self.test(|name| {
            let operands = operands.into_iter().map(|operand| encode_attribute(&operand.as_operand()));
            let operands: Vec<_> = operands.collect::<SerdeResult<_>>()?;
            match operands.len() {
                1..=MOST_OPERANDS => Ok(Test::one_of(name, operands)),
                _ => Err(SerdeError::not_storable("`is_in` takes 1 to 100 operands")),
            }
        })
    }

    /// Returns a condition that is true if the string or the bytes begin with `prefix`.
    pub fn begins_with(self, prefix: impl AsPrefix<V>) -> Condition<T> {
        self.test(|name| Ok(Test::Function("begins_with", name, encode_attribute(&prefix.as_prefix())?)))
    }

    /// Returns a condition that is true if the attribute contains `part`. `part` is a part of a
    /// string, or an element of a list or a set.
    pub fn contains(self, part: impl AsPart<V>) -> Condition<T> {
        self.test(|name| Ok(Test::Function("contains", name, encode_attribute(&part.as_part())?)))
    }

    fn test(self, test: impl FnOnce(&'static str) -> SerdeResult<Test>) -> Condition<T> {
        Condition::new(test(self.name).unwrap_or_else(|fault| Test::Fault(self.name, fault)))
    }
}

/// Comparisons by order. DynamoDB orders numbers by their value, strings by their UTF-8 bytes, and
/// bytes as unsigned numbers. An absent attribute and a null are neither below nor above any value.
#[expect(clippy::needless_pass_by_value, reason = "`ge(3)` reads better than `ge(&3)`")]
impl<T, V> Attribute<T, V> {
    /// Returns a condition that is true if the attribute is less than `bound`.
    pub fn lt(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare("<", bound)
    }

    /// Returns a condition that is true if the attribute is at most `bound`.
    pub fn le(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare("<=", bound)
    }

    /// Returns a condition that is true if the attribute is greater than `bound`.
    pub fn gt(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare(">", bound)
    }

    /// Returns a condition that is true if the attribute is at least `bound`.
    pub fn ge(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare(">=", bound)
    }

    /// Returns a condition that is true if the attribute is at least `low` and at most `high`.
    /// DynamoDB refuses the write if `low` is greater than `high`.
    pub fn between(self, low: impl AsBound<V>, high: impl AsBound<V>) -> Condition<T> {
        self.test(|name| {
            let low = encode_attribute(&low.as_bound())?;
            Ok(Test::Between(name, low, encode_attribute(&high.as_bound())?))
        })
    }

    fn compare(self, operator: &'static str, bound: impl AsBound<V>) -> Condition<T> {
        self.test(|name| Ok(Test::Compare(name, operator, encode_attribute(&bound.as_bound())?)))
    }
}

impl<T, V> Clone for Attribute<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for Attribute<T, V> {}

impl<T, V> fmt::Debug for Attribute<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attribute").field(&self.name).finish()
    }
}
