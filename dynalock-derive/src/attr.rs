//! Reads the attribute `#[dynalock(..)]` of structs and fields. Each word of the attribute is kept
//! as an `Ident`, so that an error message can point at the word.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, LitInt, LitStr, Path, parse_quote};

use crate::{
    entry::{Entry, Value, entries},
    errors::Errors,
    index::IndexAttrs,
    suggest::nearest,
};

const STRUCT_KEYS: &[&str] = &["table", "version", "write_ids", "key_type", "show_key", "index", "crate"];
const FIELD_KEYS: &[&str] = &["partition_key", "sort_key", "version", "created_at", "updated_at", "expires"];

#[derive(Default)]
pub(crate) struct StructAttrs {
    pub(crate) table: Option<LitStr>,
    pub(crate) version: Option<LitStr>,
    pub(crate) write_ids: Option<LitInt>,
    pub(crate) key_type: Option<Ident>,
    pub(crate) show_key: Option<Ident>,
    pub(crate) indexes: Vec<IndexAttrs>,
    pub(crate) krate: Option<Path>,
}

#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) partition_key: Option<Ident>,
    pub(crate) sort_key: Option<Ident>,
    pub(crate) version: Option<Ident>,
    pub(crate) created_at: Option<KeptTime>,
    pub(crate) updated_at: Option<KeptTime>,
    pub(crate) expires: Option<Ident>,
}

pub(crate) struct KeptTime {
    pub(crate) word: Ident,
    pub(crate) unit: TimeUnit,
}

#[derive(Clone, Copy)]
pub(crate) enum TimeUnit {
    Seconds,
    Milliseconds,
}

impl StructAttrs {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut attrs = Self::default();
        for entry in understood(attributes, errors) {
            attrs.set(entry, errors);
        }
        attrs
    }

    /// Reads only the key `crate`, for a derive macro that uses no other key of `#[dynalock(..)]`.
    pub(crate) fn read_crate(attributes: &[Attribute], errors: &mut Errors) -> Path {
        let mut attrs = Self::default();
        for entry in understood(attributes, errors) {
            match &entry.key {
                key if key == "crate" => attrs.set(entry, errors),
                key => errors.at(key, format_args!("unknown key `{key}`, expected `crate`")),
            }
        }
        attrs.krate()
    }

    pub(crate) fn krate(&self) -> Path {
        self.krate.clone().unwrap_or_else(|| parse_quote!(::dynalock))
    }

    fn set(&mut self, Entry { key, value }: Entry, errors: &mut Errors) {
        match key.to_string().as_str() {
            "table" => once(&mut self.table, &key, text(&key, &value, errors), errors),
            "version" => once(&mut self.version, &key, text(&key, &value, errors), errors),
            "write_ids" => once(&mut self.write_ids, &key, number(&key, value, errors), errors),
            "key_type" => once(&mut self.key_type, &key, ident(&key, &value, errors), errors),
            "show_key" => once(&mut self.show_key, &key, flag(&key, &value, errors), errors),
            "index" => self.indexes.extend(IndexAttrs::read(key, value, errors)),
            "crate" => once(&mut self.krate, &key, path(&key, &value, errors), errors),
            "lockable" => own_attribute(&key, &value, errors),
            _ => unknown(&key, STRUCT_KEYS, (FIELD_KEYS, "a field"), errors),
        }
    }
}

impl FieldAttrs {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut attrs = Self::default();
        for entry in understood(attributes, errors) {
            attrs.set(entry, errors);
        }
        attrs
    }

    /// Returns the roles of a field, for example `partition_key`.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &Ident> {
        let kept = [&self.created_at, &self.updated_at].into_iter().flatten().map(|time| &time.word);
        [&self.partition_key, &self.sort_key, &self.version, &self.expires].into_iter().flatten().chain(kept)
    }

    fn set(&mut self, Entry { key, value }: Entry, errors: &mut Errors) {
        match key.to_string().as_str() {
            "partition_key" => once(&mut self.partition_key, &key, flag(&key, &value, errors), errors),
            "sort_key" => once(&mut self.sort_key, &key, flag(&key, &value, errors), errors),
            "version" => once(&mut self.version, &key, flag(&key, &value, errors), errors),
            "created_at" => once(&mut self.created_at, &key, kept_time(&key, &value, errors), errors),
            "updated_at" => once(&mut self.updated_at, &key, kept_time(&key, &value, errors), errors),
            "expires" => once(&mut self.expires, &key, flag(&key, &value, errors), errors),
            _ => unknown(&key, FIELD_KEYS, (STRUCT_KEYS, "the struct"), errors),
        }
    }
}

