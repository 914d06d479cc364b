//! The methods that add changes to a patch (a write of single attributes).

/// The builder of a patch must have a method `change(&self, impl FnOnce(&mut PatchContent<T>))`,
/// where `T` is the type of the item.
macro_rules! patch_methods {
    () => {
        /// Sets an attribute to a value. `set` stores a `None` as a null, even if the field has
        /// `#[serde(skip_serializing_if)]`. DynamoDB refuses a null in the key of an index. To
        /// leave an item out of an index, call `remove` for a key attribute of the index.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// products.patch("85123A").set(Product::ATTR.stock, 10).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn set<P>(self, place: P, value: impl $crate::expression::AsOperand<P::Value>) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Changeable>,
        {
            self.change(|patch| patch.set(place, &value));
            self
        }

        /// Sets an attribute to a value if the attribute is missing or contains a null. To replace
        /// a stored null, the library sends a second request.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let note: Attribute<Product, Option<String>, Defaulted> = attribute("note");
        /// products.patch("85123A").set_if_absent(note, "new".to_owned()).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn set_if_absent<P>(self, place: P, value: impl $crate::expression::AsOperand<P::Value>) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Changeable>,
        {
            self.change(|patch| patch.set_if_absent(place, &value));
            self
        }

        /// Adds the number `delta` to a stored number. The type of `delta` is `i128` for integers,
        /// and `f64` for floats. If the attribute is missing and the field has a serde default,
        /// `add` adds `delta` to the default. Three values count as zero for `add`: a missing
        /// attribute of an `Option` field without a serde default, a missing map entry, and a
        /// stored null.
        ///
        /// If the sum would be outside the range of the field's type, the patch changes nothing,
        /// and the call fails with [`Error::OutOfRange`](crate::Error::OutOfRange). If every sum
        /// with `delta` is outside the range of the field's type, the call fails with
        /// [`Error::InvalidPatch`](crate::Error::InvalidPatch) without a request. DynamoDB
        /// calculates with a precision of 38 digits. If a sum of floats needs more than 38 digits,
        /// the call may fail with [`Error::Rejected`](crate::Error::Rejected).
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// products.patch("85123A").add(Product::ATTR.stock, -3).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn add<P>(self, place: P, delta: <P::Value as $crate::expression::Number>::Delta) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::Number,
                    Role: $crate::expression::Changeable,
                >,
        {
            self.change(|patch| patch.add(place, delta));
            self
        }

        /// Appends elements to a list. If `elements` is empty, `append` adds no change to the
        /// patch.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let history: Attribute<Product, Vec<String>> = attribute("history");
        /// products.patch("85123A").append(history, ["sold 3"]).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn append<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::List + serde::Serialize,
                    Role: $crate::expression::Changeable,
                >,
            E: $crate::expression::AsOperand<<P::Value as $crate::expression::List>::Element>,
        {
            self.change(|patch| patch.extend($crate::expression::ListEnd::Back, place, elements));
            self
        }

        /// Inserts elements at the front of a list, in the given order. If `elements` is empty,
        /// `prepend` adds no change to the patch.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let history: Attribute<Product, Vec<String>> = attribute("history");
        /// products.patch("85123A").prepend(history, ["sold 3"]).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn prepend<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::List + serde::Serialize,
                    Role: $crate::expression::Changeable,
                >,
            E: $crate::expression::AsOperand<<P::Value as $crate::expression::List>::Element>,
        {
            self.change(|patch| patch.extend($crate::expression::ListEnd::Front, place, elements));
            self
        }

        /// Inserts elements into a set. The field of a set must have `#[serde(with =
        /// "serde_dynamo::string_set")]`, `#[serde(with = "serde_dynamo::number_set")]` or
        /// `#[serde(with = "serde_dynamo::binary_set")]`. DynamoDB can change a set only if the set
        /// is a top-level attribute.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let tags: Attribute<Product, StringSet<Vec<String>>> = attribute("tags");
        /// products.patch("85123A").insert(tags, ["sale"]).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn insert<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::Set,
                    Role: $crate::expression::Changeable,
                >,
            E: $crate::expression::SetElement<P::Value>,
        {
            self.change(|patch| patch.insert(place, elements));
            self
        }

        /// Deletes elements from a set. DynamoDB removes a set that becomes empty, so the field of
        /// the set must have `#[serde(default)]`.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let tags: Attribute<Product, StringSet<Vec<String>>, Defaulted> = attribute("tags");
        /// products.patch("85123A").delete(tags, ["sale"]).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn delete<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<Item = T, Value: $crate::expression::Set, Role: $crate::expression::Removable>,
            E: $crate::expression::SetElement<P::Value>,
        {
            self.change(|patch| patch.delete(place, elements));
            self
        }

        /// Removes an attribute, a map entry or a list element. The field of the removed attribute
        /// must be an `Option`, or must have a serde default.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # use dynalock::{condition::*, private::attribute};
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// # let note: Attribute<Product, Option<String>, Defaulted> = attribute("note");
        /// products.patch("85123A").remove(note).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn remove<P>(self, place: P) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Removable>,
        {
            self.change(|patch| patch.remove(place));
            self
        }

        /// Adds a condition to the patch. If a patch has several conditions, all conditions of the
        /// patch must be true. If a condition is false, the patch changes nothing.
        ///
        /// # Examples
        ///
        /// ```
        /// # use dynalock_core as dynalock;
        /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
        /// # use shop::Product;
        /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
        /// let a = Product::ATTR;
        /// products.patch("85123A").add(a.stock, -3).when(a.stock.ge(3)).await?;
        /// # Ok(())
        /// # }
        /// ```
        pub fn when(self, condition: $crate::expression::Condition<T>) -> Self {
            self.change(|patch| patch.when(condition));
            self
        }
    };
}

pub(crate) use patch_methods;
