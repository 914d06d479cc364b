//! The derive macros of dynalock: `#[derive(Versioned)]`, `#[derive(KeyAttribute)]` and
//! `#[derive(Attributes)]`.
//!
//! Programs use the derive macros through the crate `dynalock`, for example as
//! `dynalock::Versioned`. `#[derive(Versioned)]` describes a serde struct with named fields as one
//! item of a DynamoDB table. The derive reads the attributes of the struct, and generates
//! constants, a key type and a method that makes a repository. The crate dynalock-core contains the
//! code that reads and writes the items.
//!
//! # On the struct
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `table = "orders"` | required: the name or the ARN of the table. A program can set another table at run time, by `Repository::table` |
//! | `version = "rev"` | the attribute that holds the version. The default is `_version` |
//! | `write_ids = 8` | the number of write ids that an item keeps: 4 to 16. The default is 16. The first write after 15 minutes without a write keeps only the newest two write ids, unless the item contains a write id from a token |
//! | `key_type = "OrderId"` | the name of the generated key type. The default for a struct `Order` is `OrderKey` |
//! | `show_key` | errors show the key of the item. Without `show_key`, errors do not show the key, because the key may contain private data |
//! | `index(name = "by_status", partition_key = "status", ..)` | an index of the table. For several indexes, repeat `index(..)` |
//! | `crate = "path"` | the path of the crate dynalock. The default is `::dynalock` |
//!
//! The table below lists the parts of `index(..)`. In `index(..)`, the names of the keys and of the
//! included attributes are the names of fields of the struct:
//!
//! | `index(..)` | meaning |
//! |---|---|
//! | `name = "by_status"` | required: the name of the index. The handle of the index `by_status` is `Order::INDEX.by_status`. In the name of a handle, `-` and `.` become `_` |
//! | `partition_key = "status"` | the partition key of the index, required unless the index is `local` |
//! | `sort_key = "placed_at"` | the sort key of the index, if the index has a sort key |
//! | `local` | the index has the partition key of the table, but another sort key than the table. A local index needs a `sort_key` |
//! | `all` | the index holds all attributes. `all` is the default |
//! | `keys_only`, `include(lines, total)` | the index holds only the keys, or the keys and the named fields. A query of an index without `all` returns the keys of the items, and not their values |
//!
//! The type of an index key is a `KeyAttribute`, or an `Option` of a `KeyAttribute`. An `Option` in
//! an index key needs `#[serde(skip_serializing_if = "Option::is_none")]`, because DynamoDB refuses
//! a null in an index key. If an item lacks a key attribute of an index, the index does not contain
//! the item. If two `index(..)` of a struct contain an equal part, for example `keys_only`, clippy
//! reports a duplicate attribute. The attribute `#[expect(clippy::duplicated_attributes)]` on the
//! struct silences the clippy lint about duplicate attributes.
//!
//! With `#[lockable]` on a struct, callers can acquire leases on the struct's items by
//! `Repository::lock`.
//!
//! | `#[lockable(..)]` | meaning |
//! |---|---|
//! | `ttl = "30s"` | the time that a lease lasts without a heartbeat, in `ms`, `s` or `m`: from a second to a year. The default is 20 seconds |
//! | `owner`, `fence`, `beat`, `until`, `released`, `crashed`, `queue`, `turn` `= ".."` | the names of the lease attributes. The defaults are `_owner`, `_fence` and so on. `crashed` is reserved: no request writes this attribute, and serde never reads it |
//! | `unit = "seconds"` | the unit of the epoch time in `until`. The default is milliseconds |
//! | `separate` | stores the lease in a separate row. A heartbeat of a separate row costs fewer write units than a heartbeat in a large item. The fence in a separate row always grows, even if an item is deleted and created again: see the trait `Lockable` |
//!
//! # On a field
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `partition_key` | required, on one field: the partition key of the table |
//! | `sort_key` | on one field: the sort key of the table, if the table has one |
//! | `version` | a `u64`, which the library sets to the stored version. The version attribute has the name of the field |
//! | `created_at`, `updated_at` | the time of the create; the time of the last write. The library sets the fields with `created_at` and `updated_at`. The type is `u64` or `i64`, in epoch seconds, or an `Option` of one of these types |
//! | `created_at = "millis"`, `updated_at = "millis"` | the time of the create and the time of the last write, in epoch milliseconds |
//! | `expires` | the time to live of the item. The type is `u64`, `i64` or `u32`, in epoch seconds, or an `Option` of one of these types |
//!
//! The type of a key is a `KeyAttribute`: a string, a whole number or bytes. The type of a key must
//! not depend on a type parameter. A number in DynamoDB has at most 38 digits, so the derive
//! refuses a field of type `u128` or `i128`, also inside an `Option` or a collection. The derive
//! cannot detect a `u128` or `i128` behind a type alias or inside another struct. A write of a
//! `u128` or `i128` that the derive did not detect fails with `Error::Encode`.
//!
//! # Times
//!
//! A write through the library sets `created_at` and `updated_at` by the clock of the caller. If
//! the program changes `created_at` or `updated_at`, the library overwrites the new value, and the
//! new value alone does not count as a change of the item. Each write returns a value with the
//! stored times.
//!
//! | write | `created_at` | `updated_at` |
//! |---|---|---|
//! | `create`, and a create by `upsert_with` | set | set |
//! | a write of an existing item, for example `update`, `touch`, `replace`, `patch` or `update_with`; also in a transaction, in a unit of work and by the holder of a lease | kept | set |
//! | an update without changes, which sends nothing | kept | kept |
//! | the grant, a heartbeat or the release of a lease | kept | kept |
//! | a write of another program | the value that the program writes | the value that the program writes |
//!
//! If another program created an item without `created_at`, the library does not add `created_at`
//! later. If an item has no stored time, a time field of type `Option` is `None`. A time field with
//! a plain number needs `#[serde(default)]`, and is 0 for an item without a stored time. The
//! library stores times as numbers, so that an index or a filter can use the times. A time field
//! cannot be a `SystemTime`, because serde writes a `SystemTime` as a map.
//!
//! The program, and not the library, sets the field with `expires`. When the time in a field with
//! `expires` is past, the item counts as absent, even before DynamoDB deletes the item. The
//! documentation of `Repository` describes the effect of an expired item on each call. As in
//! DynamoDB, an item whose time to live is 0, or more than five years in the past, does not expire.
//!
//! The clocks of callers differ, so the time of a write may be earlier than the time of the
//! previous write. Only the versions of an item show the order of the writes to the item. In a
//! transaction, the time of a write is the time of the method call that added the write. If a
//! program sets the token of a transaction and sends the transaction a second time, the second
//! request contains other times than the first request. For DynamoDB, a request with the same token
//! and other times is a request with other content. The documentation of `Transaction::token`
//! describes the effect of a second request with the same token and other content.
//!
//! # Your own key types
//!
//! `#[derive(KeyAttribute)]` makes a type usable as a key, if serde writes the type as one string,
//! number or bytes:
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
//! | type | key of the type |
//! |---|---|
//! | a tuple struct of one field, or a struct with `#[serde(transparent)]` | the key of the field |
//! | any type with `#[serde(into = "..")]` | the key of the type in `into` |
//! | a newtype with `#[serde(with = "serde_bytes")]`, or a newtype of a `ByteBuf` or a `ByteArray` | bytes |
//! | an enum without fields | the name that serde writes |
//!
//! `#[derive(KeyAttribute)]` refuses three things: a field with a `with` that is not `serde_bytes`,
//! a skipped variant, and a variant with a second spelling (`alias`, `other`, or a rename that
//! differs for reading and writing). If a variant had two spellings, a read with one spelling of
//! the key would not find an item that is stored under the other spelling.
//!
//! # Names
//!
//! The name of an attribute is the name that serde writes. The derive reads `rename`, `rename_all`
//! and raw identifiers (`r#type` is stored as `type`). The derive reads the serde aliases of a
//! field, so that a write of the field removes the attributes with these aliases from the item.
//!
//! The table below lists the serde attributes that the derive refuses:
//!
//! | `#[serde(..)]` | refused on |
//! |---|---|
//! | `from`, `try_from`, `into`, `transparent`, `tag`, `untagged`, `remote` | the struct, because the fields of the struct would not be the attributes of the item |
//! | `skip`, `skip_serializing`, `skip_deserializing`, `flatten`, `with`, `serialize_with`, `deserialize_with`, `alias` | a field with `created_at`, `updated_at` or `expires`, because the time must be one attribute under one name |
//! | `skip`, `skip_serializing`, `skip_deserializing`, `skip_serializing_if`, `flatten`, `with`, `serialize_with`, `deserialize_with`, `alias`, a rename that differs for reading and writing | a key or the version, because the attribute must always be present, under one name |
//! | a rename that differs for reading and writing | any field, unless the field has an `alias` for the written name |
//! | an alias or a rename, if the alias or the new name is the name of another field | any field, because a write of one of the two fields would destroy the other field |
//! | `skip_deserializing` without `skip_serializing` | any field, because a read would skip the stored attribute, and a later write would overwrite the attribute |
//! | the name of the version attribute, of an attribute of the lease, `_writes`, or one of `_p0` to `_p7` | any field without `#[dynalock(version)]`, because the library itself uses attributes with these names |
//!
//! The serde attribute `default` is allowed on each field and on the struct.
//!
//! The derive knows neither the attributes inside a flattened field nor the aliases of these
//! attributes. Before a write of a struct with a flattened field, the library verifies that serde
//! can read the resulting item. If a changed attribute is stored under an alias, the write removes
//! the attribute with the alias. If serde could not read the resulting item, the write fails with
//! `Error::Encode`.
//!
//! # What is generated
//!
//! For a struct `Order`, the derive generates these items, with the visibility of the struct:
//!
//! - `impl Versioned for Order`.
//! - The key type `OrderKey`, or the name from `key_type`. The key type implements `From<&Order>`,
//!   and `From` for the types of the key fields, by value and by reference (`&str` for a `String`).
//!   If the table has a sort key, a tuple of both key fields converts into a key.
//! - `Order::repository(&client)`, which makes a repository.
//! - `OrderIndexes`, and `Order::INDEX`, which contains an `Index` handle for each index.
//! - `OrderAttributes`, and `Order::ATTR`, which contains an `Attribute` handle for each field,
//!   under the name of the field. A field has no handle if serde flattens the field, does not write
//!   it, or does not read it. If a module of `serde_dynamo` writes a field as a set, the field has
//!   a set handle. A field with `with` or `serialize_with` that no module of `serde_dynamo` writes
//!   as a set has an `Opaque` handle, because the stored form of the field is unknown.
//!
//! `#[derive(Attributes)]` is for a struct inside an item, for example an `Address`.
//! `#[derive(Attributes)]` generates only `AddressAttributes` and `Address::ATTR`, for paths like
//! `Order::ATTR.address.at(Address::ATTR.city)`.
//!
//! The generated implementations have the type parameters and the where clauses of the struct. The
//! derive refuses a struct with a lifetime parameter, because an item is owned data. The generated
//! key type has no type parameters.
//!
//! # The files
//!
//! The file `key_attribute` contains `#[derive(KeyAttribute)]`. The table below lists the files of
//! the derive macros `Versioned` and `Attributes`, in the order in which the files process a
//! struct:
//!
//! | file | responsibility |
//! |---|---|
//! | `entry` | the syntax of attributes |
//! | `attr`, `index`, `lockable`, `serde` | the contents of `#[dynalock]`, `index(..)`, `#[lockable]` and `#[serde]` |
//! | `suggest`, `case` | `suggest` finds the known word that is nearest to a misspelled word. `case` contains the rules of `rename_all` |
//! | `model` | the struct with its attributes, before any check |
//! | `check` | reports all errors, and returns the item from which code can be generated |
//! | `expand`, `handles`, `indexes` | `expand` generates the code, `handles` the attribute handles, and `indexes` the index handles. The generation cannot fail |
//! | `fallback` | after an error, generates code that avoids further errors where the program uses the struct |
//! | `errors` | collects all errors of a derive macro |

