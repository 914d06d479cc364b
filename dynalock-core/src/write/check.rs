//! Checks: the conditions on items that a transaction does not write, and additional conditions
//! of its writes. All functions are pure.

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

/// The condition of a check.
pub(crate) enum Requirement {
    /// The item must be in this state.
    Unchanged(State),
    /// The key has an item, and the time to live of the item is outside this range.
    Exists(ExpiredTimes),
    /// The key has no item, or an expired item in this state.
    Absent { expired: Option<State> },
    /// The holder with this owner and fence must hold the lease of the item.
    Guard(HolderProof),
    /// A condition of the caller must be true.
    Condition(UserCondition),
}

/// A condition of the caller, without the type of its item. The function returns the text of the
/// condition. The name of the table is for its errors.
pub(crate) type UserCondition = Box<dyn Fn(&Arc<str>, &mut Placeholders) -> Result<String, Error> + Send + Sync>;

/// Returns a ConditionCheck of an item. The check of a guard tests the row that contains the lease.
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

/// Adds a condition to a write or a check of the same item.
pub(crate) fn require(write: &mut Write, item_ref: &ItemRef, requirement: &Requirement) -> Result<(), Error> {
    let model = item_ref.model;
    let mut placeholders = write.placeholders();
    let condition = match requirement {
        Requirement::Unchanged(state) => unchanged(model, state, None, &mut placeholders),
        Requirement::Exists(over) => {
            // The library has not read an item, so the condition must compare the stored time to
            // live.
            let exists = exists(model, &mut placeholders);
            match model.times.expires {
                Some(time) => format!("{exists} AND {}", lives(time.name, [over.first, over.last], &mut placeholders)),
                None => exists,
            }
        }
        Requirement::Absent { expired: None } => absent(model, &mut placeholders),
        Requirement::Absent { expired: Some(state) } => {
            // DynamoDB may have deleted the expired item when the request arrives.
            let absent = absent(model, &mut placeholders);
            format!("({absent} OR {})", unchanged(model, state, None, &mut placeholders))
        }
        Requirement::Guard(holder) => {
            let clause = LeaseClause::Holder(holder.clone());
            let held = clause.condition(model, &mut placeholders);
            let held = held.or_else(|| clause.row_condition(model, &mut placeholders));
            // Only a type with leases has guards, so the condition exists. The other branch is
            // never used.
            held.unwrap_or_else(|| exists(model, &mut placeholders))
        }
        Requirement::Condition(render) => render(&write.table, &mut placeholders)?,
    };
    let (names, values) = placeholders.finish();
    write.require(&condition, names, values);
    check_size(write)
}
