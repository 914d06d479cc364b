use aws_sdk_dynamodb::Client;
use dynalock::{
    Locks,
    private::{DeletionProtection, create_table},
};
use serde_json::json;

use super::schema::model;
use crate::{
    args::CreateArgs,
    failure::Failure,
    output::{Output, print, print_json, shown},
};

pub(crate) async fn run(args: &CreateArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let CreateArgs { schema, deletion_protection } = args;
    let table = schema.table.as_str();
    let create = async {
        match &schema.partition_key {
            Some(key) => {
                let protection = if *deletion_protection { DeletionProtection::On } else { DeletionProtection::Off };
                create_table(client, table, model(schema, key)?, protection).await?;
            }
            None => {
                let create = Locks::new(client, table).create_table();
                if *deletion_protection { create.deletion_protection().await? } else { create.await? }
            }
        }
        Ok::<_, Failure>(())
    };
    output.during(format!("creating table `{}`", shown(table)), create).await?;
    match output.is_json {
        true => print_json(&json!({ "table": table, "ready": true })),
        false => print(&format!("table `{}` is ready\n", shown(table))),
    }
}
