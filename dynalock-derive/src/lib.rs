//! `#[derive(Versioned)]` and `#[derive(KeyAttribute)]`, the derive macros of dynalock.
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
//! | `write_ids = 8` | how many write ids an item keeps: 4 to 16, 16 unless said |
//! | `key_type = "OrderId"` | the name of the generated key type, where `OrderKey` is taken |
//! | `show_key` | errors show the key of the item, which is content otherwise |
//! | `index(name = "by_status", partition_key = "status", ..)` | an index of the table; may be repeated |
//! | `crate = "path"` | where dynalock is, if not at `::dynalock` |
//!
//! The parts of an index name fields of the struct:
//!
//! | `index(..)` | meaning |
//! |---|---|
//! | `name = "by_status"` | required: the name of the index. Its handle is `Order::INDEX.by_status`; `-` and `.` become `_` there |
//! | `partition_key = "status"` | required, unless the index is `local`: its partition key |
//! | `sort_key = "placed_at"` | its sort key, if it has one |
//! | `local` | the index has the partitions of the table in another order; it needs a `sort_key` |
//! | `all` | the index holds all attributes, unless said otherwise |
//! | `keys_only`, `include(lines, total)` | it holds the keys alone, or these fields too: a query of it returns keys |
//!
//! A key of an index is a `KeyAttribute` or an `Option` of one. An `Option` needs `#[serde(skip_serializing_if = "Option::is_none")]`: an item without
//! the attribute is not in the index. Where two indexes have an equal part, for example `keys_only`, clippy takes it for a mistake: write
//! `#[expect(clippy::duplicated_attributes)]` on the struct.
//!
//! `#[lockable]` makes leases of the items: [`Repository::lock`](https://docs.rs/dynalock/latest/dynalock/struct.Repository.html#method.lock).
//!
//! | `#[lockable(..)]` | meaning |
//! |---|---|
//! | `ttl = "30s"` | how long a lease lasts without a heartbeat, in `ms`, `s` or `m`: from a second to a year; 20 seconds unless said |
//! | `owner`, `fence`, `beat`, `until`, `released`, `crashed`, `queue`, `turn` `= ".."` | the attributes of the lease; `_owner` and so on unless said. `crashed` is reserved: nothing writes it, and no value shows it |
//! | `unit = "seconds"` | the unit of the epoch time in `until`; milliseconds unless said |
//! | `separate` | keeps the lease in a row of its own beside the item, for items that are large, and for fences that grow over delete and recreate whatever clocks show: see [`Lockable`](https://docs.rs/dynalock/latest/dynalock/trait.Lockable.html) |
//!
//! # On a field
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `partition_key` | required, on one field: the table's partition key |
//! | `sort_key` | the table's sort key, if it has one |
//! | `version` | a `u64` that mirrors the stored version; its name is then the version attribute's |
//!
//! A key is a string, a whole number or bytes: any `KeyAttribute`. Its type may not depend on a type parameter. A field of type `u128` or
//! `i128` is refused, also inside an `Option` or a collection, because a number of DynamoDB has 38 digits. The derive does not see such a
//! number behind a type alias or inside another struct: a write of it is `Error::Encode`.
//!
//! # Keys of types of their own
//!
//! `#[derive(KeyAttribute)]` makes a key attribute of a type that serde writes as one string, number or bytes:
//!
//! ```ignore
//! #[derive(Serialize, Deserialize, KeyAttribute)]
//! struct Sku(String);
//!
//! #[derive(Serialize, Deserialize, KeyAttribute)]
//! #[serde(rename_all = "kebab-case")]
//! enum Status { Open, InTransit }
//!
//! #[derive(Serialize, Deserialize, KeyAttribute)]
//! struct Digest(#[serde(with = "serde_bytes")] Vec<u8>);
//! ```
//!
//! | type | its key |
//! |---|---|
//! | a tuple struct of one field, or a struct with `#[serde(transparent)]` | that of the field |
//! | any type with `#[serde(into = "..")]` | that of the type it is converted into |
//! | a newtype with `#[serde(with = "serde_bytes")]`, or of a `ByteBuf` or a `ByteArray` | bytes |
//! | an enum without fields | the name that serde writes |
//!
//! The derive refuses a field that other code than `serde_bytes` writes (`with`), a variant that is skipped, and a
//! second spelling of a variant (`alias`, `other`, a rename that differs for reading and writing). An item that is
//! stored under one spelling would not be found under the other.
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
//! | `skip_deserializing` without `skip_serializing` | any field: a value would not show what is stored, and would overwrite it |
//! | the name of the version attribute, of an attribute of the lease, or `_writes` | any field that is not `#[dynalock(version)]`: the repository keeps them |
//!
//! `default` is allowed everywhere, on the struct as well.
//!
//! The attributes of a flattened field, and their aliases, are not known to the derive either. Before a write of a struct with such a field
//! is sent, the item that the write would leave is read back. An alias under which a changed attribute is stored is removed, and a
//! write that would leave an unreadable item is `Error::Encode`.
//!
//! # What is generated
//!
//! For a struct `Order`, with its visibility:
//!
//! - `impl Versioned for Order`;
//! - `OrderKey`, or what `key_type` names, with `From` for the plain types of the key fields, by value and by reference (`&str` for a `String`), as
//!   a tuple if there is a sort key, and for `&Order`;
//! - `Order::repository(&client)`;
//! - `OrderIndexes`, and `Order::INDEX`, which holds an `Index` handle of each index;
//! - `OrderAttributes`, and `Order::ATTR`, which holds an `Attribute` handle of each field under the field's name. A field
//!   that serde does not write, does not read or flattens has none; one that `with` or `serialize_with` writes has an
//!   `Opaque` one.
//!
//! Type parameters and where clauses pass through; a lifetime is refused, an item is owned data. The key type has no
//! parameters.
//!
//! # The files
//!
//! `key_attribute` is the other derive. In the order in which an input flows through them: `entry` is the syntax of attributes, `attr` what `#[dynalock]` says, `lockable` what
//! `#[lockable]` says (`suggest` knows the nearest word), `serde` what `#[serde]` says, with the rules of `rename_all` in `case`, `index` what `index(..)` says; `model` is the
//! struct with both, `check` turns it into what can be generated or says what is wrong with it, `expand` generates and
//! cannot fail, with the handles of attributes in `handles` and those of indexes in `indexes`, `fallback` generates after an error what keeps follow-up
//! errors away. `errors` collects.

mod entry;

mod attr;
mod case;
mod index;
mod lockable;
mod serde;
mod suggest;

mod model;

mod check;

mod expand;
mod handles;
mod indexes;

mod key_attribute;

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

/// Makes a newtype, or an enum without fields, a key attribute: a string, a number or bytes, as serde writes it.
///
/// The rules are listed in the [crate's documentation](crate).
#[proc_macro_derive(KeyAttribute, attributes(dynalock))]
pub fn derive_key_attribute(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    key_attribute::derive(&input).into()
}

fn derive(input: &DeriveInput) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let item = Struct::read(input, &mut errors).and_then(|model| check::check(&model, &mut errors));
    match errors.finish(item) {
        Ok(item) => expand::expand(&item),
        Err(error) => fallback::expand(input, &error),
    }
}
