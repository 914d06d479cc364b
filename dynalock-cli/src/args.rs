//! The arguments of the command line. The doc comments of this file are the help texts.

use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use clap_complete::Shell;
use dynalock::table::KeyType;

const EXIT_CODES: &str = "\
Exit codes:
  0  the command has done its work
  1  DynamoDB, the network or the terminal failed
  2  the command line is wrong
  3  the table, the lock or the item does not exist
  4  the table differs from its description in the options or is not a table of locks, or a check of `doctor` failed
  5  `locks break` broke nothing: the lock has changed, or nobody confirmed

Region and credentials come from the environment and the AWS configuration files, as for the AWS CLI.";

/// Shows and repairs what dynalock stores in Amazon DynamoDB: locks, queues, items and tables.
#[derive(Debug, Parser)]
#[command(name = "dynalock", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) format: Format,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The account, the Region and the endpoint of the requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Target {
    /// Send the requests to this endpoint, for example `http://127.0.0.1:8000`.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) endpoint_url: Option<String>,
    /// Use this Region.
    #[arg(long, global = true)]
    pub(crate) region: Option<String>,
    /// Use this profile of the AWS configuration files, even if the environment contains credentials.
    #[arg(long, global = true)]
    pub(crate) profile: Option<String>,
}

/// The form of the output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Format {
    /// Print JSON. Durations are in milliseconds, and moments are in RFC 3339.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour the output. `auto` uses colours on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

/// When the output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show locks by name, or break one.
    #[command(subcommand)]
    Locks(LocksCommand),
    /// Show the fair queue of a lock.
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Show an item, or its last writes.
    #[command(subcommand)]
    Item(ItemCommand),
    /// Create a table, or compare a table with what it should be.
    #[command(subcommand)]
    Table(TableCommand),
    /// Check the credentials, the endpoint, the clock and a table.
    ///
    /// Sends a `ListTables`, or a `DescribeTable` and a `DescribeTimeToLive` with `--table`. Changes
    /// nothing. Fails with exit code 4 if a check has failed; warnings do not fail.
    #[command(after_help = "Example:\n  dynalock doctor --table locks")]
    Doctor(DoctorArgs),
    /// Print the completions of a shell.
    #[command(
        after_help = "Example:\n  dynalock completions bash > ~/.local/share/bash-completion/completions/dynalock"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LocksCommand {
    /// List all locks of a table.
    ///
    /// A Scan reads the whole table: half a read unit for each 4 KB.
    #[command(after_help = "Example:\n  dynalock locks list locks --owner worker-7")]
    List(ListArgs),
    /// Show one lock, with its holder and its waiters.
    ///
    /// The read is consistent, and costs one read unit for each 4 KB of the row.
    #[command(after_help = "Example:\n  dynalock locks show locks nightly-report")]
    Show(LockArgs),
    /// Watch all locks of a table on a full screen, until `q` or Ctrl-C.
    ///
    /// Each update is a Scan of the whole table: half a read unit for each 4 KB. With the default
    /// interval of two seconds, a table of 40 KB costs 2.5 read units per second. With `--json`,
    /// each update is a line, and no terminal is needed.
    #[command(after_help = "Example:\n  dynalock locks watch locks --interval 5")]
    Watch(WatchArgs),
    /// Take a lock away from its holder.
    ///
    /// Shows the holder and asks for a confirmation. Without a terminal, `--yes` is needed. Breaks
    /// only the grant that the command has shown. If the lock has another fence at the time of the
    /// break, the command changes nothing and fails with exit code 5. The former holder continues
    /// its work until it learns of the loss at its next heartbeat.
    #[command(after_help = "Example:\n  dynalock locks break locks nightly-report --yes")]
    Break(BreakArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Watch the holder and the waiters of one lock on a full screen, until `q` or Ctrl-C.
    ///
    /// Each update is a consistent read of one row: one read unit for each 4 KB. With `--json`, each
    /// update is a line, and no terminal is needed.
    #[command(after_help = "Example:\n  dynalock queue watch locks printer --interval 0.5")]
    Watch(QueueWatchArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ItemCommand {
    /// Show an item, with its version, its lease and its time to live.
    ///
    /// Sends a `DescribeTable`, a `DescribeTimeToLive`, and a consistent read of the item. An item
    /// without a lease costs a second read, because its lease may be in a separate row. With
    /// `--json`, the item is in the JSON of DynamoDB, which keeps all digits of a number.
    #[command(
        after_help = "Examples:\n  dynalock item show products 85123A\n  dynalock item show orders alice 7 --json"
    )]
    Show(ItemArgs),
    /// Show the last writes of an item.
    ///
    /// `DynamoDB` keeps no earlier values of an item. An item contains the ids of its last 4 to 16
    /// writes and of its last 8 patches, and the time of its last write in seconds. The version of
    /// a write is an upper bound, because patches and other programs raise the version without an
    /// id.
    #[command(
        after_help = "Examples:\n  dynalock item history products 85123A\n  dynalock item history products 85123A --follow"
    )]
    History(HistoryArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// Create a table, and wait until it can be used.
    ///
    /// The billing is on-demand. An existing table with the same key is left as it is, except that
    /// `--ttl` switches its time to live on.
    #[command(
        after_help = "Examples:\n  dynalock table create orders --partition-key customer:S --sort-key number:N --ttl expires_at\n  dynalock table create --locks locks"
    )]
    Create(CreateArgs),
    /// Compare a table with the options. Exit code 4 means that the table differs.
    ///
    /// In the messages, "the type" means the table that the options describe. Without `--ttl`, a
    /// time to live of the table is a difference only if it would delete leases.
    #[command(
        after_help = "Examples:\n  dynalock table verify orders --partition-key customer:S --sort-key number:N\n  dynalock table verify --locks locks"
    )]
    Verify(SchemaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The table of the locks.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// Show only the locks that this owner holds or waits for.
    #[arg(long, value_name = "LABEL")]
    pub(crate) owner: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// The table of the locks.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// The name of the lock.
    pub(crate) name: String,
    /// The namespace of the lock.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// The seconds between two updates.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct QueueWatchArgs {
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    /// The seconds between two updates.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct BreakArgs {
    #[command(flatten)]
    pub(crate) lock: LockArgs,
    /// Break the lock only if it is held with this fence.
    #[arg(long)]
    pub(crate) fence: Option<u64>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ItemArgs {
    /// The table.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// The partition key. Bytes are in base64.
    #[arg(allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    /// The sort key, if the table has one.
    #[arg(allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) sort: Option<String>,
    /// The attribute that contains the version, if the type has a field for the version.
    #[arg(long, value_name = "ATTRIBUTE", default_value = "_version")]
    pub(crate) version_attribute: String,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) item: ItemArgs,
    /// Print a line for each change of the version, until Ctrl-C. Each read is consistent.
    #[arg(long)]
    pub(crate) follow: bool,
    /// The seconds between two reads.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval, requires = "follow")]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// Let `DynamoDB` refuse to delete the table.
    #[arg(long)]
    pub(crate) deletion_protection: bool,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("kind").args(["locks", "partition_key"]).required(true)))]
