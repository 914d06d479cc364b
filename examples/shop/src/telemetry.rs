//! Logs: text on a terminal, and one JSON object a line elsewhere.

use std::{env, io, io::IsTerminal};

use tracing_subscriber::{
    Layer, Registry,
    filter::{ParseError, Targets},
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

/// At the level TRACE, the SDK logs whole requests with all content, so the default filter shows
/// only warnings of the SDK.
const DEFAULT_FILTER: &str = "info,aws_config=warn,aws_runtime=warn,aws_smithy_runtime=warn";

/// The reason why a program has no logs.
#[derive(Debug, thiserror::Error)]
pub enum NoLogs {
    /// `RUST_LOG` is not a list of levels such as `info,dynalock=debug`.
    #[error("RUST_LOG cannot be read: {0}")]
    Filter(#[from] ParseError),
    /// The process has logs already.
    #[error(transparent)]
    Installed(#[from] TryInitError),
}

/// Sends logs to the standard error. `RUST_LOG` sets the levels.
///
/// # Errors
///
/// [`NoLogs`] says why there are no logs.
pub fn start() -> Result<(), NoLogs> {
    let filter: Targets = env::var("RUST_LOG").as_deref().unwrap_or(DEFAULT_FILTER).parse()?;
    let lines = fmt::layer().with_writer(io::stderr);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match io::stderr().is_terminal() {
        true => lines.compact().boxed(),
        false => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).try_init()?;
    Ok(())
}
