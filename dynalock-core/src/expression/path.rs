//! The locations of values in an item: attributes, and paths into attributes.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fmt,
    marker::PhantomData,
};

use aws_sdk_dynamodb::types::AttributeValue;

use super::Placeholders;
use crate::codec::Item;

/// Marks an attribute that every item must have.
#[derive(Debug, Clone, Copy)]
pub enum Required {}

/// Marks an attribute that an item may lack: an `Option`, a field with `#[serde(default)]`, a map
/// entry, or a list element.
#[derive(Debug, Clone, Copy)]
pub enum Defaulted {}

/// Marks an attribute that a patch cannot change: a key, the version, a time that the library
/// writes, or a field with `#[serde(deserialize_with)]`.
#[derive(Debug, Clone, Copy)]
pub enum Fixed {}

/// A role that allows changes: [`Required`] or [`Defaulted`]. A patch (a write of single
/// attributes) can change an attribute with such a role.
#[diagnostic::on_unimplemented(
    message = "a patch cannot change this attribute",
    label = "a key, a version, a kept time, or a field with `deserialize_with`",
    note = "the repository writes keys, versions and kept times itself: to change a key, create an item under the new key and delete this one",
    note = "what `deserialize_with` can read is not known: change such a field with `update_with`"
)]
pub trait Changeable: sealed::Sealed {}

/// A role that allows removal: [`Defaulted`]. A patch (a write of single attributes) can remove an
/// attribute with such a role.
#[diagnostic::on_unimplemented(
    message = "a patch cannot remove this attribute, because the struct cannot be read without it",
    label = "a required attribute",
    note = "add `#[serde(default)]` to the field, or make it an `Option`"
)]
pub trait Removable: Changeable {}

impl Changeable for Required {}
impl Changeable for Defaulted {}
impl Removable for Defaulted {}

/// The role of an attribute: whether a patch (a write of single attributes) can change or remove
/// the attribute.
pub trait Role: sealed::Sealed {
    /// The role of a value inside an attribute. If the attribute is [`Fixed`], the value is also
    /// [`Fixed`]. Otherwise, the value has its own role `R`.
    type Inside<R>;
}

impl Role for Required {
    type Inside<R> = R;
}

impl Role for Defaulted {
    type Inside<R> = R;
}

/// If a patch cannot change an attribute, the patch cannot change a value inside the attribute
/// either.
impl Role for Fixed {
    type Inside<R> = Self;
}

/// A location in an item: an [`Attribute`](super::Attribute), or a [`Path`] to a value inside an attribute.
pub trait Place: sealed::Sealed {
    /// The struct whose items contain the value.
    type Item;
    /// The Rust type of the value at the attribute or path.
    type Value;
    /// The role of the value: [`Required`], [`Defaulted`] or [`Fixed`]. The role says whether a
    /// patch (a write of single attributes) can change or remove the value.
    type Role;

    /// Converts the attribute or path into a [`Path`].
    fn into_path(self) -> Path<Self::Item, Self::Value, Self::Role>;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Required {}
impl sealed::Sealed for Defaulted {}
impl sealed::Sealed for Fixed {}
impl<T, V, R> sealed::Sealed for Path<T, V, R> {}

/// The path of a value inside an attribute of the items of `T`, for example
/// `a.address.at(Address::ATTR.city)`, `a.lines.index(0)` or `a.prices.key("eur")`. The value at
/// the end of the path has the type `V`.
///
/// `Path` and [`Attribute`](super::Attribute) have the same methods for conditions. Each method that changes a value
/// in a patch accepts an [`Attribute`](super::Attribute) or a `Path`.
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{condition::{Attribute, Path}, private::attribute};
/// # struct Order;
/// # struct OrderAttributes { lines: Attribute<Order, Vec<Line>> }
/// # impl Order { const ATTR: OrderAttributes = OrderAttributes { lines: attribute("lines") }; }
/// # struct Line;
/// # struct LineAttributes { quantity: Attribute<Line, u32> }
/// # impl Line { const ATTR: LineAttributes = LineAttributes { quantity: attribute("quantity") }; }
/// use dynalock::condition::Condition;
///
/// let first_quantity = Order::ATTR.lines.index(0).at(Line::ATTR.quantity);
/// let several: Condition<Order> = first_quantity.ge(2);
/// ```
pub struct Path<T, V, R = Required> {
    pub(super) document: DocumentPath,
    pub(crate) missing: Missing<V>,
    of: PhantomData<fn(T) -> R>,
}

/// The value from which `add`, `append`, `prepend` or `insert` starts if the item does not have the
/// attribute.
pub enum Missing<V> {
    /// With `Refused`, DynamoDB refuses an `add`, `append`, `prepend` or `insert` of a missing
    /// attribute.
    Refused,
    /// With `Empty`, for a missing attribute, `add` starts from zero, `append` and `prepend` start
    /// from an empty list, and `insert` starts from an empty set.
    Empty,
    /// With `Default`, the `add`, `append` or `prepend` of a missing attribute starts from the
    /// serde default of the field.
    Default(fn() -> V),
}

impl<V> Clone for Missing<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Missing<V> {}

impl<V> fmt::Debug for Missing<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "Refused",
            Self::Empty => "Empty",
            Self::Default(_) => "Default",
        })
    }
}