fn understood(attributes: &[Attribute], errors: &mut Errors) -> Vec<Entry> {
    let mut understood = Vec::new();
    for entries in entries(attributes, "dynalock") {
        match entries {
            Ok(entries) => understood.extend(entries),
            Err(error) => errors.add(error),
        }
    }
    understood
}

pub(crate) fn once<T>(slot: &mut Option<T>, key: &Ident, value: Option<T>, errors: &mut Errors) {
    if slot.is_some() {
        errors.at(key, format_args!("duplicate key `{key}`"));
    } else {
        *slot = value;
    }
}

pub(crate) fn text(key: &Ident, value: &Value, errors: &mut Errors) -> Option<LitStr> {
    if let Value::Text(text) = value {
        return Some(text.clone());
    }
    errors.at(word(key, value), format_args!("expected a string: `{key} = \"..\"`"));
    None
}

fn number(key: &Ident, value: Value, errors: &mut Errors) -> Option<LitInt> {
    if let Value::Number(number) = value {
        return Some(number);
    }
    errors.at(word(key, &value), format_args!("expected a number: `{key} = 16`"));
    None
}

fn path(key: &Ident, value: &Value, errors: &mut Errors) -> Option<Path> {
    let text = text(key, value, errors)?;
    text.parse().map_err(|_| errors.at(&text, "expected a path: `crate = \"path::to::dynalock\"`")).ok()
}

fn ident(key: &Ident, value: &Value, errors: &mut Errors) -> Option<Ident> {
    let text = text(key, value, errors)?;
    text.parse().map_err(|_| errors.at(&text, format_args!("expected the name of a type: `{key} = \"OrderId\"`"))).ok()
}

fn kept_time(key: &Ident, value: &Value, errors: &mut Errors) -> Option<KeptTime> {
    let unit = match value {
        Value::Absent => Some(TimeUnit::Seconds),
        Value::Text(text) if text.value() == "seconds" => Some(TimeUnit::Seconds),
        Value::Text(text) if text.value() == "millis" => Some(TimeUnit::Milliseconds),
        _ => None,
    };
    if unit.is_none() {
        let message = format_args!("expected `{key}` for whole seconds, or `{key} = \"millis\"` for milliseconds");
        errors.at(word(key, value), message);
    }
    unit.map(|unit| KeptTime { word: key.clone(), unit })
}

fn own_attribute(key: &Ident, value: &Value, errors: &mut Errors) {
    let arguments = if matches!(value, Value::Absent) { "" } else { "(..)" };
    errors.at(
        key,
        format_args!("`{key}` is an attribute of its own: write `#[{key}{arguments}]` beside `#[dynalock(..)]`"),
    );
}

pub(crate) fn flag(key: &Ident, value: &Value, errors: &mut Errors) -> Option<Ident> {
    match value {
        Value::Absent => return Some(key.clone()),
        Value::Text(text) if key == "version" => errors.at(
            text,
            format_args!(
                "`version` takes no value on a field, whose name is serde's: `#[serde(rename = \"{}\")]`",
                text.value()
            ),
        ),
        _ => errors.at(word(key, value), format_args!("`{key}` takes no value")),
    }
    None
}

/// Returns the tokens at which an error about the value of a key points.
fn word(key: &Ident, value: &Value) -> TokenStream {
    match value {
        Value::Text(text) => text.to_token_stream(),
        Value::Number(number) => number.to_token_stream(),
        Value::Other(tokens) => tokens.clone(),
        Value::Absent | Value::List(_) => key.to_token_stream(),
    }
}

/// `there` contains the keys that belong on `place`.
pub(crate) fn unknown(key: &Ident, here: &[&str], (there, place): (&[&str], &str), errors: &mut Errors) {
    let name = key.to_string();
    let message = if there.contains(&name.as_str()) {
        format!("`{name}` belongs on {place}")
    } else if let Some(nearest) = nearest(&name, here) {
        format!("unknown key `{name}`, did you mean `{nearest}`?")
    } else if let Some(nearest) = nearest(&name, there) {
        format!("unknown key `{name}`, did you mean `{nearest}`, which belongs on {place}?")
    } else {
        format!("unknown key `{name}`, expected one of `{}`", here.join("`, `"))
    };
    errors.at(key, message);
}
