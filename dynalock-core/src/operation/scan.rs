use std::{pin::pin, sync::Arc};

use aws_sdk_dynamodb::{Client, operation::scan::ScanError};

use super::classify::{Failure, ServiceFailure, classify};
use crate::{codec::Item, telemetry::request};

/// The request for one page of an eventually consistent Scan.
pub(crate) struct Scan {
    pub(crate) table: Arc<str>,
    pub(crate) start: Option<Item>,
}

impl Scan {
    /// Returns the items of the page and the key after which the next page begins. The last page
    /// returns `None` as the key.
    pub(crate) async fn send(&self, client: &Client) -> Result<(Vec<Item>, Option<Item>), Failure> {
        let scan = client.scan().table_name(&*self.table).set_exclusive_start_key(self.start.clone());
        let output = request("Scan", &self.table, pin!(scan.send())).await.map_err(classify)?;
        Ok((output.items.unwrap_or_default(), output.last_evaluated_key.filter(|key| !key.is_empty())))
    }
}

impl ServiceFailure for ScanError {
    fn modelled(&mut self) -> Option<Failure> {
        None
    }
}