/// A [`Path`] without the Rust type of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentPath {
    root: FieldName,
    steps: Vec<Step>,
}

/// The name with which serde writes a field, and the aliases under which serde also reads the
/// field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FieldName {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(FieldName),
    Key(String),
    Index(usize),
}

/// A type that serde writes as a list.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list",
    label = "serde does not write it as a list",
    note = "a `Vec`, a `VecDeque`, a boxed slice, and an `Option` of one of them are lists"
)]
pub trait List {
    /// The type of the elements in a list.
    type Element;
}

impl<E> List for Vec<E> {
    type Element = E;
}

impl<E> List for VecDeque<E> {
    type Element = E;
}

impl<E> List for Box<[E]> {
    type Element = E;
}

impl<L: List> List for Option<L> {
    type Element = L::Element;
}

/// A type that serde writes as a map whose keys are strings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a map with strings as keys",
    label = "serde does not write it as such a map",
    note = "a `HashMap<String, _>`, a `BTreeMap<String, _>`, and an `Option` of one of them are such maps; \
            for a struct with `#[derive(Attributes)]`, use `at`"
)]
pub trait Map {
    /// The type of the values in a map.
    type Value;
}

impl<E, S> Map for HashMap<String, E, S> {
    type Value = E;
}

impl<E> Map for BTreeMap<String, E> {
    type Value = E;
}

impl<M: Map> Map for Option<M> {
    type Value = M::Value;
}

/// A type of attribute that contains the struct `S`: `S` itself, or `Option<S>`.
#[diagnostic::on_unimplemented(
    message = "an attribute of type `{Self}` does not have the fields of `{S}`",
    label = "not a `{S}`",
    note = "`at` takes a handle of the struct that the attribute contains"
)]
pub trait Nested<S> {}

impl<S> Nested<S> for S {}
impl<S> Nested<S> for Option<S> {}

impl<T, V, R> Path<T, V, R> {
    pub(super) fn of_field(field: FieldName, missing: Missing<V>) -> Self {
        Self { document: DocumentPath { root: field, steps: Vec::new() }, missing, of: PhantomData }
    }

    /// Returns the path of the given field of the struct. The struct at the end of the path must
    /// have `#[derive(Attributes)]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::{Article, Maker};
    /// use dynalock::condition::Condition;
    ///
    /// let city = Article::ATTR.maker.at(Maker::ATTR.city);
    /// let local: Condition<Article> = city.eq("Oslo");
    /// ```
    pub fn at<P: Place>(self, field: P) -> Path<T, P::Value, R::Inside<P::Role>>
    where
        R: Role,
        V: Nested<P::Item>,
    {
        // The new path ends at the inner field, so the new path has the start value of the inner
        // field.
        let Path { document: inner, missing, .. } = field.into_path();
        let mut document = self.document;
        document.steps.push(Step::Field(inner.root));
        document.steps.extend(inner.steps);
        Path { document, missing, of: PhantomData }
    }

    /// Returns the path of the list element with the given index. The index of the first element is
    /// 0. If the list does not have the element, DynamoDB refuses a patch of the element.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let first_tag = Article::ATTR.tags.index(0);
    /// let reduced: Condition<Article> = first_tag.eq("sale");
    /// ```
    pub fn index(self, index: usize) -> Path<T, V::Element, R::Inside<Defaulted>>
    where
        R: Role,
        V: List,
    {
        // A missing list element has no start value, because DynamoDB adds each new element at the
        // end of the list, and not at `index`.
        self.step(Step::Index(index), Missing::Refused)
    }

    /// Returns the path of the map entry with the given key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// use dynalock::condition::Condition;
    ///
    /// let euros = Article::ATTR.prices.key("eur");
    /// let cheap: Condition<Article> = euros.lt(10);
    /// ```
    pub fn key(self, key: impl Into<String>) -> Path<T, V::Value, R::Inside<Defaulted>>
    where
        R: Role,
        V: Map,
    {
        // A map entry has no serde default, so a patch of a missing map entry starts from zero or
        // from an empty list.
        self.step(Step::Key(key.into()), Missing::Empty)
    }

    fn step<W, C>(self, step: Step, missing: Missing<W>) -> Path<T, W, C> {
        let mut document = self.document;
        document.steps.push(step);
        Path { document, missing, of: PhantomData }
    }
}

impl<T, V, R> Place for Path<T, V, R> {
    type Item = T;
    type Value = V;
    type Role = R;

