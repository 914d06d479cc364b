use std::{pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    operation::batch_write_item::BatchWriteItemError,
    types::{PutRequest, WriteRequest},
};

use super::classify::{Failure, ServiceFailure, classify};
use crate::{codec::Item, error::Unavailable, telemetry::request};

/// A `BatchWriteItem` of puts without conditions, for one table.
pub(crate) struct PutMany {
    pub(crate) table: Arc<str>,
    /// At most [`MOST`](Self::MOST) items with different keys.
    pub(crate) items: Vec<Item>,
}

impl PutMany {
    pub(crate) const MOST: usize = 25;

    /// Returns the items that DynamoDB has not written yet, in any order.
    pub(crate) async fn send(self, client: &Client) -> Result<Vec<Item>, Failure> {
        const NO_PUT: &str = "an unprocessed item is no put";
        let put = |item| {
            let put = PutRequest::builder().set_item(Some(item)).build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        };
        let puts = self.items.into_iter().map(put).collect::<Result<_, _>>();
        let puts = puts.map_err(|error: aws_sdk_dynamodb::error::BuildError| Failure::not_constructed(&error))?;
        let write = client.batch_write_item().request_items(&*self.table, puts);
        let output = request("BatchWriteItem", &self.table, pin!(write.send())).await.map_err(classify)?;
        // The answer contains the name or the ARN of the table. A `BatchWriteItem` of the library
        // names only one table, so the code ignores the name in the answer.
        let left = output.unprocessed_items.into_iter().flatten().flat_map(|(_, left)| left);
        let left = left.map(|write| write.put_request.map(|put| put.item));
        left.collect::<Option<_>>().ok_or_else(|| Failure::Ambiguous(Unavailable::Unreadable(NO_PUT.into())))
    }
}

impl ServiceFailure for BatchWriteItemError {}
