// The items of the examples in doc comments. A user derives all of this, but dynalock-core cannot
// use the derive.
use dynalock_core::{Key, Versioned, condition::Attribute, private::{KeyModel, Model, TimesModel, attribute}, table::{KeyType, KeyValue}};

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Product {
    pub sku: String,
    pub stock: i64,
}

pub struct ProductAttributes {
    pub stock: Attribute<Product, i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProductKey(Key);

impl Product {
    pub const ATTR: ProductAttributes = ProductAttributes { stock: attribute("stock") };
}

impl From<&str> for ProductKey {
    fn from(sku: &str) -> Self {
        Self(Key::new(KeyValue::S(sku.to_owned()), None))
    }
}

impl From<ProductKey> for Key {
    fn from(key: ProductKey) -> Self {
        key.0
    }
}

impl Versioned for Product {
    type Key = ProductKey;

    const MODEL: &'static Model = &Model {
        table: "products",
        partition_key: KeyModel { name: "sku", key_type: KeyType::S },
        sort_key: None,
        version: "_version",
        version_is_field: false,
        times: TimesModel::NONE,
        write_ids: 16,
        attributes: &["sku", "stock"],
        show_key: false,
        aliases: &[],
        flattens: false,
        lock: None,
        indexes: &[],
    };

    fn key(&self) -> Key {
        ProductKey::from(self.sku.as_str()).into()
    }

    fn typed_key(key: Key) -> ProductKey {
        ProductKey(key)
    }

    fn mirror_version(&mut self, _version: u64) {}
}
