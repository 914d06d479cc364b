use std::{fmt, marker::PhantomData};

use super::{
    operand::{AsBound, AsOperand, AsPart, AsPrefix},
    user::{Condition, Test},
};
use crate::{
    codec::encode_attribute,
    error::{SerdeError, SerdeResult},
};

/// How many operands an `IN` takes.
const MOST_OPERANDS: usize = 100;

/// A handle of one top-level attribute, of type `V`, of the items of `T`. `#[derive(Versioned)]` makes one of each field:
/// `Product::ATTR.stock`.
///
/// It makes [`Condition`]s. What it is compared with is a `V` or a `&V`; for an `Option<V>` a `V` as well, and a `&str` for a
/// string ([`AsOperand`]).
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{Attribute, private::attribute};
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
/// use dynalock::Condition;
///
/// let a = Product::ATTR;
/// let sellable: Condition<Product> = a.stock.ge(3).and(a.note.eq(None).or(!a.tags.contains("reserved")));
/// ```
///
/// # What a condition sees
///
/// The stored attribute, under the name that serde writes. One that `skip_serializing_if` left out, or that another program wrote under
/// an alias, is [`absent`](Self::absent), whatever serde would read; an item that is not there has no attributes. A comparison with an attribute that is absent, or of another type, is false, and [`ne`](Self::ne)
/// is true.
pub struct Attribute<T, V> {
    name: &'static str,
    of: PhantomData<fn(T) -> V>,
}

/// The type of an attribute that other code than its type's own writes: `#[serde(with)]`, `#[serde(serialize_with)]`.
///
/// There is no value of it, and nothing to compare it with: such an attribute [exists](Attribute::exists) or is
/// [absent](Attribute::absent).
#[derive(Debug, Clone, Copy)]
pub enum Opaque {}

#[expect(clippy::needless_pass_by_value, reason = "`ge(3)` reads better than `ge(&3)`")]
impl<T, V> Attribute<T, V> {
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, of: PhantomData }
    }

    /// The attribute's name, as serde writes it.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// It is there, and be it a null.
    pub fn exists(self) -> Condition<T> {
        Condition::new(Test::Exists(self.name))
    }

    /// It is not there. A null is there, for `exists` and `absent`; [`eq`](Self::eq)`(None)` makes no difference.
    pub fn absent(self) -> Condition<T> {
        Condition::new(Test::Absent(self.name))
    }

    /// It is `operand`.
    ///
    /// Serde writes a `None` as a null, or leaves it out, and reads both as `None`: `eq(None)` holds for both.
    pub fn eq(self, operand: impl AsOperand<V>) -> Condition<T> {
        self.test(|name| Ok(Test::equal(name, encode_attribute(&operand.as_operand())?)))
    }

    /// It is something else than `operand`: where [`eq`](Self::eq) holds, this does not, and the other way round. So it holds for
    /// an attribute that is absent, unless `operand` is `None`.
    pub fn ne(self, operand: impl AsOperand<V>) -> Condition<T> {
        self.test(|name| Ok(Test::not_equal(name, encode_attribute(&operand.as_operand())?)))
    }

    /// It is one of `operands`, of which DynamoDB takes 1 to 100. With any other number of them, the write that carries the
    /// condition is an [`Error::Encode`](crate::Error::Encode).
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

    /// The string begins with `prefix`, or the bytes do.
    pub fn begins_with(self, prefix: impl AsPrefix<V>) -> Condition<T> {
        self.test(|name| Ok(Test::Function("begins_with", name, encode_attribute(&prefix.as_prefix())?)))
    }

    /// `part` is in it: a part of a string, an element of a list or a set.
    pub fn contains(self, part: impl AsPart<V>) -> Condition<T> {
        self.test(|name| Ok(Test::Function("contains", name, encode_attribute(&part.as_part())?)))
    }

    fn test(self, test: impl FnOnce(&'static str) -> SerdeResult<Test>) -> Condition<T> {
        Condition::new(test(self.name).unwrap_or_else(|fault| Test::Fault(self.name, fault)))
    }
}

/// Of what DynamoDB orders: numbers by their value, strings by their UTF-8 bytes, bytes as unsigned ones. An attribute that is absent
/// or null is neither below nor above anything.
#[expect(clippy::needless_pass_by_value, reason = "`ge(3)` reads better than `ge(&3)`")]
impl<T, V> Attribute<T, V> {
    /// It is less than `bound`.
    pub fn lt(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare("<", bound)
    }

    /// It is at most `bound`.
    pub fn le(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare("<=", bound)
    }

    /// It is greater than `bound`.
    pub fn gt(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare(">", bound)
    }

    /// It is at least `bound`.
    pub fn ge(self, bound: impl AsBound<V>) -> Condition<T> {
        self.compare(">=", bound)
    }

    /// It is at least `low` and at most `high`. DynamoDB refuses the write if `low` is greater than `high`.
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
