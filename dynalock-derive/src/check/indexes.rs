//! Checks the indexes: each index key must be a field that can be a key, and two indexes must not
//! have the same name.

use proc_macro2::{Ident, Span};
use syn::{LitStr, ext::IdentExt as _};

use super::{Attribute, roles::dependent};
use crate::{
    errors::Errors,
    expand::generated,
    index::{IndexAttrs, Projection},
    model::{Field, Struct},
    suggest::nearest,
    type_name::is_option,
};

pub(crate) struct Index<'a> {
    /// The name of the index handle, for example `by_status` in `Order::INDEX.by_status`.
    pub(crate) handle: Ident,
    pub(crate) name: String,
    pub(crate) is_local: bool,
    pub(crate) partition_key: Attribute<'a>,
    pub(crate) sort_key: Option<Attribute<'a>>,
    pub(crate) holds: Holds,
}

pub(crate) enum Holds {
    All,
    KeysOnly,
    Include(Vec<String>),
}

const MOST_LOCAL: usize = 5;
const MOST_GLOBAL: usize = 20;

pub(super) struct TableKey<'m, 'a> {
    pub(super) partition_key: Option<&'m Field<'a>>,
    pub(super) sort_key: Option<&'m Field<'a>>,
}

pub(super) fn check<'a>(model: &Struct<'a>, table: &TableKey<'_, 'a>, errors: &mut Errors) -> Vec<Index<'a>> {
    let attrs = &model.attrs.indexes;
    let indexes: Vec<_> = attrs.iter().filter_map(|attrs| index(attrs, model, table, errors)).collect();
    distinct(attrs, errors);
    for (is_local, most, kind) in [(true, MOST_LOCAL, "local"), (false, MOST_GLOBAL, "global")] {
        let mut of_kind = attrs.iter().filter(|attrs| attrs.local.is_some() == is_local);
        if let Some(beyond) = of_kind.nth(most) {
            errors.add(syn::Error::new(beyond.place(), format_args!("a table has at most {most} {kind} indexes")));
        }
    }
    indexes
}

fn index<'a>(
    attrs: &IndexAttrs,
    model: &Struct<'a>,
    table: &TableKey<'_, 'a>,
    errors: &mut Errors,
) -> Option<Index<'a>> {
    let name = name(attrs, errors);
    let sort = attrs.sort_key.as_ref().map(|said| key("the sort key of an index", said, model, errors));
    let partition = match &attrs.local {
        Some(word) => local_partition(word, attrs, table, errors),
        None => global_partition(attrs, model, errors),
    };
    let holds = holds(attrs, model, table, errors);
    let (partition, sort) = (partition?, sort.map_or(Some(None), |sort| sort.map(Some))?);
    if let (Some(same), Some(said)) = (sort.filter(|sort| sort.ident == partition.ident), &attrs.sort_key) {
        errors.at(said, format_args!("`{}` is the partition key of the index already", same.ident));
    }
    let (name, handle) = name?;
    let is_local = attrs.local.is_some();
    let (partition_key, sort_key) = (Attribute::of(partition), sort.map(Attribute::of));
    Some(Index { handle, name, is_local, partition_key, sort_key, holds })
}

/// In the name of the handle, `_` replaces each character that an identifier cannot contain.
fn name(attrs: &IndexAttrs, errors: &mut Errors) -> Option<(String, Ident)> {
    let Some(said) = &attrs.name else {
        errors.at(&attrs.word, "an index needs a name: `name = \"by_status\"`");
        return None;
    };
    let name = said.value();
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !(3..=255).contains(&name.len()) || !name.chars().all(legal) {
        errors.at(said, "the name of an index has 3 to 255 characters, of a-z, A-Z, 0-9, `_`, `-` and `.`");
        return None;
    }
    match syn::parse_str::<Ident>(&handle(&name)) {
        Ok(mut handle) => {
            handle.set_span(generated(said.span()));
            Some((name, handle))
        }
        Err(_) => {
            errors.at(
                said,
                format_args!(
                    "the handle of an index is a struct field of the same name, and `{name}` cannot be the name of a field: choose another name"
                ),
            );
            None
        }
    }
}

fn handle(name: &str) -> String {
    name.replace(['-', '.'], "_")
}

fn global_partition<'m, 'a>(attrs: &IndexAttrs, model: &'m Struct<'a>, errors: &mut Errors) -> Option<&'m Field<'a>> {
    let Some(said) = &attrs.partition_key else {
        let place = attrs.place();
        errors.add(syn::Error::new(
            place,
            "a global index needs a key of its own: `partition_key = \"status\"`, or `local`",
        ));
        return None;
    };
    key("the partition key of an index", said, model, errors)
}

