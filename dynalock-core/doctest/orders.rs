// Items with a sort key, for examples in doc comments. A user derives all of this, but
// dynalock-core cannot use the derive.
use dynalock_core::{
    Key, Versioned,
    condition::Attribute,
    private::{AsKey, IndexModel, IndexScope, KeyModel, Model, Projection, TimesModel, attribute, index},
    query::{Index, InGlobalIndex, InLocalIndex, KeysAlone, NoSortKey, Partitioned, SortBounds, SortRange, Sorted, WholeItems},
    table::{KeyType, KeyValue},
};

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Order {
    pub customer: String,
    pub number: u64,
    pub status: String,
    pub placed_at: String,
    pub total_cents: u64,
}

pub struct OrderIndexes {
    pub by_status: Index<Order, String, InGlobalIndex<u64, WholeItems>>,
    pub by_total: Index<Order, u64, InGlobalIndex<NoSortKey, KeysAlone>>,
    pub by_time: Index<Order, String, InLocalIndex<String, WholeItems>>,
}

pub struct OrderAttributes {
    pub total_cents: Attribute<Order, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OrderKey(Key);

impl Order {
    pub const ATTR: OrderAttributes = OrderAttributes { total_cents: attribute("total_cents") };
    pub const INDEX: OrderIndexes = OrderIndexes { by_status: index(Self::MODEL, 0), by_total: index(Self::MODEL, 1), by_time: index(Self::MODEL, 2) };
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
        times: TimesModel::NONE,
        write_ids: 16,
        attributes: &["customer", "number", "placed_at", "status", "total_cents"],
        show_key: false,
        aliases: &[],
        flattens: false,
        lock: None,
        indexes: &[
            IndexModel {
                name: "by_status",
                scope: IndexScope::Global,
                partition_key: KeyModel { name: "status", key_type: KeyType::S },
                sort_key: Some(KeyModel { name: "total_cents", key_type: KeyType::N }),
                projection: Projection::All,
            },
            IndexModel {
                name: "by_total",
                scope: IndexScope::Global,
                partition_key: KeyModel { name: "total_cents", key_type: KeyType::N },
                sort_key: None,
                projection: Projection::KeysOnly,
            },
            IndexModel {
                name: "by_time",
                scope: IndexScope::Local,
                partition_key: KeyModel { name: "customer", key_type: KeyType::S },
                sort_key: Some(KeyModel { name: "placed_at", key_type: KeyType::S }),
                projection: Projection::All,
            },
        ],
    };

    fn key(&self) -> Key {
        OrderKey::from((self.customer.as_str(), self.number)).into()
    }

    fn typed_key(key: Key) -> OrderKey {
        OrderKey(key)
    }

    fn mirror_version(&mut self, _version: u64) {}
}

impl<P: AsKey<String>> Partitioned<P> for Order {
    fn partition(value: P) -> KeyValue {
        value.as_key()
    }
}

impl<R: SortRange<u64, M>, M> Sorted<R, M> for Order {
    fn bounds(range: R) -> SortBounds {
        range.into_bounds()
    }
}
