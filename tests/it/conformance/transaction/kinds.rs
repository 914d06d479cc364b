//! Each kind of operation, in any order of calls. Each handle has the reason of its own operation.

use dynalock::{
    Stored, Transaction, Versioned,
    error::{CancellationClass, Cancelled},
    table::KeyValue,
    transaction::{Op, Reason},
};

use crate::support::{Account, FAILED, Line, NONE, Product, Shop, Table, cancelled, changed};

cases![
    all_kinds_happen_together_in_any_order,
    each_kind_that_fails_alone_is_the_one_to_blame_in_any_order,
    several_kinds_that_fail_at_once_are_each_to_blame,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Create,
    Update,
    Replace,
    Delete,
    Check,
    CheckExists,
    CheckAbsent,
    When,
}

use Kind::{Check, CheckAbsent, CheckExists, Create, Delete, Replace, Update, When};

const KINDS: [Kind; 8] = [Create, Update, Replace, Delete, Check, CheckExists, CheckAbsent, When];

/// Returns the kinds in their order, reversed, and shuffled.
fn orders() -> Vec<[Kind; 8]> {
    let mut orders = vec![KINDS, KINDS];
    orders[1].reverse();
    for seed in 0..4 {
        let mut order = KINDS;
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        orders.push(order);
    }
    orders
}

/// The result for the operation of a handle.
#[derive(Debug, PartialEq)]
enum Blame {
    Innocent,
    /// The version of the item that made the condition false, and the number in the item.
    Conflict(Option<(u64, i64)>),
}

type Ask = Box<dyn Fn(&Cancelled) -> Blame + Send>;

/// Three tables with one item for each kind.
struct Items<'s> {
    shop: &'s Shop,
    products: Table<Product>,
    accounts: Table<Account>,
    lines: Table<Line>,
    run: usize,
}

/// The stored items of one run.
type State = (Vec<Option<Stored<Product>>>, Vec<Option<Stored<Account>>>, Option<Stored<Line>>);

trait Amount {
    fn amount(&self) -> i64;
}

impl Amount for Product {
    fn amount(&self) -> i64 {
        self.stock
    }
}

impl Amount for Account {
    fn amount(&self) -> i64 {
        self.cents
    }
}

impl Amount for Line {
    fn amount(&self) -> i64 {
        self.quantity
    }
}

fn ask<T: Versioned + Amount + std::fmt::Debug, Out: 'static>(operation: Op<T, Out>) -> Ask {
    Box::new(move |cancelled| match cancelled.reason(&operation) {
        Reason::None => Blame::Innocent,
        Reason::Conflict(now) => Blame::Conflict(now.map(|now| (now.version(), now.amount()))),
        other => panic!("{other:?}"),
    })
}

impl<'s> Items<'s> {
    async fn of(shop: &'s Shop) -> Self {
        let (products, accounts, lines) = (shop.table().await, shop.table().await, shop.table().await);
        Self { shop, products, accounts, lines, run: 0 }
    }

    fn key(&self, kind: Kind) -> String {
        format!("{kind:?} {}", self.run)
    }

    /// Begins another run. Each kind that needs an item has one at version 1 with the number 5.
    async fn begin(&mut self) {
        self.run += 1;
        for kind in [Replace, CheckExists, When] {
            self.products.others.create(Product::new(&self.key(kind), 5)).await.unwrap();
        }
        for kind in [Update, Check] {
            self.accounts.others.create(Account::new(&self.key(kind), 5)).await.unwrap();
        }
        self.lines.others.create(Line::new(&self.key(Delete), 1, 5)).await.unwrap();
    }

    fn table(&self, kind: Kind) -> &str {
        match kind {
            Create | Replace | CheckExists | When => self.products.name(),
            Update | Check | CheckAbsent => self.accounts.name(),
            Delete => self.lines.name(),
        }
    }

    async fn add(&self, tx: &mut Transaction, kind: Kind) -> Ask {
        let Self { products, accounts, lines, .. } = self;
        let key = self.key(kind);
        match kind {
            Create => ask(tx.create(&products.items, Product::new(&key, 6))),
            Update => {
                let account = changed(accounts.others.get(key).await.unwrap().unwrap(), |it| it.cents = 6);
                ask(tx.update(&accounts.items, account))
            }
            Replace => {
                let product = changed(products.others.get(key).await.unwrap().unwrap(), |it| it.stock = 6);
                ask(tx.replace(&products.items, product))
            }
            Delete => {
                let line = lines.others.get((key.as_str(), 1)).await.unwrap().unwrap();
                ask(tx.delete(&lines.items, line))
            }
            Check => {
                let account = accounts.others.get(key).await.unwrap().unwrap();
                ask(tx.check(&accounts.items, &account))
            }
            CheckExists => ask(tx.check_exists(&products.items, key)),
            CheckAbsent => ask(tx.check_absent(&accounts.items, key)),
            When => ask(tx.when(&products.items, key, Product::ATTR.stock.ge(3))),
        }
    }

