//! Pages and their tokens.

use dynalock::{
    Error, Stored,
    query::{Page, PageToken},
};

use super::{orders, other_errors_of_edited_tokens};
use crate::support::{Order, Shop, expect_error};

cases![
    pages_follow_each_other_and_miss_nothing,
    pages_of_filtered_items_have_as_many_items_as_asked_for,
    pages_go_backward,
    pages_of_a_scan_miss_nothing,
    a_filter_that_matches_nothing_ends_in_empty_pages,
    a_token_is_text_and_goes_on_in_another_process,
    a_token_of_another_query_is_refused,
    a_limit_may_change_from_page_to_page,
    a_token_that_was_edited_is_refused,
    a_changed_character_of_a_token_is_an_error_of_the_token_or_names_another_place,
    a_signed_token_is_refused_where_it_was_not_signed,
    a_token_shows_no_key_in_debug,
];

fn numbers(page: &Page<Stored<Order>>) -> Vec<u64> {
    page.items.iter().map(|order| order.as_ref().unwrap().number).collect()
}

async fn pages_follow_each_other_and_miss_nothing(shop: &Shop) {
    let table = orders(shop, 1..=7).await;
    let mut seen = Vec::new();
    let mut token = None;
    for _ in 0..3 {
        let page = table.items.query("alice").limit(3).page(token).await.unwrap();
        seen.push(numbers(&page));
        token = page.next;
    }
    assert_eq!(seen, [vec![1, 2, 3], vec![4, 5, 6], vec![7]]);
    assert_eq!(token, None);
    let all = table.items.query("alice").page(None).await.unwrap();
    assert_eq!((numbers(&all).len(), all.next), (7, None));
}

async fn pages_of_filtered_items_have_as_many_items_as_asked_for(shop: &Shop) {
    let table = orders(shop, 1..=60).await;
    let a = Order::ATTR;
    let rare = || table.items.query("alice").filter(a.cents.is_in([5, 17, 18, 30, 44, 59])).limit(2);
    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let page = rare().page(token).await.unwrap();
        seen.push(numbers(&page));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    seen.retain(|page| !page.is_empty());
    assert_eq!(seen, [[5, 17], [18, 30], [44, 59]]);
    assert!(shop.faults.count("Query") <= 20, "{}", shop.faults.count("Query"));
}

async fn pages_go_backward(shop: &Shop) {
    let table = orders(shop, 1..=5).await;
    let query = || table.items.query("alice").sort(2..).descending().limit(2);
    let first = query().page(None).await.unwrap();
    assert_eq!(numbers(&first), [5, 4]);
    assert_eq!(numbers(&query().page(first.next).await.unwrap()), [3, 2]);
}

async fn pages_of_a_scan_miss_nothing(shop: &Shop) {
    let table = orders(shop, 1..=9).await;
    let (mut seen, mut token) = (0, None);
    loop {
        let page = table.items.scan().limit(4).page(token).await.unwrap();
        assert!(page.items.len() <= 4);
        seen += page.items.len();
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen, 10);
}

async fn a_filter_that_matches_nothing_ends_in_empty_pages(shop: &Shop) {
    let table = orders(shop, 1..=9).await;
    let nothing = || table.items.query("alice").filter(Order::ATTR.cents.gt(1_000)).limit(1);
    let page = nothing().page(None).await.unwrap();
    assert_eq!((numbers(&page), page.next), (vec![], None));
    assert!(shop.faults.count("Query") <= 5, "each request evaluates twice as many items as the one before");
    assert_eq!(nothing().first().await.unwrap(), None);
    assert_eq!(nothing().count().await.unwrap(), 0);
}

async fn a_token_is_text_and_goes_on_in_another_process(shop: &Shop) {
    let table = orders(shop, 1..=4).await;
    let first = table.items.query("alice").limit(2).page(None).await.unwrap();
    let text = first.next.unwrap().to_string();
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
    let json = serde_json::to_string(&PageToken::from(&*text)).unwrap();
    assert_eq!(json, format!("\"{text}\""));
    let token: PageToken = serde_json::from_str(&json).unwrap();
    let second = table.others.query("alice").limit(2).page(Some(token)).await.unwrap();
    assert_eq!(numbers(&second), [3, 4]);
}

