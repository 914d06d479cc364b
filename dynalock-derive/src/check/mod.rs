//! Checks whether a struct can be an item. The result is an [`Item`], from which `expand` generates
//! code without further checks.

mod handles;
mod indexes;
mod lock;
mod names;
mod numbers;
mod roles;

use proc_macro2::Ident;
use syn::{DeriveInput, Path, Type};

pub(crate) use self::{
    handles::{Default, Handle, Missing, Values},
    indexes::{Holds, Index},
    lock::{Lock, Place},
};
use self::{indexes::TableKey, roles::Roles};
use crate::{
    attr::TimeUnit,
    errors::Errors,
    model::{Field, Struct},
};

/// The name of the attribute that contains the write ids.
const WRITE_IDS: &str = "_writes";
/// The attributes in which dynalock-core stores the ids of patches.
const PATCHES: [&str; 8] = ["_p0", "_p1", "_p2", "_p3", "_p4", "_p5", "_p6", "_p7"];
/// The default name of the attribute that contains the version.
const VERSION: &str = "_version";

pub(crate) struct Item<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) krate: Path,
    pub(crate) table: String,
    pub(crate) key_type: Option<Ident>,
    pub(crate) partition_key: Attribute<'a>,
    pub(crate) sort_key: Option<Attribute<'a>>,
    pub(crate) version: Version<'a>,
    pub(crate) times: Times<'a>,
    pub(crate) write_ids: u8,
    /// All attribute names under which serde reads or writes the fields, except the names inside
    /// flattened fields, which the derive does not know.
    pub(crate) attributes: Vec<String>,
    pub(crate) show_key: bool,
    /// The aliases of the attributes. Each pair contains the name under which serde writes a field,
    /// and the other names under which serde reads the field.
    pub(crate) aliases: Vec<(String, Vec<String>)>,
    pub(crate) flattens: bool,
    pub(crate) lock: Option<Lock>,
    pub(crate) indexes: Vec<Index<'a>>,
    pub(crate) handles: Vec<Handle<'a>>,
}

/// A field, and the name of the attribute that serde writes for the field.
pub(crate) struct Attribute<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) name: String,
}

pub(crate) struct Times<'a> {
    pub(crate) created_at: Option<Time<'a>>,
    pub(crate) updated_at: Option<Time<'a>>,
    pub(crate) expires: Option<Attribute<'a>>,
}

pub(crate) struct Time<'a> {
    pub(crate) field: Attribute<'a>,
    pub(crate) unit: TimeUnit,
}

pub(crate) enum Version<'a> {
    /// The name of the version attribute, for a struct without a field for the version.
    Attribute(String),
    Field(Attribute<'a>),
}

impl<'a> Attribute<'a> {
    fn of(field: &Field<'a>) -> Self {
        Self { ident: field.ident, ty: field.ty, name: field.written.clone() }
    }
}

impl Version<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Attribute(name) => name,
            Self::Field(field) => &field.name,
        }
    }
}

pub(crate) fn check<'a>(model: &Struct<'a>, errors: &mut Errors) -> Option<Item<'a>> {
    // If an attribute has an error, a required setting, for example `table`, may only seem to be
    // missing. `check` reports a missing setting only if no attribute has an error.
    let understood = errors.is_empty();

    container(model, errors);
    let table = table(model, understood, errors);
    let write_ids = write_ids(model, errors);
    let roles = Roles::of(model, understood, errors);
    let version = roles.version(model, errors);
    let times = roles::times(model, errors);
    let lock = lock::check(model, version.name(), errors);
    names::check(model, version.name(), errors);
    numbers::check(model, errors);
    let table_key = TableKey { partition_key: roles.partition_key, sort_key: roles.sort_key };
    let indexes = indexes::check(model, &table_key, errors);

    Some(Item {
        input: model.input,
        krate: model.attrs.krate(),
        table: table?,
        key_type: model.attrs.key_type.clone(),
        partition_key: Attribute::of(roles.partition_key?),
        sort_key: roles.sort_key.map(Attribute::of),
        version,
        times,
        write_ids: write_ids?,
        attributes: names::all(model),
        show_key: model.attrs.show_key.is_some(),
        aliases: names::aliases(model),
        flattens: model.fields.iter().any(|field| field.serde.flatten.is_some()),
        lock,
        indexes,
        handles: Handle::all(model),
    })
}

