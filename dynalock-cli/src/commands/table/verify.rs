use aws_sdk_dynamodb::Client;
use dynalock::{Locks, private::verify_table};
use serde_json::json;

use super::schema::model;
use crate::{
    args::SchemaArgs,
    failure::{Exit, Failure},
    output::{GREEN, Output, RED, print, print_json, shown},
};

pub(crate) async fn run(args: &SchemaArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let table = args.table.as_str();
    let report = match &args.partition_key {
        Some(key) => verify_table(client, table, model(args, key)?).await?,
        None => Locks::new(client, table).verify_table().await?,
    };
    let differences: Vec<_> = report.differences().iter().map(ToString::to_string).collect();
    if output.is_json {
        print_json(&json!({ "table": table, "differences": differences }))?;
    } else if differences.is_empty() {
        print(&format!("{} table `{}` fits\n", output.paint(GREEN, "ok"), shown(table)))?;
    } else {
        let line = |difference: &String| format!("{} {}\n", output.paint(RED, "differs"), shown(difference));
        print(&differences.iter().map(line).collect::<String>())?;
    }
    match differences.len() {
        0 => Ok(()),
        1 => Err(Failure::new(Exit::Differs, format!("table `{}` has 1 difference", shown(table)))),
        several => Err(Failure::new(Exit::Differs, format!("table `{}` has {several} differences", shown(table)))),
    }
}
