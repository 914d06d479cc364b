//! The methods that make conditions from attributes and paths.

use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    Attribute, DocumentPath, Path, Place,
    operand::{AsBound, AsOperand, AsPart, AsPrefix},
    user::{Condition, Operand, Test},
};
use crate::{
    codec::encode_attribute,
    error::{SerdeError, SerdeResult},
};

const MOST_OPERANDS: usize = 100;

/// A type of attributes for which DynamoDB defines a size: strings, bytes, lists, maps and sets.
#[diagnostic::on_unimplemented(
    message = "DynamoDB does not define the size of an attribute of type `{Self}`",
    label = "no size",
    note = "strings, bytes, lists, maps and sets have a size"
)]
pub trait HasSize {}

/// The DynamoDB type of a stored attribute.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeType {
    /// The type of strings.
    S,
    /// The type of numbers.
    N,
    /// The type of bytes.
    B,
    /// The type of booleans.
    Bool,
    /// The type of the null value.
    Null,
    /// The type of lists.
    L,
    /// The type of maps.
    M,
    /// The type of sets of strings.
    Ss,
    /// The type of sets of numbers.
    Ns,
    /// The type of sets whose elements are bytes.
    Bs,
}

/// The size of an attribute, for comparisons. The size of a string is the number of its UTF-16 code
/// units, and the size of a binary value is the number of bytes. The size of a list, a map or a set
/// is the number of elements.
#[must_use = "a size does nothing until it is compared"]
pub struct Size<P>(P);

debug_fields!([P: fmt::Debug] Size<P>, self => (self.0));

impl AttributeType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::L => "L",
            Self::M => "M",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
        }
    }
}

macro_rules! conditions_of {
    ($place:ident) => {
        impl<T, V, R> $place<T, V, R> {
            /// Returns a condition that is true if the item has the attribute. The condition
            /// `exists` is true for a stored null.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let noted: Condition<Article> = Article::ATTR.note.exists();
            /// ```
            pub fn exists(self) -> Condition<T> {
                Condition::new(Test::Exists(self.into_path().document))
            }

            /// Returns a condition that is true if the item does not have the attribute. The
            /// condition `absent` is false for a stored null. For an `Option`, the condition
            /// [`eq`](Self::eq)`(None)` is true for a missing attribute and for a null.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let never_noted: Condition<Article> = Article::ATTR.note.absent();
            /// ```
            pub fn absent(self) -> Condition<T> {
                Condition::new(Test::Absent(self.into_path().document))
            }

            /// Returns a condition that is true if the attribute equals `operand`.
            ///
            /// Serde writes `None` as a null, or leaves out the attribute if the field has
            /// `#[serde(skip_serializing_if)]`. Serde reads both a null and a missing attribute as
            /// `None`. The condition `eq(None)` is true for a null and for a missing attribute.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let a = Article::ATTR;
            /// let sold_out: Condition<Article> = a.stock.eq(0);
            /// let without_note: Condition<Article> = a.note.eq(None);
            /// ```
            pub fn eq(self, operand: impl AsOperand<V>) -> Condition<T> {
                test(self, |path| Ok(Test::equal(path, encode_attribute(&operand.as_operand())?)))
            }

            /// Returns a condition that is true if the attribute differs from `operand`: the
            /// opposite of [`eq`](Self::eq). The condition `ne` is true for a missing attribute,
            /// unless the operand is `None`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let available: Condition<Article> = Article::ATTR.stock.ne(0);
            /// ```
            pub fn ne(self, operand: impl AsOperand<V>) -> Condition<T> {
                test(self, |path| Ok(Test::not_equal(path, encode_attribute(&operand.as_operand())?)))
            }

            /// Returns a condition that is true if the attribute equals one of `operands`. The
            /// operator `IN` of DynamoDB accepts 1 to 100 operands. If a condition `is_in` has no
            /// operand, or more than 100 operands, the call with the condition fails with
            /// [`Error::Encode`](crate::Error::Encode).
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let ours: Condition<Article> = Article::ATTR.sku.is_in(["85123A", "71053"]);
            /// ```
            pub fn is_in<O: AsOperand<V>>(self, operands: impl IntoIterator<Item = O>) -> Condition<T> {
                test(self, |path| {
                    let operands = operands.into_iter().map(|operand| encode_attribute(&operand.as_operand()));
                    let operands: Vec<_> = operands.collect::<SerdeResult<_>>()?;
                    match operands.len() {
                        1..=MOST_OPERANDS => Ok(Test::one_of(path, operands)),
                        _ => Err(SerdeError::not_storable("`is_in` takes 1 to 100 operands")),
                    }
                })
            }

            /// Returns a condition that is true if the string or the bytes begin with `prefix`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let numbered: Condition<Article> = Article::ATTR.sku.begins_with("85");
            /// ```
            pub fn begins_with(self, prefix: impl AsPrefix<V>) -> Condition<T> {
                test(self, |path| Ok(Test::Function("begins_with", path, encode_attribute(&prefix.as_prefix())?)))
            }

            /// Returns a condition that is true if the attribute contains `part`. If the attribute
            /// is a string, `part` is a substring. If the attribute is a list or a set, `part` is
            /// an element.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let a = Article::ATTR;
            /// let fragile: Condition<Article> = a.note.contains("fragile");
            /// let reduced: Condition<Article> = a.tags.contains("sale");
            /// ```
            pub fn contains(self, part: impl AsPart<V>) -> Condition<T> {
                test(self, |path| Ok(Test::Function("contains", path, encode_attribute(&part.as_part())?)))
            }

            /// Returns the size of the attribute, for a comparison. A missing attribute, a number,
            /// a boolean and a null have no size. If the attribute has no size, the condition
            /// `size().ne(..)` is true, and all other comparisons of the size are false.
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # use dynalock::{condition::{Attribute, Condition}, private::attribute};
            /// # struct Product;
            /// const TAGS: Attribute<Product, Vec<String>> = attribute("tags");
            /// let few: Condition<Product> = TAGS.size().lt(10);
            /// ```
            pub fn size(self) -> Size<Self>
            where
                V: HasSize,
            {
                Size(self)
            }

            /// Returns a condition that is true if the stored attribute has the type `expected`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::{AttributeType, Condition};
            ///
            /// let is_text: Condition<Article> = Article::ATTR.note.is_type(AttributeType::S);
            /// ```
            pub fn is_type(self, expected: AttributeType) -> Condition<T> {
                let operand = AttributeValue::S(expected.name().to_owned());
                Condition::new(Test::Function("attribute_type", self.into_path().document, operand))
            }
        }

        /// DynamoDB orders numbers by value, strings by UTF-8 bytes, and binary values by unsigned
        /// bytes. For a missing attribute and for a null, `lt`, `le`, `gt`, `ge` and `between` are
        /// false.
        impl<T, V, R> $place<T, V, R> {
            /// Returns a condition that is true if the attribute is less than `bound`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let few: Condition<Article> = Article::ATTR.stock.lt(3);
            /// ```
            pub fn lt(self, bound: impl AsBound<V>) -> Condition<T> {
                compare(self, "<", &bound)
            }

            /// Returns a condition that is true if the attribute is at most `bound`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let few: Condition<Article> = Article::ATTR.stock.le(3);
            /// ```
            pub fn le(self, bound: impl AsBound<V>) -> Condition<T> {
                compare(self, "<=", &bound)
            }

            /// Returns a condition that is true if the attribute is greater than `bound`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let many: Condition<Article> = Article::ATTR.stock.gt(100);
            /// ```
            pub fn gt(self, bound: impl AsBound<V>) -> Condition<T> {
                compare(self, ">", &bound)
            }

            /// Returns a condition that is true if the attribute is at least `bound`.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// // A patch with this condition can subtract 3 from the stock.
            /// let enough: Condition<Article> = Article::ATTR.stock.ge(3);
            /// ```
            pub fn ge(self, bound: impl AsBound<V>) -> Condition<T> {
                compare(self, ">=", &bound)
            }

            /// Returns a condition that is true if the attribute is at least `low` and at most
            /// `high`. If `low` is greater than `high`, DynamoDB refuses the request.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
            /// # use shop::Article;
            /// use dynalock::condition::Condition;
            ///
            /// let some: Condition<Article> = Article::ATTR.stock.between(1, 10);
            /// ```
            pub fn between(self, low: impl AsBound<V>, high: impl AsBound<V>) -> Condition<T> {
                test(self, |path| {
                    let low = encode_attribute(&low.as_bound())?;
                    Ok(Test::Between(Operand::Value(path), low, encode_attribute(&high.as_bound())?))
                })
            }
        }
    };
}

