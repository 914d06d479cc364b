use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use crate::{
    repository::Repository,
    retry::{Account, Attempts, Connection, ConnectionMeter, Limits, TableMeter},
};

/// The connection of a transaction. If a repository was made from the same client, the transaction
/// shares the connection of that repository: its credentials, its measured round trip and its retry
/// budget. If no repository was made from the same client, the transaction makes its own
/// connection.
#[derive(Clone)]
pub(super) struct Link {
    client: Client,
    connection: Option<Arc<Connection>>,
    /// The meters of the repositories, each with its table.
    meters: Vec<(Arc<str>, ConnectionMeter)>,
    account: Option<Arc<Account>>,
}

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self { client, connection: None, meters: Vec::new(), account: None }
    }

    /// Takes over the connection of a repository, if the repository was made from the same client.
    /// If the repository is metered, the transaction is metered, too.
    pub(super) fn meet<T>(&mut self, Repository { connection, table, .. }: &Repository<T>) {
        if let Some(meter) = &connection.meter
            && !self.meters.iter().any(|(known, _)| known == table)
        {
            self.meters.push((Arc::clone(table), meter.clone()));
            if let Some(account) = &self.account {
                account.add_meter(table, meter);
            }
        }
        // A repository of another client may have other credentials, so its connection must not be
        // used.
        if self.connection.is_none() && connection.is_over(&self.client) {
            self.connection = Some(Arc::clone(connection));
        }
    }

    /// Returns the account of the transaction, or `None` if the transaction is not metered.
    fn account(&mut self, budget: Option<u64>) -> Option<Arc<Account>> {
        if self.account.is_none() && (budget.is_some() || !self.meters.is_empty()) {
            let meters = self.meters.iter().map(|(table, by)| TableMeter::new(Some(Arc::clone(table)), by));
            self.account = Some(Account::of_tables(meters, budget));
        }
        self.account.clone()
    }

    /// Begins the requests of the transaction.
    pub(super) fn attempts(&mut self, limits: Limits) -> Attempts {
        let account = self.account(limits.budget);
        Attempts::on(account, self.connection(), limits)
    }

    fn connection(&mut self) -> &Arc<Connection> {
        self.connection.get_or_insert_with(|| Arc::new(Connection::over(&self.client)))
    }
}
