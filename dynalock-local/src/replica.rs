//! Reads of global indexes, for a database whose global indexes show each write later than the
//! tables.

use std::{
    collections::{HashMap, VecDeque},
    error::Error as StdError,
    time::Duration,
};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use dynoxide::{
    Database,
    actions::{
        delete_item::DeleteItemRequest, describe_table::DescribeTableRequest, get_item::GetItemRequest,
        put_item::PutItemRequest,
    },
    types::AttributeValue,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    clock, dispatch,
    items::{Named, named_by},
    tokens::Tokens,
};

type Failure = Box<dyn StdError + Send + Sync>;

/// A copy of the database, which answers the reads of global indexes. The replica applies each
/// write later than the database.
pub(crate) struct Replica {
    engine: Database,
    lag: Lag,
    /// The writes that the replica has not applied yet, with the oldest write first.
    waiting: VecDeque<Change>,
}

pub(crate) enum Lag {
    /// The replica shows each write after a delay.
    After(Duration),
    /// The replica shows no further write until the freeze ends.
    Frozen,
}

/// A write of an item that the replica does not contain yet. `item` is the new content of the item,
/// or `None` after a delete.
struct Change {
    since: Instant,
    table: String,
    key: HashMap<String, AttributeValue>,
    item: Option<HashMap<String, AttributeValue>>,
}

impl Replica {
    pub(crate) fn of(engine: &Database, lag: Lag) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let snapshot = folder.path().join("snapshot");
        let snapshot = snapshot.to_str().ok_or("the folder for temporary files has a name that is not UTF-8")?;
        let copy = Database::memory()?;
        engine.vacuum_into(snapshot)?;
        copy.restore_from(snapshot)?;

        Ok(Self { engine: copy, lag, waiting: VecDeque::new() })
    }

    pub(crate) fn set_lag(&mut self, lag: Lag) {
        self.lag = lag;
    }

    /// Returns the answer to a request. The replica answers reads of global indexes, and `engine`
    /// answers each request that is not a read of a global index.
    pub(crate) fn answer(&mut self, engine: &Database, tokens: &Tokens, operation: &str, body: &[u8]) -> HttpResponse {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        self.catch_up(clock::now());
        if reads_global_index(engine, operation, &request) {
            return dispatch::answer(&self.engine, tokens, operation, body);
        }

        let reply = dispatch::answer(engine, tokens, operation, body);
        if reply.status().is_success() {
            match operation {
                "CreateTable" | "UpdateTable" | "DeleteTable" => self.change_table(operation, &request, body),
                _ => self.follow(engine, operation, &request),
            }
        }
        reply
    }

    /// Applies a change of a table or of an index to the replica at once, without a delay.
    fn change_table(&mut self, operation: &str, request: &Value, body: &[u8]) {
        if operation == "DeleteTable" {
            // A program may later create a table with the name of the deleted table. The replica
            // must not put the items of the deleted table into the new table.
            self.waiting.retain(|change| request["TableName"] != *change.table);
        }
        dispatch::answer(&self.engine, &Tokens::default(), operation, body);
    }

    fn follow(&mut self, engine: &Database, operation: &str, request: &Value) {
        if operation == "TransactGetItems" {
            return;
        }
        let since = clock::now();
        for Named { item, key } in named_by(engine, operation, request).into_iter().flatten() {
            let get = GetItemRequest { table_name: item.table.clone(), key: key.clone(), ..GetItemRequest::default() };
            if let Ok(found) = engine.get_item(get) {
                self.waiting.push_back(Change { since, table: item.table, key, item: found.item });
            }
        }
    }

    fn catch_up(&mut self, now: Instant) {
        let Lag::After(lag) = self.lag else { return };
        while let Some(change) = self.waiting.pop_front_if(|change| now - change.since >= lag) {
            self.apply(change);
        }
    }

    fn apply(&self, change: Change) {
        // The local engine has already accepted the write, so the replica refuses the write only if
        // the table no longer exists.
        match change.item {
            Some(item) => {
                let put = PutItemRequest { table_name: change.table, item, ..PutItemRequest::default() };
                drop(self.engine.put_item(put));
            }
            None => {
                let (table_name, key) = (change.table, change.key);
                drop(self.engine.delete_item(DeleteItemRequest { table_name, key, ..DeleteItemRequest::default() }));
            }
        }
    }
}

fn reads_global_index(engine: &Database, operation: &str, request: &Value) -> bool {
    let (true, Some(index)) = (matches!(operation, "Query" | "Scan"), request["IndexName"].as_str()) else {
        return false;
    };
    let table_name = request["TableName"].as_str().unwrap_or_default().to_owned();
    let Ok(described) = engine.describe_table(DescribeTableRequest { table_name }) else { return false };

    described.table.global_secondary_indexes.iter().flatten().any(|global| global.index_name == index)
}
