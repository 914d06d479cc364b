//! The types of operands with which a condition can compare an attribute.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet, VecDeque},
};

use serde::Serialize;

use crate::key::KeyAttribute;

/// The types of the operands with which a condition can compare an attribute of type `V`. An
/// attribute of type `V` accepts a `V` and a `&V`. An attribute of type `Option<V>` accepts an
/// `Option<V>`, a `V` and a `&V`. A string attribute accepts a `&str`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of an attribute of type `{V}`",
    label = "expected `{V}`",
    note = "an `Option<V>` takes a `V` too, a `String` a `&str`; an `Opaque` attribute, which `#[serde(with)]` writes, takes no value: it only `exists` or is `absent`"
)]
pub trait AsOperand<V> {
    /// Returns the operand as a value that serde writes in the same form as the compared attribute.
    fn as_operand(&self) -> impl Serialize;
}

impl<V: Serialize> AsOperand<V> for V {
    fn as_operand(&self) -> impl Serialize {
        self
    }
}

impl<V: Serialize> AsOperand<V> for &V {
    fn as_operand(&self) -> impl Serialize {
        self
    }
}

impl<V: Serialize> AsOperand<Option<V>> for V {
    fn as_operand(&self) -> impl Serialize {
        self
    }
}

impl<V: Serialize> AsOperand<Option<V>> for &V {
    fn as_operand(&self) -> impl Serialize {
        self
    }
}

/// The types of bounds (operands of `lt`, `le`, `gt`, `ge` and `between`) that a condition accepts
/// for an attribute of type `V`. If `V` is a [`KeyAttribute`], `f32` or `f64`, each type of operand
/// ([`AsOperand`]) is also a type of bound. For an attribute of type `Option<V>`, a condition
/// accepts the same types of bounds as for an attribute of type `V`.
#[diagnostic::on_unimplemented(
    message = "DynamoDB does not order an attribute of type `{V}` and `{Self}`",
    label = "neither less nor greater than `{V}`",
    note = "strings, numbers and bytes are ordered, an `Option` of one as what is in it; for a newtype of one derive `dynalock::KeyAttribute`, or implement `dynalock::condition::AsBound` if it cannot be a key"
)]
pub trait AsBound<V> {
    /// Returns the bound as a value that serde writes in the same form as the compared attribute.
    fn as_bound(&self) -> impl Serialize;
}

#[diagnostic::do_not_recommend]
impl<V: KeyAttribute, O: AsOperand<V>> AsBound<V> for O {
    fn as_bound(&self) -> impl Serialize {
        self.as_operand()
    }
}

#[diagnostic::do_not_recommend]
impl<O: AsOperand<f32>> AsBound<f32> for O {
    fn as_bound(&self) -> impl Serialize {
        self.as_operand()
    }
}

#[diagnostic::do_not_recommend]
impl<O: AsOperand<f64>> AsBound<f64> for O {
    fn as_bound(&self) -> impl Serialize {
        self.as_operand()
    }
}

#[diagnostic::do_not_recommend]
impl<V, O: AsBound<V>> AsBound<Option<V>> for O {
    fn as_bound(&self) -> impl Serialize {
        AsBound::<V>::as_bound(self)
    }
}

/// The types of prefixes that [`begins_with`](super::Path::begins_with) accepts for an attribute of
/// type `V`. For a string attribute, the prefix is a string.
///
/// A program can implement `AsPrefix` for a newtype of a string. For a newtype of bytes, the
/// `Serialize` implementation of the newtype must call `serialize_bytes`.
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::condition::AsPrefix;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Sku(String);
///
/// impl AsPrefix<Sku> for &str {
///     fn as_prefix(&self) -> impl serde::Serialize {
///         self
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "an attribute of type `{V}` cannot begin with `{Self}`",
    label = "not the beginning of `{V}`",
    note = "strings and bytes have a beginning; for a newtype of one of them implement `dynalock::condition::AsPrefix`"
)]
pub trait AsPrefix<V> {
    /// Returns the prefix as a value that serde writes as a string or as bytes.
    fn as_prefix(&self) -> impl Serialize;
}

#[diagnostic::do_not_recommend]
impl<V, P: AsPrefix<V>> AsPrefix<Option<V>> for P {
    fn as_prefix(&self) -> impl Serialize {
        AsPrefix::<V>::as_prefix(self)
    }
}

/// The types of the values that [`contains`](super::Path::contains) accepts for an attribute of
/// type `V`. For a string attribute, `contains` accepts a string. For a list or a set, `contains`
/// accepts an element.
///
/// A program can implement `AsPart` for a newtype, as in the example of [`AsPrefix`].
#[diagnostic::on_unimplemented(
    message = "an attribute of type `{V}` cannot contain `{Self}`",
    label = "not a part of `{V}`",
    note = "a string contains strings, a list or a set its elements; for a newtype of one of them implement `dynalock::condition::AsPart`"
)]
pub trait AsPart<V> {
    /// Returns the argument of `contains` in the stored form. For a string attribute, the argument
    /// is a string. For a list or a set, the argument has the form of the stored elements.
    fn as_part(&self) -> impl Serialize;
}

#[diagnostic::do_not_recommend]
impl<V, P: AsPart<V>> AsPart<Option<V>> for P {
    fn as_part(&self) -> impl Serialize {
        AsPart::<V>::as_part(self)
    }
}

macro_rules! strings {
    ($($string:ty),*) => {$(
        impl AsOperand<$string> for &str {
            fn as_operand(&self) -> impl Serialize {
                self
            }
        }

        impl AsOperand<Option<$string>> for &str {
            fn as_operand(&self) -> impl Serialize {
                self
            }
        }

        #[diagnostic::do_not_recommend]
        impl<P: AsRef<str>> AsPrefix<$string> for P {
            fn as_prefix(&self) -> impl Serialize {
                self.as_ref()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<P: AsRef<str>> AsPart<$string> for P {
            fn as_part(&self) -> impl Serialize {
                self.as_ref()
            }
        }
    )*};
}

strings!(String, Box<str>, Cow<'static, str>);

macro_rules! collections {
    ($($collection:ty $(, $parameter:ident)?;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<E, P: AsOperand<E> $(, $parameter)?> AsPart<$collection> for P {
            fn as_part(&self) -> impl Serialize {
                self.as_operand()
            }
        }
    )*};
}

collections! {
    Vec<E>;
    VecDeque<E>;
    Box<[E]>;
    BTreeSet<E>;
    HashSet<E, S>, S;
}
