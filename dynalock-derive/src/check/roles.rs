//! Checks the fields with a role: the keys, the version and the times. The library itself reads or
//! writes the fields with a role.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericParam, Type};

use super::{
    Attribute, PATCHES, Time, Times, VERSION, Version, WRITE_IDS,
    names::{name_place, rename_place},
};
use crate::{
    attr::{FieldAttrs, KeptTime},
    errors::Errors,
    model::{Field, Struct},
};

pub(super) struct Roles<'m, 'a> {
    pub(super) partition_key: Option<&'m Field<'a>>,
    pub(super) sort_key: Option<&'m Field<'a>>,
    version: Option<&'m Field<'a>>,
}

impl<'m, 'a> Roles<'m, 'a> {
    pub(super) fn of(model: &'m Struct<'a>, understood: bool, errors: &mut Errors) -> Self {
        let roles = Self {
            partition_key: only(model, |field| field.attrs.partition_key.as_ref(), errors),
            sort_key: only(model, |field| field.attrs.sort_key.as_ref(), errors),
            version: only(model, |field| field.attrs.version.as_ref(), errors),
        };
        for field in &model.fields {
            at_most_one_role(field, errors);
        }
        if understood && roles.partition_key.is_none() {
            no_partition_key(model, roles.sort_key, errors);
        }
        for (role, key) in [("the partition key", roles.partition_key), ("the sort key", roles.sort_key)] {
            if let Some(field) = key {
                key_field(role, field, model, errors);
            }
        }
        roles
    }

    pub(super) fn version(&self, model: &Struct<'a>, errors: &mut Errors) -> Version<'a> {
        match self.version {
            Some(field) => {
                version_field(field, model, errors);
                Version::Field(Attribute::of(field))
            }
            None => Version::Attribute(version_attribute(model, errors)),
        }
    }
}

pub(super) fn times<'a>(model: &Struct<'a>, errors: &mut Errors) -> Times<'a> {
    let created_at = kept_time(model, |attrs| attrs.created_at.as_ref(), errors);
    let updated_at = kept_time(model, |attrs| attrs.updated_at.as_ref(), errors);
    let expires = only(model, |field| field.attrs.expires.as_ref(), errors);
    if let Some(field) = expires {
        time_field("the time to live", field, model, errors);
    }
    Times { created_at, updated_at, expires: expires.map(Attribute::of) }
}

fn kept_time<'a>(
    model: &Struct<'a>,
    time: impl for<'f> Fn(&'f FieldAttrs) -> Option<&'f KeptTime>,
    errors: &mut Errors,
) -> Option<Time<'a>> {
    let field = only(model, |field| time(&field.attrs).map(|time| &time.word), errors)?;
    let KeptTime { word, unit } = time(&field.attrs)?;
    time_field(&format!("`{word}`"), field, model, errors);
    Some(Time { field: Attribute::of(field), unit: *unit })
}

fn time_field(role: &str, field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    for word in field.serde.always_skips() {
        errors.at(word, format_args!("{role} cannot be skipped"));
    }
    under_one_name(role, field, model, errors);
}

/// Returns the first field with the role, and reports all further fields with the role.
fn only<'m, 'a>(
    model: &'m Struct<'a>,
    role: impl for<'f> Fn(&'f Field<'a>) -> Option<&'f Ident>,
    errors: &mut Errors,
) -> Option<&'m Field<'a>> {
    let mut fields = model.fields.iter().filter_map(|field| Some((field, role(field)?)));
    let (first, _) = fields.next()?;
    for (_, word) in fields {
        errors.at(word, format_args!("duplicate `{word}`: the field `{}` already has this role", first.ident));
    }
    Some(first)
}

fn at_most_one_role(field: &Field<'_>, errors: &mut Errors) {
    let mut roles = field.attrs.roles();
    let Some(first) = roles.next() else { return };
    for word in roles {
        errors.at(
            word,
            format_args!("the field `{}` is the `{first}`: the `{word}` has to be another field", field.ident),
        );
    }
}

