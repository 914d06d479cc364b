use std::{sync::Arc, time::Duration};

use super::{grip::Grip, mark::Mark, terms::Terms};
use crate::{
    codec::Item,
    error::{Error, Locked},
    expression::Standing,
    model::Model,
};

/// How the writes of a call stand to the leases of their items.
#[derive(Debug, Clone)]
pub(crate) enum Stance {
    /// They do not ask for them.
    Ignoring,
    /// They respect those of others.
    Outside(Terms),
    /// They are made under a lease, and the last of them may end it.
    Holder { grip: Arc<Grip>, ends: Ends },
}

/// Whether a write ends the lease that it is made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    No,
    Yes,
}

impl Stance {
    /// That of a call from outside.
    pub(crate) fn outside(model: &Model, terms: Terms) -> Self {
        if model.lock.is_some() { Self::Outside(terms) } else { Self::Ignoring }
    }

    /// For the attempt that is made now.
    pub(crate) fn standing(&self) -> Standing {
        match self {
            Self::Ignoring => Standing::Ignoring,
            Self::Outside(terms) => Standing::Outside { dead_before: terms.dead_before() },
            Self::Holder { grip, ends } => Standing::Holder(grip.holder(*ends)),
        }
    }

    /// The error that a refused write is, if the lease of the item that it met is the reason. Before the version is looked at.
    pub(crate) fn refusal(
        &self,
        model: &Model,
        table: &Arc<str>,
        met: Option<&Item>,
        (attempts, elapsed): (u32, Duration),
    ) -> Option<Error> {
        let lock = model.lock?;
        match (self, met) {
            (Self::Ignoring, _) | (Self::Outside(_), None) => None,
            (Self::Outside(terms), Some(item)) => {
                let mark = Mark::read(&lock, item);
                mark.is_alive(terms).then(|| {
                    Error::Locked(Box::new(Locked {
                        table: Arc::clone(table),
                        owner: mark.owner.as_deref().unwrap_or_default().into(),
                        fence: mark.fence.unwrap_or(0),
                        remaining: mark.remaining(terms.now()),
                        attempts,
                        elapsed,
                    }))
                })
            }
            (Self::Holder { grip, .. }, met) => match grip.judge(met) {
                Ok(()) => None,
                Err(Error::Lost(lost)) => Some(Error::Lost(grip.lose(lost))),
                Err(error) => Some(error),
            },
        }
    }
}

impl Mark {
    /// Whether somebody holds the lock, by a clock.
    pub(crate) fn is_alive(&self, terms: &Terms) -> bool {
        let is_dead = |moment| self.until.is_some_and(|until| until < moment);
        self.owner.is_some() && !terms.dead_before().is_some_and(is_dead)
    }
}
