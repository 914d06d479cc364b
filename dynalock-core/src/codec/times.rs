//! The two times that the library stores in an item: the time of the create and the time of the
//! last write.

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use crate::model::{KeptTimes, Model, TimeModel};

/// Returns the time of the create and the time of the last write from an item. If the attribute for
/// a time is not a whole number, the time counts as missing.
pub(super) fn times_of(model: &Model, item: &Item) -> KeptTimes {
    let time = |time: TimeModel| item.get(time.name)?.as_n().ok()?.parse().ok();
    let of = model.times;
    KeptTimes { created_at: of.created_at.and_then(time), updated_at: of.updated_at.and_then(time) }
}

/// Returns both times of an item that is created at `at` (epoch milliseconds).
pub(crate) fn times_of_create(model: &Model, at: u64) -> KeptTimes {
    KeptTimes { created_at: model.times.created_at.map(|time| moment(time, at)), ..KeptTimes::default() }
        .after(model, at)
}

impl KeptTimes {
    /// Returns the unchanged time of the create, and `at` (epoch milliseconds) as the new time of
    /// the last write.
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

/// Returns the name and the value of the attribute for the time of the last write. The time `at` is
/// in epoch milliseconds. Returns `None` if the type has no field marked `#[dynalock(updated_at)]`.
pub(crate) fn updated_at(model: &Model, at: u64) -> Option<(&'static str, AttributeValue)> {
    let time = model.times.updated_at?;
    Some((time.name, AttributeValue::N(moment(time, at).to_string())))
}

fn moment(time: TimeModel, at: u64) -> i64 {
    i64::try_from(time.unit.moment(at)).unwrap_or(i64::MAX)
}
