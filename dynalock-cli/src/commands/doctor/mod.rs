//! `dynalock doctor`.

mod check;
mod clock_skew;
mod exchange;
mod table;

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sdk_dynamodb::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
};
use serde_json::json;

use self::{
    check::{Check, State},
    exchange::{Exchange, Observer},
};
use crate::{
    args::{DoctorArgs, Target},
    clock, connection,
    failure::{Exit, Failure, describe},
    output::{Output, duration, print, print_json},
};

pub(crate) async fn run(args: &DoctorArgs, target: &Target, output: Output) -> Result<(), Failure> {
    let checks = async { check_all(args, &connection::configuration(target).await).await };
    let checks = output.during("checking the connection to DynamoDB".to_owned(), checks).await;
    match output.is_json {
        true => print_json(&json!({ "checks": checks.iter().map(Check::to_json).collect::<Vec<_>>() }))?,
        false => print(&check::text(&checks, output))?,
    }
    let failed: Vec<_> = checks.iter().filter(|check| check.state == State::Failed).map(|check| check.name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Differs, format!("failed: {}", failed.join(", ")))),
    }
}

async fn check_all(args: &DoctorArgs, config: &SdkConfig) -> Vec<Check> {
    let mut checks = vec![region(config), credentials(config).await];
    // Without a Region or credentials, no request can be sent.
    if checks.iter().any(|check| check.state == State::Failed) {
        return checks;
    }
    let observer = Observer::default();
    let config = aws_sdk_dynamodb::config::Builder::from(config).interceptor(observer.clone()).build();
    let client = Client::from_conf(config);
    let mut checks_of_table = Vec::new();
    let endpoint = match &args.table {
        Some(table) => {
            let described = client.describe_table().table_name(table).send().await;
            let endpoint = endpoint(&observer, described.as_ref().err());
            // The checks of the table need an endpoint that answers.
            if endpoint.state == State::Ok {
                checks_of_table = table::check(&client, table, described).await;
            }
            endpoint
        }
        None => endpoint(&observer, client.list_tables().limit(1).send().await.as_ref().err()),
    };
    checks.push(endpoint);
    checks.extend(observer.last().and_then(|exchange| clock_skew::check(&exchange)));
    checks.extend(checks_of_table);
    checks
}

fn region(config: &SdkConfig) -> Check {
    match config.region() {
        Some(region) => Check::ok("region", region.to_string()),
        None => Check::failed("region", "there is no Region", "add --region, or set AWS_REGION"),
    }
}

async fn credentials(config: &SdkConfig) -> Check {
    const NAME: &str = "credentials";
    const ADVICE: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile with --profile, or sign in with `aws sso login`";
    let Some(provider) = config.credentials_provider() else {
        return Check::failed(NAME, "there are no credentials", ADVICE);
    };
    let credentials = match provider.provide_credentials().await {
        Ok(credentials) => credentials,
        Err(error) => return Check::failed(NAME, format!("there are no credentials: {error}"), ADVICE),
    };
    let key = credentials.access_key_id();
    let left = credentials.expiry().and_then(|expiry| expiry.duration_since(std::time::UNIX_EPOCH).ok());
    match left.map(|expiry| expiry.saturating_sub(clock::since_epoch())) {
        Some(left) if left.is_zero() => Check::failed(NAME, format!("the credentials `{key}` have expired"), ADVICE),
        Some(left) => Check::ok(NAME, format!("access key {key}, for {} more", duration(left))),
        None => Check::ok(NAME, format!("access key {key}")),
    }
}

/// Returns the check of the endpoint: whether the endpoint has answered, and has accepted the
/// credentials.
fn endpoint<E, R>(observer: &Observer, error: Option<&SdkError<E, R>>) -> Check
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    const NAME: &str = "endpoint";
    let Some(Exchange { host, round_trip, .. }) = observer.last() else {
        let message = error.map_or_else(|| "no answer".to_owned(), describe);
        return Check::failed(NAME, message, "check --endpoint-url, --region and the network");
    };
    let answered = format!("{host} answered in {}ms", round_trip.as_millis());
    let Some(error) = error else { return Check::ok(NAME, answered) };
    match error.code() {
        // The table is missing, so the request reached the service.
        Some("ResourceNotFoundException") => Check::ok(NAME, answered),
        Some("AccessDeniedException") => {
            let advice = "allow the action if you need this check";
            Check::warning(NAME, format!("{answered}, but {}", describe(error)), advice)
        }
        Some("UnrecognizedClientException" | "InvalidSignatureException" | "ExpiredTokenException") => {
            let advice = "use other credentials, and check the clock of this machine";
            Check::failed(NAME, format!("{answered}, but {}", describe(error)), advice)
        }
        _ => Check::failed(NAME, format!("{host}: {}", describe(error)), "check that --endpoint-url is a DynamoDB"),
    }
}
