// Items with a sort key, for examples in doc comments. A user derives all of this, but dynalock-core cannot use the derive.
use dynalock_core::{
    Key, Versioned,
    condition::Attribute,
    private::{AsKey, KeyModel, Model, attribute},
    query::{Partitioned, SortBounds, SortRange, Sorted},
    table::{KeyType, KeyValue},
};

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Order {
    pub customer: String,
    pub number: u64,
    pub total_cents: u64,
}

pub struct OrderAttributes {
    pub total_cents: Attribute<Order, u64>,
}

pub struct OrderKey(Key);

impl Order {
    pub const ATTR: OrderAttributes = OrderAttributes { total_cents: attribute("total_cents") };
}

impl From<(&str, u64)> for OrderKey {
    fn from((customer, number): (&str, u64)) -> Self {
        Self(Key::new(KeyValue::S(customer.to_owned()), Some(KeyValue::N(number.to_string()))))
    }
}

impl From<OrderKey> for Key {
    fn from(key: OrderKey) -> Self {
        key.0
    }
}

impl Versioned for Order {
    type Key = OrderKey;

    const MODEL: &'static Model = &Model {
        table: "orders",
        partition_key: KeyModel { name: "customer", key_type: KeyType::S },
        sort_key: Some(KeyModel { name: "number", key_type: KeyType::N }),
        version: "_version",
        version_is_field: false,
        write_ids: 16,
        attributes: &["customer", "number", "total_cents"],
        show_key: false,
        aliases: &[],
        flattens: false,
        lock: None,
    };

    fn key(&self) -> Key {
        OrderKey::from((self.customer.as_str(), self.number)).into()
    }

    fn mirror_version(&mut self, _version: u64) {}
}

impl<P: AsKey<String>> Partitioned<P> for Order {
    fn partition(value: &P) -> KeyValue {
        value.as_key()
    }
}

impl<R: SortRange<u64, M>, M> Sorted<R, M> for Order {
    fn bounds(range: R) -> SortBounds {
        range.into_bounds()
    }
}
