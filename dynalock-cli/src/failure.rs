//! The failures of commands, and their exit codes.

use std::{error::Error as StdError, fmt, io, process::ExitCode};

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use dynalock::{Error, error::Misconfigured, private::misconfigured};

use crate::{args::LockArgs, output::shown};

/// The exit codes of the failures, which the help of the command line lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Differs = 4,
    Changed = 5,
}

/// The reason why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed the pipe.
    PipeClosed,
    /// The message is one line, which says what the user can do.
    Reported { exit: Exit, message: String },
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self::Reported { exit, message: one_line(&message.into()) }
    }

    pub(crate) fn table_not_found(table: &str) -> Self {
        let advice = "create it with `dynalock table create`, or check --region, --profile and --endpoint-url";
        Self::new(Exit::NotFound, format!("table `{table}` does not exist; {advice}"))
    }

    pub(crate) fn lock_not_found(args: &LockArgs) -> Self {
        let LockArgs { table, name, namespace } = args;
        let (table, name) = (shown(table), shown(name));
        let place = match namespace {
            Some(namespace) => format!("in namespace `{}` of table `{table}`", shown(namespace)),
            None => format!("in table `{table}`"),
        };
        let message = format!(
            "lock `{name}` {place} was never held, or was retired; list the locks with `dynalock locks list {table}`"
        );
        Self::new(Exit::NotFound, message)
    }

    /// Returns the failure of a request that the command sent with the SDK.
    pub(crate) fn of_request<E, R>(table: &str, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + StdError + 'static,
        R: fmt::Debug + 'static,
    {
        match error.code() {
            Some("ResourceNotFoundException") => Self::table_not_found(table),
            Some(_) => Self::new(Exit::Failed, describe(error)),
            None => match misconfigured(error) {
                Some(why) => Error::Misconfigured(why).into(),
                None => {
                    let advice = "check --endpoint-url, --region and the network";
                    Self::new(Exit::Failed, format!("no usable answer: {}; {advice}", describe(error)))
                }
            },
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::PipeClosed => ExitCode::SUCCESS,
            Self::Reported { exit, .. } => ExitCode::from(*exit as u8),
        }
    }
}

/// Returns the error of DynamoDB, or the texts of the causes of a failed request.
pub(crate) fn describe<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + StdError + 'static,
    R: fmt::Debug,
{
    if let (Some(code), message) = (error.code(), error.message()) {
        return format!("DynamoDB refused the request: {code}: {}", message.unwrap_or("no reason"));
    }
    let first: &dyn StdError = error;
    let causes = std::iter::successors(Some(first), |&error| error.source()).map(ToString::to_string);
    // The filter removes the debug text of a whole request, which contains braces.
    causes.filter(|text| !text.contains('{')).collect::<Vec<_>>().join(": ")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PipeClosed => f.write_str("the output is closed"),
            Self::Reported { message, .. } => f.write_str(message),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::TableNotFound { table, .. } => Self::table_not_found(&table),
            Error::TableMismatch { table, reason, .. } => {
                // The reason ends with advice for programs.
                let reason = reason.split_once("; `verify_table`").map_or(&*reason, |(reason, _)| reason);
                let advice = format!("compare it with `dynalock table verify {table} --locks`");
                Self::new(Exit::Differs, format!("table `{table}` has another key: {reason}; {advice}"))
            }
            Error::InvalidKey { .. } => Self::new(Exit::Usage, error.to_string()),
            Error::Misconfigured(Misconfigured::Credentials(reason)) => Self::new(
                Exit::Failed,
                format!(
                    "no credentials ({reason}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with --profile"
                ),
            ),
            Error::Misconfigured(Misconfigured::Region(reason)) => {
                Self::new(Exit::Failed, format!("no Region ({reason}); add --region, or set AWS_REGION"))
            }
            Error::Misconfigured(Misconfigured::Endpoint(reason)) => {
                let example = "write it like `http://127.0.0.1:8000`";
                Self::new(Exit::Usage, format!("the --endpoint-url is not valid ({reason}); {example}"))
            }
            error => Self::new(Exit::Failed, error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::new(Exit::Failed, format!("the terminal or the output failed: {error}")),
        }
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