/// Checks a struct inside an item, for `#[derive(Attributes)]`.
pub(crate) fn check_nested<'a>(model: &Struct<'a>, errors: &mut Errors) -> Vec<Handle<'a>> {
    container(model, errors);
    for field in &model.fields {
        for word in field.attrs.roles() {
            errors.at(word, "only an item has keys and a version: `#[derive(Versioned)]` reads this attribute");
        }
    }
    Handle::all(model)
}

fn container(model: &Struct<'_>, errors: &mut Errors) {
    for word in &model.serde.refused {
        errors.at(
            word,
            format_args!("a struct with attributes cannot be `#[serde({word})]`: what serde writes has to be the struct's own fields"),
        );
    }
    for param in model.input.generics.lifetimes() {
        errors.at(&param.lifetime, "an item is owned data: it cannot borrow");
    }
}

fn table(model: &Struct<'_>, understood: bool, errors: &mut Errors) -> Option<String> {
    let Some(table) = &model.attrs.table else {
        if understood {
            errors.at(&model.input.ident, "missing `table`: add `#[dynalock(table = \"..\")]`");
        }
        return None;
    };
    let name = table.value();
    if let Some(problem) = table_problem(&name) {
        errors.at(table, problem);
    }
    Some(name)
}

/// DynamoDB's naming rules are at
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>.
fn table_problem(name: &str) -> Option<&'static str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() {
        Some("the table's name is empty")
    } else if name.starts_with("arn:") {
        (name.len() > 1024).then_some("the ARN of a table has at most 1024 characters")
    } else if !name.chars().all(legal) {
        Some("a table's name consists of a-z, A-Z, 0-9, `_`, `-` and `.`, unless it is an ARN")
    } else if !(3..=255).contains(&name.len()) {
        Some("a table's name has 3 to 255 characters")
    } else {
        None
    }
}

fn write_ids(model: &Struct<'_>, errors: &mut Errors) -> Option<u8> {
    let Some(number) = &model.attrs.write_ids else {
        return Some(16);
    };
    let ids = number.base10_parse().ok().filter(|ids| matches!(ids, 4..=16));
    if ids.is_none() {
        errors.at(number, "an item keeps 4 to 16 write ids");
    }
    ids
}

#[cfg(test)]
mod tests {
    use syn::{DeriveInput, parse_quote};

    use super::check;
    use crate::{errors::Errors, model::Struct};

    fn problems(table: &str, key: &str) -> Vec<String> {
        let input: DeriveInput = parse_quote! {
            #[dynalock(table = #table)]
            struct Order {
                #[serde(rename = #key)]
                #[dynalock(partition_key)]
                id: String,
            }
        };
        let mut errors = Errors::default();
        let item = Struct::read(&input, &mut errors).and_then(|model| check(&model, &mut errors));
        match errors.finish(item) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
        }
    }

    #[test]
    fn names_have_the_lengths_that_dynamodb_allows() {
        let arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/";
        for (table, key, expected) in [
            ("abc".to_owned(), "i".repeat(255), None),
            ("a".repeat(255), "i".to_owned(), None),
            (format!("{arn}{}", "a".repeat(255)), "i".to_owned(), None),
            ("ab".to_owned(), "i".to_owned(), Some("a table's name has 3 to 255 characters")),
            ("a".repeat(256), "i".to_owned(), Some("a table's name has 3 to 255 characters")),
            (
                format!("{arn}{}", "a".repeat(1000)),
                "i".to_owned(),
                Some("the ARN of a table has at most 1024 characters"),
            ),
            ("abc".to_owned(), "i".repeat(256), Some("the name of a key attribute has at most 255 bytes")),
            ("abc".to_owned(), "ü".repeat(128), Some("the name of a key attribute has at most 255 bytes")),
        ] {
            assert_eq!(problems(&table, &key), Vec::from_iter(expected), "{table} {key}");
        }
    }
}
