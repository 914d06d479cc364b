use std::sync::{Mutex, PoisonError};

use aws_sdk_dynamodb::Client;

use super::{
    Op, TransactionGet,
    commit::{AfterContention, Commit},
    explain::{self, Resolved},
    link::Link,
    pending::PendingOperation,
    resolve::resolve,
    token::{known_id, refuse_committed, token_and_stamps},
};
use crate::{
    codec::Stored,
    error::{Error, InvalidTransaction, Result, TransactionId},
    explain::{Explained, ExplainedRequest, RequestToken},
    expression::Condition,
    model::{IntoKey, Versioned},
    operation::table_names,
    repository::Repository,
    retry::{Limits, limit_methods},
    telemetry::{observe, set_batch},
    write::{
        Guard,
        assembly::assemble,
        intent::OperationOutput,
        operation::{Operation, OperationKind},
        outcome::AttemptOutcome,
    },
};

/// A transaction: DynamoDB applies all writes of a transaction or none of them. The items of a
/// transaction can have different types and can be in different tables of one account and Region.
///
/// Each method of a `Transaction` such as `update` or `check` adds an operation, and returns the
/// handle of the added operation. [`commit`](Self::commit) sends all operations in one request. If
/// a transaction both checks and writes an item, the check becomes a part of the condition of the
/// write. A transaction can contain up to 100 items.
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
/// A transaction consumes twice as many write units as separate writes of the same items. An item
/// that the transaction only checks consumes as many write units as an item that the transaction
/// writes. If another caller has changed an item since the program read the item, the commit fails
/// only if the transaction checks or writes the item. The function [`transact`](crate::transact)
/// checks each item that its closure has read, even if the closure does not write the item.
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    id: TransactionId,
    link: Link,
    pending: Vec<PendingOperation>,
    limits: Limits,
    token: Option<String>,
}

/// A committed transaction, with the values that the operations of the transaction have written.
pub struct Committed {
    transaction: TransactionId,
    /// The written values, in the order of the operations. The value of an operation is `None` if
    /// the operation writes nothing, or if [`get`](Self::get) has already taken the value out.
    outputs: Mutex<Vec<Option<OperationOutput>>>,
}

impl Transaction {
    /// Makes an empty transaction for the account and Region of the client. Each operation of a
    /// transaction names a repository, which determines the table and the type of the item. If one
    /// of the repositories of the operations was made from `client`, the transaction uses the retry
    /// budget and the internal SDK client of this repository. If no repository of the operations
    /// was made from `client`, the transaction makes its own internal SDK client. The new client
    /// makes the call slower.
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

    /// Returns a builder for a transactional read: a read of several items at the same moment. Add
    /// the items to the returned [`TransactionGet`], then call [`fetch`](TransactionGet::fetch).
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

    limit_methods! {
        self, [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # fn example(client: &aws_sdk_dynamodb::Client) {
            "let tx = dynalock::Transaction::new(client)" ";"
            /// # }
            /// ```
        },
        /// The default deadline of a transaction is 10 seconds, because DynamoDB may need 5 seconds
        /// until it can report the outcome of a request whose reply was lost. The deadline and the
        /// pace of a repository do not apply to a transaction.
        deadline;
        attempts;
        /// The budgets of the repositories do not apply to a transaction.
        budget;
        /// The default timeout of the first attempt is 1 second.
        attempt_timeout;
    }

