use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_dynamodb::Client;

use super::{
    Op, TransactionGet,
    commit::{self, AfterContention, Commit},
    explain::{self, Resolved},
    link::Link,
    pending::PendingOperation,
};
use crate::{
    codec::{Basis, Stored},
    error::{Error, InvalidTransaction, Result, TransactionId},
    explain::{Explained, ExplainedRequest, RequestToken},
    expression::Condition,
    model::{IntoKey, Versioned},
    operation::table_names,
    repository::Repository,
    retry::Limits,
    telemetry::{observe, set_batch},
    write::{
        Guard,
        assembly::assemble,
        intent::OperationOutput,
        operation::{Operation, OperationKind},
        outcome::AttemptOutcome,
    },
};

/// A transaction: DynamoDB applies all of its writes or none of them. The items can have different
/// types and can be in different tables of one account and Region.
///
/// The methods below add operations, and return a handle of each operation.
/// [`commit`](Self::commit) sends all operations in one request. A check and a write of the same
/// item become one conditional write. A transaction can contain up to 100 items.
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::{Error, Stored, Transaction, transaction::Reason};
/// # use dynalock::{Repository, Versioned};
///
/// # async fn reserve<P: Versioned, O: Versioned, C: Versioned>(
/// #     client: &aws_sdk_dynamodb::Client, products: Repository<P>, orders: Repository<O>, customers: Repository<C>,
/// #     product: Stored<P>, order: O, customer: Stored<C>,
/// # ) -> dynalock::Result<Option<Stored<P>>> {
/// let mut tx = Transaction::new(client);
/// let reserve = tx.update(&products, product);
/// let place = tx.create(&orders, order);
/// tx.check(&customers, &customer); // not written, but must be unchanged since it was read
/// match tx.commit().await {
///     Ok(done) => Ok(Some(done.get(reserve)?)),
///     Err(Error::Cancelled(cancelled)) => match (cancelled.reason(reserve), cancelled.reason(place)) {
///         (Reason::Conflict(now), _) => Ok(now), // the refusal carries the item: no read
///         (Reason::None, _) => Ok(None),         // the update was not the cause
///         _ => Err(Error::Cancelled(cancelled)),
///     },
///     Err(error) => Err(error),
/// }
/// # }
/// ```
///
/// A transaction costs twice the write units of its items. An item that the transaction only checks
/// costs as many write units as an item that it writes. If the program has read an item before, the
/// commit notices a change of the item only if the transaction checks or writes the item. For reads
/// and writes that belong together, see [`transact`](crate::transact).
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    id: TransactionId,
    link: Link,
    pending: Vec<PendingOperation>,
    limits: Limits,
    token: Option<String>,
}

/// A committed transaction, with the values that its operations have written.
pub struct Committed {
    transaction: TransactionId,
    /// The results of the operations. When [`get`](Self::get) has returned a result, its entry is
    /// `None`.
    outputs: Mutex<Vec<Option<OperationOutput>>>,
}

impl Transaction {
    /// Makes an empty transaction for the account and Region of the client. The tables and types
    /// come from the repositories of its operations. If one of these repositories was made from the
    /// same client, the transaction shares the internal client of that repository. If no repository
    /// was made from this client, the transaction makes an internal client of its own, which takes
    /// as long as a few requests.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let tx = dynalock::Transaction::new(client);
    /// assert!(tx.is_empty());
    /// # }
    /// ```
    pub fn new(client: &Client) -> Self {
        Self {
            id: TransactionId::next(),
            link: Link::new(client.clone()),
            pending: Vec::new(),
            limits: Limits::of_transaction(),
            token: None,
        }
    }