fn local_partition<'m, 'a>(
    word: &Ident,
    attrs: &IndexAttrs,
    table: &TableKey<'m, 'a>,
    errors: &mut Errors,
) -> Option<&'m Field<'a>> {
    let partition = table.partition_key?;
    if table.sort_key.is_none() {
        errors.at(word, "a local index is another order of a partition: its table needs a `#[dynalock(sort_key)]`");
    }
    if attrs.sort_key.is_none() {
        errors.at(word, "a local index is another order of a partition: it needs a `sort_key`");
    }
    match &attrs.partition_key {
        Some(said) if partition.ident.unraw() != said.value() => errors.at(
            said,
            format_args!("a local index has the partition key of the table, `{}`: leave this out", partition.ident),
        ),
        _ => {}
    }
    Some(partition)
}

/// `said` is the name of the field in `partition_key` or `sort_key` of an index.
fn key<'m, 'a>(role: &str, said: &LitStr, model: &'m Struct<'a>, errors: &mut Errors) -> Option<&'m Field<'a>> {
    let field = field(&said.value(), said.span(), model, errors)?;
    if field.serde.flatten.is_some() {
        errors.at(said, format_args!("{role} cannot be flattened: it is one attribute"));
    } else if !field.is_written() || !field.is_read() {
        errors.at(said, format_args!("{role} cannot be skipped: serde has to write and read `{}`", field.ident));
    } else if field.serde.written_by_other_code() {
        errors.at(said, format_args!("{role} cannot be serialized by other code than its type's own"));
    } else if is_option(field.ty) && field.serde.sometimes_written.is_none() {
        errors.at(
            field.ty,
            "DynamoDB takes no null in the key of an index: add `#[serde(skip_serializing_if = \"Option::is_none\")]`",
        );
    }
    for word in dependent(field.ty, &model.input.generics.params) {
        errors.at(&word, format_args!("the type of a key cannot depend on `{word}`: the key type has no parameters"));
    }
    Some(field)
}

fn field<'m, 'a>(name: &str, place: Span, model: &'m Struct<'a>, errors: &mut Errors) -> Option<&'m Field<'a>> {
    let names: Vec<String> = model.fields.iter().map(|field| field.ident.unraw().to_string()).collect();
    let found = names.iter().position(|known| known == name).and_then(|place| model.fields.get(place));
    if found.is_none() {
        let written =
            model.fields.iter().find(|field| field.written == name).map(|field| field.ident.unraw().to_string());
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = written.as_deref().or_else(|| nearest(name, &known));
        let message = match meant {
            Some(meant) => format!("no field `{name}`, did you mean `{meant}`?"),
            None => format!("no field `{name}`"),
        };
        errors.add(syn::Error::new(place, message));
    }
    found
}

fn holds(attrs: &IndexAttrs, model: &Struct<'_>, table: &TableKey<'_, '_>, errors: &mut Errors) -> Holds {
    let fields = match &attrs.projection {
        None | Some(Projection::All) => return Holds::All,
        Some(Projection::KeysOnly) => return Holds::KeysOnly,
        Some(Projection::Include(fields)) => fields,
    };
    let mut names: Vec<String> = Vec::new();
    for word in fields {
        let name = word.unraw().to_string();
        let Some(field) = field(&name, word.span(), model, errors) else { continue };
        let of_table = [table.partition_key, table.sort_key].into_iter().flatten().any(|key| key.ident == field.ident);
        let of_index = [&attrs.partition_key, &attrs.sort_key].into_iter().flatten().any(|said| said.value() == name);
        if of_table || of_index {
            errors.at(word, format_args!("`{name}` is a key, which the index holds in any case: leave it out"));
        } else if !field.is_written() {
            errors.at(word, format_args!("serde does not write `{name}` as one attribute"));
        } else if names.contains(&field.written) {
            errors.at(word, format_args!("`{name}` is named twice"));
        } else {
            names.push(field.written.clone());
        }
    }
    Holds::Include(names)
}

fn distinct(attrs: &[IndexAttrs], errors: &mut Errors) {
    let names: Vec<&LitStr> = attrs.iter().filter_map(|attrs| attrs.name.as_ref()).collect();
    for (place, name) in names.iter().enumerate() {
        let Some(first) = names[..place].iter().find(|first| handle(&first.value()) == handle(&name.value())) else {
            continue;
        };
        if first.value() == name.value() {
            errors.at(name, format_args!("duplicate index `{}`", name.value()));
        } else {
            errors.at(
                name,
                format_args!("the index `{}` has the same handle, `{}`", first.value(), handle(&name.value())),
            );
        }
    }
}
