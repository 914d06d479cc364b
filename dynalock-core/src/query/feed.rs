//! Reads the pages of a read one after the other, and requests the next page while the caller
//! handles the current one.

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
    /// The page was requested before the caller needed it, and the request failed. The page is
    /// requested again when the caller waits for it.
    Failed(Option<Item>),
    Coming {
        after: Option<Item>,
        page: Coming,
        /// The urgency of the page when the request was sent.
        asked: Demand,
    },
    Here(ItemPage),
    End,
}

/// The urgency of a page for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The caller waits for the page.
    Now,
    /// The caller still has items of the previous page.
    Ahead,
}

impl Feed {
    /// Returns the pages of a plan, read in `segments` parallel segments.
    pub(super) fn new(plan: Plan, segments: u32) -> Self {
        let plan = Arc::new(plan);
        // DynamoDB counts segments in `i32`. The plan has already limited them to 1,000,000.
        let of = i32::try_from(segments).unwrap_or(i32::MAX);
        let segment = |number| SegmentFeed {
            plan: Arc::clone(&plan),
            // A read in one segment sends no segment, because a Query has no parameter for it.
            segment: (of > 1).then_some(Segment { number, of }),
            requests: 0,
            next: Next::After(None),
        };
        Self { failed: None, segments: (0..of).map(segment).collect() }
    }

    /// Returns a feed that has no pages and ends with this error.
    pub(super) fn failed(error: Error) -> Self {
        Self { failed: Some(error), segments: Vec::new() }
    }

    /// Returns the next page from any segment of the read. `wanted` is the number of items that the
    /// caller still needs, or `None` for all.
    pub(super) async fn next(&mut self, wanted: Option<usize>) -> Option<Result<ItemPage>> {
        // If the pages are ready at once, the loop of the caller would never return to the
        // scheduler. The yield lets other tasks run, and a timeout around the call fire.
        tokio::task::yield_now().await;
        poll_fn(|context| self.poll_page(wanted, context)).await
    }

    /// Requests the next page of each segment while the caller still has items.
    pub(super) fn ask_ahead(&mut self, wanted: Option<usize>, context: &mut Context<'_>) {
        for segment in &mut self.segments {
            // The segment keeps the failure as `Next::Failed`, so the result is not needed here.
            let _ = segment.advance(Demand::Ahead, wanted, context);
        }
    }

    /// Returns the next page of any segment. An error is the end of the read.
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
                // The next poll must report the end and must not send requests.
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
                    // The deadline may have passed while the caller handled items and did not poll,
                    // so this failure is no error of the read.
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
        let page = Box::pin(async move {
            // The read of the items by their keys gets the time that is left of the page's
            // deadline.
            let began = clock::now();
            let mut page = plan.read(start, wanted, plan.limits).await?;
            let limits = plan.limits_after(clock::now().duration_since(began));
            page.items = plan.fetch(page.items, limits).await?;
            Ok(page)
        });
        self.next = Next::Coming { after, page, asked };
    }

    fn take(&mut self) -> Option<ItemPage> {
        let Next::Here(page) = &mut self.next else { return None };
        let page = std::mem::take(page);
        self.next = page.next.clone().map_or(Next::End, |after| Next::After(Some(after)));
        Some(page)
    }
}