async fn a_token_of_another_query_is_refused(shop: &Shop) {
    let table = orders(shop, 1..=4).await;
    let other = orders(shop, 1..=4).await;
    let a = Order::ATTR;
    let query = || table.items.query("alice").limit(2);
    let token = query().page(None).await.unwrap().next.unwrap();
    let before = shop.requests();
    for different in [
        table.items.query("bob"),
        query().descending(),
        query().sort(2..),
        query().sort(..=9),
        query().filter(a.cents.ge(0)),
        other.items.query("alice"),
    ] {
        let result = different.page(Some(token.clone())).await;
        expect_error!(result, Error::PageToken { .. });
    }
    expect_error!(table.items.scan().page(Some(token.clone())).await, Error::PageToken { .. });
    assert_eq!(shop.requests(), before);
    assert_eq!(numbers(&query().sort(..).page(Some(token)).await.unwrap()), [3, 4], "`..` is no range");
}

async fn a_limit_may_change_from_page_to_page(shop: &Shop) {
    let table = orders(shop, 1..=6).await;
    let query = || table.items.query("alice");
    let token = query().limit(1).page(None).await.unwrap().next;
    let page = query().limit(3).eventually_consistent().page(token).await.unwrap();
    assert_eq!(numbers(&page), [2, 3, 4]);
    assert_eq!(numbers(&query().page(page.next).await.unwrap()), [5, 6]);
}

async fn a_token_that_was_edited_is_refused(shop: &Shop) {
    let table = orders(shop, 1..=4).await;
    let query = || table.items.query("alice").limit(2);
    let text = query().page(None).await.unwrap().next.unwrap().to_string();
    let before = shop.requests();
    let cut = &text[..text.len() - 4];
    for edited in ["", "x", "====", "\u{fc}", cut, &format!("{text}AAAA"), &"A".repeat(100_000), &text.to_lowercase()] {
        let error = expect_error!(query().page(Some(edited.into())).await, error @ Error::PageToken { .. } => error);
        assert!(error.to_string().contains("ask for the first page again"), "{error}");
    }
    assert_eq!(shop.requests(), before);
}

async fn a_changed_character_of_a_token_is_an_error_of_the_token_or_names_another_place(shop: &Shop) {
    let table = orders(shop, [111_111_111, 222_222_222, 333_333_333]).await;
    let query = || table.items.query("alice").limit(1);
    let ranged = || query().sort(1..).descending();
    let scan = || table.items.scan().limit(1);
    let token = query().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| {
        let page = query().page(Some(token)).await;
        page.inspect(|page| assert!(page.items.iter().flatten().all(|order| order.customer == "alice")))
    });
    assert_eq!(errors.await, [""; 0]);
    let token = ranged().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| ranged().page(Some(token)).await);
    assert_eq!(errors.await, [""; 0]);
    let token = scan().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| scan().page(Some(token)).await);
    assert_eq!(errors.await, [""; 0]);
}

async fn a_signed_token_is_refused_where_it_was_not_signed(shop: &Shop) {
    let table = orders(shop, 1..=4).await;
    let query = || table.items.query("alice").limit(2);
    let plain = query().page(None).await.unwrap().next;
    let signed = query().with_key("secret").page(None).await.unwrap().next;
    expect_error!(query().with_key("secret").page(plain).await, Error::PageToken { .. });
    expect_error!(query().with_key("other").page(signed.clone()).await, Error::PageToken { .. });
    expect_error!(query().page(signed.clone()).await, Error::PageToken { .. });
    assert_eq!(numbers(&query().with_key("secret").page(signed.clone()).await.unwrap()), [3, 4]);
    let text = signed.unwrap().to_string();
    for place in 0..text.len() {
        let mut edited = text.clone();
        let other = if &text[place..=place] == "A" { "B" } else { "A" };
        edited.replace_range(place..=place, other);
        expect_error!(query().with_key("secret").page(Some(edited.into())).await, Error::PageToken { .. });
    }
}

async fn a_token_shows_no_key_in_debug(shop: &Shop) {
    let table = orders(shop, 1..=4).await;
    let query = table.items.query("alice").sort(1..).with_key("secret").limit(2);
    let page = query.clone().page(None).await.unwrap();
    let shown = format!("{query:?} {page:?} {:?}", page.next);
    assert!(!shown.contains("alice") && !shown.contains("secret"), "{shown}");
    assert!(!shown.contains(&page.next.unwrap().to_string()), "{shown}");
}
