use super::{plan::Plan, send::Delivery};
use crate::explain::{ExplainedAction, ExplainedRequest, RequestToken, Row};

/// Describes the request that the library would send for a single write.
pub(crate) fn explain(plan: Plan, delivery: Delivery) -> ExplainedRequest {
    let Plan { write, companion, .. } = plan;
    if companion.is_none() && delivery == Delivery::Plain {
        return ExplainedRequest::of_write(write);
    }
    let own = ExplainedAction::in_transaction(write, Row::Item);
    let row = companion.map(|row| ExplainedAction::in_transaction(*row, Row::Lease));
    ExplainedRequest::transaction([own].into_iter().chain(row).collect(), RequestToken::Drawn)
}
