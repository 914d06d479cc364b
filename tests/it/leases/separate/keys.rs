use dynalock::{Error, LockToken, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Archive, Digest, Product, Shop, b, commit, expect_error, n, s};

#[tokio::test(start_paused = true)]
async fn a_key_that_could_be_that_of_a_row_is_refused() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let create = table.items.create(Archive::new("a#lock", 1)).await;
    expect_error!(create, Error::InvalidKey { attribute: "id", .. });
    expect_error!(table.items.get("a#lock").await, Error::InvalidKey { .. });
    expect_error!(table.items.lock("a#lock").await, Error::InvalidKey { .. });
    expect_error!(commit(&shop.client, |tx| tx.check_absent(&table.items, "a#lock")).await, Error::InvalidKey { .. });
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_leaves_room_for_the_suffix_of_its_lease_row() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let longest = "a".repeat(2043);
    table.items.create(Archive::new(&longest, 1)).await.unwrap();
    table.items.lock(&longest).await.unwrap().commit(|it| it.items = 2).await.unwrap();
    let sent = shop.requests();
    let longer = "a".repeat(2044);
    expect_error!(table.items.create(Archive::new(&longer, 1)).await, Error::InvalidKey { attribute: "id", .. });
    expect_error!(table.items.lock(&longer).await, Error::InvalidKey { attribute: "id", .. });
    assert_eq!(shop.requests(), sent);
}

#[tokio::test(start_paused = true)]
async fn such_a_key_is_like_any_other_where_there_are_no_rows() {
    let (_, table) = Shop::with_table::<Product>().await;
    let stored = table.items.create(Product::new("a#lock", 5)).await.unwrap();
    assert_eq!(table.items.get("a#lock").await.unwrap(), Some(stored));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "pages")]
#[lockable(separate)]
struct Page {
    #[dynalock(partition_key)]
    book: u32,
    #[dynalock(sort_key)]
    title: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "blobs")]
#[lockable(separate)]
struct Blob {
    #[dynalock(partition_key)]
    bucket: String,
    #[dynalock(sort_key)]
    digest: Digest,
    size: u32,
}

#[tokio::test(start_paused = true)]
async fn the_row_is_in_the_partition_of_its_item_under_its_sort_key_and_a_suffix() {
    let shop = Shop::without_faults();
    let pages = shop.table::<Page>().await;
    pages.items.create(Page { book: 1, title: "t".to_owned(), text: "x".to_owned() }).await.unwrap();
    let lease = pages.items.lock((1, "t")).await.unwrap();
    expect_error!(pages.others.update_with((1, "t"), |it| it.text.clear()).await, Error::Locked(_));
    let row = pages.raw.get_by([("book", n(1)), ("title", s("t#lock"))]).await.unwrap();
    assert_eq!(row["_owner"], s(lease.owner()));
    let token: LockToken = lease.detach().to_string().parse().unwrap();
    pages.others.resume(token).await.unwrap().commit(|it| it.text.push('y')).await.unwrap();

    let blobs = shop.table::<Blob>().await;
    let digest = Digest(vec![0, 255]);
    blobs.items.create(Blob { bucket: "b".to_owned(), digest: digest.clone(), size: 1 }).await.unwrap();
    let lease = blobs.items.lock(("b", &digest)).await.unwrap();
    let key = ("b", &digest);
    expect_error!(blobs.others.update_with(key, |it| it.size = 0).await, Error::Locked(_));
    let row = blobs.raw.get_by([("bucket", s("b")), ("digest", b([&[0, 255], &b"#lock"[..]].concat()))]).await.unwrap();
    assert_eq!(row["_owner"], s(lease.owner()));
    lease.commit(|it| it.size = 2).await.unwrap();
    let reserved = Digest(b"x#lock".to_vec());
    expect_error!(blobs.items.get(("b", &reserved)).await, Error::InvalidKey { attribute: "digest", .. });
    let stored = blobs.raw.get_by([("bucket", s("b")), ("digest", b([0, 255]))]).await.unwrap();
    assert_eq!(stored["size"], n(2));
}
