//! The creation time and the time of the last write, which the library stores in an item.

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use crate::model::{KeptTimes, Model, TimeModel};

/// A time that is not a whole number counts as missing.
pub(super) fn times_of(model: &Model, item: &Item) -> KeptTimes {
    let time = |time: TimeModel| item.get(time.name)?.as_n().ok()?.parse().ok();
    let of = model.times;
    KeptTimes { created_at: of.created_at.and_then(time), updated_at: of.updated_at.and_then(time) }
}

/// Returns the creation time and the time of the last write of an item that is created at `at`
/// (epoch milliseconds).
pub(crate) fn times_of_create(model: &Model, at: u64) -> KeptTimes {
    KeptTimes { created_at: model.times.created_at.map(|time| moment(time, at)), ..KeptTimes::default() }
        .after(model, at)
}

impl KeptTimes {
    /// Keeps the creation time, and replaces the time of the last write by `at` (epoch
    /// milliseconds).
    pub(crate) fn after(self, model: &Model, at: u64) -> Self {
        Self { updated_at: model.times.updated_at.map(|time| moment(time, at)), ..self }
    }

    pub(crate) fn attributes(self, model: &Model) -> impl Iterator<Item = (&'static str, AttributeValue)> {
        let created_at = model.times.created_at.zip(self.created_at);
        let updated_at = model.times.updated_at.zip(self.updated_at);
        created_at.into_iter().chain(updated_at).map(|(time, value)| (time.name, AttributeValue::N(value.to_string())))
    }

    pub(crate) fn write_into(self, model: &Model, item: &mut Item) {
        item.extend(self.attributes(model).map(|(name, value)| (name.to_owned(), value)));
    }
}

/// Returns the attribute that stores `at` (epoch milliseconds) as the time of the last write.
/// Returns `None` if the type has no field marked `#[dynalock(updated_at)]`.
pub(crate) fn updated_at(model: &Model, at: u64) -> Option<(&'static str, AttributeValue)> {
    let time = model.times.updated_at?;
    Some((time.name, AttributeValue::N(moment(time, at).to_string())))
}

fn moment(time: TimeModel, at: u64) -> i64 {
    i64::try_from(time.unit.moment(at)).unwrap_or(i64::MAX)
}
