//! A table with the key `k`, and short functions that write attributes.

use std::{collections::HashMap, fmt};

use aws_sdk_dynamodb::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::{
        delete_item::builders::DeleteItemFluentBuilder,
        put_item::builders::PutItemFluentBuilder,
        update_item::builders::UpdateItemFluentBuilder,
        update_time_to_live::{UpdateTimeToLiveError, UpdateTimeToLiveOutput},
    },
    primitives::Blob,
    types::{
        AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, Put, ScalarAttributeType,
        TimeToLiveSpecification, Update,
        builders::{PutBuilder, UpdateBuilder},
    },
};

pub(crate) type Item = HashMap<String, AttributeValue>;

/// A table for one test. Its only key is the string `k`.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Table {
    pub(crate) async fn create(client: Client, name: &str) -> Self {
        Self::create_keyed(client, name, &[("k", ScalarAttributeType::S)]).await
    }

    pub(crate) async fn create_keyed(client: Client, name: &str, keys: &[(&str, ScalarAttributeType)]) -> Self {
        let mut create = client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
        for ((key, key_type), role) in keys.iter().zip([KeyType::Hash, KeyType::Range]) {
            let definition = AttributeDefinition::builder().attribute_name(*key).attribute_type(key_type.clone());
            let element = KeySchemaElement::builder().attribute_name(*key).key_type(role);
            create = create.attribute_definitions(definition.build().unwrap()).key_schema(element.build().unwrap());
        }
        create.send().await.unwrap();

        Self { client, name: name.to_owned() }
    }

    pub(crate) fn with(&self, client: Client) -> Self {
        Self { client, name: self.name.clone() }
    }

    pub(crate) async fn put(&self, attributes: Item) {
        self.client.put_item().table_name(&self.name).set_item(Some(attributes)).send().await.unwrap();
    }

    pub(crate) async fn get(&self, key: &str) -> Option<Item> {
        let get = self.client.get_item().table_name(&self.name).key("k", s(key)).consistent_read(true);
        get.send().await.unwrap().item
    }

    /// Returns the value of attribute `n` of an item.
    pub(crate) async fn n(&self, key: &str) -> Option<AttributeValue> {
        self.get(key).await.and_then(|mut item| item.remove("n"))
    }

    pub(crate) fn put_request(&self, attributes: Item) -> PutItemFluentBuilder {
        self.client.put_item().table_name(&self.name).set_item(Some(attributes))
    }

    pub(crate) fn update(&self, key: &str, expression: &str) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.name).key("k", s(key)).update_expression(expression)
    }

    pub(crate) fn delete(&self, key: &str) -> DeleteItemFluentBuilder {
        self.client.delete_item().table_name(&self.name).key("k", s(key))
    }

    pub(crate) fn tx_put(&self, attributes: Item) -> PutBuilder {
        Put::builder().table_name(&self.name).set_item(Some(attributes))
    }

    pub(crate) fn tx_update(&self, key: &str, expression: &str) -> UpdateBuilder {
        Update::builder().table_name(&self.name).key("k", s(key)).update_expression(expression)
    }

    /// Enables time to live on attribute `expires`.
    pub(crate) async fn enable_ttl(&self) -> Result<UpdateTimeToLiveOutput, SdkError<UpdateTimeToLiveError>> {
        let ttl = TimeToLiveSpecification::builder().enabled(true).attribute_name("expires").build().unwrap();

        self.client.update_time_to_live().table_name(&self.name).time_to_live_specification(ttl).send().await
    }

    /// Sends the update `n = n + 1`. The item may not exist yet.
    pub(crate) fn increment(&self, key: &str) -> UpdateItemFluentBuilder {
        self.update(key, "ADD n :one").expression_attribute_values(":one", n(1))
    }
}

pub(crate) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn s(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn n(value: impl fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn b(value: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

pub(crate) fn list(values: impl IntoIterator<Item = AttributeValue>) -> AttributeValue {
    AttributeValue::L(values.into_iter().collect())
}

pub(crate) fn ss<const N: usize>(values: [&str; N]) -> AttributeValue {
    AttributeValue::Ss(values.map(str::to_owned).to_vec())
}

/// Returns the code of a refusal, or `None` for a success and for an answer that does not come from
/// the service.
pub(crate) fn code<T, E: ProvideErrorMetadata, R>(result: &Result<T, SdkError<E, R>>) -> Option<&str> {
    result.as_ref().err().and_then(ProvideErrorMetadata::code)
}
