//! The pages of a read, one after the other, with the next one on its way while the caller has the last one.

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

/// The pages of a read, of all its segments.
#[derive(Default)]
pub(super) struct Feed {
    /// What ends the read before its first request.
    failed: Option<Error>,
    segments: Vec<SegmentFeed>,
}

/// The pages of one segment.
struct SegmentFeed {
    plan: Arc<Plan>,
    segment: Option<Segment>,
    requests: u32,
    next: Next,
}

/// The next page of a segment.
enum Next {
    /// It begins after this key, and has not been requested.
    After(Option<Item>),
    /// It was asked for ahead of the caller, and the request failed. It is asked for again when the caller waits for it.
    Failed(Option<Item>),
    Coming {
        after: Option<Item>,
        page: Coming,
        /// What was demanded when it was asked for.
        asked: Demand,
    },
    Here(ItemPage),
    End,
}

/// Whether the caller waits for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The caller waits.
    Now,
    /// The caller still has items of another page.
    Ahead,
}

impl Feed {
    /// The pages of a plan, in so many segments.
    pub(super) fn new(plan: Plan, segments: u32) -> Self {
        let plan = Arc::new(plan);
        let of = i32::try_from(segments).unwrap_or(i32::MAX);
        let segment = |number| SegmentFeed {
            plan: Arc::clone(&plan),
            segment: (of > 1).then_some(Segment { number, of }),
            requests: 0,
            next: Next::After(None),
        };
        Self { failed: None, segments: (0..of).map(segment).collect() }
    }

    /// No pages, but an error.
    pub(super) fn failed(error: Error) -> Self {
        Self { failed: Some(error), segments: Vec::new() }
    }

    /// The next page of any segment, for a caller that still wants so many items.
    pub(super) async fn next(&mut self, wanted: Option<usize>) -> Option<Result<ItemPage>> {
        // A page that was answered at once gives other tasks, and a timeout around the call, their turn.
        tokio::task::yield_now().await;
        poll_fn(|context| self.poll_page(wanted, context)).await
    }

    /// Asks for the next page of each segment, while the caller still has items.
    pub(super) fn ask_ahead(&mut self, wanted: Option<usize>, context: &mut Context<'_>) {
        for segment in &mut self.segments {
            // A failure is kept in the segment.
            let _ = segment.advance(Demand::Ahead, wanted, context);
        }
    }

    /// The next page of any segment. An error is the end.
    pub(super) fn poll_page(
        &mut self,
        wanted: Option<usize>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ItemPage>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let mut open = false;
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if let Err(error) = segment.advance(Demand::Now, wanted, context) {
                self.segments.clear();
                return Poll::Ready(Some(Err(error)));
            }
            if let Some(page) = segment.take() {
                // The segments take turns.
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
                    // Its deadline may have passed while the caller was busy.
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
