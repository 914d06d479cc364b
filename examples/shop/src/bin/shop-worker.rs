//! The worker, which packs the orders of the shop.

use std::{error::Error, process, time::Duration};

use clap::Parser;
use shop::{Shop, connection, stop, telemetry, worker::Worker};

/// Packs the orders of a shop. Start any number of workers.
#[derive(Debug, Parser)]
#[command(name = "shop-worker")]
struct Args {
    /// Use the local DynamoDB at this address. Without this option, the worker uses AWS
    #[arg(long, value_name = "URL")]
    endpoint_url: Option<String>,

    /// The time that it takes to pack an order, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    packing: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    telemetry::start()?;
    let asked_to_stop = stop::requested()?;
    let client = match &args.endpoint_url {
        Some(url) => connection::local(url).await,
        None => connection::aws().await,
    };
    let worker = Worker {
        shop: Shop::new(&client),
        name: format!("worker {}", process::id()),
        packing: Duration::from_millis(args.packing),
        idle: Duration::from_secs(1),
    };
    worker.run(asked_to_stop).await;
    tracing::info!("stopped");
    Ok(())
}
