//! What items do, alone and in transactions, on any DynamoDB: in the process, or behind the URL in `DYNALOCK_ENDPOINT`.

/// Makes a test of each case, on a database of its own.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod on_this_engine {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(&crate::support::Shop::anywhere().await).await;
                }
            )*
        }
    };
}

mod bookkeeping;
mod changes;
mod conditions;
mod create;
mod etag;
mod expiry;
mod flattened;
mod keys;
mod leases;
mod locks;
mod lost_reply;
mod modify;
mod queries;
mod read;
mod shapes;
mod tables;
mod times;
mod transaction;
mod unversioned;
mod update;
mod wide;
