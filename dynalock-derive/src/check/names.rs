//! Checks the names of attributes: serde must write each attribute from one field and read the
//! attribute into the same field, and no name may be reserved.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::ToTokens;

use super::{PATCHES, WRITE_IDS, lock};
use crate::{
    errors::Errors,
    model::{Field, Struct},
};

/// The fields of a struct, by the names under which serde writes the fields.
type Written<'m, 'a> = HashMap<&'m str, &'m Field<'a>>;

pub(super) fn check(model: &Struct<'_>, version: &str, errors: &mut Errors) {
    let written = written_once(model, errors);
    for field in &model.fields {
        not_bookkeeping(field, model, version, errors);
        read_back(field, model, errors);
        not_read_from_another(field, &written, errors);
    }
}

pub(super) fn all(model: &Struct<'_>) -> Vec<String> {
    let written = model.fields.iter().filter(|field| field.is_written()).map(|field| field.written.clone());
    let read = model.fields.iter().filter(|field| field.is_read()).flat_map(Field::read_names);
    let mut names: Vec<String> = written.chain(read).collect();
    names.sort_unstable();
    names.dedup();
    names
}

pub(super) fn aliases(model: &Struct<'_>) -> Vec<(String, Vec<String>)> {
    model
        .fields
        .iter()
        .filter(|field| field.is_written() && field.is_read())
        .map(|field| (field.written.clone(), field.aliases()))
        .filter(|(_, aliases)| !aliases.is_empty())
        .collect()
}

fn written_once<'m, 'a>(model: &'m Struct<'a>, errors: &mut Errors) -> Written<'m, 'a> {
    let mut written = Written::new();
    for field in model.fields.iter().filter(|field| field.is_written()) {
        let first = *written.entry(&field.written).or_insert(field);
        if first.ident != field.ident {
            errors.at(
                name_place(field),
                format_args!("`{}` is written by the field `{}` already", field.written, first.ident),
            );
        }
    }
    written
}

fn not_bookkeeping(field: &Field<'_>, model: &Struct<'_>, version: &str, errors: &mut Errors) {
    let mut names = other_names(field);
    if field.is_written() {
        names.push((field.written.clone(), name_place(field)));
    }
    for (name, place) in names {
        if name.is_empty() {
            errors.at(place, "the name of an attribute cannot be empty");
        } else if PATCHES.contains(&name.as_str()) {
            errors.at(place, format_args!("`{name}` contains an id of a patch: no field can have this name"));
        } else if name == WRITE_IDS {
            errors.at(
                place,
                format_args!("`{WRITE_IDS}` contains the write ids of the library: no field can have this name"),
            );
        } else if lock::is_reserved(model, &name) {
            errors.at(
                place,
                format_args!(
                    "`{name}` is an attribute of the lease: choose another name in `#[lockable(..)]`, or rename the field"
                ),
            );
        } else if name == version && field.attrs.version.is_none() {
            errors.at(
                place,
                format_args!(
                    "`{version}` is the version attribute: add `#[dynalock(version)]` to the field that shows the version, or choose another name"
                ),
            );
        }
    }
}

fn read_back(field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    // If a field has a role, for example `partition_key`, the module `roles` checks the field, by
    // stricter rules than `read_back`.
    if field.serde.not_written.is_some() || field.attrs.roles().next().is_some() {
        return;
    }
    if let Some(word) = &field.serde.not_read {
        errors.at(
            word,
            format_args!(
                "`{}` is written and not read: a value would not contain the stored attribute, and would overwrite it; let serde read the field, or use `skip`",
                field.written
            ),
        );
    }
    if field.is_read() && !field.read_names().any(|name| name == field.written) {
        errors.at(
            rename_place(field, model),
            format_args!(
                "`{}` is written as `{written}` and read as `{}`: what is written could not be read, add `#[serde(alias = \"{written}\")]` to the field",
                field.ident,
                field.read,
                written = field.written,
            ),
        );
    }
}

/// A field must not be read from the attribute of another field, because a write of the first field
/// would remove this attribute as an alias.
fn not_read_from_another(field: &Field<'_>, written: &Written<'_, '_>, errors: &mut Errors) {
    for (name, place) in other_names(field) {
        if let Some(other) = written.get(name.as_str()) {
            errors.at(
                place,
                format_args!(
                    "`{name}` is the attribute of the field `{}`: no other field can be read from it",
                    other.ident
                ),
            );
        }
    }
}

/// Returns the names under which serde only reads a field, and the tokens that set each name.
fn other_names(field: &Field<'_>) -> Vec<(String, TokenStream)> {
    if !field.is_read() {
        return Vec::new();
    }
    let place = match field.serde.read.first() {
        Some(name) => name.to_token_stream(),
        None => field.ident.to_token_stream(),
    };
    let further = field.serde.further_names().map(|name| (name.value(), name.to_token_stream()));
    std::iter::once((field.read.clone(), place))
        .chain(further)
        .filter(|(name, _)| !field.is_written() || *name != field.written)
        .collect()
}

/// Returns the tokens that set the name under which serde writes a field, for errors about the
/// name.
pub(super) fn name_place(field: &Field<'_>) -> TokenStream {
    match &field.serde.written {
        Some(name) => name.to_token_stream(),
        None => field.ident.to_token_stream(),
    }
}

/// Returns the tokens that give a field different names for writing and reading, for errors about
/// the two names.
pub(super) fn rename_place(field: &Field<'_>, model: &Struct<'_>) -> TokenStream {
    match (&field.serde.rename, &model.serde.rename_all) {
        (Some(word), _) | (None, Some(word)) => word.to_token_stream(),
        (None, None) => field.ident.to_token_stream(),
    }
}
