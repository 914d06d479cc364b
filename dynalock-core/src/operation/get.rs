use std::{pin::pin, sync::Arc};

use aws_sdk_dynamodb::{Client, operation::get_item::GetItemError};

use super::classify::{Failure, ServiceFailure, classify};
use crate::{codec::Item, telemetry::request};

pub(crate) struct GetItem {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) consistent: bool,
}

impl GetItem {
    pub(crate) async fn send(&self, client: &Client) -> Result<Option<Item>, Failure> {
        let get =
            client.get_item().table_name(&*self.table).set_key(Some(self.key.clone())).consistent_read(self.consistent);
        request("GetItem", &self.table, pin!(get.send())).await.map(|output| output.item).map_err(classify)
    }
}

impl ServiceFailure for GetItemError {}