fn no_partition_key(model: &Struct<'_>, sort_key: Option<&Field<'_>>, errors: &mut Errors) {
    match sort_key.and_then(|field| field.attrs.sort_key.as_ref()) {
        Some(word) => errors
            .at(word, "a sort key needs a partition key beside it: add `#[dynalock(partition_key)]` to another field"),
        None => errors.at(&model.input.ident, "no partition key: add `#[dynalock(partition_key)]` to a field"),
    }
}

fn key_field(role: &str, field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    always_there_under_one_name(role, field, model, errors);
    if field.written.len() > 255 {
        errors.at(name_place(field), "the name of a key attribute has at most 255 bytes");
    }
    for word in dependent(field.ty, &model.input.generics.params) {
        errors.at(&word, format_args!("the type of a key cannot depend on `{word}`: the key type has no parameters"));
    }
}

fn version_field(field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    always_there_under_one_name("the version", field, model, errors);
    if let Some(name) = &model.attrs.version {
        errors.at(
            name,
            format_args!(
                "the version attribute is the field `{}`, which serde writes as `{}`: leave one of the two out",
                field.ident, field.written
            ),
        );
    }
}

fn version_attribute(model: &Struct<'_>, errors: &mut Errors) -> String {
    let Some(version) = &model.attrs.version else {
        return VERSION.to_owned();
    };
    let name = version.value();
    if name.is_empty() {
        errors.at(version, "the name of the version attribute is empty");
    } else if name == WRITE_IDS || PATCHES.contains(&name.as_str()) {
        errors.at(version, format_args!("`{name}` contains ids of writes or patches"));
    }
    name
}

/// A key or the version must always be present, as one attribute under one name.
fn always_there_under_one_name(role: &str, field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    for word in field.serde.skips() {
        errors.at(word, format_args!("{role} cannot be skipped"));
    }
    under_one_name(role, field, model, errors);
}

/// A field with a role must be one attribute under one name, in the form that its type has.
fn under_one_name(role: &str, field: &Field<'_>, model: &Struct<'_>, errors: &mut Errors) {
    let serde = &field.serde;
    if let Some(word) = &serde.flatten {
        errors.at(word, format_args!("{role} cannot be flattened: it is one attribute"));
    }
    for word in &serde.with {
        errors.at(word, format_args!("{role} cannot be serialized by other code than its type's own"));
    }
    if field.written != field.read {
        errors.at(
            rename_place(field, model),
            format_args!(
                "{role} cannot be renamed differently for reading and writing: `{}` is written as `{}` and read as `{}`",
                field.ident, field.written, field.read
            ),
        );
    }
    for alias in serde.further_names() {
        errors.at(alias, format_args!("{role} cannot have an alias: it is always `{}`", field.written));
    }
}

/// The generated key type has no type parameters, so the type of a key cannot contain the type
/// parameters or the `Self` of the struct.
pub(super) fn dependent<'p>(ty: &Type, params: impl IntoIterator<Item = &'p GenericParam>) -> Vec<Ident> {
    let mut names = vec!["Self".to_owned()];
    names.extend(params.into_iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some(param.ident.to_string()),
        GenericParam::Const(param) => Some(param.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }));
    let mut found = Vec::new();
    mentions(ty.to_token_stream(), &names, &mut found);
    found
}

fn mentions(tokens: TokenStream, names: &[String], found: &mut Vec<Ident>) {
    let mut after_colon = false;
    for token in tokens {
        let colon = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ':');
        match token {
            TokenTree::Group(group) => mentions(group.stream(), names, found),
            // In the path `a::P`, the word `P` is not the type parameter `P`.
            TokenTree::Ident(ident) if !after_colon && names.contains(&ident.to_string()) => {
                found.push(ident);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        after_colon = colon;
    }
}
