use std::{collections::HashMap, pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    operation::{query::QueryError, scan::ScanError},
    types::Select,
};

use super::classify::{Failure, ServiceFailure, classify};
use crate::{codec::Item, telemetry::request};

pub(crate) struct PageRequest {
    pub(crate) table: Arc<str>,
    pub(crate) index: Option<&'static str>,
    pub(crate) access: Access,
    pub(crate) filter: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Item>,
    pub(crate) selection: Selection,
    pub(crate) consistent: bool,
}

pub(crate) enum Access {
    /// A Query of one partition.
    Query { condition: String, forward: bool },
    /// A Scan of the whole table.
    Scan,
}

#[derive(Clone)]
pub(crate) enum Selection {
    /// All attributes of each item in the table or index.
    Attributes,
    /// Only the attributes that the projection expression in `Projection` names.
    Projection(String),
    /// No attributes, but only the number of items.
    Count,
}

#[derive(Clone, Default)]
pub(crate) struct PageStart {
    pub(crate) after: Option<Item>,
    /// The maximum number of items that DynamoDB reads for the page, before DynamoDB applies the
    /// filter.
    pub(crate) limit: Option<i32>,
    pub(crate) segment: Option<Segment>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) number: i32,
    pub(crate) of: i32,
}

#[derive(Default)]
pub(crate) struct ItemPage {
    pub(crate) items: Vec<Item>,
    pub(crate) count: usize,
    /// The key after which the next page begins, or `None` on the last page.
    pub(crate) next: Option<Item>,
}

/// Sends the request for a page. `page` is a macro, because the SDK's builders of Query and Scan
/// have no common trait.
macro_rules! page {
    ($name:literal, $builder:expr, $request:ident, $start:ident) => {{
        // Without a projection, DynamoDB returns all attributes that the table or the index holds.
        let (projection, select) = match &$request.selection {
            Selection::Attributes => (None, None),
            Selection::Projection(text) => (Some(text.clone()), None),
            Selection::Count => (None, Some(Select::Count)),
        };
        let page = $builder
            .table_name(&*$request.table)
            .set_index_name($request.index.map(str::to_owned))
            .set_filter_expression($request.filter.clone())
            .set_expression_attribute_names($request.names.clone())
            .set_expression_attribute_values($request.values.clone())
            .set_projection_expression(projection)
            .set_select(select)
            .consistent_read($request.consistent)
            .set_exclusive_start_key($start.after.clone())
            .set_limit($start.limit);
        let output = request($name, &$request.table, pin!(page.send())).await.map_err(classify)?;
        Ok(ItemPage {
            items: output.items.unwrap_or_default(),
            count: usize::try_from(output.count).unwrap_or_default(),
            // A request with an empty start key would read the first page again, so an empty key
            // ends the read.
            next: output.last_evaluated_key.filter(|key| !key.is_empty()),
        })
    }};
}

impl PageRequest {
    pub(crate) async fn send(&self, client: &Client, start: &PageStart) -> Result<ItemPage, Failure> {
        match &self.access {
            Access::Query { condition, forward } => {
                let query = client.query().key_condition_expression(condition).scan_index_forward(*forward);
                page!("Query", query, self, start)
            }
            Access::Scan => {
                let scan = client
                    .scan()
                    .set_segment(start.segment.map(|segment| segment.number))
                    .set_total_segments(start.segment.map(|segment| segment.of));
                page!("Scan", scan, self, start)
            }
        }
    }
}

impl ServiceFailure for QueryError {}
impl ServiceFailure for ScanError {}
