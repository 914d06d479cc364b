//! Reads the index attribute `index(..)` inside `#[dynalock(..)]`.

use proc_macro2::{Ident, Span};
use syn::LitStr;

use crate::{
    attr::{flag, once, text, unknown},
    entry::{Entry, Value},
    errors::Errors,
};

const KEYS: &[&str] = &["name", "partition_key", "sort_key", "local", "all", "keys_only", "include"];

pub(crate) struct IndexAttrs {
    pub(crate) word: Ident,
    pub(crate) name: Option<LitStr>,
    pub(crate) partition_key: Option<LitStr>,
    pub(crate) sort_key: Option<LitStr>,
    pub(crate) local: Option<Ident>,
    pub(crate) projection: Option<Projection>,
}

pub(crate) enum Projection {
    All,
    KeysOnly,
    Include(Vec<Ident>),
}

impl IndexAttrs {
    pub(crate) fn read(word: Ident, value: Value, errors: &mut Errors) -> Option<Self> {
        let Value::List(entries) = value else {
            errors
                .at(&word, "expected the parts of an index: `index(name = \"by_status\", partition_key = \"status\")`");
            return None;
        };
        let mut attrs = Self { word, name: None, partition_key: None, sort_key: None, local: None, projection: None };
        for entry in entries {
            attrs.set(entry, errors);
        }
        Some(attrs)
    }

    /// Returns the span at which an error about the whole index points: the name of the index, or
    /// the word `index`.
    pub(crate) fn place(&self) -> Span {
        self.name.as_ref().map_or_else(|| self.word.span(), LitStr::span)
    }

    fn set(&mut self, Entry { key, value }: Entry, errors: &mut Errors) {
        match key.to_string().as_str() {
            "name" => once(&mut self.name, &key, text(&key, &value, errors), errors),
            "partition_key" => once(&mut self.partition_key, &key, text(&key, &value, errors), errors),
            "sort_key" => once(&mut self.sort_key, &key, text(&key, &value, errors), errors),
            "local" => once(&mut self.local, &key, flag(&key, &value, errors), errors),
            "all" => self.project(&key, flag(&key, &value, errors).map(|_| Projection::All), errors),
            "keys_only" => self.project(&key, flag(&key, &value, errors).map(|_| Projection::KeysOnly), errors),
            "include" => self.project(&key, include(&key, value, errors), errors),
            _ => unknown(&key, KEYS, (&[], "the struct"), errors),
        }
    }

    fn project(&mut self, key: &Ident, projection: Option<Projection>, errors: &mut Errors) {
        if self.projection.is_some() {
            errors.at(key, "an index holds `all`, `keys_only` or `include(..)`: keep only one of them");
        } else {
            self.projection = projection;
        }
    }
}

fn include(key: &Ident, value: Value, errors: &mut Errors) -> Option<Projection> {
    let fields = match value {
        Value::List(entries) if !entries.is_empty() => entries,
        _ => {
            errors.at(key, "expected names of fields: `include(total_cents, lines)`");
            return None;
        }
    };
    for field in fields.iter().filter(|field| !matches!(field.value, Value::Absent)) {
        errors.at(&field.key, "expected only the name of a field");
    }
    Some(Projection::Include(fields.into_iter().map(|field| field.key).collect()))
}