    /// Sets the ClientRequestToken of the transaction. The token has 1 to 36 characters, and no
    /// other transaction may ever use the same token. By default, each commit generates its own
    /// token.
    ///
    /// If several requests within ten minutes have the same token, DynamoDB applies only one of
    /// them. A program needs a token if it may commit the same transaction a second time with the
    /// same values, for example after a crash. The result of the second commit with the same token
    /// depends on the time since the first commit and on the stored items:
    ///
    /// | situation | result |
    /// |---|---|
    /// | less than ten minutes have passed since the first commit | success, and DynamoDB does not apply the transaction a second time |
    /// | ten minutes have passed since the first commit, and an item still contains the write id of the transaction | [`Error::AlreadyCommitted`] |
    /// | the program has read an item after the first commit, and the item contains the write id of the transaction | [`Error::AlreadyCommitted`] |
    /// | ten minutes have passed since the first commit, and no item contains the write id of the transaction | DynamoDB may apply the transaction a second time |
    ///
    /// An item keeps the write id of a transaction during the next 15 writes of the item. If the
    /// transaction only patches the item, the item keeps the write id during the next seven
    /// patches. A replace of an item removes the write ids of earlier patches of the item. If later
    /// writes may have removed the write id, read the items and compare them with the intended
    /// result before you commit the transaction a second time. A patch has no condition on the
    /// version of the item. A program may commit a transaction with a patch again, more than ten
    /// minutes after the first commit. If no item still contains the write id of the transaction,
    /// DynamoDB may apply the patch a second time. To prevent a second patch, add an operation that
    /// DynamoDB refuses in the second commit, for example the create of an item whose key is the
    /// token.
    ///
    /// If a program commits a transaction a second time with the same token, the second request
    /// must have exactly the same bytes as the first request. While DynamoDB remembers the token of
    /// the first commit, a second request with the same token but other bytes fails. The error is
    /// [`Error::AlreadyCommitted`] if an item contains the write id of the transaction, and
    /// otherwise [`Error::TokenReused`]. The elements of a `HashSet` or a `HashMap` have a
    /// different order in each process. In a value that is committed with a token, use a
    /// `BTreeSet`, a `BTreeMap` or a `Vec` instead of a `HashSet` or a `HashMap`. A request that
    /// contains the current time has other bytes in each commit. The following operations send the
    /// current time: writes of a type with `#[dynalock(created_at)]` or `#[dynalock(updated_at)]`,
    /// and [`check_exists`](Self::check_exists) and [`patch`](Self::patch) of a type with
    /// `#[dynalock(expires)]`.
    ///
    /// If the caller has set no token, the commit can send a second request with other content in
    /// the following cases:
    ///
    /// - DynamoDB refuses a create or a check because of an expired item.
    /// - DynamoDB refuses a write because of an expired lease in a separate row.
    /// - DynamoDB refuses a patch because an attribute is stored as a null instead of being absent.
    /// - DynamoDB refuses a patch because the item has the attribute `_writes` but no version.
    ///
    /// If the caller has set a token, the commit sends no second request with other content,
    /// because a request with other content needs another token. If only a request with other
    /// content could succeed, a commit with a token fails with [`Error::Cancelled`].
    ///
    /// From the token, the library derives the write id of the transaction and the random ids of
    /// the created items (incarnations). The random id of an item distinguishes the item from an
    /// earlier item with the same key. Do not use a token a second time if an item that the first
    /// commit created was deleted. A second commit would create a new item with the random id of
    /// the deleted item. A caller that has read the deleted item could then overwrite the new item.
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
    /// since the program read it. If the value has no changes, the operation only checks that the
    /// item has not changed.
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

    /// Adds an operation that replaces the whole item with the value, if the item has not changed
    /// since the program read it.
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

    /// Adds an operation that deletes the item, if the item has not changed since the program read
    /// it.
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

    /// Adds the condition that the item has not changed since the program read it. A check writes
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

    /// Adds the condition that the key has an item. The item must not have
    /// [expired](crate::Repository#expired-items) before the call of `check_exists`.
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

    /// Adds the condition that the key has no item. DynamoDB refuses the transaction if the key has
    /// an [expired](crate::Repository#expired-items) item. A commit without a
    /// [`token`](Self::token) then sends a second request, which also accepts the unchanged expired
    /// item.
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

    /// Adds a condition of the caller on the item with the given key. DynamoDB evaluates the
    /// condition even if the item has expired. If another operation of the transaction writes the
    /// item, the condition applies to the state of the item before the write.
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

    /// Adds the condition that the guard of a lease or of a named lock still holds the lease or
    /// lock. The table of the lease or lock must be in the account and Region of the transaction.
    /// If the guard no longer holds the lease or lock, the commit fails with [`Error::Lost`]. If a
    /// transaction writes a leased item without the guard of the lease, DynamoDB refuses the
    /// transaction, even if the caller holds the lease.
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

    /// Returns `true` if the transaction has no operation.
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

