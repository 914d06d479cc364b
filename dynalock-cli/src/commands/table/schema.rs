//! The table that the options describe.

use dynalock::private::{KeyModel, LockModel, Model, TimeModel, TimeUnit, TimesModel};

use crate::{
    args::{KeyArg, SchemaArgs},
    failure::{Exit, Failure},
    output::shown,
};

/// Returns the model of a table of items. The names of a model must be `&'static str`, so the
/// function leaks the names of the only model that the process makes.
pub(super) fn model(args: &SchemaArgs, partition_key: &KeyArg) -> Result<&'static Model, Failure> {
    if args.sort_key.as_ref().is_some_and(|key| key.name == partition_key.name) {
        let name = shown(&partition_key.name);
        let message = format!("`{name}` is the partition key and the sort key; give the sort key another name");
        return Err(Failure::new(Exit::Usage, message));
    }
    let key = |key: &KeyArg| KeyModel { name: leak(&key.name), key_type: key.key_type };
    let expires = args.ttl.as_deref().map(|name| TimeModel { name: leak(name), unit: TimeUnit::Seconds });
    Ok(Box::leak(Box::new(Model {
        table: leak(&args.table),
        partition_key: key(partition_key),
        sort_key: args.sort_key.as_ref().map(key),
        version: "_version",
        version_is_field: false,
        times: TimesModel { expires, ..TimesModel::NONE },
        write_ids: 16,
        attributes: &[],
        show_key: true,
        aliases: &[],
        flattens: false,
        // The items of any table may be leased, and a time to live would delete the leases.
        lock: Some(LockModel::DEFAULT),
        indexes: &[],
    })))
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
