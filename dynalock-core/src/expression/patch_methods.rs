//! The methods of the builders of patches.

/// Implements the methods that add changes to a patch. The type has a method
/// `change(&self, impl FnOnce(&mut PatchContent<T>))`, and `T` is the type of the item.
macro_rules! patch_methods {
    () => {
        /// Sets a value. A `None` is stored as a null, as serde writes it. Use `remove` to remove
        /// the attribute.
        pub fn set<P>(self, place: P, value: impl $crate::expression::AsOperand<P::Value>) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Changeable>,
        {
            self.change(|patch| patch.set(place, &value));
            self
        }

        /// Sets a value if the attribute is absent. A stored null counts as absent. For a stored
        /// null, the patch is sent a second time.
        pub fn set_if_absent<P>(self, place: P, value: impl $crate::expression::AsOperand<P::Value>) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Changeable>,
        {
            self.change(|patch| patch.set_if_absent(place, &value));
            self
        }

        /// Adds to a number. The delta is an `i128` for integers, and an `f64` for floats. A
        /// missing `Option`, or a missing entry of a map, counts as zero. Any other missing field
        /// counts as its serde default.
        ///
        /// If the result would leave the range of the type, nothing is written, and the call fails
        /// with [`Error::OutOfRange`](crate::Error::OutOfRange).
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

        /// Appends elements to a list.
        pub fn append<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::List + serde::Serialize,
                    Role: $crate::expression::Changeable,
                >,
            E: $crate::expression::AsOperand<<P::Value as $crate::expression::List>::Element>,
        {
            self.change(|patch| patch.append(place, elements));
            self
        }

        /// Inserts elements at the front of a list, in this order.
        pub fn prepend<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<
                    Item = T,
                    Value: $crate::expression::List + serde::Serialize,
                    Role: $crate::expression::Changeable,
                >,
            E: $crate::expression::AsOperand<<P::Value as $crate::expression::List>::Element>,
        {
            self.change(|patch| patch.prepend(place, elements));
            self
        }

        /// Inserts elements into a set. The field needs
        /// `#[serde(with = "serde_dynamo::string_set")]`, `number_set` or `binary_set`.
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

        /// Deletes elements from a set. DynamoDB removes a set that becomes empty, so the field
        /// needs `#[serde(default)]`.
        pub fn delete<P, E>(self, place: P, elements: impl IntoIterator<Item = E>) -> Self
        where
            P: $crate::expression::Place<Item = T, Value: $crate::expression::Set, Role: $crate::expression::Removable>,
            E: $crate::expression::SetElement<P::Value>,
        {
            self.change(|patch| patch.delete(place, elements));
            self
        }

        /// Removes an attribute, an entry of a map or an element of a list. The field must be an
        /// `Option`, or must have a serde default.
        pub fn remove<P>(self, place: P) -> Self
        where
            P: $crate::expression::Place<Item = T, Role: $crate::expression::Removable>,
        {
            self.change(|patch| patch.remove(place));
            self
        }

        /// Adds a condition. If several conditions were added, all of them must be true. If a
        /// condition is false, nothing is written.
        pub fn when(self, condition: $crate::expression::Condition<T>) -> Self {
            self.change(|patch| patch.when(condition));
            self
        }
    };
}

pub(crate) use patch_methods;
