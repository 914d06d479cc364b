//! Reads the parts of `#[serde(..)]` that affect the attributes of an item.
//!
//! The derive ignores invalid attributes, unknown keys and wrong values in `#[serde(..)]`, because
//! serde itself reports these errors.

use proc_macro2::Ident;
use syn::{Attribute, LitStr};

use crate::{
    case::RenameRule,
    entry::{Entry, Value, entries},
};

#[derive(Default)]
pub(crate) struct SerdeStructAttrs {
    /// The rule of `rename_all` for the names that serde writes.
    pub(crate) written: RenameRule,
    /// The rule of `rename_all` for the names that serde reads.
    pub(crate) read: RenameRule,
    pub(crate) rename_all: Option<Ident>,
    /// With a refused word, for example `untagged`, the fields of the struct would not become the
    /// attributes of the item.
    pub(crate) refused: Vec<Ident>,
    pub(crate) default: Option<DefaultAttr>,
}

pub(crate) enum DefaultAttr {
    /// A `default` without a path, for which serde calls `Default::default()`.
    OfType,
    /// A `default = "path"`, for which serde calls the function at the path.
    Path(LitStr),
}

#[derive(Default)]
pub(crate) struct SerdeFieldAttrs {
    /// The attribute name that `rename` sets for writing.
    pub(crate) written: Option<LitStr>,
    /// The attribute names that `rename` sets for reading: one name, and then any number of
    /// aliases.
    pub(crate) read: Vec<LitStr>,
    pub(crate) rename: Option<Ident>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) flatten: Option<Ident>,
    /// The tokens of the word `skip` or `skip_serializing`.
    pub(crate) not_written: Option<Ident>,
    /// The tokens of the word `skip` or `skip_deserializing`.
    pub(crate) not_read: Option<Ident>,
    /// The tokens of the word `skip_serializing_if`.
    pub(crate) sometimes_written: Option<Ident>,
    /// The tokens of the words `with`, `serialize_with` and `deserialize_with`.
    pub(crate) with: Vec<Ident>,
    /// The path of the module in `#[serde(with = "..")]`.
    pub(crate) module: Option<LitStr>,
    pub(crate) default: Option<DefaultAttr>,
}

impl SerdeStructAttrs {
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
            "default" => self.default = DefaultAttr::of(value),
            "from" | "try_from" | "into" | "transparent" | "tag" | "untagged" | "remote" => {
                self.refused.push(key);
            }
            _ => {}
        }
    }
}

impl DefaultAttr {
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Absent => Some(Self::OfType),
            Value::Text(path) => Some(Self::Path(path)),
            Value::Number(_) | Value::List(_) | Value::Other(_) => None,
        }
    }
}

impl SerdeFieldAttrs {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut attrs = Self::default();
        for entry in entries(attributes, "serde").flatten().flatten() {
            attrs.set(entry);
        }
        attrs
    }

    /// Returns the attribute names that serde reads as aliases of the field.
    pub(crate) fn further_names(&self) -> impl Iterator<Item = &LitStr> {
        self.read.iter().skip(1).chain(&self.aliases)
    }

    /// Returns the distinct words with which serde does not always write and read the field, for
    /// example `skip`.
    pub(crate) fn skips(&self) -> Vec<&Ident> {
        let mut skips: Vec<&Ident> =
            [&self.not_written, &self.not_read, &self.sometimes_written].into_iter().flatten().collect();
        // The word `skip` prevents both writing and reading, so `skips` may contain the word twice
        // before `dedup`.
        skips.dedup();
        skips
    }

    /// Returns the words with which serde never writes or never reads the field, for example
    /// `skip_serializing`.
    pub(crate) fn always_skips(&self) -> Vec<&Ident> {
        let mut skips: Vec<&Ident> = [&self.not_written, &self.not_read].into_iter().flatten().collect();
        skips.dedup();
        skips
    }

    /// Returns whether serde writes the field by a function in `with` or `serialize_with`.
    pub(crate) fn written_by_other_code(&self) -> bool {
        self.with.iter().any(|word| word != "deserialize_with")
    }

    /// Returns whether serde reads the field by a function in `with` or `deserialize_with`.
    pub(crate) fn read_by_other_code(&self) -> bool {
        self.with.iter().any(|word| word != "serialize_with")
    }

    /// Returns the name of the set type in dynalock if a module of `serde_dynamo` writes the field
    /// as a set.
    pub(crate) fn set_type(&self) -> Option<&'static str> {
        let module: String = self.module.as_ref()?.value().chars().filter(|c| !c.is_whitespace()).collect();
        match module.trim_start_matches("::") {
            "serde_dynamo::string_set" => Some("StringSet"),
            "serde_dynamo::number_set" => Some("NumberSet"),
            "serde_dynamo::binary_set" => Some("BinarySet"),
            _ => None,
        }
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
            ("default", value) => self.default = DefaultAttr::of(value),
            ("flatten", _) => self.flatten = Some(key),
            ("skip", _) => {
                self.not_written = Some(key.clone());
                self.not_read = Some(key);
            }
            ("skip_serializing", _) => self.not_written = Some(key),
            ("skip_deserializing", _) => self.not_read = Some(key),
            ("skip_serializing_if", _) => self.sometimes_written = Some(key),
            ("with", Value::Text(module)) => {
                self.with.push(key);
                self.module = Some(module);
            }
            ("with" | "serialize_with" | "deserialize_with", _) => self.with.push(key),
            _ => {}
        }
    }
}

/// The value of `rename` or `rename_all`: a name or a rule for writing, and a name or a rule for
/// reading.
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
