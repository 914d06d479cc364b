//! The behaviour of items, alone and in transactions, on any DynamoDB: in the process, or at the
//! URL in `DYNALOCK_ENDPOINT`.

/// Makes a test of each case, on its own database.
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

mod batches;
mod bookkeeping;
mod changes;
mod combining;
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
mod other_programs;
mod patches;
mod queries;
mod random_conditions;
mod read;
mod rests;
mod shapes;
mod store;
mod tables;
mod times;
mod transaction;
mod unversioned;
mod update;
mod when;
mod wide;