    fn into_path(self) -> Self {
        self
    }
}

impl DocumentPath {
    pub(crate) fn render(&self, to: &mut Placeholders) -> String {
        let root = to.name(self.root.name).to_string();
        self.steps.iter().fold(root, |path, step| match step {
            Step::Field(FieldName { name, .. }) => format!("{path}.{}", to.name(name)),
            Step::Key(key) => format!("{path}.{}", to.key(key)),
            Step::Index(index) => format!("{path}[{index}]"),
        })
    }

    pub(crate) fn find<'i>(&self, item: &'i Item) -> Option<&'i AttributeValue> {
        let start = item.get(self.root.name);
        self.steps.iter().fold(start, |value, step| match (value?, step) {
            (AttributeValue::M(map), Step::Field(FieldName { name, .. })) => map.get(*name),
            (AttributeValue::M(map), Step::Key(key)) => map.get(key),
            (AttributeValue::L(list), Step::Index(index)) => list.get(*index),
            _ => None,
        })
    }

    /// If a part of the path is missing in the item, `put` does not change the item.
    pub(super) fn put(&self, item: &mut Item, value: Option<AttributeValue>) {
        let Some((end, parents)) = self.steps.split_last() else {
            put_entry(item, self.root.name, value);
            return;
        };
        let start = item.get_mut(self.root.name);
        let parent = parents.iter().fold(start, |parent, step| match (parent?, step) {
            (AttributeValue::M(map), Step::Field(FieldName { name, .. })) => map.get_mut(*name),
            (AttributeValue::M(map), Step::Key(key)) => map.get_mut(key),
            (AttributeValue::L(list), Step::Index(index)) => list.get_mut(*index),
            _ => None,
        });
        match (parent, end) {
            (Some(AttributeValue::M(map)), Step::Field(FieldName { name, .. })) => put_entry(map, name, value),
            (Some(AttributeValue::M(map)), Step::Key(key)) => put_entry(map, key, value),
            (Some(AttributeValue::L(list)), Step::Index(index)) if *index < list.len() => match value {
                Some(value) => list[*index] = value,
                None => drop(list.remove(*index)),
            },
            _ => {}
        }
    }

    pub(crate) fn is_top_level(&self) -> bool {
        self.steps.is_empty()
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        // Two paths overlap if one path is the beginning of the other path.
        let shorter = self.steps.len().min(other.steps.len());
        self.root.name == other.root.name && self.names().take(shorter).eq(other.names().take(shorter))
    }

    /// Returns the index or the name of each step of the path. A field and a map entry of the same
    /// name are the same step, because DynamoDB does not distinguish them.
    pub(super) fn names(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        self.steps.iter().map(|step| match step {
            Step::Field(FieldName { name, .. }) => (None, *name),
            Step::Key(key) => (None, key.as_str()),
            Step::Index(index) => (Some(*index), ""),
        })
    }

    /// Returns one path for each alias of each field on the path. In each returned path, the alias
    /// replaces the field and is the last step.
    pub(super) fn aliases(&self) -> Vec<Self> {
        let inner = self.steps.iter().enumerate().filter_map(|(index, step)| match step {
            Step::Field(field) => Some((index + 1, field)),
            Step::Key(_) | Step::Index(_) => None,
        });
        let fields = std::iter::once((0, &self.root)).chain(inner);
        fields.flat_map(|(step, field)| field.aliases.iter().map(move |alias| self.with_alias(step, alias))).collect()
    }

    pub(super) fn parent(&self) -> Option<Self> {
        self.steps.split_last().map(|(_, parent)| Self { root: self.root, steps: parent.to_vec() })
    }

    pub(super) fn is_element(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Index(_)))
    }

    /// Returns the steps before `step`, followed by the field `alias`. Step 0 is the top-level
    /// attribute of the path.
    fn with_alias(&self, step: usize, alias: &'static str) -> Self {
        let alias = FieldName { name: alias, aliases: &[] };
        match step.checked_sub(1) {
            None => Self { root: alias, steps: Vec::new() },
            Some(index) => {
                let mut steps = self.steps[..index].to_vec();
                steps.push(Step::Field(alias));
                Self { root: self.root, steps }
            }
        }
    }
}

fn put_entry(map: &mut Item, name: &str, value: Option<AttributeValue>) {
    match value {
        Some(value) => drop(map.insert(name.to_owned(), value)),
        None => drop(map.remove(name)),
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root.name)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(FieldName { name, .. }) => write!(f, ".{name}"),
            // Errors show no key of a map entry, because the keys are user data.
            Step::Key(_) => f.write_str("[..]"),
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}

impl<T, V, R> Clone for Path<T, V, R> {
    fn clone(&self) -> Self {
        Self { document: self.document.clone(), missing: self.missing, of: PhantomData }
    }
}

debug_fields!([T, V, R] Path<T, V, R>, self => (self.document.to_string()));
