//! Tests of the worker, on the paused clock.

use std::{future::pending, num::NonZeroU32, time::Duration};

use dynalock::{Error, local::Fault};
use shop::{
    Shop,
    job::State,
    order::{NewOrder, place},
    worker::Worker,
};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use crate::support::{Service, id};

const MINUTE: Duration = Duration::from_mins(1);

fn worker(service: &Service, name: &str) -> Worker {
    let shop = Shop::new(&service.database.client()); // each worker is a process of its own
    Worker { shop, name: name.to_owned(), packing: Duration::from_secs(30), idle: Duration::from_secs(1) }
}

async fn place_order(service: &Service, key: &str) {
    let new = NewOrder { customer: id("alice"), lines: [(id("cup-red"), NonZeroU32::MIN)].into() };
    place(&service.shop, &id(key), &new).await.unwrap();
}

async fn is_packed(service: &Service, key: &str) -> bool {
    service.shop.orders.get((id("alice"), id(key))).await.unwrap().unwrap().packed
}

async fn state(service: &Service, key: &str) -> State {
    service.shop.jobs.get(format!("alice/{key}")).await.unwrap().unwrap().state
}

#[tokio::test(start_paused = true)]
async fn two_workers_pack_each_order_once() {
    let service = Service::start().await;
    for key in ["1", "2", "3", "4"] {
        place_order(&service, key).await;
    }
    let (one, two) = (worker(&service, "one"), worker(&service, "two"));
    let start = Instant::now();
    let both = async { tokio::join!(one.run(pending()), two.run(pending())) };
    let packed = async {
        for key in ["1", "2", "3", "4"] {
            while state(&service, key).await == State::Open {
                sleep(Duration::from_secs(1)).await;
            }
            assert!(is_packed(&service, key).await);
        }
    };
    tokio::select! {
        _ = both => unreachable!("workers run until they are asked to stop"),
        () = packed => {}
    }
    // The work took two rounds of 30 seconds, although a lease lasts only 20 seconds without a
    // heartbeat.
    assert!((60..70).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_job_of_a_killed_worker_is_taken_over() {
    let service = Service::start().await;
    place_order(&service, "1").await;
    let killed = worker(&service, "one").take().await.unwrap().unwrap().detach(); // no heartbeats and no release
    let two = worker(&service, "two");
    assert!(two.take().await.unwrap().is_none(), "the lease has not ended yet");

    let packed = async {
        while !is_packed(&service, "1").await {
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = two.run(pending()) => unreachable!("a worker runs until it is asked to stop"),
        packed = timeout(MINUTE, packed) => packed.unwrap(),
    }

    // The first worker continues after a pause, but cannot finish the job a second time.
    assert!(matches!(service.shop.jobs.resume(killed).await, Err(Error::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_cut_off_writes_nothing_after_a_takeover() {
    let service = Service::start().await;
    place_order(&service, "1").await;
    let one = Worker { shop: Shop::new(&service.database.client_with(&service.faults)), ..worker(&service, "one") };
    let cut_off = one.take().await.unwrap().unwrap();
    service.faults.always(Fault::LoseRequest);
    sleep(Duration::from_secs(30)).await;
    let two = worker(&service, "two");
    let lease = two.take().await.unwrap().expect("the lease of the first worker has ended");
    assert_eq!(lease.acquired_after_crash(), Some(cut_off.fence()));

    service.faults.clear();
    assert!(matches!(one.finish(cut_off).await, Err(Error::Lost(_))));
    assert!(!is_packed(&service, "1").await);
    two.finish(lease).await.unwrap();
    assert!(is_packed(&service, "1").await);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_releases_its_job() {
    let service = Service::start().await;
    place_order(&service, "1").await;
    let (stop, stopped) = oneshot::channel::<()>();
    let one = worker(&service, "one");
    let running = tokio::spawn(async move { one.run(async { drop(stopped.await) }).await });
    sleep(Duration::from_secs(10)).await;
    let two = worker(&service, "two");
    assert!(two.take().await.unwrap().is_none());

    drop(stop);
    running.await.unwrap();
    let lease = two.take().await.unwrap().expect("the job is free at once");
    assert_eq!((lease.state, lease.acquired_after_crash()), (State::Open, None));
    assert!(!is_packed(&service, "1").await);
    two.finish(lease).await.unwrap();
    assert!(is_packed(&service, "1").await);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_an_order_fails() {
    let service = Service::start().await;
    place_order(&service, "1").await;
    service.shop.orders.delete_unchecked((id("alice"), id("1"))).await.unwrap();
    let one = worker(&service, "one");
    let lease = one.take().await.unwrap().unwrap();
    one.finish(lease).await.unwrap();
    assert_eq!(state(&service, "1").await, State::Failed);
    assert!(one.take().await.unwrap().is_none());
}