    async fn transaction(&self, order: [Kind; 8]) -> (Transaction, Vec<Ask>) {
        let mut tx = Transaction::new(&self.shop.client);
        let mut asks = Vec::new();
        for kind in order {
            asks.push(self.add(&mut tx, kind).await);
        }
        (tx, asks)
    }

    /// Makes an operation fail, and returns its expected reason.
    async fn spoil(&self, kind: Kind) -> Blame {
        let Self { products, accounts, lines, .. } = self;
        let key = self.key(kind);
        match kind {
            Create => drop(products.others.create(Product::new(&key, 9)).await.unwrap()),
            Update | Check => drop(accounts.others.update_with(key, |account| account.cents = 9).await.unwrap()),
            Replace => drop(products.others.update_with(key, |product| product.stock = 9).await.unwrap()),
            Delete => drop(lines.others.update_with((key.as_str(), 1), |line| line.quantity = 9).await.unwrap()),
            CheckExists => products.others.delete_unchecked(key).await.unwrap(),
            CheckAbsent => drop(accounts.others.create(Account::new(&key, 9)).await.unwrap()),
            When => drop(products.others.update_with(key, |product| product.stock = 1).await.unwrap()),
        }
        match kind {
            Create | CheckAbsent => Blame::Conflict(Some((1, 9))),
            CheckExists => Blame::Conflict(None),
            When => Blame::Conflict(Some((2, 1))),
            Update | Replace | Delete | Check => Blame::Conflict(Some((2, 9))),
        }
    }

    async fn state(&self) -> State {
        let (mut products, mut accounts) = (Vec::new(), Vec::new());
        for kind in [Create, Replace, CheckExists, When] {
            products.push(self.products.others.get(self.key(kind)).await.unwrap());
        }
        for kind in [Update, Check, CheckAbsent] {
            accounts.push(self.accounts.others.get(self.key(kind)).await.unwrap());
        }
        (products, accounts, self.lines.others.get((self.key(Delete).as_str(), 1)).await.unwrap())
    }

    /// Commits a transaction with failing operations. The operations are in the order of the kinds.
    async fn refused(&self, order: [Kind; 8], guilty: &[Kind]) {
        let (tx, asks) = self.transaction(order).await;
        let mut blames = Vec::new();
        for kind in guilty {
            blames.push((*kind, self.spoil(*kind).await));
        }
        let before = self.state().await;
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(self.state().await, before, "nothing was written");
        assert_eq!((cancelled.class(), cancelled.spent().attempts), (CancellationClass::Conflict, 1));
        assert_eq!(cancelled.reasons().len(), 8);
        for ((index, (kind, ask)), reason) in order.into_iter().zip(asks).enumerate().zip(cancelled.reasons()) {
            let blame = blames.iter().find(|(guilty, _)| *guilty == kind).map_or(&Blame::Innocent, |(_, blame)| blame);
            assert_eq!(ask(&cancelled), *blame, "{kind:?} in {order:?} after {guilty:?}");
            let code = if *blame == Blame::Innocent { NONE } else { FAILED };
            assert_eq!((reason.index(), reason.code(), reason.table()), (index, code, self.table(kind)));
            assert_eq!(reason.key().partition(), &KeyValue::S(self.key(kind)));
            assert_eq!(reason.key().sort().is_some(), kind == Delete);
        }
    }
}

async fn all_kinds_happen_together_in_any_order(shop: &Shop) {
    let mut items = Items::of(shop).await;
    for order in orders() {
        items.begin().await;
        let (tx, _) = items.transaction(order).await;
        assert_eq!((tx.len(), tx.is_empty()), (8, false));
        tx.commit().await.unwrap();
        let (products, accounts, line) = items.state().await;
        let products: Vec<_> = products.into_iter().map(|p| p.map(|p| (p.version(), p.stock))).collect();
        assert_eq!(products, [Some((1, 6)), Some((2, 6)), Some((1, 5)), Some((1, 5))], "{order:?}");
        let accounts: Vec<_> = accounts.into_iter().map(|a| a.map(|a| (a.version(), a.cents))).collect();
        assert_eq!(accounts, [Some((2, 6)), Some((1, 5)), None], "{order:?}");
        assert_eq!(line, None, "{order:?}");
    }
    assert_eq!(shop.requests(), orders().len());
}

async fn each_kind_that_fails_alone_is_the_one_to_blame_in_any_order(shop: &Shop) {
    let mut items = Items::of(shop).await;
    for order in orders() {
        for kind in KINDS {
            items.begin().await;
            items.refused(order, &[kind]).await;
        }
    }
    assert_eq!(shop.requests(), orders().len() * KINDS.len());
}

async fn several_kinds_that_fail_at_once_are_each_to_blame(shop: &Shop) {
    let mut items = Items::of(shop).await;
    for order in orders() {
        for guilty in [&KINDS[..], &[Create, Delete], &[When, CheckExists, Update]] {
            items.begin().await;
            items.refused(order, guilty).await;
        }
    }
}
