use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use crate::{
    repository::Repository,
    retry::{Attempts, CallCost, Connection, ConnectionMeter, Limits, TableMeter},
};

#[derive(Clone)]
pub(super) struct Link {
    client: Client,
    connection: Option<Arc<Connection>>,
    meters: Vec<(Arc<str>, ConnectionMeter)>,
    call_cost: Option<Arc<CallCost>>,
}

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self { client, connection: None, meters: Vec::new(), call_cost: None }
    }

    /// The meter of the repository counts the cost of the transaction's requests to the
    /// repository's table.
    pub(super) fn meet<T>(&mut self, Repository { connection, table, .. }: &Repository<T>) {
        if let Some(meter) = &connection.meter
            && !self.meters.iter().any(|(known, _)| known == table)
        {
            self.meters.push((Arc::clone(table), meter.clone()));
            if let Some(call_cost) = &self.call_cost {
                call_cost.add_meter(table, meter);
            }
        }
        // A repository with another SDK client may have other credentials.
        if self.connection.is_none() && connection.is_over(&self.client) {
            self.connection = Some(Arc::clone(connection));
        }
    }

    /// Returns the counter of the consumed capacity, or `None` if the transaction has no budget and
    /// no meter.
    fn call_cost(&mut self, budget: Option<u64>) -> Option<Arc<CallCost>> {
        if self.call_cost.is_none() && (budget.is_some() || !self.meters.is_empty()) {
            let meters = self.meters.iter().map(|(table, by)| TableMeter::new(Some(Arc::clone(table)), by));
            self.call_cost = Some(CallCost::of_tables(meters, budget));
        }
        self.call_cost.clone()
    }

    /// Starts the measured time for the deadline of the transaction.
    pub(super) fn attempts(&mut self, limits: Limits) -> Attempts {
        let call_cost = self.call_cost(limits.budget);
        Attempts::on(call_cost, self.connection(), limits)
    }

    pub(super) fn attempts_without_requests(&mut self, limits: Limits) -> Attempts {
        Attempts::on(None, self.connection(), limits)
    }

    fn connection(&mut self) -> &Arc<Connection> {
        self.connection.get_or_insert_with(|| Arc::new(Connection::over(&self.client)))
    }
}
