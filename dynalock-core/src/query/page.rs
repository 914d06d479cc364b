use std::fmt;

use super::{
    plan::{ReadPlan, request_limit},
    token::{PageToken, Secret},
};
use crate::{
    clock,
    codec::Item,
    error::{Error, Result},
    operation::PageStart,
};

/// One page of a query or scan. [`Query::page`](super::Query::page) returns this page.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
/// # use shop::Order;
/// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
/// let page = orders.query("alice").limit(20).page(None).await?;
/// let shown: dynalock::Result<Vec<_>> = page.items.into_iter().collect();
/// println!("{} orders, and more: {}", shown?.len(), page.next.is_some());
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
pub struct Page<R> {
    /// The items of the page. If an item cannot be decoded, the list contains an error in place of
    /// the item. An item that cannot be decoded does not prevent the caller from reading the other
    /// items and the later pages.
    pub items: Vec<Result<R>>,
    /// The token of the next page, or `None` after the last page. The next page may be empty.
    pub next: Option<PageToken>,
}

impl<R> Page<R> {
    /// Makes a page from items in memory. A test that replaces the repository by items in memory
    /// calls `Page::new` to implement [`Store::page`](crate::store::Store::page).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::query::Page;
    ///
    /// let page = Page::new(vec![1, 2, 3], Some("3".into()));
    /// assert_eq!(page.items.len(), 3);
    /// ```
    pub fn new(items: impl IntoIterator<Item = R>, next: Option<PageToken>) -> Self {
        Self { items: items.into_iter().map(Ok).collect(), next }
    }
}

/// The maximum number of requests for one page of a query whose filter leaves out many items.
const MOST_REQUESTS: u32 = 10;

/// Reads one page with at most `most` items. If `most` is `None`, the page ends after the first
/// answer from DynamoDB that contains an item.
pub(super) async fn read(
    plan: &ReadPlan,
    token: Option<PageToken>,
    most: Option<usize>,
    secret: Option<&Secret>,
) -> Result<(Vec<Item>, Option<PageToken>)> {
    let began = clock::now();
    let mut after = token.as_ref().map(|token| token.open(plan, secret)).transpose()?;
    let mut items = Vec::new();
    for requests in 0..MOST_REQUESTS {
        let limit = request_limit(most.map(|most| most - items.len()), requests);
        let start = PageStart { after: after.take(), limit, segment: None };
        // Only the first request for a page uses the key in the page token.
        let is_of_token = requests == 0 && token.is_some();
        let page = match plan.read(&start, plan.limits_since(began)).await {
            // If the budget does not allow a further request, the page ends early, and the call
            // does not fail.
            Err(Error::BudgetExceeded { .. }) if requests > 0 => {
                after = start.after;
                break;
            }
            read => read,
        };
        let page = page.map_err(|error| match error {
            Error::Rejected(refusal) if is_of_token && refusal.is_of_page_start() => {
                plan.token_error("DynamoDB refused the key in it")
            }
            error => error,
        })?;
        items.extend(page.items);
        after = page.next;
        // If DynamoDB evaluated more items than the caller wants, the next page must begin after
        // the last item that the caller gets. With the start key from DynamoDB, the next page would
        // skip the items that `truncate` removes.
        if most.is_some_and(|most| items.len() > most) {
            items.truncate(most.unwrap_or_default());
            after = items.last().map(|last| plan.place_of(last));
        }
        let is_full = most.map_or(!items.is_empty(), |most| items.len() == most);
        if is_full || after.is_none() {
            break;
        }
        // `yield_now` lets other tasks run, and lets a timeout around the call fire, even if
        // DynamoDB answers each request at once.
        tokio::task::yield_now().await;
    }
    // The loop has shortened the list of keys to `most` keys, so `fetch` reads only items that the
    // page contains.
    let items = plan.fetch(items, plan.limits_since(began)).await?;
    let next = after.map(|place| PageToken::seal(plan, &place, secret));
    Ok((items, next))
}

/// The `Debug` output of a page contains the number of items, but no content of the items.
impl<R> fmt::Debug for Page<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("items", &self.items.len()).field("next", &self.next).finish()
    }
}
