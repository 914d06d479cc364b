//! Writes whose own condition makes repeating them harmless.

use std::sync::Arc;

use super::Attempts;
use crate::{
    codec::Item,
    error::Error,
    operation::{Failure, GetItem, UpdateItem},
};

/// What became of an update that may be repeated.
pub(crate) enum Answered {
    /// It was applied; the item before it.
    Applied(Option<Item>),
    /// Its condition was false; the item that it met.
    Refused(Option<Item>),
}

impl Attempts {
    /// Sends an update until it is answered, made anew for each attempt: its own condition has to make repeating it harmless.
    pub(crate) async fn update(&mut self, mut make: impl FnMut() -> UpdateItem) -> Result<Answered, Error> {
        let client = self.connection.client.clone();
        loop {
            let update = make();
            let (table, key) = (Arc::clone(&update.table), update.key.clone());
            match self.attempt(Box::pin(update.send(&client))).await {
                Ok(before) => return Ok(Answered::Applied(before)),
                Err(Failure::Condition(Some(item))) => return Ok(Answered::Refused(Some(item))),
                Err(Failure::Condition(None)) => {
                    return Ok(Answered::Refused(self.read(&GetItem { table, key, consistent: true }).await?));
                }
                Err(failure) => self.pause(&table, failure).await?,
            }
        }
    }
}
