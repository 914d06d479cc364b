//! Reads the pages of a query or a scan one after the other, and requests the next page while the
//! caller handles the current page.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::plan::{Plan, Wanted};
use crate::{
    clock,
    codec::Item,
    error::{Error, Result},
    operation::{ItemPage, PageStart, Segment},
    telemetry::observe,
};

type Coming = Pin<Box<dyn Future<Output = Result<ItemPage>> + Send>>;

/// The pages of all segments of a read.
#[derive(Default)]
pub(super) struct Feed {
    /// The error that ends the read before its first request.
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

/// The state of the next page of a segment.
enum Next {
    /// The page has not been requested. The page begins after this key, or at the first item if the
    /// key is `None`.
    After(Option<Item>),
    /// The page was requested before the caller needed the page, and the request failed. The
    /// request is sent again when the caller waits for the page.
    Failed(Option<Item>),
    Coming {
        after: Option<Item>,
        page: Coming,
        /// Whether the caller waited for the page when the request was sent.
        asked: Demand,
    },
    Here(ItemPage),
    End,
}

/// Whether the caller waits for the next page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The caller waits for the page.
    Now,
    /// The caller still has items of the previous page.
    Ahead,
}

impl Feed {
    /// Returns a feed of the pages that a plan describes. The table is read in `segments` parallel
    /// segments.
    pub(super) fn new(plan: Plan, segments: u32) -> Self {
        let plan = Arc::new(plan);
        let segment = |segment| SegmentFeed { plan: Arc::clone(&plan), segment, requests: 0, next: Next::After(None) };
        Self { failed: None, segments: self::segments(segments).map(segment).collect() }
    }

    /// Returns a feed that has no pages and ends with this error.
    pub(super) fn failed(error: Error) -> Self {
        Self { failed: Some(error), segments: Vec::new() }
    }

    /// Returns the next page, from the segment that answers first. `wanted` is the number of items
    /// that the caller still needs, or `None` for all items.
    pub(super) async fn next(&mut self, wanted: Option<usize>) -> Option<Result<ItemPage>> {
        // If each page is ready at once, the loop of the caller never returns to the scheduler. The
        // yield lets other tasks run, and lets a timeout around the call fire.
        tokio::task::yield_now().await;
        poll_fn(|context| self.poll_page(wanted, context)).await
    }

    /// Requests the next page of each segment early, while the caller still has items.
    pub(super) fn ask_ahead(&mut self, wanted: Option<usize>, context: &mut Context<'_>) {
        for segment in &mut self.segments {
            // The segment keeps the failure as `Next::Failed`, so the result is not needed here.
            let _ = segment.advance(Demand::Ahead, wanted, context);
        }
    }

    /// Returns the next page of the segment that answers first. After an error, the read ends.
    pub(super) fn poll_page(
        &mut self,
        wanted: Option<usize>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ItemPage>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        // The read ends when all segments have ended. A pending segment has registered the waker.
        let mut open = false;
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if let Err(error) = segment.advance(Demand::Now, wanted, context) {
                // After this error, the next poll must report the end of the read, and must not
                // send requests.
                self.segments.clear();
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(page) = segment.take() {
                // The segment moves behind the others, so that a fast segment does not hold back
                // the others.
                self.segments[index..].rotate_left(1);
                return Poll::Ready(Some(Ok(page)));
            }
            open |= !matches!(segment.next, Next::End);
        }
        if open { Poll::Pending } else { Poll::Ready(None) }
    }
}

/// Returns the segments of a read that is divided into this number of segments.
pub(super) fn segments(count: u32) -> impl Iterator<Item = Option<Segment>> {
    // DynamoDB's number of segments is an `i32`. The plan has already limited the number to
    // 1,000,000.
    let of = i32::try_from(count).unwrap_or(i32::MAX);
    // For a read in one segment, the request names no segment, because a Query has no such
    // parameter.
    (0..of).map(move |number| (of > 1).then_some(Segment { number, of }))
}

impl SegmentFeed {
    /// Requests the next page if it has not been requested, and polls for its answer.
    fn advance(&mut self, demand: Demand, wanted: Option<usize>, context: &mut Context<'_>) -> Result<()> {
        loop {
            match &mut self.next {
                Next::After(after) => {
                    let after = after.take();
                    self.ask(after, demand, wanted);
                }
                Next::Failed(after) if demand == Demand::Now => {
                    let after = after.take();
                    self.ask(after, demand, wanted);
                }
                Next::Coming { after, page, asked } => match page.as_mut().poll(context) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(page)) => {
                        self.requests = self.requests.saturating_add(1);
                        self.next = Next::Here(page);
                    }
                    // The caller may have handled items for so long that the deadline of the page
                    // has passed. The failure of an early request is therefore not an error of the
                    // read.
                    Poll::Ready(Err(_)) if *asked == Demand::Ahead => self.next = Next::Failed(after.take()),
                    Poll::Ready(Err(error)) => return Err(error),
                },
                Next::Failed(_) | Next::Here(_) | Next::End => return Ok(()),
            }
        }
    }

    fn ask(&mut self, after: Option<Item>, asked: Demand, wanted: Option<usize>) {
        let plan = Arc::clone(&self.plan);
        let start = PageStart { after: after.clone(), segment: self.segment, ..PageStart::default() };
        let wanted = Wanted { items: wanted, requests: self.requests };
        let (operation, table) = (plan.operation(), Arc::clone(plan.table()));
        let page = async move {
            // The read of the items by their keys must end at the deadline of the page.
            let began = clock::now();
            let mut page = plan.read(start, wanted, plan.limits).await?;
            let limits = plan.limits_after(clock::now().duration_since(began));
            page.items = plan.fetch(page.items, limits).await?;
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
