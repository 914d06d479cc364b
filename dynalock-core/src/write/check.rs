//! Defines [`Requirement`]: the condition of a check of an item in a transaction.

use std::sync::Arc;

use super::{
    key::{checked_key, lease_row_key},
    plan::check_size,
};
use crate::{
    codec::{ExpiredTimes, State},
    error::Error,
    expression::{Placeholders, absent, exists, lives, unchanged},
    lease::clause::{HolderProof, LeaseClause},
    model::ItemRef,
    operation::{Action, Write},
};

pub(crate) enum Requirement {
    /// The stored item must be in exactly the given state.
    Unchanged(State),
    /// The key must have an item that has not expired. An item has expired if its time to live, in
    /// epoch seconds, lies in the range of the [`ExpiredTimes`].
    Exists(ExpiredTimes),
    /// The key must have no item, or only the expired item in the unchanged state `expired`.
    Absent { expired: Option<State> },
    /// The stored lease must have the given owner and the given fence.
    Guard(HolderProof),
    /// The condition of the caller must be true.
    Condition(UserCondition),
}

pub(crate) type UserCondition = Box<dyn Fn(&Arc<str>, &mut Placeholders) -> Result<String, Error> + Send + Sync>;

/// Returns a ConditionCheck of the item, or of the lease row for a guard whose lease is in a
/// separate row.
pub(crate) fn check(item_ref: &ItemRef, requirement: &Requirement) -> Result<Write, Error> {
    let ItemRef { table, model, key, .. } = item_ref;
    let key = match requirement {
        Requirement::Guard(_) if model.lock_in_row().is_some() => lease_row_key(model, table, key)?,
        _ => checked_key(model, table, key)?,
    };
    let mut check = Write::new(table, key, Action::Check, None, Placeholders::default());
    require(&mut check, item_ref, requirement)?;
    Ok(check)
}

pub(crate) fn require(write: &mut Write, item_ref: &ItemRef, requirement: &Requirement) -> Result<(), Error> {
    let model = item_ref.model;
    let mut placeholders = write.placeholders();
    let condition = match requirement {
        Requirement::Unchanged(state) => unchanged(model, state, None, &mut placeholders),
        Requirement::Exists(over) => {
            // The library has not read the item, so DynamoDB must test whether the item has
            // expired.
            let exists = exists(model, &mut placeholders);
            match model.times.expires {
                Some(time) => format!("{exists} AND {}", lives(time.name, [over.first, over.last], &mut placeholders)),
                None => exists,
            }
        }
        Requirement::Absent { expired: None } => absent(model, &mut placeholders),
        Requirement::Absent { expired: Some(state) } => {
            // DynamoDB deletes expired items, so the expired item may be absent when the request
            // arrives.
            let absent = absent(model, &mut placeholders);
            format!("({absent} OR {})", unchanged(model, state, None, &mut placeholders))
        }
        Requirement::Guard(holder) => {
            let clause = LeaseClause::Holder(holder.clone());
            let held = clause.condition(model, &mut placeholders);
            let held = held.or_else(|| clause.row_condition(model, &mut placeholders));
            // Only a type with leases has guards, so `held` is always `Some`.
            held.unwrap_or_else(|| exists(model, &mut placeholders))
        }
        Requirement::Condition(render) => render(&write.table, &mut placeholders)?,
    };
    let (names, values) = placeholders.finish();
    write.require(&condition, names, values);
    check_size(write)
}