    /// Returns the request that [`commit`](Self::commit) would send. `explain` sends nothing, and
    /// the caller can still change and commit the transaction.
    ///
    /// For each value that [`Stored::assume`] made, the commit reads the stored item before the
    /// write. For a type that keeps the lease in the item, the commit first reads each item that
    /// the transaction replaces. If the commit must read items before the write, the result of
    /// `explain` contains the reads, and is not [complete](Explained::is_complete).
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
    /// - [`Error::InvalidTransaction`]: the transaction breaks one of the rules that
    ///   [`InvalidTransaction`] lists.
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
        let (_, mut stamps) = token_and_stamps(self.token.clone(), &mut attempts);
        let assembly = refuse_committed(&attempts, &operations, known_id(&stamps))
            .and_then(|()| assemble(&operations, &mut stamps));
        let actions = assembly.map(|assembly| explain::actions(&operations, assembly));
        self.pending = explain::pending(operations);
        let token = self.token.clone().map_or(RequestToken::Drawn, RequestToken::Given);
        Ok(Explained::of(vec![ExplainedRequest::transaction(actions?, token)]))
    }

    /// Sends the transaction. If DynamoDB refuses the transaction because of other running
    /// transactions or a lack of capacity, the call repeats the same request with the same token.
    /// Before the transaction, the commit reads the item of each value from [`Stored::assume`].
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
    /// If a commit fails with [`Error::Indeterminate`], DynamoDB may or may not have applied the
    /// transaction. If a commit fails with an error other than `Indeterminate`, the commit has not
    /// applied the transaction. DynamoDB always applies a transaction as a whole or not at all.
    ///
    /// - [`Error::Cancelled`]: a condition of the transaction was false, or DynamoDB refused an
    ///   operation for another reason, which [`Cancelled::reason`](crate::error::Cancelled::reason)
    ///   returns.
    /// - [`Error::Locked`]: another caller holds a lease on an item that the transaction writes.
    /// - [`Error::Lost`]: a guard of the transaction no longer holds its lease or named lock.
    /// - [`Error::InvalidTransaction`]: the transaction breaks one of the rules that
    ///   [`InvalidTransaction`] lists.
    /// - [`Error::KeyChanged`], [`Error::InvalidKey`], [`Error::Encode`],
    ///   [`Error::VersionExhausted`] or [`Error::ExpressionTooLong`]: an operation is invalid, for
    ///   the same reasons as a write outside a transaction.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: a value of the transaction comes from
    ///   [`Stored::assume`], and the stored item cannot be decoded.
    /// - [`Error::AlreadyCommitted`]: an earlier call committed a transaction with the caller's
    ///   token.
    /// - [`Error::TokenReused`]: a transaction with other content was committed with the caller's
    ///   token.
    /// - [`Error::Exhausted`]: the call reached its deadline or its maximum number of attempts, or
    ///   the retry budget was empty. If DynamoDB cancelled the last attempt, `Exhausted` contains
    ///   the reasons of the cancellation.
    /// - [`Error::TableNotFound`], [`Error::TableMismatch`], [`Error::Rejected`],
    ///   [`Error::Misconfigured`] or [`Error::InvalidSetting`]: these errors have the same causes
    ///   as in [every call](Repository#errors-of-every-call).
    /// - [`Error::Indeterminate`]: a reply was lost, and the library cannot find out whether the
    ///   transaction was applied.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `commit` at any time. After the future is dropped,
    /// DynamoDB may have applied the whole transaction or nothing. A dropped call sends no further
    /// requests, but a request that the call has already sent may still arrive at DynamoDB.
    pub async fn commit(self) -> Result<Committed> {
        let tables = table_names(self.pending.iter().map(|operation| &operation.item_ref.table));
        observe("transaction", tables, self.send()).await
    }

    async fn send(self) -> Result<Committed> {
        set_batch(self.len());
        let Self { id, mut link, pending, limits, token } = self;
        check_token(token.as_deref())?;
        let mut attempts = link.attempts(limits);
        let (token, mut stamps) = token_and_stamps(token, &mut attempts);
        let known = known_id(&stamps);
        let mut operations = resolve(&mut attempts, id, pending, known).await?;
        // DynamoDB may have forgotten the token of an earlier commit, and could apply the
        // transaction a second time.
        refuse_committed(&attempts, &operations, known)?;
        let assembly = assemble(&operations, &mut stamps)?;
        let commit = Commit {
            attempts: &mut attempts,
            transaction: id,
            operations: &mut operations,
            assembly,
            stamps,
            token,
            runs: &[],
            after_contention: AfterContention::SendAgain,
            outcome: AttemptOutcome::Known,
        };
        let next = commit.run().await?;
        let output = |(operation, next): (Operation, _)| match operation.kind {
            OperationKind::Write(intent) => Some(intent.into_output(next)),
            OperationKind::Check(_) => None,
        };
        let outputs = operations.into_iter().zip(next).map(output).collect();
        Ok(Committed { transaction: id, outputs: Mutex::new(outputs) })
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
    // DynamoDB measures the length of a token in characters, not in bytes.
    match token.map(|token| token.chars().count()) {
        None | Some(1..=36) => Ok(()),
        Some(characters) => Err(Error::InvalidTransaction(InvalidTransaction::Token { characters })),
    }
}

impl Committed {
    /// Returns the value that an operation has written, with the new version of the item. The
    /// caller can call `get` once for each operation.
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
    /// - [`Error::ForeignHandle`]: the handle comes from another transaction. DynamoDB has applied
    ///   the transaction, and the error `ForeignHandle` does not undo the transaction.
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
