//! `#[derive(Versioned)]`, the derive macro of dynalock.
//!
//! Use it through the facade, `dynalock::Versioned`, where its examples are compiled. It describes a serde struct with
//! named fields as one item of a DynamoDB table. It reads attributes and generates data, one key type and one
//! constructor; everything that a repository does is in dynalock-core.
//!
//! # On the struct
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `table = "orders"` | required: the table's name, or its ARN. A repository can be told another at run time |
//! | `version = "rev"` | the attribute that holds the version; `_version` unless said |
//! | `write_ids = 8` | how many write ids an item keeps: 4 to 16, 16 unless said; 0 keeps none, and lost replies of this type's writes can no longer be told from conflicts |
//! | `show_key` | errors show the key of the item, which is content otherwise |
//! | `crate = "path"` | where dynalock is, if not at `::dynalock` |
//!
//! `#[lockable]` makes leases of the items: [`Repository::lock`](https://docs.rs/dynalock/latest/dynalock/struct.Repository.html#method.lock).
//!
//! | `#[lockable(..)]` | meaning |
//! |---|---|
//! | `ttl = "30s"` | how long a lease lasts without a heartbeat, in `ms`, `s` or `m`: from a second to a year; 20 seconds unless said |
//! | `owner`, `fence`, `beat`, `until`, `released`, `crashed`, `queue`, `turn` `= ".."` | the attributes of the lease; `_owner` and so on unless said |
//! | `unit = "seconds"` | the unit of the epoch time in `until`; milliseconds unless said |
//! | `separate` | keeps the lease in a row of its own beside the item, for items that are large: see [`Lockable`](https://docs.rs/dynalock/latest/dynalock/trait.Lockable.html) |
//! | `tombstone` | keeps a row beside the item when that is deleted, so that fences grow over delete and recreate whatever clocks show: see [`Lockable`](https://docs.rs/dynalock/latest/dynalock/trait.Lockable.html) |
//!
//! # On a field
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `partition_key` | required, on one field: the table's partition key |
//! | `sort_key` | the table's sort key, if it has one |
//! | `version` | a `u64` that mirrors the stored version; its name is then the version attribute's |
//!
//! A key is a string, a whole number or bytes: any `KeyAttribute`. Its type may not depend on a type parameter.
//!
//! # Names
//!
//! An attribute's name is what serde writes: `rename`, `rename_all`, both of them for writing alone, and raw identifiers
//! (`r#type` is written as `type`) are read from the serde attributes. Aliases are known, so that a write under the
//! written name removes them.
//!
//! What serde can do and an item cannot:
//!
//! | `#[serde(..)]` | refused on |
//! |---|---|
//! | `from`, `try_from`, `into`, `transparent`, `tag`, `untagged`, `remote` | the struct: its fields would not be the item's attributes |
//! | `skip`, `skip_serializing`, `skip_deserializing`, `skip_serializing_if`, `flatten`, `with`, `serialize_with`, `deserialize_with`, `alias`, a rename that differs for reading and writing | a key, the version: they are always there, under one name |
//! | a rename that differs for reading and writing | any field, unless an `alias` reads what is written |
//! | an alias or a second field of a name that another field writes | any field: a write of one would destroy the other |
//! | `skip_deserializing` under `deny_unknown_fields` | any field: what is written could not be read |
//! | the name of the version attribute, of an attribute of the lease, or `_writes` | any field that is not `#[dynalock(version)]`: the repository keeps them |
//!
//! `default` is allowed everywhere, on the struct as well.
//!
//! # What is generated
//!
//! For a struct `Order`, with its visibility:
//!
//! - `impl Versioned for Order`;
//! - `OrderKey`, with `From` for the plain types of the key fields, by value and by reference (`&str` for a `String`), as
//!   a tuple if there is a sort key, and for `&Order`;
//! - `Order::repository(&client)`;
//! - `OrderAttributes`, and `Order::ATTR`, which holds an `Attribute` handle of each field under the field's name. A field
//!   that serde does not write, does not read or flattens has none; one that `with` or `serialize_with` writes has an
//!   `Opaque` one.
//!
//! Type parameters and where clauses pass through; a lifetime is refused, an item is owned data. The key type has no
//! parameters.
//!
//! # The files
//!
//! In the order in which an input flows through them: `entry` is the syntax of attributes, `attr` what `#[dynalock]` says, `lockable` what
//! `#[lockable]` says (`suggest` knows the nearest word), `serde` what `#[serde]` says, with the rules of `rename_all` in `case`; `model` is the
//! struct with both, `check` turns it into what can be generated or says what is wrong with it, `expand` generates and
//! cannot fail, with the handles of attributes in `handles`, `fallback` generates after an error what keeps follow-up
//! errors away. `errors` collects.

mod entry;

mod attr;
mod case;
mod lockable;
mod serde;
mod suggest;

mod model;

mod check;

mod expand;
mod handles;

mod fallback;

mod errors;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::{errors::Errors, model::Struct};

/// Describes a serde struct as one item of a DynamoDB table, under a version.
///
/// The attributes are listed in the [crate's documentation](crate).
#[proc_macro_derive(Versioned, attributes(dynalock, lockable))]
pub fn derive_versioned(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

fn derive(input: &DeriveInput) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let item = Struct::read(input, &mut errors).and_then(|model| check::check(&model, &mut errors));
    match errors.finish(item) {
        Ok(item) => expand::expand(&item),
        Err(error) => fallback::expand(input, &error),
    }
}
