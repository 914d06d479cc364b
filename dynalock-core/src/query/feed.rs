//! Reads the pages of a query or a scan one after the other, and requests the next page while the
//! caller handles the current page.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::plan::{ReadPlan, request_limit};
use crate::{
    clock,
    codec::Item,
    error::{Error, Result},
    operation::{ItemPage, PageStart, Segment},
    telemetry::observe,
};

type Coming = Pin<Box<dyn Future<Output = Result<ItemPage>> + Send>>;

#[derive(Default)]
pub(super) struct Feed {
    /// The error that the first poll of the `Feed` returns instead of a page, for example because a
    /// setting of the query is invalid.
    failed: Option<Error>,
    segments: Vec<SegmentFeed>,
}

/// `segment` is `None` for a read without segments.
struct SegmentFeed {
    plan: Arc<ReadPlan>,
    segment: Option<Segment>,
    requests: u32,
    next: NextPage,
}

enum NextPage {
    /// The library has not requested the next page of the segment. The page begins after the key in
    /// `After`, or at the first item if `After` contains `None`.
    After(Option<Item>),
    /// The request for the next page failed while the caller still had items of an earlier page.
    /// When the caller has no items left, the library requests the next page again.
    Failed(Option<Item>),
    Coming {
        after: Option<Item>,
        page: Coming,
        asked: Demand,
    },
    Here(ItemPage),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// The caller waits for the next page.
    Now,
    /// The caller still has items of the previous page.
    Ahead,
}

impl Feed {
    pub(super) fn new(plan: ReadPlan, segments: u32) -> Self {
        let plan = Arc::new(plan);
        let segment =
            |segment| SegmentFeed { plan: Arc::clone(&plan), segment, requests: 0, next: NextPage::After(None) };
        Self { failed: None, segments: self::segments(segments).map(segment).collect() }
    }

    pub(super) fn failed(error: Error) -> Self {
        Self { failed: Some(error), segments: Vec::new() }
    }

    pub(super) async fn next(&mut self, wanted: Option<usize>) -> Option<Result<ItemPage>> {
        // `yield_now` lets other tasks run, and lets a timeout around the call fire, even if each
        // page is ready at once.
        tokio::task::yield_now().await;
        poll_fn(|context| self.poll_page(wanted, context)).await
    }

    pub(super) fn ask_ahead(&mut self, wanted: Option<usize>, context: &mut Context<'_>) {
        for segment in &mut self.segments {
            // A failed request stays in the segment as `NextPage::Failed`, so `advance` returns no error.
            let _ = segment.advance(Demand::Ahead, wanted, context);
        }
    }

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
            open |= !matches!(segment.next, NextPage::End);
        }
        if open { Poll::Pending } else { Poll::Ready(None) }
    }
}

pub(super) fn segments(count: u32) -> impl Iterator<Item = Option<Segment>> {
    // The number of segments fits into an `i32`, because a query accepts at most 1,000,000
    // segments.
    let of = i32::try_from(count).unwrap_or(i32::MAX);
    // The request of a read in one segment names no segment, because a Query has no parameter for a
    // segment.
    (0..of).map(move |number| (of > 1).then_some(Segment { number, of }))
}

impl SegmentFeed {
    fn advance(&mut self, demand: Demand, wanted: Option<usize>, context: &mut Context<'_>) -> Result<()> {
        loop {
            match &mut self.next {
                NextPage::Failed(_) if demand == Demand::Ahead => return Ok(()),
                NextPage::After(after) | NextPage::Failed(after) => {
                    let after = after.take();
                    self.ask(after, demand, wanted);
                }
                NextPage::Coming { after, page, asked } => match page.as_mut().poll(context) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(page)) => {
                        self.requests = self.requests.saturating_add(1);
                        self.next = NextPage::Here(page);
                    }
                    // The caller may handle the items of one page for so long that the deadline of
                    // the next page passes.
                    Poll::Ready(Err(_)) if [*asked, demand].contains(&Demand::Ahead) => {
                        self.next = NextPage::Failed(after.take());
                    }
                    Poll::Ready(Err(error)) => return Err(error),
                },
                NextPage::Here(_) | NextPage::End => return Ok(()),
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
        self.next = NextPage::Coming { after, page: observe(operation, table, page), asked };
    }

    fn take(&mut self) -> Option<ItemPage> {
        let NextPage::Here(page) = &mut self.next else { return None };
        let page = std::mem::take(page);
        self.next = page.next.clone().map_or(NextPage::End, |after| NextPage::After(Some(after)));
        Some(page)
    }
}
