use std::sync::Arc;

use tokio::sync::watch;

use crate::codec::Item;

/// Identifies a lock's row in the tables of one account.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowId {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
}

/// `PendingWork` contains the id of a lock row once for each background task that works on the row.
#[derive(Debug, Default)]
pub(crate) struct PendingWork(watch::Sender<Vec<RowId>>);

#[derive(Debug)]
pub(crate) struct PendingGuard {
    all: watch::Sender<Vec<RowId>>,
    row: RowId,
}

impl PendingWork {
    pub(crate) fn begin(&self, row: RowId) -> PendingGuard {
        self.0.send_modify(|rows| rows.push(row.clone()));
        PendingGuard { all: self.0.clone(), row }
    }

    pub(crate) async fn done(&self, row: &RowId) {
        // The wait cannot fail, because `self` owns the sender of the channel.
        let _ = self.0.subscribe().wait_for(|rows| !rows.contains(row)).await;
    }
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        self.all.send_modify(|rows| {
            // Another task may work on the same row, so the guard removes only one copy of the row
            // from the list.
            if let Some(place) = rows.iter().position(|row| *row == self.row) {
                rows.swap_remove(place);
            }
        });
    }
}
