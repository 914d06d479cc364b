//! Reads the pages of a query or a scan one after the other, and requests the next page while the
//! caller handles the current page.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::plan::{Plan, request_limit};
use crate::{
    clock,
    codec::Item,
    error::{Error, Result},
    operation::{ItemPage, PageStart, Segment},
    telemetry::observe,
};

type Coming = Pin<Box<dyn Future<Output = Result<ItemPage>> + Send>>;

/// The pages of a query, or of all segments of a parallel scan.
#[derive(Default)]
pub(super) struct Feed {
    /// If `failed` contains an error, the read returns the error and sends no request.
    failed: Option<Error>,
    segments: Vec<SegmentFeed>,
}

/// The pages of one segment of a parallel scan, or of a read without segments.
struct SegmentFeed {
    plan: Arc<Plan>,
    segment: Option<Segment>,
    requests: u32,
    next: Next,
}

/// The request for the next page: not sent, failed, in flight, answered, or not needed.
enum Next {
    /// The segment has not requested the next page. The page begins after the key in `After`, or at
    /// the first item if the key is `None`.
    After(Option<Item>),
    /// The segment requested the page before the caller needed the page, and the request failed.
    /// The segment requests the page again when the caller waits for the page.
    Failed(Option<Item>),
    Coming {
        after: Option<Item>,
        page: Coming,
        /// Says whether the caller already waited for the page when the segment sent the request.
        asked: Demand,
    },
    Here(ItemPage),
    End,
}

/// The urgency of the next page: the caller waits for the page, or the caller still has items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The caller waits for the next page.
    Now,
    /// The caller still has items of the previous page.
    Ahead,
}

impl Feed {
    pub(super) fn new(plan: Plan, segments: u32) -> Self {
        let plan = Arc::new(plan);
        let segment = |segment| SegmentFeed { plan: Arc::clone(&plan), segment, requests: 0, next: Next::After(None) };
        Self { failed: None, segments: self::segments(segments).map(segment).collect() }
    }

    pub(super) fn failed(error: Error) -> Self {
        Self { failed: Some(error), segments: Vec::new() }
    }

    /// Returns the next page from the first segment that answers. `wanted` is the number of items
    /// that the caller still needs, or `None` for all items.
    pub(super) async fn next(&mut self, wanted: Option<usize>) -> Option<Result<ItemPage>> {
        // If each page is ready at once, the loop of the caller never returns to tokio's scheduler.
        // `yield_now` lets other tasks run, and lets a timeout around the call fire.
        tokio::task::yield_now().await;
        poll_fn(|context| self.poll_page(wanted, context)).await
    }

    /// Requests the next page of each segment early, while the caller still has items.
    pub(super) fn ask_ahead(&mut self, wanted: Option<usize>, context: &mut Context<'_>) {
        for segment in &mut self.segments {
            // The segment keeps a failed request as `Next::Failed`, so the loop can ignore the
            // error of the request.
            let _ = segment.advance(Demand::Ahead, wanted, context);
        }
    }

    /// Returns the next page from the first segment that answers. After a failed page request, the
    /// feed returns no more pages.
    pub(super) fn poll_page(
        &mut self,
        wanted: Option<usize>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ItemPage>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        // The read ends when all segments have ended. A segment that waits for an answer has
        // registered the waker of the caller.
        let mut open = false;
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if let Err(error) = segment.advance(Demand::Now, wanted, context) {
                // After a failed page request, the next poll must report the end of the read
                // without sending requests.
                self.segments.clear();
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(page) = segment.take() {
                // The segment whose page is returned moves to the end of the list of segments, so
                // that a fast segment does not hold back a slow segment.
                self.segments[index..].rotate_left(1);
                return Poll::Ready(Some(Ok(page)));
            }
            open |= !matches!(segment.next, Next::End);
        }
        if open { Poll::Pending } else { Poll::Ready(None) }
    }
}

/// Returns the `count` segments of a parallel scan.
pub(super) fn segments(count: u32) -> impl Iterator<Item = Option<Segment>> {
    // DynamoDB takes the number of segments as an `i32`. The checks of the query's settings limit
    // the number of segments to 1,000,000.
    let of = i32::try_from(count).unwrap_or(i32::MAX);
    // For a read in one segment, the request names no segment, because a Query has no parameter for
    // a segment.
    (0..of).map(move |number| (of > 1).then_some(Segment { number, of }))
}

impl SegmentFeed {
    /// Sends the request for the next page, unless the request is in flight, and polls for the
    /// answer.
    fn advance(&mut self, demand: Demand, wanted: Option<usize>, context: &mut Context<'_>) -> Result<()> {
        loop {
            match &mut self.next {
                Next::Failed(_) if demand == Demand::Ahead => return Ok(()),
                Next::After(after) | Next::Failed(after) => {
                    let after = after.take();
                    self.ask(after, demand, wanted);
                }
                Next::Coming { after, page, asked } => match page.as_mut().poll(context) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(page)) => {
                        self.requests = self.requests.saturating_add(1);
                        self.next = Next::Here(page);
                    }
                    // The caller may handle the items of one page for so long that the deadline of
                    // the next page passes. If a request that was sent early fails, the segment
                    // requests the page again when the caller waits for the page.
                    Poll::Ready(Err(_)) if *asked == Demand::Ahead => self.next = Next::Failed(after.take()),
                    Poll::Ready(Err(error)) => return Err(error),
                },
                Next::Here(_) | Next::End => return Ok(()),
            }
        }
    }

    fn ask(&mut self, after: Option<Item>, asked: Demand, wanted: Option<usize>) {
        let plan = Arc::clone(&self.plan);
        let limit = request_limit(wanted, self.requests);
        let start = PageStart { after: after.clone(), limit, segment: self.segment };
        let (operation, table) = (plan.operation(), Arc::clone(plan.table()));
        let page = async move {
            // If the query reads an index and then whole items from the table, both reads together
            // must end at the deadline of the page.
            let began = clock::now();
            let mut page = plan.read(&start, plan.limits).await?;
            page.items = plan.fetch(page.items, plan.limits_since(began)).await?;
            Ok(page)
        };
        self.next = Next::Coming { after, page: observe(operation, table, page), asked };
    }

    fn take(&mut self) -> Option<ItemPage> {
        let Next::Here(page) = &mut self.next else { return None };
        let page = std::mem::take(page);
        self.next = page.next.clone().map_or(Next::End, |after| Next::After(Some(after)));
        Some(page)
    }
}
