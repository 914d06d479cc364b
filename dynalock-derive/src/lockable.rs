//! Reads the attribute `#[lockable]` of a struct.

use proc_macro2::Ident;
use syn::{Attribute, LitStr, Meta, Path};

use crate::{
    entry::{Entry, Value, entries},
    errors::Errors,
    suggest::nearest,
};

const KEYS: &[&str] =
    &["ttl", "owner", "fence", "beat", "until", "released", "crashed", "queue", "turn", "unit", "separate"];

pub(crate) struct Lockable {
    pub(crate) word: Path,
    pub(crate) ttl: Option<LitStr>,
    /// The names of the lease attributes, in the order of [`Lockable::NAMES`].
    pub(crate) names: [Option<LitStr>; 8],
    pub(crate) unit: Option<LitStr>,
    pub(crate) separate: Option<Ident>,
}

impl Lockable {
    /// The keys in `#[lockable(..)]` that set the names of the lease attributes, and the default
    /// names.
    pub(crate) const NAMES: [(&str, &str); 8] = [
        ("owner", "_owner"),
        ("fence", "_fence"),
        ("beat", "_beat"),
        ("until", "_until"),
        ("released", "_released"),
        ("crashed", "_crashed"),
        ("queue", "_queue"),
        ("turn", "_turn"),
    ];

    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        let mut found = attributes.iter().filter(|attribute| attribute.path().is_ident("lockable"));
        let first = found.next()?;
        if let Some(second) = found.next() {
            errors.at(second, "duplicate `#[lockable]`: write all settings in one attribute");
        }
        let word = first.path().clone();
        let mut lockable = Self { word, ttl: None, names: [const { None }; 8], unit: None, separate: None };
        if !matches!(first.meta, Meta::Path(_)) {
            for entries in entries(std::slice::from_ref(first), "lockable") {
                match entries {
                    Ok(entries) => entries.into_iter().for_each(|entry| lockable.set(entry, errors)),
                    Err(error) => errors.add(error),
                }
            }
        }
        Some(lockable)
    }

    fn set(&mut self, Entry { key, value }: Entry, errors: &mut Errors) {
        let name = key.to_string();
        if name == "separate" {
            return flag(&mut self.separate, key, &value, errors);
        }
        let slot = match (name.as_str(), Self::NAMES.iter().position(|(known, _)| *known == name)) {
            (_, Some(index)) => &mut self.names[index],
            ("ttl", None) => &mut self.ttl,
            ("unit", None) => &mut self.unit,
            _ => return unknown(&key, errors),
        };
        let Value::Text(text) = value else {
            let example = match name.as_str() {
                "ttl" => "30s",
                "unit" => "seconds",
                _ => "..",
            };
            return errors.at(&key, format_args!("expected a string: `{name} = \"{example}\"`"));
        };
        if slot.replace(text).is_some() {
            errors.at(&key, format_args!("duplicate key `{name}`"));
        }
    }
}

fn flag(slot: &mut Option<Ident>, key: Ident, value: &Value, errors: &mut Errors) {
    if !matches!(value, Value::Absent) {
        errors.at(&key, format_args!("`{key}` takes no value"));
    } else if slot.is_some() {
        errors.at(&key, format_args!("duplicate key `{key}`"));
    }
    *slot = Some(key);
}

fn unknown(key: &Ident, errors: &mut Errors) {
    let name = key.to_string();
    let message = match nearest(&name, KEYS) {
        Some(nearest) => format!("unknown key `{name}`, did you mean `{nearest}`?"),
        None => format!("unknown key `{name}`, expected one of `{}`", KEYS.join("`, `")),
    };
    errors.at(key, message);
}
