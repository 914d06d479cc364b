//! Many items at once.

use dynalock::{Error, Versioned, transact};
use serde::{Deserialize, Serialize};

use crate::support::{Line, Product, Shop, changed, n};

cases![
    items_come_in_the_order_of_their_keys,
    more_keys_than_one_request_takes_are_asked_for_in_several,
    keys_of_two_parts_and_of_numbers_find_their_items,
    what_is_read_in_many_is_checked_like_any_read,
];

async fn items_come_in_the_order_of_their_keys(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    for (key, stock) in [("a", 1), ("b", 2), ("c", 3)] {
        table.others.create(Product::new(key, stock)).await.unwrap();
    }
    let stocks = transact(&shop.client, |tx| async move {
        let _ = tx.get(&table.items, "b").await?;
        let items = tx.get_many(&table.items, ["c", "x", "a", "c", "b", "x"]).await?;
        let none = tx.get_many(&table.items, <[&str; 0]>::default()).await?;
        assert!(none.is_empty());
        let again = tx.get_many(&table.items, ["x", "a"]).await?;
        assert_eq!(again.iter().map(|item| item.as_ref().map(|item| item.stock)).collect::<Vec<_>>(), [None, Some(1)]);
        Ok::<_, Error>(items.into_iter().map(|item| item.map(|item| item.stock)).collect::<Vec<_>>())
    });
    assert_eq!(stocks.await.unwrap(), [Some(3), None, Some(1), Some(3), Some(2), None]);
    assert_eq!(shop.counts(["GetItem", "BatchGetItem"]), [1, 1]);
    let asked = &shop.sent("BatchGetItem")[0]["RequestItems"][table.name()];
    assert_eq!(asked["Keys"].as_array().unwrap().len(), 3, "what is known is not asked for");
    assert_eq!(asked["ConsistentRead"], true);
}

async fn more_keys_than_one_request_takes_are_asked_for_in_several(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    for index in (0..230).step_by(23) {
        table.others.create(Product::new(&index.to_string(), index)).await.unwrap();
    }
    let there = transact(&shop.client, |tx| async move {
        let items = tx.get_many(&table.items, (0..230).map(|index| index.to_string())).await?;
        assert_eq!(items.len(), 230);
        Ok::<_, Error>(items.into_iter().flatten().map(|item| item.stock).collect::<Vec<_>>())
    });
    assert_eq!(there.await.unwrap(), (0..230).step_by(23).collect::<Vec<_>>());
    let asked = shop.sent("BatchGetItem");
    let keys = |request: &serde_json::Value| request["RequestItems"][table.name()]["Keys"].as_array().unwrap().len();
    let mut asked: Vec<_> = asked.iter().map(keys).collect();
    asked.sort_unstable();
    assert_eq!(asked, [30, 100, 100]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "invoices")]
struct Invoice {
    #[dynalock(partition_key)]
    number: i64,
    total: i64,
}

async fn keys_of_two_parts_and_of_numbers_find_their_items(shop: &Shop) {
    const NUMBERS: [i64; 6] = [0, -1, 1, 10, 1_000_000_000_000, i64::MIN];
    let (lines, invoices) = (&shop.table::<Line>().await, &shop.table::<Invoice>().await);
    for number in NUMBERS {
        for order in ["x", "y"] {
            lines.others.create(Line::new(order, number, number)).await.unwrap();
        }
        invoices.others.create(Invoice { number, total: number }).await.unwrap();
    }
    let unit = transact(&shop.client, |tx| async move {
        let keys = NUMBERS.iter().flat_map(|number| [("y", *number), ("z", *number), ("x", *number)]);
        let found = tx.get_many(&lines.items, keys).await?;
        for (found, number) in found.chunks(3).zip(NUMBERS) {
            let found: Vec<_> =
                found.iter().map(|line| line.as_ref().map(|line| (&*line.order, line.quantity))).collect();
            assert_eq!(found, [Some(("y", number)), None, Some(("x", number))]);
        }
        let found = tx.get_many(&invoices.items, NUMBERS.into_iter().chain([7])).await?;
        let totals: Vec<_> = found.into_iter().map(|invoice| invoice.map(|invoice| invoice.total)).collect();
        assert_eq!(totals[..6], NUMBERS.map(Some));
        assert_eq!(totals[6], None);
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
}

async fn what_is_read_in_many_is_checked_like_any_read(shop: &Shop) {
    let table = &shop.table_of([Product::new("a", 1)]).await;
    table.others.create(Product::new("sum", 0)).await.unwrap();
    let others = table.others.clone();
    shop.rival.before("TransactWriteItems", 0, async move || drop(others.create(Product::new("b", 2)).await.unwrap()));
    shop.rival.before_through(&table.others, "TransactWriteItems", 1, async |others| {
        others.update_with("a", |product| product.stock = 10).await.unwrap();
    });
    let unit = transact(&shop.client, |tx| async move {
        let items = tx.get_many(&table.items, ["sum", "a", "b"]).await?;
        let stock = items[1..].iter().flatten().map(|item| item.stock).sum();
        let sum = changed(items.into_iter().next().flatten().unwrap(), |it| it.stock = stock);
        tx.update(&table.items, sum);
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(table.raw.get("sum").await.unwrap()["stock"], n(12));
    assert_eq!(shop.counts(["BatchGetItem", "GetItem", "TransactWriteItems"]), [1, 0, 3]);
}
