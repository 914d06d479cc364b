use std::fmt;

use super::action::{ExplainedAction, ExplainedRow};
use crate::operation::{Action, BatchGet, GetItem, PageRequest, PageStart, TransactGet, Write};

/// One request of a call. [`Explained::requests`](super::Explained::requests) returns the requests
/// of a call. The format `{}` hides the values of a request, and the format `{:#}` shows the
/// values.
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// for request in products.patch("85123A").add(Product::ATTR.stock, -3).explain()?.requests() {
///     println!("{} of {} items", request.operation(), request.actions().len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct ExplainedRequest {
    operation: &'static str,
    token: RequestToken,
    actions: Vec<ExplainedAction>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum RequestToken {
    None,
    /// A random ClientRequestToken, which the library generates for each call.
    Drawn,
    Given(String),
}

impl ExplainedRequest {
    fn of(action: ExplainedAction) -> Self {
        Self { operation: action.operation(), token: RequestToken::None, actions: vec![action] }
    }

    pub(crate) fn of_write(write: Write) -> Self {
        // DynamoDB accepts a ConditionCheck only in a transaction.
        if let Action::Check = write.action {
            return Self::transaction(
                vec![ExplainedAction::in_transaction(write, ExplainedRow::Item)],
                RequestToken::Drawn,
            );
        }
        Self::of(ExplainedAction::of_write(write))
    }

    pub(crate) fn transaction(actions: Vec<ExplainedAction>, token: RequestToken) -> Self {
        Self { operation: "TransactWriteItems", token, actions }
    }

    pub(crate) fn of_page(request: &PageRequest, start: &PageStart) -> Self {
        Self::of(ExplainedAction::of_page(request, start))
    }

    /// Returns DynamoDB's name of the operation, for example `UpdateItem` or `TransactWriteItems`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.get_many(["85123A", "22423"]).explain()?;
    /// assert_eq!(explained.requests()[0].operation(), "BatchGetItem");
    /// # Ok(())
    /// # }
    /// ```
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the actions of the request. An action reads, writes or checks one item, or reads one
    /// page of a query or scan. A `BatchGetItem`, a `TransactGetItems` and a `TransactWriteItems`
    /// have one action for each item. A request that is neither a batch nor a transaction has one
    /// action.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.get_many(["85123A", "22423"]).explain()?;
    /// assert_eq!(explained.requests()[0].actions().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn actions(&self) -> &[ExplainedAction] {
        &self.actions
    }

    /// Returns the ClientRequestToken that the caller has set for a transaction. Returns `None` if
    /// the token is random, or if the request has no token.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut tx = dynalock::Transaction::new(client).token("payment-731");
    /// tx.check_exists(products, "85123A");
    /// assert_eq!(tx.explain()?.requests()[0].token(), Some("payment-731"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn token(&self) -> Option<&str> {
        match &self.token {
            RequestToken::Given(token) => Some(token),
            RequestToken::None | RequestToken::Drawn => None,
        }
    }
}

impl From<GetItem> for ExplainedRequest {
    fn from(get: GetItem) -> Self {
        Self::of(ExplainedAction::get("GetItem", get))
    }
}

impl From<BatchGet> for ExplainedRequest {
    fn from(BatchGet { table, keys }: BatchGet) -> Self {
        let get = |key| ExplainedAction::get("Get", GetItem { table: table.clone(), key, consistent: true });
        Self { operation: "BatchGetItem", token: RequestToken::None, actions: keys.into_iter().map(get).collect() }
    }
}

impl From<TransactGet> for ExplainedRequest {
    fn from(TransactGet { item_refs }: TransactGet) -> Self {
        let actions = item_refs.into_iter().map(|(table, key)| ExplainedAction::get_in_transaction(table, key));
        Self { operation: "TransactGetItems", token: RequestToken::None, actions: actions.collect() }
    }
}

impl fmt::Display for ExplainedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.actions.as_slice() {
            [action] if action.operation() == self.operation => return action.write_lines("", f),
            _ => f.write_str(self.operation)?,
        }
        match &self.token {
            RequestToken::None => {}
            RequestToken::Given(token) if f.alternate() => write!(f, "\n  token      {token:?}")?,
            RequestToken::Given(_) => f.write_str("\n  token      <S>")?,
            RequestToken::Drawn => f.write_str("\n  token      <random>")?,
        }
        for action in &self.actions {
            f.write_str("\n")?;
            action.write_lines("  ", f)?;
        }
        Ok(())
    }
}

// The `Debug` output of a request contains no values, because values are user data.
debug_fields!(ExplainedRequest, self => { operation: self.operation, actions: self.actions });
