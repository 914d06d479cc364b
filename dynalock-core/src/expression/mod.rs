//! The text of expressions, and the names and values that stand behind their placeholders.
//!
//! Names are always placeholders: an attribute may be called like one of DynamoDB's 573 reserved words, or hold dots.

mod condition;
mod update;

pub(crate) use condition::{absent, unchanged};
pub(crate) use update::update;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::codec::Item;

/// The placeholders of one request.
#[derive(Default)]
pub(crate) struct Placeholders {
    names: Vec<String>,
    values: Vec<AttributeValue>,
}

impl Placeholders {
    /// The placeholder of an attribute name.
    pub(crate) fn name(&mut self, name: &str) -> String {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        format!("#{index}")
    }

    /// The placeholder of a value.
    pub(crate) fn value(&mut self, value: AttributeValue) -> String {
        self.values.push(value);
        format!(":{}", self.values.len() - 1)
    }

    /// Names and values as requests take them: none rather than an empty map.
    pub(crate) fn finish(self) -> (Option<HashMap<String, String>>, Option<Item>) {
        let names = self.names.into_iter().enumerate().map(|(index, name)| (format!("#{index}"), name)).collect();
        let values = self.values.into_iter().enumerate().map(|(index, value)| (format!(":{index}"), value)).collect();
        (
            Some(names).filter(|names: &HashMap<_, _>| !names.is_empty()),
            Some(values).filter(|values: &Item| !values.is_empty()),
        )
    }
}
