//! The derive macros of dynalock: `#[derive(Versioned)]`, `#[derive(KeyAttribute)]` and
//! `#[derive(Attributes)]`.
//!
//! Programs use the derive macros through the crate `dynalock`, for example as
//! `dynalock::Versioned`. `#[derive(Versioned)]` describes a serde struct with named fields as one
//! item of a DynamoDB table. The derive reads the attributes of the struct, and generates
//! constants, a key type and a method that makes a repository. The crate dynalock-core contains the
//! code that reads and writes the items.
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

/// Describes a serde struct with named fields as one item of a DynamoDB table, with a version.
#[doc = include_str!("versioned.md")]
#[proc_macro_derive(Versioned, attributes(dynalock, lockable))]
pub fn derive_versioned(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// Generates the attribute handles of a struct inside an item, for example `Address::ATTR` for paths
/// like `Order::ATTR.address.at(Address::ATTR.city)`.
#[proc_macro_derive(Attributes, attributes(dynalock))]
pub fn derive_attributes(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    nested(&input).into()
}

/// Makes a newtype, or an enum without fields, usable as a key attribute. The key is the string,
/// the number or the bytes that serde writes.
#[doc = include_str!("key_attribute.md")]
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