mod entry;

mod attr;
mod case;
mod index;
mod lockable;
mod serde;
mod suggest;
mod type_name;

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

/// Describes a serde struct as one item of a DynamoDB table, with a version.
///
/// The [documentation of dynalock-derive](crate) lists the attributes of the derive.
#[proc_macro_derive(Versioned, attributes(dynalock, lockable))]
pub fn derive_versioned(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// Generates the attribute handles of a struct inside an item, for example `Address::ATTR`. The
/// [documentation of dynalock-derive](crate) describes the attribute handles.
#[proc_macro_derive(Attributes, attributes(dynalock))]
pub fn derive_attributes(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    nested(&input).into()
}

/// Makes a newtype, or an enum without fields, usable as a key attribute. The key is the string,
/// the number or the bytes that serde writes.
///
/// The [documentation of dynalock-derive](crate) lists the types for which the derive is possible.
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

fn nested(input: &DeriveInput) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let krate = attr::StructAttrs::read(&input.attrs, &mut Errors::default()).krate();
    let model = Struct::read(input, &mut errors);
    let handles = model.as_ref().map(|model| check::check_nested(model, &mut errors)).unwrap_or_default();
    let code = (!handles.is_empty()).then(|| handles::expand(input, &krate, &handles));
    match errors.finish(Some(())) {
        Ok(()) => quote::quote!(#code),
        Err(error) => {
            let error = error.to_compile_error();
            quote::quote!(#error #code)
        }
    }
}
