//! The table and the key of an item.

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, KeyType, ScalarAttributeType, TableDescription},
};
use aws_smithy_types::base64;

use super::Item;
use crate::{
    args::ItemArgs,
    failure::{Exit, Failure},
    output::shown,
};

/// The suffix of the last key attribute of a separate lease row.
const LEASE_ROW: &str = "#lock";

/// The table and the key of an item.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) table: String,
    /// The names of the key attributes: the partition key, then the sort key.
    pub(super) key_names: Vec<String>,
    pub(super) key: Item,
    /// The key as the user wrote it.
    pub(super) name: String,
}

impl Place {
    /// Finds the names and types of the key of the table.
    pub(super) async fn of(client: &Client, args: &ItemArgs) -> Result<Self, Failure> {
        let described = client.describe_table().table_name(&args.table).send().await;
        let described = described.map_err(|error| Failure::of_request(&args.table, &error))?;
        let table = described.table.ok_or_else(|| Failure::new(Exit::Failed, "DynamoDB did not describe the table"))?;
        let key_names: Vec<_> =
            [KeyType::Hash, KeyType::Range].iter().filter_map(|role| key_name(&table, role)).collect();
        let values: Vec<_> = [Some(&args.key), args.sort.as_ref()].into_iter().flatten().collect();
        match (key_names.as_slice(), values.len()) {
            ([_, sort], 1) => {
                let message = format!("table `{}` has the sort key `{}`; add its value", args.table, shown(sort));
                return Err(Failure::new(Exit::Usage, message));
            }
            ([_], 2) => {
                let message = format!("table `{}` has no sort key; leave the second value out", args.table);
                return Err(Failure::new(Exit::Usage, message));
            }
            _ => {}
        }
        let pairs = key_names.iter().zip(&values);
        let key = pairs.map(|(name, text)| Ok((name.clone(), key_value(&table, name, text)?)));
        let key = key.collect::<Result<_, Failure>>()?;
        let name = values.iter().map(|text| shown(text)).collect::<Vec<_>>().join(" ");
        Ok(Self { table: args.table.clone(), key, key_names, name })
    }

    /// Reads the item.
    pub(super) async fn read(&self, client: &Client) -> Result<Option<Item>, Failure> {
        self.get(client, &self.key).await
    }

    /// Reads the item, which must exist.
    pub(super) async fn read_existing(&self, client: &Client) -> Result<Item, Failure> {
        self.read(client).await?.ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("table `{}` has no item under {}", self.table, self.name))
        })
    }

    /// Reads the separate row with the lease of this item, if the type and the length of the last
    /// key attribute allow a separate row. `DynamoDB` refuses a partition key of more than 2048
    /// bytes, and a sort key of more than 1024 bytes.
    pub(super) async fn read_lease_row(&self, client: &Client) -> Result<Option<Item>, Failure> {
        const LONGEST_PARTITION_KEY: usize = 2_048;
        const LONGEST_SORT_KEY: usize = 1_024;
        let Some(last) = self.key_names.last() else { return Ok(None) };
        let limit = if self.key_names.len() == 1 { LONGEST_PARTITION_KEY } else { LONGEST_SORT_KEY };
        let longest = limit - LEASE_ROW.len();
        let lease_row = match &self.key[last] {
            AttributeValue::S(text) if text.len() <= longest => AttributeValue::S(format!("{text}{LEASE_ROW}")),
            AttributeValue::B(bytes) if bytes.as_ref().len() <= longest => {
                AttributeValue::B(Blob::new([bytes.as_ref(), LEASE_ROW.as_bytes()].concat()))
            }
            _ => return Ok(None),
        };
        let mut key = self.key.clone();
        key.insert(last.clone(), lease_row);
        self.get(client, &key).await
    }

    /// Returns the attribute for which time to live is on.
    pub(super) async fn time_to_live(&self, client: &Client) -> Result<Option<String>, Failure> {
        let described = client.describe_time_to_live().table_name(&self.table).send().await;
        let described = described.map_err(|error| Failure::of_request(&self.table, &error))?;
        Ok(described.time_to_live_description.and_then(crate::commands::table::attribute_that_is_on))
    }

    async fn get(&self, client: &Client, key: &Item) -> Result<Option<Item>, Failure> {
        let get = client.get_item().table_name(&self.table).set_key(Some(key.clone())).consistent_read(true);
        let answer = get.send().await.map_err(|error| Failure::of_request(&self.table, &error))?;
        Ok(answer.item)
    }
}

fn key_name(table: &TableDescription, role: &KeyType) -> Option<String> {
    let key = table.key_schema().iter().find(|element| element.key_type == *role)?;
    Some(key.attribute_name.clone())
}

/// Returns a value of a key attribute, in the type that the table defines.
fn key_value(table: &TableDescription, name: &str, text: &str) -> Result<AttributeValue, Failure> {
    let defined = table.attribute_definitions().iter().find(|defined| defined.attribute_name == name);
    let wrong = |expected| {
        let message = format!("the key attribute `{}` is {expected}; `{}` is none", shown(name), shown(text));
        Failure::new(Exit::Usage, message)
    };
    match defined.map(|defined| &defined.attribute_type) {
        Some(ScalarAttributeType::N) if text.parse::<f64>().is_ok_and(f64::is_finite) => {
            Ok(AttributeValue::N(text.to_owned()))
        }
        Some(ScalarAttributeType::N) => Err(wrong("a number")),
        Some(ScalarAttributeType::B) => {
            let bytes = base64::decode(text).map_err(|_| wrong("bytes in base64"))?;
            Ok(AttributeValue::B(Blob::new(bytes)))
        }
        _ => Ok(AttributeValue::S(text.to_owned())),
    }
}