conditions_of!(Attribute);
conditions_of!(Path);

/// Conditions that compare the size of an attribute. A size is a number of UTF-16 code units, bytes
/// or elements.
impl<P: Place> Size<P> {
    /// Returns a condition that is true if the size of the attribute equals `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let untagged: Condition<Article> = Article::ATTR.tags.size().eq(0);
    /// ```
    pub fn eq(self, size: u64) -> Condition<P::Item> {
        self.compare("=", size)
    }

    /// Returns a condition that is true if the size of the attribute differs from `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let tagged: Condition<Article> = Article::ATTR.tags.size().ne(0);
    /// ```
    pub fn ne(self, size: u64) -> Condition<P::Item> {
        self.compare("<>", size)
    }

    /// Returns a condition that is true if the size of the attribute is less than `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// // The list has room for another tag.
    /// let has_room: Condition<Article> = Article::ATTR.tags.size().lt(10);
    /// ```
    pub fn lt(self, size: u64) -> Condition<P::Item> {
        self.compare("<", size)
    }

    /// Returns a condition that is true if the size of the attribute is at most `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let short: Condition<Article> = Article::ATTR.sku.size().le(8);
    /// ```
    pub fn le(self, size: u64) -> Condition<P::Item> {
        self.compare("<=", size)
    }

    /// Returns a condition that is true if the size of the attribute is greater than `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let long: Condition<Article> = Article::ATTR.sku.size().gt(8);
    /// ```
    pub fn gt(self, size: u64) -> Condition<P::Item> {
        self.compare(">", size)
    }

    /// Returns a condition that is true if the size of the attribute is at least `size`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let several: Condition<Article> = Article::ATTR.tags.size().ge(2);
    /// ```
    pub fn ge(self, size: u64) -> Condition<P::Item> {
        self.compare(">=", size)
    }

    fn compare(self, operator: &'static str, size: u64) -> Condition<P::Item> {
        let size = AttributeValue::N(size.to_string());
        Condition::new(Test::Compare(Operand::Size(self.0.into_path().document), operator, size))
    }
}

fn test<P: Place>(place: P, test: impl FnOnce(DocumentPath) -> SerdeResult<Test>) -> Condition<P::Item> {
    let path = place.into_path().document;
    // The methods that make conditions return no `Result`, so the condition stores the error of an
    // invalid operand.
    Condition::new(test(path.clone()).unwrap_or_else(|fault| Test::Fault(path, fault)))
}

fn compare<P: Place>(place: P, operator: &'static str, bound: &impl AsBound<P::Value>) -> Condition<P::Item> {
    test(place, |path| Ok(Test::Compare(Operand::Value(path), operator, encode_attribute(&bound.as_bound())?)))
}
