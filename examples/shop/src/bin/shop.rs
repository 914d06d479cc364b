//! The web service, which runs on a DynamoDB inside the process by default.

#![expect(clippy::print_stdout, reason = "a person who starts the service wants to see its address")]

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr},
};

use aws_sdk_dynamodb::Client;
use clap::Parser;
use dynalock::local::Database;
use shop::{
    Shop, connection,
    http::{self, App, pages::PageKey, server},
    samples, stop, telemetry,
};
use tokio::net::TcpListener;

/// A shop, with products and orders in DynamoDB.
#[derive(Debug, Parser)]
#[command(name = "shop")]
struct Args {
    /// The address to listen on
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,

    /// The port to listen on; 0 selects a free port
    #[arg(long, default_value_t = 8080)]
    port: u16,

    /// Use AWS, with the Region and the credentials of the environment
    #[arg(long, conflicts_with_all = ["endpoint_url", "database_port"])]
    aws: bool,

    /// Use the local DynamoDB at this address
    #[arg(long, value_name = "URL", conflicts_with = "database_port")]
    endpoint_url: Option<String>,

    /// Make the DynamoDB inside the process available on this port, for a worker
    #[arg(long, value_name = "PORT")]
    database_port: Option<u16>,

    /// The secret that signs page tokens. All processes of a service need the same secret
    #[arg(long, env = "SHOP_PAGE_KEY", hide_env_values = true)]
    page_key: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    telemetry::start()?;
    let asked_to_stop = stop::requested()?;
    let database = Database::in_memory()?;
    let served = match args.database_port {
        Some(port) => Some(database.serve((Ipv4Addr::LOCALHOST, port).into()).await?),
        None => None,
    };
    let shop = Shop::new(&client(&args, &database).await);
    shop.create_tables().await?;
    if !args.aws {
        samples::create(&shop.products).await?;
    }

    let page_key = args.page_key.map_or_else(PageKey::random, |secret| Ok(PageKey::new(secret)))?;
    let listener = TcpListener::bind((args.host, args.port)).await;
    let listener = listener.map_err(|error| format!("port {}: {error}; choose another by --port", args.port))?;
    if let Some(served) = &served {
        println!("the database is at {}", served.url());
    }
    println!("the shop is at http://{}/", listener.local_addr()?);
    server::serve(listener, http::router(App { shop, page_key }), asked_to_stop).await?;
    tracing::info!("stopped");
    Ok(())
}

async fn client(args: &Args, database: &Database) -> Client {
    match (args.aws, &args.endpoint_url) {
        (true, _) => connection::aws().await,
        (false, Some(url)) => connection::local(url).await,
        (false, None) => database.client(),
    }
}
