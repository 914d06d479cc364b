//! The conditions that a caller adds to a write or to a query.

use std::{fmt, marker::PhantomData, ops::Not, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{DocumentPath, Joined, Placeholders};
use crate::{
    codec::Item,
    error::{CodecError, Error, SerdeError},
};

/// A condition on a stored item of type `T`. The methods of an
/// [`Attribute`](crate::condition::Attribute) of `T` return conditions, for example
/// `Product::ATTR.stock.ge(3)`.
///
/// A condition is either true or false, and `!condition` is the opposite of `condition`. In Rust,
/// method calls bind more tightly than `!`, so `!a.and(b)` is the opposite of `a.and(b)`.
///
/// If DynamoDB cannot store an operand of a condition, for example a NaN, a call with the condition
/// fails with [`Error::Encode`](crate::Error::Encode).
#[must_use = "it is checked when a write carries it"]
pub struct Condition<T> {
    test: Test,
    of: PhantomData<fn(T)>,
}

impl<T> Condition<T> {
    pub(super) fn new(test: Test) -> Self {
        Self { test, of: PhantomData }
    }

    /// Returns a condition that is true if both `self` and `other` are true.
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example() {
    /// let a = Product::ATTR;
    /// let few = a.stock.ge(1).and(a.stock.le(5));
    /// # }
    /// ```
    pub fn and(self, other: Self) -> Self {
        Self::new(match self.test {
            Test::All(mut tests) => {
                tests.push(other.test);
                Test::All(tests)
            }
            test => Test::All(vec![test, other.test]),
        })
    }

    /// Returns a condition that is true if `self`, `other` or both are true.
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example() {
    /// let a = Product::ATTR;
    /// let unusual = a.stock.lt(0).or(a.stock.gt(1_000));
    /// # }
    /// ```
    pub fn or(self, other: Self) -> Self {
        Self::new(match self.test {
            Test::Any(mut tests) => {
                tests.push(other.test);
                Test::Any(tests)
            }
            test => Test::Any(vec![test, other.test]),
        })
    }

    /// `item` is `None` if the key has no item.
    pub(crate) fn is_true(&self, item: Option<&Item>) -> bool {
        match item {
            Some(item) => self.test.is_true(item),
            // In a condition, DynamoDB treats a missing item like an item without attributes.
            None => self.test.is_true(&Item::new()),
        }
    }

    /// The returned text has parentheses around each `OR`, so the caller of `render` can join the
    /// text to other conditions by `AND`. DynamoDB refuses doubled parentheses.
    pub(crate) fn render(&self, table: &Arc<str>, to: &mut Placeholders) -> Result<String, Error> {
        self.test.render(to).map_err(|ConditionFault { attribute, source }| {
            Error::Encode(CodecError::new(Arc::clone(table), source.clone().in_field(&attribute.to_string())))
        })
    }
}

impl<T> Not for Condition<T> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(Test::Not(Box::new(self.test)))
    }
}

impl<T> Clone for Condition<T> {
    fn clone(&self) -> Self {
        Self::new(self.test.clone())
    }
}

/// The `Debug` output of a condition contains no operands, because operands are user data.
impl<T> fmt::Debug for Condition<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut placeholders = Placeholders::without_content();
        let mut condition = f.debug_struct("Condition");
        match self.test.render(&mut placeholders) {
            Ok(text) => condition.field("text", &text).field("names", &placeholders.names),
            Err(fault) => condition.field("cannot_be_encoded", &fault.attribute.to_string()),
        };
        condition.finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(super) enum Test {
    Exists(DocumentPath),
    Absent(DocumentPath),
    /// A comparison by an operator in DynamoDB's notation, for example `<>`.
    Compare(Operand, &'static str, AttributeValue),
    Between(Operand, AttributeValue, AttributeValue),
    In(DocumentPath, Vec<AttributeValue>),
    /// A call of the DynamoDB function with the given name, for example `contains`.
    Function(&'static str, DocumentPath, AttributeValue),
    Fault(DocumentPath, SerdeError),
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
}

/// The left side of a comparison: the value or the size of an attribute.
#[derive(Clone)]
pub(super) enum Operand {
    Value(DocumentPath),
    Size(DocumentPath),
}

pub(super) struct ConditionFault<'a> {
    attribute: &'a DocumentPath,
    source: &'a SerdeError,
}

impl Operand {
    fn render(&self, to: &mut Placeholders) -> String {
        match self {
            Self::Value(path) => path.render(to),
            Self::Size(path) => format!("size({})", path.render(to)),
        }
    }
}

impl Test {
    /// Serde reads both a missing attribute and a null as `None`, so a missing attribute equals a
    /// null operand.
    pub(super) fn equal(path: DocumentPath, operand: AttributeValue) -> Self {
        let null = operand.is_null();
        Self::or_absent(null, path.clone(), Self::Compare(Operand::Value(path), "=", operand))
    }

    pub(super) fn not_equal(path: DocumentPath, operand: AttributeValue) -> Self {
        let null = operand.is_null();
        let exists = null.then(|| Self::Exists(path.clone()));
        let differs = Self::Compare(Operand::Value(path), "<>", operand);
        match exists {
            Some(exists) => Self::All(vec![exists, differs]),
            None => differs,
        }
    }

    pub(super) fn one_of(path: DocumentPath, operands: Vec<AttributeValue>) -> Self {
        let null = operands.iter().any(AttributeValue::is_null);
        Self::or_absent(null, path.clone(), Self::In(path, operands))
    }

    fn or_absent(null: bool, path: DocumentPath, test: Self) -> Self {
        if null { Self::Any(vec![Self::Absent(path), test]) } else { test }
    }

    pub(super) fn render(&self, to: &mut Placeholders) -> Result<String, ConditionFault<'_>> {
        Ok(match self {
            Self::Exists(path) => format!("attribute_exists({})", path.render(to)),
            Self::Absent(path) => format!("attribute_not_exists({})", path.render(to)),
            Self::Compare(left, operator, operand) => {
                format!("{} {operator} {}", left.render(to), to.value(operand.clone()))
            }
            Self::Between(left, low, high) => {
                format!("{} BETWEEN {} AND {}", left.render(to), to.value(low.clone()), to.value(high.clone()))
            }
            Self::In(path, operands) => {
                let mut terms = Joined::new("", ", ");
                for operand in operands {
                    terms.push(format_args!("{}", to.value(operand.clone())));
                }
                format!("{} IN ({})", path.render(to), terms.finish())
            }
            Self::Function(function, path, operand) => {
                format!("{function}({}, {})", path.render(to), to.value(operand.clone()))
            }
            Self::Fault(attribute, source) => return Err(ConditionFault { attribute, source }),
            Self::All(tests) => Self::join(tests, " AND ", to)?,
            Self::Any(tests) => format!("({})", Self::join(tests, " OR ", to)?),
            // The text of a condition with `OR` already has parentheses.
            Self::Not(test) if matches!(**test, Self::Any(_)) => format!("NOT {}", test.render(to)?),
            Self::Not(test) => format!("NOT ({})", test.render(to)?),
        })
    }

    fn join<'a>(
        tests: &'a [Self],
        separator: &'static str,
        to: &mut Placeholders,
    ) -> Result<String, ConditionFault<'a>> {
        let mut terms = Joined::new("", separator);
        for test in tests {
            terms.push(format_args!("{}", test.render(to)?));
        }
        Ok(terms.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, collections::BTreeMap};

    use serde::{Serialize, Serializer};

    use super::*;
    use crate::{
        expression::{AsPrefix, Attribute, Missing},
        key::{KeyAttribute, KeyType, KeyValue},
    };

    struct Product;

    const fn attribute<V>(name: &'static str) -> Attribute<Product, V> {
        Attribute::new(name, &[], Missing::Refused)
    }

    const SKU: Attribute<Product, String> = attribute("sku");
    const STOCK: Attribute<Product, i64> = attribute("stock");
    const PRICE: Attribute<Product, f64> = attribute("price");
    const NOTE: Attribute<Product, Option<String>> = attribute("note");
    const LIMIT: Attribute<Product, Option<u32>> = attribute("limit");
    const TAGS: Attribute<Product, Vec<String>> = attribute("tags");
    const PARTS: Attribute<Product, BTreeMap<[u8; 2], u8>> = attribute("parts");

    fn n(number: impl fmt::Display) -> AttributeValue {
        AttributeValue::N(number.to_string())
    }

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    /// Returns the text of a condition, with the attribute names and the operands.
    fn rendered<T>(condition: &Condition<T>) -> (String, Vec<String>, Vec<AttributeValue>) {
        let mut placeholders = Placeholders::default();
        let text = condition.render(&"products".into(), &mut placeholders).unwrap();
        (text, placeholders.names, placeholders.values)
    }

    #[track_caller]
    fn renders<const N: usize>(condition: &Condition<Product>, text: &str, name: &str, operands: [AttributeValue; N]) {
        assert_eq!(rendered(condition), (text.to_owned(), vec![name.to_owned()], Vec::from(operands)));
    }

    #[test]
    fn a_comparison_holds_placeholders_alone() {
        renders(&STOCK.eq(3), "#0 = :0", "stock", [n(3)]);
        renders(&STOCK.ne(3), "#0 <> :0", "stock", [n(3)]);
        renders(&STOCK.lt(-3), "#0 < :0", "stock", [n(-3)]);
        renders(&STOCK.le(3), "#0 <= :0", "stock", [n(3)]);
        renders(&STOCK.gt(3), "#0 > :0", "stock", [n(3)]);
        renders(&STOCK.ge(3), "#0 >= :0", "stock", [n(3)]);
        renders(&STOCK.between(3, 5), "#0 BETWEEN :0 AND :1", "stock", [n(3), n(5)]);
        renders(&STOCK.is_in([3, 4, 5]), "#0 IN (:0, :1, :2)", "stock", [n(3), n(4), n(5)]);
        renders(&STOCK.exists(), "attribute_exists(#0)", "stock", []);
        renders(&STOCK.absent(), "attribute_not_exists(#0)", "stock", []);
        renders(&PRICE.ge(1.5), "#0 >= :0", "price", [n(1.5)]);
        renders(&SKU.begins_with("85"), "begins_with(#0, :0)", "sku", [s("85")]);
        renders(&SKU.contains("123"), "contains(#0, :0)", "sku", [s("123")]);
        renders(&TAGS.contains("new"), "contains(#0, :0)", "tags", [s("new")]);
    }

    #[test]
    fn strings_are_compared_with_strings_of_any_kind() {
        let owned = "85123A".to_owned();
        for condition in [SKU.eq("85123A"), SKU.eq(&owned), SKU.eq(owned.clone()), SKU.is_in([&owned])] {
            assert_eq!(rendered(&condition).2, [s("85123A")]);
        }
        let boxed = attribute::<Box<str>>("sku");
        let borrowed = attribute::<Cow<'static, str>>("sku");
        for condition in [boxed.ge("8"), boxed.begins_with(String::from("8")), borrowed.eq("8"), borrowed.contains("8")]
        {
            assert_eq!(rendered(&condition).2, [s("8")]);
        }
    }

    #[test]
    fn an_option_is_compared_with_what_is_in_it() {
        renders(&NOTE.eq("x"), "#0 = :0", "note", [s("x")]);
        renders(&NOTE.ne(Some("x".to_owned())), "#0 <> :0", "note", [s("x")]);
        renders(&NOTE.begins_with("x"), "begins_with(#0, :0)", "note", [s("x")]);
        renders(&NOTE.contains("x"), "contains(#0, :0)", "note", [s("x")]);
        renders(&NOTE.lt("x"), "#0 < :0", "note", [s("x")]);
        renders(&LIMIT.eq(3), "#0 = :0", "limit", [n(3)]);
        renders(&LIMIT.ge(3), "#0 >= :0", "limit", [n(3)]);
        renders(&LIMIT.is_in([3, 4]), "#0 IN (:0, :1)", "limit", [n(3), n(4)]);
    }

    #[test]
    fn none_is_a_null_or_an_absent_attribute() {
        let null = || AttributeValue::Null(true);
        let none = None;
        renders(&NOTE.eq(&none), "(attribute_not_exists(#0) OR #0 = :0)", "note", [null()]);
        renders(&NOTE.eq(none), "(attribute_not_exists(#0) OR #0 = :0)", "note", [null()]);
        renders(&NOTE.ne(None), "attribute_exists(#0) AND #0 <> :0", "note", [null()]);
        renders(&LIMIT.is_in([Some(3), None]), "(attribute_not_exists(#0) OR #0 IN (:0, :1))", "limit", [n(3), null()]);
        renders(&!NOTE.eq(None), "NOT (attribute_not_exists(#0) OR #0 = :0)", "note", [null()]);
    }

    /// A type that serde writes as bytes.
    struct Digest(&'static [u8]);

    impl Serialize for Digest {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_bytes(self.0)
        }
    }

    impl KeyAttribute for Digest {
        const TYPE: KeyType = KeyType::B;

        fn to_key_value(&self) -> KeyValue {
            KeyValue::B(self.0.to_vec())
        }
    }

    impl AsPrefix<Self> for Digest {
        fn as_prefix(&self) -> impl Serialize {
            self
        }
    }

    #[test]
    fn a_type_of_ones_own_is_compared_as_serde_writes_it() {
        let digest = attribute::<Digest>("digest");
        let b = AttributeValue::B(vec![1, 2].into());
        let value = Digest(&[1, 2]);
        renders(&digest.lt(&value), "#0 < :0", "digest", [b.clone()]);
        renders(&digest.eq(value), "#0 = :0", "digest", [b.clone()]);
        renders(&digest.begins_with(Digest(&[1, 2])), "begins_with(#0, :0)", "digest", [b]);
    }

    #[test]
    fn combinations_mean_what_they_are_made_of() {
        let (a, b, c) = (|| SKU.exists(), || STOCK.exists(), || NOTE.exists());
        for (condition, expected) in [
            (a().and(b()).and(c()), "sku AND stock AND note"),
            (a().and(b().and(c())), "sku AND stock AND note"),
            (a().or(b()).or(c()), "(sku OR stock OR note)"),
            (a().or(b().or(c())), "(sku OR (stock OR note))"),
            (a().or(b()).and(c()), "(sku OR stock) AND note"),
            (a().and(b()).or(c()), "(sku AND stock OR note)"),
            (a().or(b().and(c())), "(sku OR stock AND note)"),
            (!a(), "NOT (sku)"),
            (!!a(), "NOT (NOT (sku))"),
            ((!a()).and(b()), "NOT (sku) AND stock"),
            (!a().and(b()), "NOT (sku AND stock)"),
            (!a().or(b()), "NOT (sku OR stock)"),
            ((!a()).or(!b()), "(NOT (sku) OR NOT (stock))"),
            ((!a().or(b())).and(c()), "NOT (sku OR stock) AND note"),
        ] {
            let (mut text, names, _) = rendered(&condition);
            for (index, name) in names.iter().enumerate() {
                text = text.replace(&format!("attribute_exists(#{index})"), name);
            }
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn placeholders_go_on_where_the_request_stands() {
        let mut placeholders = Placeholders::default();
        placeholders.name("_version");
        placeholders.value(n(7));
        let condition = STOCK.ge(3).and(STOCK.lt(10));
        assert_eq!(condition.render(&"products".into(), &mut placeholders).unwrap(), "#1 >= :1 AND #1 < :2");
        let (names, values) = placeholders.finish();
        assert_eq!(names.unwrap()["#1"], "stock");
        assert_eq!(values, Some(Item::from([(":0".into(), n(7)), (":1".into(), n(3)), (":2".into(), n(10))])));
    }

    #[test]
    fn what_cannot_be_stored_is_an_error_with_the_attributes_name() {
        for (condition, name) in [
            (PRICE.ge(f64::NAN), "price"),
            (SKU.exists().and(PRICE.between(1.0, f64::INFINITY)), "price"),
            (!SKU.exists().or(PRICE.is_in([1.0, f64::NAN])), "price"),
            (PARTS.eq(BTreeMap::from([([1, 2], 3)])), "parts"),
            (STOCK.is_in(0..0), "stock"),
            (STOCK.is_in(0..101), "stock"),
        ] {
            let error = condition.render(&"products".into(), &mut Placeholders::default()).unwrap_err();
            let Error::Encode(error) = error else { panic!("{error}") };
            assert_eq!((error.table(), error.attribute()), ("products", Some(name)));
        }
        assert_eq!(rendered(&STOCK.is_in(0..100)).2.len(), 100);
    }

    #[test]
    fn debug_shows_no_operand() {
        let shown = format!("{:?}", NOTE.eq("secret").or(LIMIT.eq(54321)));
        assert_eq!(shown, r#"Condition { text: "(#0 = :0 OR #1 = :1)", names: ["note", "limit"], .. }"#);
        assert_eq!(format!("{:?}", PRICE.eq(f64::NAN)), r#"Condition { cannot_be_encoded: "price", .. }"#);
        assert_eq!(format!("{PRICE:?}"), r#"Attribute("price")"#);
    }
}
