//! Checks `#[lockable]`: the lease attributes must have distinct names, and the ttl must be valid.

use std::time::Duration;

use proc_macro2::Ident;
use quote::ToTokens;

use super::WRITE_IDS;
use crate::{errors::Errors, lockable::Lockable, model::Struct};

pub(crate) struct Lock {
    pub(crate) ttl: Duration,
    /// The names of the lease attributes, in the order of [`Lockable::NAMES`].
    pub(crate) names: [String; 8],
    pub(crate) seconds: bool,
    pub(crate) place: Place,
}

pub(crate) enum Place {
    Item,
    Separate(Ident),
}

const TTL: Duration = Duration::from_secs(20);

/// The longest ttl of a lease, which dynalock-core checks again at run time.
const YEAR: Duration = Duration::from_hours(366 * 24);

pub(super) fn check(model: &Struct<'_>, version: &str, errors: &mut Errors) -> Option<Lock> {
    let lockable = model.lockable.as_ref()?;
    let (ttl, names, seconds) = (ttl(lockable, errors), names(lockable, errors), seconds(lockable, errors));
    let place = lockable.separate.clone().map_or(Place::Item, Place::Separate);
    let lock = Lock { ttl, names, seconds, place };
    distinct(lockable, &lock, version, errors);
    Some(lock)
}

fn ttl(lockable: &Lockable, errors: &mut Errors) -> Duration {
    let Some(text) = &lockable.ttl else { return TTL };
    let ttl = duration(&text.value()).filter(|ttl| (Duration::from_secs(1)..=YEAR).contains(ttl));
    ttl.unwrap_or_else(|| {
        errors.at(text, "expected a time from a second to a year, with its unit: `30s`, `1500ms` or `5m`");
        TTL
    })
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

fn names(lockable: &Lockable, errors: &mut Errors) -> [String; 8] {
    let mut index = 0;
    Lockable::NAMES.map(|(_, default)| {
        let said = &lockable.names[index];
        index += 1;
        let Some(text) = said else { return default.to_owned() };
        if text.value().is_empty() {
            errors.at(text, "the name of an attribute cannot be empty");
        }
        text.value()
    })
}

fn seconds(lockable: &Lockable, errors: &mut Errors) -> bool {
    let Some(unit) = &lockable.unit else { return false };
    match unit.value().as_str() {
        "seconds" => true,
        "milliseconds" => false,
        _ => {
            errors.at(unit, "expected `seconds` or `milliseconds`: the unit of the epoch time in `until`");
            false
        }
    }
}

fn distinct(lockable: &Lockable, lock: &Lock, version: &str, errors: &mut Errors) {
    for (index, name) in lock.names.iter().enumerate() {
        let place: &dyn ToTokens = match &lockable.names[index] {
            Some(said) => said,
            None => &lockable.word,
        };
        let (key, _) = Lockable::NAMES[index];
        if let Some(first) = lock.names[..index].iter().position(|other| other == name) {
            let (other, _) = Lockable::NAMES[first];
            errors.at(place, format_args!("`{key}` and `{other}` have the same name, `{name}`"));
        } else if name == WRITE_IDS || name == version {
            errors.at(place, format_args!("`{name}` is an attribute of the library with another purpose"));
        }
    }
}

pub(super) fn is_reserved(model: &Struct<'_>, name: &str) -> bool {
    let Some(lockable) = &model.lockable else { return false };
    let is_named = |(said, (_, default)): (&Option<syn::LitStr>, &(&str, &str))| match said {
        Some(said) => said.value() == name,
        None => *default == name,
    };
    lockable.names.iter().zip(&Lockable::NAMES).any(is_named)
}
