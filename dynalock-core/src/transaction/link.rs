use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use crate::retry::Connection;

/// The connection of a transaction. If a repository was made from the same client, the transaction
/// shares the connection of that repository: its credentials, its measured round trip and its retry
/// budget. If no repository was made from the same client, the transaction makes its own
/// connection.
#[derive(Clone)]
pub(super) struct Link {
    client: Client,
    connection: Option<Arc<Connection>>,
}

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self { client, connection: None }
    }

    /// Takes over the connection of a repository, if the repository was made from the same client.
    pub(super) fn meet(&mut self, connection: &Arc<Connection>) {
        // A repository of another client may have other credentials, so its connection must not be
        // used.
        if self.connection.is_none() && connection.is_over(&self.client) {
            self.connection = Some(Arc::clone(connection));
        }
    }

    pub(super) fn connection(&mut self) -> &Arc<Connection> {
        self.connection.get_or_insert_with(|| Arc::new(Connection::over(&self.client)))
    }
}
