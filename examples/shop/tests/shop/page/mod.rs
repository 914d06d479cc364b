//! Tests of the page, in two browsers.

mod browser;

use std::{env, fs, path::Path, time::Duration};

use axum::http::{Method, StatusCode};
use dynalock::local::Fault;
use serde_json::json;
use tokio::net::TcpListener;

use self::browser::Browser;
use crate::support::{Service, id};

/// Serves the shop, and returns its address.
async fn serve(service: &Service) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, service.router.clone()).into_future());
    url
}

/// Starts two browsers. Returns `None` on a machine without Chromium.
async fn two_browsers() -> Option<(Browser, Browser)> {
    let Some(program) = browser::find() else {
        eprintln!("no Chromium was found, so the page was not tried in a browser");
        return None;
    };
    Some((Browser::start(&program).await, Browser::start(&program).await))
}

/// Writes a screenshot, if `SHOP_SCREENSHOTS` names a folder.
async fn screenshot(browser: &mut Browser, name: &str) {
    let image = browser.screenshot().await;
    assert!(image.starts_with(b"\x89PNG"), "the screenshot is an image");
    if let Ok(folder) = env::var("SHOP_SCREENSHOTS") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), image).unwrap();
    }
}

#[tokio::test]
async fn two_users_edit_one_product_and_lose_nothing() {
    let Some((mut ann, mut bob)) = two_browsers().await else { return };
    let service = Service::start().await;
    let url = serve(&service).await;
    let page = format!("{url}/?product=teapot-blue");
    for user in [&mut ann, &mut bob] {
        user.open(&page).await;
        user.until("document.getElementById('cents').value === '24.90'").await;
    }

    ann.fill("cents", "26.50").await;
    ann.fill("description", "Holds a litre. The lid stays on when you pour. Made in Delft.").await;
    ann.click("save").await;
    ann.until("document.getElementById('status').textContent === 'Saved.'").await;

    bob.fill("stock", "10").await;
    bob.fill("cents", "23.00").await;
    bob.fill("name", "Blue teapot, 1 litre").await;
    bob.click("save").await;
    bob.until("!document.getElementById('review').hidden").await;
    let changes = bob.text("changes").await;
    for shown in ["both of you changed it", "It was 24.90", "23.00", "26.50", "Made in Delft", "only you changed it"] {
        assert!(changes.contains(shown), "{shown}: {changes}");
    }
    // The form still contains the text that bob typed, and also shows the change of ann.
    assert_eq!(bob.value("name").await, "Blue teapot, 1 litre");
    assert_eq!((bob.value("stock").await, bob.value("cents").await), ("10".to_owned(), "23.00".to_owned()));
    assert!(bob.value("description").await.ends_with("Made in Delft."));
    screenshot(&mut bob, "shop-conflict.png").await;
    bob.resize(360, 740).await;
    assert_eq!(bob.evaluate("document.documentElement.scrollWidth <= innerWidth").await, true);
    screenshot(&mut bob, "shop-conflict-narrow.png").await;

    // Nothing is saved before bob has chosen.
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent === 'Choose a value: Price.'").await;
    assert_eq!(service.get("/products/teapot-blue").await.body["cents"], 2650);
    bob.click("choice-cents-mine").await;
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent === 'Saved.'").await;

    let expected = json!({"id": "teapot-blue", "category": "teapots", "name": "Blue teapot, 1 litre", "cents": 2300,
        "stock": 10, "description": "Holds a litre. The lid stays on when you pour. Made in Delft."});
    assert_eq!(service.get("/products/teapot-blue").await.body, expected);

    // Ann has not seen the changes of bob. Ann keeps the price of bob, and her own new name.
    ann.fill("name", "Delft teapot").await;
    ann.fill("cents", "27.00").await;
    ann.click("save").await;
    ann.until("!document.getElementById('review').hidden").await;
    ann.click("choice-cents-theirs").await;
    ann.click("choice-name-mine").await;
    assert_eq!(ann.value("cents").await, "23.00");
    ann.click("save").await;
    ann.until("document.getElementById('status').textContent === 'Saved.'").await;
    let saved = service.get("/products/teapot-blue").await.body;
    assert_eq!((&saved["name"], &saved["cents"], &saved["stock"]), (&json!("Delft teapot"), &json!(2300), &json!(10)));
    assert_eq!(ann.faults(), [""; 0]);
    assert_eq!(bob.faults(), [""; 0]);
}

#[tokio::test]
async fn what_was_typed_stays_when_a_save_is_refused() {
    let Some((mut ann, mut bob)) = two_browsers().await else { return };
    let service = Service::start().await;
    let url = serve(&service).await;
    let hostile = r#"<script>document.title = "hacked"</script><img src=x onerror="document.title = 'hacked'">"#;
    let product =
        json!({"id": "hostile", "category": "cups", "name": hostile, "cents": 1, "stock": 1, "description": hostile});
    assert_eq!(service.send(Method::POST, "/products", &[], product).await.status, StatusCode::CREATED);

    ann.open(&url).await;
    ann.until("document.querySelectorAll('#categories li').length === 6").await;
    assert!(ann.text("categories").await.contains(hostile));
    screenshot(&mut ann, "shop-list.png").await;
    bob.open(&format!("{url}/?product=hostile")).await;
    bob.until("document.getElementById('cents').value === '0.01'").await;
    assert_eq!((bob.text("title").await, bob.value("description").await), (hostile.to_owned(), hostile.to_owned()));

    let lease = service.send(Method::POST, "/products/hostile/lease", &[], json!({"holder": "cy"})).await;
    bob.fill("stock", "2").await;
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent.startsWith('cy is taking stock')").await;
    assert_eq!(bob.value("stock").await, "2");

    let token = [("lease-token", lease.body["token"].as_str().unwrap())];
    service.send(Method::PUT, "/products/hostile/lease/stock", &token, json!({"stock": 5})).await;
    bob.click("save").await;
    bob.until("!document.getElementById('review').hidden").await;
    bob.fill("stock", "4").await; // a third value is a choice, too
    bob.click("choice-stock-theirs").await;
    assert_eq!(bob.value("stock").await, "5");
    bob.click("choice-stock-mine").await;
    assert_eq!(bob.value("stock").await, "4");
    bob.offline(true).await;
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent.startsWith('The shop cannot be reached')").await;
    bob.offline(false).await;
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent === 'Saved.'").await;
    assert_eq!(service.stock("hostile").await, 4);

    // Bob goes on typing while his save is on its way.
    service.faults.always(Fault::Delay(Duration::from_secs(1)));
    bob.fill("stock", "6").await;
    bob.click("save").await;
    bob.fill("description", "A hostile cup.").await;
    bob.until("document.getElementById('status').textContent.startsWith('Saved, except')").await;
    service.faults.clear();
    assert_eq!((service.stock("hostile").await, bob.value("description").await), (6, "A hostile cup.".to_owned()));

    service.shop.products.delete_unchecked(id("hostile")).await.unwrap();
    bob.fill("stock", "3").await;
    bob.click("save").await;
    bob.until("document.getElementById('status').textContent.startsWith('Another user has deleted')").await;
    assert_eq!(bob.value("stock").await, "3");
    for user in [&mut ann, &mut bob] {
        assert_ne!(user.evaluate("document.title").await, "hacked");
        assert_eq!(user.faults(), [""; 0]);
    }
}
