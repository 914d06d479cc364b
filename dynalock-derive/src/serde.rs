//! Reads the parts of `#[serde(..)]` that matter for an item.
//!
//! Serde itself reports invalid attributes, unknown keys and wrong values, so they are ignored
//! here.

use proc_macro2::Ident;
use syn::{Attribute, LitStr};

use crate::{
    case::RenameRule,
    entry::{Entry, Value, entries},
};

/// `#[serde(..)]` on the struct.
#[derive(Default)]
pub(crate) struct StructAttrs {
    /// The rule for writing.
    pub(crate) written: RenameRule,
    /// The rule for reading.
    pub(crate) read: RenameRule,
    /// The word `rename_all`, where errors point.
    pub(crate) rename_all: Option<Ident>,
    /// The words by which the fields would not be the attributes of the item.
    pub(crate) refused: Vec<Ident>,
}

/// `#[serde(..)]` on a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    /// The name for writing.
    pub(crate) written: Option<LitStr>,
    /// The names for reading: serde takes the first, and the others as aliases.
    pub(crate) read: Vec<LitStr>,
    /// The word `rename`, where errors point.
    pub(crate) rename: Option<Ident>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) flatten: Option<Ident>,
    /// `skip` or `skip_serializing`.
    pub(crate) not_written: Option<Ident>,
    /// `skip` or `skip_deserializing`.
    pub(crate) not_read: Option<Ident>,
    /// `skip_serializing_if`.
    pub(crate) sometimes_written: Option<Ident>,
    /// `with`, `serialize_with` and `deserialize_with`.
    pub(crate) with: Vec<Ident>,
}

impl StructAttrs {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut attrs = Self::default();
        for entry in entries(attributes, "serde").flatten().flatten() {
            attrs.set(entry);
        }
        attrs
    }

    fn set(&mut self, Entry { key, value }: Entry) {
        match key.to_string().as_str() {
            "rename_all" => {
                let names = Rename::of(value);
                if let Some(rule) = names.written {
                    self.written = RenameRule::from_name(&rule.value());
                }
                if let Some(rule) = names.read.first() {
                    self.read = RenameRule::from_name(&rule.value());
                }
                self.rename_all = Some(key);
            }
            "from" | "try_from" | "into" | "transparent" | "tag" | "untagged" | "remote" => {
                self.refused.push(key);
            }
            _ => {}
        }
    }
}

impl FieldAttrs {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut attrs = Self::default();
        for entry in entries(attributes, "serde").flatten().flatten() {
            attrs.set(entry);
        }
        attrs
    }

    /// Returns the names for reading that are aliases.
    pub(crate) fn further_names(&self) -> impl Iterator<Item = &LitStr> {
        self.read.iter().skip(1).chain(&self.aliases)
    }

    /// Returns the words that keep the field from being written or read, each once.
    pub(crate) fn skips(&self) -> Vec<&Ident> {
        let mut skips: Vec<&Ident> =
            [&self.not_written, &self.not_read, &self.sometimes_written].into_iter().flatten().collect();
        // `skip` is in both lists.
        skips.dedup();
        skips
    }

    /// Returns the words by which serde never writes or never reads the field.
    pub(crate) fn always_skips(&self) -> Vec<&Ident> {
        let mut skips: Vec<&Ident> = [&self.not_written, &self.not_read].into_iter().flatten().collect();
        skips.dedup();
        skips
    }

    /// Returns whether the field has its own function for writing, by `with` or `serialize_with`.
    pub(crate) fn written_by_other_code(&self) -> bool {
        self.with.iter().any(|word| word != "deserialize_with")
    }

    /// Returns whether the field has its own function for reading, by `with` or `deserialize_with`.
    pub(crate) fn read_by_other_code(&self) -> bool {
        self.with.iter().any(|word| word != "serialize_with")
    }

    fn set(&mut self, Entry { key, value }: Entry) {
        match (key.to_string().as_str(), value) {
            ("rename", value) => {
                let names = Rename::of(value);
                self.written = names.written.or(self.written.take());
                self.read.extend(names.read);
                self.rename = Some(key);
            }
            ("alias", Value::Text(alias)) => self.aliases.push(alias),
            ("flatten", _) => self.flatten = Some(key),
            ("skip", _) => {
                self.not_written = Some(key.clone());
                self.not_read = Some(key);
            }
            ("skip_serializing", _) => self.not_written = Some(key),
            ("skip_deserializing", _) => self.not_read = Some(key),
            ("skip_serializing_if", _) => self.sometimes_written = Some(key),
            ("with" | "serialize_with" | "deserialize_with", _) => self.with.push(key),
            _ => {}
        }
    }
}

/// The value of a `rename` or a `rename_all`.
#[derive(Default)]
struct Rename {
    written: Option<LitStr>,
    read: Vec<LitStr>,
}

impl Rename {
    fn of(value: Value) -> Self {
        match value {
            Value::Text(name) => Self { written: Some(name.clone()), read: vec![name] },
            Value::List(entries) => Self::of_each(entries),
            Value::Absent | Value::Number(_) | Value::Other(_) => Self::default(),
        }
    }

    fn of_each(entries: Vec<Entry>) -> Self {
        let mut names = Self::default();
        for Entry { key, value } in entries {
            if let Value::Text(name) = value {
                if key == "serialize" {
                    names.written = Some(name);
                } else if key == "deserialize" {
                    names.read.push(name);
                }
            }
        }
        names
    }
}