    /// Makes a read of several items as they are at one moment. Add the items to the returned
    /// value, then call [`fetch`](TransactionGet::fetch).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut get = dynalock::Transaction::get(client);
    /// let (tea, cup) = (get.item(products, "tea"), get.item(products, "cup"));
    /// let seen = get.fetch().await?;
    /// println!("{:?} {:?}", seen.get(tea)?, seen.get(cup)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(client: &Client) -> TransactionGet {
        TransactionGet::new(client)
    }

    /// Limits the time of [`commit`](Self::commit), including all its requests and pauses. The
    /// default deadline is 10 seconds, because DynamoDB may need 5 seconds until it can report the
    /// outcome of a request whose reply was lost. A transaction does not use the deadline and the
    /// pace of a repository.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// use std::time::Duration;
    ///
    /// let tx = dynalock::Transaction::new(client).deadline(Duration::from_secs(20));
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Limits the number of failed requests. The limit must be at least 1. By default, the request
    /// is repeated until the deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let tx = dynalock::Transaction::new(client).attempts(5);
    /// # }
    /// ```
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// Limits the capacity units that the transaction may consume: read units and write units together. The
    /// library estimates the units of each request before it is sent, as the [module
    /// `cost`](crate::cost) says. If a request would pass the budget, it is not sent, and the call
    /// fails with [`Error::BudgetExceeded`](crate::Error::BudgetExceeded). A call with a budget is
    /// always metered.
    ///
    /// The budgets of the repositories do not apply to a transaction.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let tx = dynalock::Transaction::new(client).budget(100);
    /// # }
    /// ```
    pub fn budget(mut self, units: u64) -> Self {
        self.limits.budget = Some(units);
        self
    }

    /// Sets the time after which the first request counts as lost. The default timeout is 1 second,
    /// plus 20 milliseconds for each item after the first. The timeout doubles with each attempt
    /// without an answer, up to eight times its first value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// use std::time::Duration;
    ///
    /// let tx = dynalock::Transaction::new(client).attempt_timeout(Duration::from_secs(3));
    /// # }
    /// ```
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// Sets the ClientRequestToken of the transaction. The token has 1 to 36 characters, and no
    /// other transaction may ever use the same token. By default, each commit generates its own
    /// token.
    ///
    /// DynamoDB applies transactions with the same token at most once in ten minutes. A program may
    /// therefore commit the same transaction again with the same values, for example after a crash.
    /// The table shows the result of the second commit:
    ///
    /// | situation | result |
    /// |---|---|
    /// | less than ten minutes have passed | success, and DynamoDB does not apply the transaction again |
    /// | more time has passed, or the values were read again, and an item still shows the write id of the transaction | [`Error::AlreadyCommitted`] |
    /// | more time has passed, and no item shows the write id | DynamoDB may apply the transaction a second time |
    ///
    /// An item keeps the write id of a transaction during its next 15 writes. If the transaction
    /// only patches the item, the item keeps the id during its next seven patches, and a replace
    /// removes the id. After more writes, compare the items with the intended result before you
    /// commit again. A patch has no condition on the version, so DynamoDB may apply a patch twice.
    /// To prevent this, add an operation that DynamoDB refuses the second time, for example the
    /// create of an item whose key is the token.
    ///
    /// The second request must have exactly the same bytes as the first. The order of a `HashSet`
    /// or a `HashMap` differs in each process. With another order, the commit fails with
    /// [`Error::TokenReused`], or with [`Error::AlreadyCommitted`] if an item shows the write id.
    /// Use a `BTreeSet`, a `BTreeMap` or a `Vec` instead. Some operations contain the time of day,
    /// and therefore fail in the same way: writes of a type with `#[dynalock(created_at)]` or
    /// `#[dynalock(updated_at)]`, and [`check_exists`](Self::check_exists) and
    /// [`patch`](Self::patch) of a type with `#[dynalock(expires)]`.
    ///
    /// With a token of the caller, the commit cannot send a second request with other content.
    /// Without a token of the caller, the commit sends a second request with other content in these
    /// cases: a create or a check meets an expired item, a patch meets a null in place of a missing
    /// attribute, or a patch meets an item with `_writes` and without a version. Under a token of
    /// the caller, the commit then fails with [`Error::Cancelled`].
    ///
    /// The write ids and incarnations of the transaction are derived from the token. Do not use a
    /// token again after an item of its transaction was deleted: the new item would get the
    /// incarnation of the deleted item. A write that is based on the deleted item could then
    /// overwrite the new item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let tx = dynalock::Transaction::new(client).token("payment-2026-000731");
    /// # }
    /// ```
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Adds an operation that writes a new item at version 1, if the key has no item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// tx.create(products, Product { sku: "85123A".into(), stock: 10 });
    /// # }
    /// ```
    pub fn create<T: Versioned>(&mut self, repository: &Repository<T>, value: T) -> Op<T> {
        self.add(repository, PendingOperation::create(repository, value))
    }

    /// Adds an operation that writes the changed attributes of a value, if the item has not changed
    /// since it was read. If the value has no changes, the operation only checks the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>, mut product: dynalock::Stored<Product>) {
    /// product.stock -= 3;
    /// let sell = tx.update(products, product);
    /// # }
    /// ```
    pub fn update<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T> {
        self.add(repository, PendingOperation::update(repository, stored))
    }

    /// Adds an operation that replaces the whole item by the value, if the item has not changed
    /// since it was read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) {
    /// tx.replace(products, product);
    /// # }
    /// ```
    pub fn replace<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T> {
        self.add(repository, PendingOperation::replace(repository, stored))
    }

    /// Adds an operation that deletes the item, if the item has not changed since it was read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) {
    /// tx.delete(products, product);
    /// # }
    /// ```
    pub fn delete<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T, ()> {
        self.add(repository, PendingOperation::delete(repository, stored))
    }

    /// Adds the condition that the item has not changed since it was read. The operation writes
    /// nothing, even if the program has changed the value in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>, product: &dynalock::Stored<Product>) {
    /// tx.check(products, product);
    /// # }
    /// ```
    pub fn check<T: Versioned>(&mut self, repository: &Repository<T>, stored: &Stored<T>) -> Op<T, ()> {
        self.add(repository, PendingOperation::check(repository, stored))
    }

    /// Adds the condition that the key has an item, and that the item has not
    /// [expired](crate::Repository#expired-items) at the time of this call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// tx.check_exists(products, "85123A");
    /// # }
    /// ```
    pub fn check_exists<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, ()> {
        self.add(repository, PendingOperation::exists(repository, key.into_key()))
    }

    /// Adds the condition that the key has no item. An [expired](crate::Repository#expired-items)
    /// item counts as absent, if it has not changed since a refusal returned it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// tx.check_absent(products, "85123A");
    /// # }
    /// ```
    pub fn check_absent<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, ()> {
        self.add(repository, PendingOperation::absent(repository, key.into_key()))
    }

    /// Adds a condition on the item with this key. The condition also applies to an expired item.
    /// If another operation of the transaction writes the item, the condition applies to the state
    /// of the item before this write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// tx.when(products, "85123A", Product::ATTR.stock.ge(3));
    /// # }
    /// ```
    pub fn when<T: Versioned>(
        &mut self,
        repository: &Repository<T>,
        key: impl IntoKey<T>,
        condition: Condition<T>,
    ) -> Op<T, ()> {
        self.add(repository, PendingOperation::when(repository, key.into_key(), condition))
    }

    /// Adds the condition that this guard still holds its lease, or its named lock in the same
    /// account and Region. If the lease or lock is no longer held, the commit fails with
    /// [`Error::Lost`]. The condition is also needed if the transaction writes the leased item
    /// itself. Without the condition, DynamoDB refuses this write like a write of any other caller.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(tx: &mut dynalock::Transaction, locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// tx.guard(&lock);
    /// # Ok(())
    /// # }
    /// ```
    pub fn guard(&mut self, lease: &impl Guard) {
        self.pending.push(PendingOperation::guard(lease));
    }

    /// Returns the number of operations, including guards.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// let before = tx.len();
    /// tx.check_exists(products, "85123A");
    /// assert_eq!(tx.len(), before + 1);
    /// # }
    /// ```
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Returns whether the transaction has no operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// assert!(dynalock::Transaction::new(client).is_empty());
    /// # }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns the request that this transaction would send. This method sends nothing, and the
    /// transaction can still be changed and committed.
    ///
    /// The commit reads an item first for each value from [`Stored::assume`], and for each replace
    /// of an item that contains its lease. If there is such an operation, the result contains these
    /// reads, and is not [complete](Explained::is_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut tx = dynalock::Transaction::new(client);
    /// tx.patch(products, "85123A").add(Product::ATTR.stock, -3);
    /// tx.check_exists(products, "22423");
    /// println!("{}", tx.explain()?);
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidTransaction`]: the transaction breaks a rule.
    /// - [`Error::KeyChanged`], [`Error::InvalidKey`], [`Error::InvalidPatch`], [`Error::Encode`],
    ///   [`Error::VersionExhausted`] or [`Error::ExpressionTooLong`]: an operation is invalid.
    /// - [`Error::AlreadyCommitted`]: an item that the program has read shows that an earlier call
    ///   committed a transaction with the caller's token.
    pub fn explain(&mut self) -> Result<Explained> {
        check_token(self.token.as_deref())?;
        let operations = match explain::resolve(&mut self.pending)? {
            Resolved::Operations(operations) => operations,
            Resolved::Reads(reads) => return Ok(Explained::before_write(reads)),
        };
        let mut attempts = self.link.attempts_without_requests(self.limits);
        let (_, mut stamps) = commit::token_and_stamps(self.token.clone(), &mut attempts);
        let assembly = commit::refuse_committed(&attempts, &operations, commit::known_id(&stamps))
            .and_then(|()| assemble(&operations, &mut stamps));
        let actions = assembly.map(|assembly| explain::actions(&operations, assembly));
        self.pending = explain::pending(operations);
        let token = self.token.clone().map_or(RequestToken::Drawn, RequestToken::Given);
        Ok(Explained::of(vec![ExplainedRequest::transaction(actions?, token)]))
    }

    /// Sends the transaction. If DynamoDB refuses the transaction because of other transactions or
    /// a lack of capacity, the call sends the same request again with the same token. For each
    /// value from [`Stored::assume`], the call reads the item first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(mut tx: dynalock::Transaction, products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) -> dynalock::Result<()> {
    /// let sell = tx.update(products, product);
    /// let product = tx.commit().await?.get(sell)?;
    /// println!("{} left", product.stock);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// After [`Error::Indeterminate`], DynamoDB may or may not have applied the transaction. After
    /// an error other than `Indeterminate`, this call has not applied the transaction. A
    /// transaction is always applied as a whole or not at all.
    ///
    /// - [`Error::Cancelled`]: a condition was false, or DynamoDB refused an operation.
    /// - [`Error::Locked`]: another caller holds a lease on an item that the transaction writes.
    /// - [`Error::Lost`]: a guarded lease or lock is no longer held.
    /// - [`Error::InvalidTransaction`]: the transaction breaks a rule, and was not sent.
    /// - [`Error::KeyChanged`], [`Error::InvalidKey`], [`Error::Encode`],
    ///   [`Error::VersionExhausted`] or [`Error::ExpressionTooLong`]: an operation is invalid, for
    ///   the same reason as a single write.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the item that was read for a value with an etag
    ///   cannot be decoded.
    /// - [`Error::AlreadyCommitted`]: an earlier call committed a transaction with the caller's
    ///   token.
    /// - [`Error::TokenReused`]: a transaction with other content was committed with the caller's
    ///   token.
    /// - [`Error::Exhausted`]: the call ended at its deadline, at its maximum number of attempts,
    ///   or because the retry budget was empty. If DynamoDB cancelled the last attempt, the error
    ///   contains the cancellation.
    /// - [`Error::TableNotFound`], [`Error::TableMismatch`], [`Error::Rejected`],
    ///   [`Error::Misconfigured`] or [`Error::InvalidSetting`]: the causes are those of [every
    ///   call](Repository#errors-of-every-call).
    /// - [`Error::Indeterminate`]: a reply was lost, and the library cannot find out whether the
    ///   transaction was applied.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the transaction may have been applied as a whole, or not at all. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive.
    pub async fn commit(self) -> Result<Committed> {
        let tables = table_names(self.pending.iter().map(|operation| &operation.item_ref.table));
        observe("transaction", tables, self.send()).await
    }

    async fn send(self) -> Result<Committed> {
        set_batch(self.len());
        let Self { id, mut link, pending, limits, token } = self;
        check_token(token.as_deref())?;
        let mut attempts = link.attempts(limits);
        let (mut token, mut stamps) = commit::token_and_stamps(token, &mut attempts);
        let known = commit::known_id(&stamps);
        let mut operations = commit::resolve(&mut attempts, id, pending, known).await?;
        // If an item that the program has read contains the write id, an earlier call committed a
        // transaction with this token. DynamoDB may have forgotten the token, so the request is not
        // sent again.
        commit::refuse_committed(&attempts, &operations, known)?;
        let assembly = assemble(&operations, &mut stamps)?;
        let commit = Commit {
            attempts: &mut attempts,
            transaction: id,
            operations: &mut operations,
            assembly,
            stamps,
            token: &mut token,
            after_contention: AfterContention::SendAgain,
            outcome: AttemptOutcome::Known,
        };
        let next = commit.run().await?;
        Ok(Committed { transaction: id, outputs: Mutex::new(outputs(operations, next)) })
    }

    pub(super) fn add<T: Versioned, Out>(
        &mut self,
        repository: &Repository<T>,
        operation: PendingOperation,
    ) -> Op<T, Out> {
        self.link.meet(repository);
        self.pending.push(operation);
        Op::new(self.id, self.pending.len() - 1)
    }
}

fn check_token(token: Option<&str>) -> Result<()> {
    // DynamoDB counts the token in characters.
    match token.map(|token| token.chars().count()) {
        None | Some(1..=36) => Ok(()),
        Some(characters) => Err(Error::InvalidTransaction(InvalidTransaction::Token { characters })),
    }
}

fn outputs(operations: Vec<Operation>, next: Vec<Option<Basis>>) -> Vec<Option<OperationOutput>> {
    let output = |(operation, next): (Operation, _)| match operation.kind {
        OperationKind::Write(intent) => Some(intent.into_output(next)),
        OperationKind::Check(_) => None,
    };
    operations.into_iter().zip(next).map(output).collect()
}

impl Committed {
    /// Returns the value that an operation has written, with its new version. This method can be
    /// called once for each operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(done: dynalock::transaction::Committed, sell: dynalock::transaction::Op<Product>) -> dynalock::Result<()> {
    /// let product = done.get(sell)?;
    /// println!("{} left at version {}", product.stock, product.version());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::ForeignHandle`]: the handle belongs to another transaction, or its value was
    ///   already returned. The transaction stays committed.
    #[expect(clippy::needless_pass_by_value, reason = "a handle is spent: its value is taken once")]
    pub fn get<T: Versioned>(&self, operation: Op<T>) -> Result<Stored<T>> {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let value = operation.index_in(self.transaction).and_then(|index| outputs.get_mut(index)?.take());
        match value.and_then(|value| value.downcast().ok()) {
            Some(stored) => Ok(*stored),
            None => Err(Error::ForeignHandle),
        }
    }
}

debug_fields!(Transaction, self => { operations: self.len(), limits: self.limits });

debug_fields!(Committed, self => {});
