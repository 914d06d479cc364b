//! `#[derive(Versioned)]`, `#[derive(KeyAttribute)]` and `#[derive(Attributes)]`, the derive macros
//! of dynalock.
//!
//! Use these derives through the facade, `dynalock::Versioned`, where the examples are compiled.
//! `Versioned` describes a serde struct with named fields as one item of a DynamoDB table. It reads
//! attributes, and generates constants, a key type and a constructor. The behaviour of a repository
//! is in dynalock-core.
//!
//! # On the struct
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `table = "orders"` | required: the name or the ARN of the table. A repository can set another one at run time |
//! | `version = "rev"` | the attribute that holds the version. The default is `_version` |
//! | `write_ids = 8` | the number of write ids that an item keeps: 4 to 16. The default is 16. An item that nobody writes for 15 minutes keeps fewer after its next write |
//! | `key_type = "OrderId"` | the name of the generated key type, if `OrderKey` is taken |
//! | `show_key` | errors show the key of the item. By default it is treated as content |
//! | `index(name = "by_status", partition_key = "status", ..)` | an index of the table. It may be repeated |
//! | `crate = "path"` | the path of the crate dynalock. The default is `::dynalock` |
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
//! A key of an index is a `KeyAttribute` or an `Option` of one. An `Option` needs
//! `#[serde(skip_serializing_if = "Option::is_none")]`: the index does not contain an item without
//! the attribute. If two indexes have an equal part, for example `keys_only`, clippy reports a
//! duplicate attribute. In this case, write `#[expect(clippy::duplicated_attributes)]` on the
//! struct.
//!
//! `#[lockable]` allows leases on the items: `Repository::lock`.
//!
//! | `#[lockable(..)]` | meaning |
//! |---|---|
//! | `ttl = "30s"` | the time that a lease lasts without a heartbeat, in `ms`, `s` or `m`: from a second to a year. The default is 20 seconds |
//! | `owner`, `fence`, `beat`, `until`, `released`, `crashed`, `queue`, `turn` `= ".."` | the attributes of the lease. The defaults are `_owner` and so on. `crashed` is reserved: no request writes it, and no value shows it |
//! | `unit = "seconds"` | the unit of the epoch time in `until`. The default is milliseconds |
//! | `separate` | stores the lease in a separate row. Use it for large items, and for fences that always grow, even if an item is deleted and created again: see the trait `Lockable` |
//!
//! # On a field
//!
//! | `#[dynalock(..)]` | meaning |
//! |---|---|
//! | `partition_key` | required, on one field: the table's partition key |
//! | `sort_key` | the table's sort key, if it has one |
//! | `version` | a `u64` that mirrors the stored version. The version attribute has the name of this field |
//! | `created_at`, `updated_at` | the time of the create; the time of the last write. The library sets them: a `u64` or an `i64` of epoch seconds, or an `Option` of one |
//! | `created_at = "millis"`, `updated_at = "millis"` | the same in epoch milliseconds |
//! | `expires` | the time to live of the table: a `u64`, `i64` or `u32` of epoch seconds, or an `Option` of one |
//!
//! A key is a string, a whole number or bytes: any `KeyAttribute`. The type of a key may not depend
//! on a type parameter. A number in DynamoDB has at most 38 digits, so the derive refuses a field
//! of type `u128` or `i128`, also inside an `Option` or a collection. If such a number is behind a
//! type alias or inside another struct, the derive does not see it, and a write fails with
//! `Error::Encode`.
//!
//! # Times
//!
//! A write through the library sets `created_at` and `updated_at` by the clock of the caller. A
//! value that the program has set in these fields is overwritten, and does not count as a change.
//! The returned value shows the stored times.
//!
//! | write | `created_at` | `updated_at` |
//! |---|---|---|
//! | `create`, and a create by `upsert_with` | set | set |
//! | `update`, `touch`, `replace`, `update_with` and the related calls; the writes of transactions, units of work and holders of leases | kept | set |
//! | an update without changes, which sends nothing | kept | kept |
//! | a lease: its grant, heartbeats and release | kept | kept |
//! | a write of another program | as that program writes it | as that program writes it |
//!
//! An item that another program has created may have no `created_at`, and the library does not add
//! one. For this item, a field with an `Option` is `None`. A field with a number needs
//! `#[serde(default)]`, and is 0. The times are numbers, so that an index or a filter can use them.
//! `SystemTime` is not supported, because serde writes it as a map.
//!
//! The program sets the field with `expires`. An item whose time is past counts as absent, although
//! DynamoDB deletes it only some time later. The documentation of `Repository` describes the effect
//! on each call. A time of 0, or more than five years ago, does not count, as in DynamoDB.
//!
//! The clocks of callers differ, so a later write may have an earlier time. Versions show the order
//! of writes, and times do not. In a transaction, the time is the time of the call that recorded
//! the operation. If a transaction with the caller's token is repeated, its times and therefore its
//! content differ. `Transaction::token` describes the effect.
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
//! | type | its key |
//! |---|---|
//! | a tuple struct of one field, or a struct with `#[serde(transparent)]` | the key of the field |
//! | any type with `#[serde(into = "..")]` | the key of the type in `into` |
//! | a newtype with `#[serde(with = "serde_bytes")]`, or of a `ByteBuf` or a `ByteArray` | bytes |
//! | an enum without fields | the name that serde writes |
//!
//! The derive refuses three things: a field with another `with` than `serde_bytes`, a skipped
//! variant, and a variant with a second spelling (`alias`, `other`, or a rename that differs for
//! reading and writing). An item that is stored with one spelling would not be found with the other
//! spelling.
//!
//! # Names
//!
//! The name of an attribute is the name that serde writes. The derive reads `rename`, `rename_all`
//! and raw identifiers (`r#type` is written as `type`) from the serde attributes. The derive knows
//! the aliases, so that a write of a field removes them.
//!
//! Some serde attributes do not fit an item:
//!
//! | `#[serde(..)]` | refused on |
//! |---|---|
//! | `from`, `try_from`, `into`, `transparent`, `tag`, `untagged`, `remote` | the struct: its fields would not be the item's attributes |
//! | `skip`, `skip_serializing`, `skip_deserializing`, `flatten`, `with`, `serialize_with`, `deserialize_with`, `alias` | a field with a time: it must be an attribute under one name |
//! | `skip`, `skip_serializing`, `skip_deserializing`, `skip_serializing_if`, `flatten`, `with`, `serialize_with`, `deserialize_with`, `alias`, a rename that differs for reading and writing | a key, the version: they must always be present, under one name |
//! | a rename that differs for reading and writing | any field, unless an `alias` reads the written name |
//! | an alias or a second field of a name that another field writes | any field: a write of one would destroy the other |
//! | `skip_deserializing` without `skip_serializing` | any field: a value would not show what is stored, and would overwrite it |
//! | the name of the version attribute, of an attribute of the lease, `_writes`, or one of `_p0` to `_p7` | any field that is not `#[dynalock(version)]`: the repository uses them |
//!
//! `default` is allowed on each field and on the struct.
//!
//! The derive does not know the attributes of a flattened field, nor their aliases. Before the
//! library writes a struct with such a field, it therefore verifies that serde can read the
//! resulting item. If a changed attribute is stored under an alias, the write removes the alias. A
//! write that would leave an unreadable item fails with `Error::Encode`.
//!
//! # What is generated
//!
//! For a struct `Order`, the derive generates these items, with the visibility of the struct:
//!
//! - `impl Versioned for Order`;
//! - `OrderKey`, or the name from `key_type`. It has `From` for `&Order` and for the plain types of
//!   the key fields, by value and by reference (`&str` for a `String`). If the table has a sort
//!   key, the plain types are a tuple;
//! - `Order::repository(&client)`;
//! - `OrderIndexes`, and `Order::INDEX`, which contains an `Index` handle of each index;
//! - `OrderAttributes`, and `Order::ATTR` with an `Attribute` handle for each field, under
//!   the name of the field. A field that serde does not write, does not read or flattens has no
//!   handle. A field that a module of `serde_dynamo` writes as a set has a handle of a set. Any
//!   other field with `with` or `serialize_with` has an `Opaque` handle.
//!
//! `#[derive(Attributes)]` is for a struct inside of an item, for example an `Address`. It generates
//! only `AddressAttributes` and `Address::ATTR`, for paths such as
//! `Order::ATTR.address.at(Address::ATTR.city)`.
//!
//! Type parameters and where clauses are copied. A lifetime is refused, because an item is owned
//! data. The key type has no parameters.
//!
//! # The files
//!
//! `key_attribute` contains the second derive. The table lists the other files in the order in
//! which they handle an input:
//!
//! | file | responsibility |
//! |---|---|
//! | `entry` | the syntax of attributes |
//! | `attr`, `index`, `lockable`, `serde` | the contents of `#[dynalock]`, `index(..)`, `#[lockable]` and `#[serde]` |
//! | `suggest`, `case` | the nearest known word for a wrong one; the rules of `rename_all` |
//! | `model` | the struct with its attributes, not checked |
//! | `check` | reports all errors, and returns what can be generated |
//! | `expand`, `handles`, `indexes` | generate the code, which cannot fail; the attribute handles; the index handles |
//! | `fallback` | the code after an error, which avoids follow-up errors |
//! | `errors` | collects the errors |

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

/// Describes a serde struct as one item of a DynamoDB table, with a version.
///
/// The attributes are listed in the [crate's documentation](crate).
#[proc_macro_derive(Versioned, attributes(dynalock, lockable))]
pub fn derive_versioned(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// Generates the attribute handles of a struct that items contain: `Address::ATTR`. See the crate's
/// documentation.
#[proc_macro_derive(Attributes, attributes(dynalock))]
pub fn derive_attributes(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    nested(&input).into()
}

/// Allows a newtype, or an enum without fields, as a key attribute. The key is the string, number
/// or bytes that serde writes.
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
