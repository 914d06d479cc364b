//! Units of work in the handlers of a web service. The futures of handlers must be `Send`.

use aws_sdk_dynamodb::Client;
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Path, State},
    http::{Request, StatusCode},
    routing::post,
};
use dynalock::{Error, Repository, transact};
use tower::ServiceExt;

use crate::support::{Account, Refused, Shop, commit, n};

/// The state that all handlers share.
#[derive(Clone)]
struct App {
    client: Client,
    accounts: Repository<Account>,
}

fn refusal(refused: Refused) -> (StatusCode, String) {
    match refused {
        Refused::Here(why) => (StatusCode::CONFLICT, why),
        Refused::There(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

async fn transfer(
    State(App { client, accounts }): State<App>,
    Path((from, to, cents)): Path<(String, String, i64)>,
) -> Result<String, (StatusCode, String)> {
    let (accounts, from, to) = (&accounts, &from, &to);
    let unit = transact(&client, |tx| async move {
        let mut source = tx.get(accounts, from.as_str()).await?.ok_or_else(|| Refused::Here(format!("no {from}")))?;
        let mut target = tx.get(accounts, to.as_str()).await?.ok_or_else(|| Refused::Here(format!("no {to}")))?;
        if source.cents < cents {
            return Refused::here(format!("{from} has {}", source.cents));
        }
        source.cents -= cents;
        target.cents += cents;
        let left = source.cents.to_string();
        tx.update(accounts, source);
        tx.update(accounts, target);
        Ok(left)
    });
    unit.await.map_err(refusal)
}

async fn open(State(App { client, accounts }): State<App>, Path(owner): Path<String>) -> Result<(), StatusCode> {
    match commit(&client, |tx| tx.create(&accounts, Account::new(&owner, 0))).await {
        Ok(_) => Ok(()),
        Err(Error::Cancelled(_)) => Err(StatusCode::CONFLICT),
        Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

async fn call(app: &Router, uri: &str) -> (StatusCode, String) {
    let request = Request::post(uri).body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1024).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_handler_may_run_a_unit_of_work() {
    let (shop, table) = Shop::with_items([Account::new("alice", 50)]).await;
    let app = App { client: shop.client.clone(), accounts: table.items.clone() };
    let app = Router::new()
        .route("/accounts/{owner}", post(open))
        .route("/transfers/{from}/{to}/{cents}", post(transfer))
        .with_state(app);
    assert_eq!(call(&app, "/accounts/bob").await, (StatusCode::OK, String::new()));
    assert_eq!(call(&app, "/accounts/alice").await.0, StatusCode::CONFLICT);
    assert_eq!(call(&app, "/transfers/alice/bob/30").await, (StatusCode::OK, "20".to_owned()));
    assert_eq!(call(&app, "/transfers/alice/bob/30").await, (StatusCode::CONFLICT, "alice has 20".to_owned()));
    assert_eq!(call(&app, "/transfers/alice/carol/1").await, (StatusCode::CONFLICT, "no carol".to_owned()));
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(20));
    assert_eq!(table.raw.get("bob").await.unwrap()["cents"], n(30));
}