pub(crate) struct SchemaArgs {
    /// The table.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: String,
    /// The table contains locks by name.
    #[arg(long, conflicts_with_all = ["sort_key", "ttl"])]
    pub(crate) locks: bool,
    /// The partition key and its type: S, N or B.
    #[arg(long, value_name = "NAME:TYPE", value_parser = key)]
    pub(crate) partition_key: Option<KeyArg>,
    /// The sort key and its type: S, N or B.
    #[arg(long, value_name = "NAME:TYPE", value_parser = key)]
    pub(crate) sort_key: Option<KeyArg>,
    /// The attribute for time to live, in seconds since the epoch.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) ttl: Option<String>,
}

/// A key attribute with its type, for example `id:S`.
#[derive(Debug, Clone)]
pub(crate) struct KeyArg {
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Check this table, too.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: Option<String>,
}

fn key(text: &str) -> Result<KeyArg, &'static str> {
    let (name, key_type) = text.rsplit_once(':').unwrap_or((text, ""));
    let key_type = match key_type {
        "S" => KeyType::S,
        "N" => KeyType::N,
        "B" => KeyType::B,
        _ => return Err("write a name and a type, like `id:S`, `number:N` or `hash:B`"),
    };
    if name.is_empty() {
        return Err("the name is empty; write it like `id:S`");
    }
    Ok(KeyArg { name: name.to_owned(), key_type })
}

fn interval(text: &str) -> Result<Duration, &'static str> {
    const SHORTEST: Duration = Duration::from_millis(100);
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|interval| *interval >= SHORTEST).ok_or("write seconds, at least 0.1, like `2` or `0.5`")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_that_does_something_has_an_example() {
        fn without_example(command: &clap::Command, path: &str) -> Vec<String> {
            let path = format!("{path} {}", command.get_name());
            if command.has_subcommands() {
                return command.get_subcommands().flat_map(|command| without_example(command, &path)).collect();
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            if help.contains(path.trim_start()) { Vec::new() } else { vec![path] }
        }
        assert_eq!(without_example(&Cli::command(), ""), [""; 0]);
    }

    #[test]
    fn a_key_is_a_name_and_a_type() {
        let parsed = |text| key(text).map(|key| (key.name, key.key_type));
        assert_eq!(parsed("id:S"), Ok(("id".to_owned(), KeyType::S)));
        assert_eq!(parsed("a:b:N"), Ok(("a:b".to_owned(), KeyType::N)));
        for wrong in ["id", "id:X", ":S", ""] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interval_is_in_seconds() {
        assert_eq!(interval("2"), Ok(Duration::from_secs(2)));
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "soon", "1e99", "NaN", "0.01"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
