//! The Lambda function. Lambda starts this program, which handles one batch of messages after the
//! other.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use shop::{
    Shop, connection,
    lambda::{Batch, handle},
    telemetry,
};

#[tokio::main]
async fn main() -> Result<(), Error> {
    telemetry::start()?;
    // All batches share the connections of one client.
    let shop = Shop::new(&connection::aws().await);
    let shop = &shop;
    let function = async |event: LambdaEvent<Batch>| Ok::<_, Error>(handle(shop, event.payload).await);
    lambda_runtime::run(service_fn(function)).await
}
