use std::marker::PhantomData;

use super::{
    FieldName, Missing, Required,
    path::{Defaulted, List, Map, Nested, Path, Place, Role, sealed},
};

/// One top-level attribute of the items of type `T`, for use in conditions and patches. The type
/// parameter `V` is the Rust type of the attribute. `#[derive(Versioned)]` makes an `Attribute` for
/// each field, for example `Product::ATTR.stock`. The role `R` is [`Required`], [`Defaulted`] or
/// [`Fixed`](super::Fixed), and says whether a patch may change or remove the attribute.
///
/// The methods of an `Attribute` return [`Condition`](super::Condition)s. A condition compares an
/// attribute of type `V` with a `V` or a `&V`. A condition can compare an attribute of type
/// `Option<V>` with a `V`, and a string attribute with a `&str` ([`AsOperand`](super::AsOperand)).
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
/// A condition tests the attribute in the table, under the name with which serde writes the field.
///
/// | stored | effect |
/// |---|---|
/// | no item | all attributes are absent |
/// | an attribute that `skip_serializing_if` left out, or that a program stored under an alias | the attribute is [`absent`](Self::absent), even if serde would read a value |
/// | an absent attribute, or an attribute of another type than the operand | each comparison is false, except [`ne`](Self::ne), which is true |
pub struct Attribute<T, V, R = Required> {
    pub(super) field: FieldName,
    pub(super) missing: Missing<V>,
    of: PhantomData<fn(T) -> R>,
}

/// `Opaque` takes the place of the Rust type `V` in the [`Attribute`] of a field with
/// `#[serde(with)]` or `#[serde(serialize_with)]`.
///
/// The derive macro does not know the stored form of a field with `#[serde(with)]` or
/// `#[serde(serialize_with)]`. The type `Opaque` has no values, so a condition cannot compare the
/// value of an attribute of type `Opaque`. For an attribute of type `Opaque`, the only possible
/// conditions are [`exists`](Attribute::exists), [`absent`](Attribute::absent),
/// [`is_type`](Attribute::is_type), and comparisons of the [`size`](Attribute::size).
#[derive(Debug, Clone, Copy)]
pub enum Opaque {}

impl<T, V, R> Attribute<T, V, R> {
    pub(crate) const fn new(name: &'static str, aliases: &'static [&'static str], missing: Missing<V>) -> Self {
        Self { field: FieldName { name, aliases }, missing, of: PhantomData }
    }

    /// Returns the name with which serde writes the attribute.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/catalogue.rs")); }
    /// # use shop::Article;
    /// assert_eq!(Article::ATTR.stock.name(), "stock");
    /// ```
    pub const fn name(self) -> &'static str {
        self.field.name
    }

    /// Returns the path of a field in an attribute that is a struct, like [`Path::at`].
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
        self.into_path().at(field)
    }

    /// Returns the path of an element in an attribute that is a list, like [`Path::index`].
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
        self.into_path().index(index)
    }

    /// Returns the path of a map entry in an attribute that is a map, like [`Path::key`].
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
        self.into_path().key(key)
    }
}

impl<T, V, R> sealed::Sealed for Attribute<T, V, R> {}

impl<T, V, R> Place for Attribute<T, V, R> {
    type Item = T;
    type Value = V;
    type Role = R;

    fn into_path(self) -> Path<T, V, R> {
        Path::of_field(self.field, self.missing)
    }
}

impl<T, V, R> Clone for Attribute<T, V, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V, R> Copy for Attribute<T, V, R> {}

debug_fields!([T, V, R] Attribute<T, V, R>, self => (self.field.name));
