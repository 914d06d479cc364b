//! A struct and the parsed attributes of the struct, before the checks.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Data, DataStruct, DeriveInput, Fields, FieldsNamed, LitStr, Type, ext::IdentExt as _};

use crate::{
    attr::{FieldAttrs, StructAttrs},
    errors::Errors,
    lockable::Lockable,
    serde,
};

pub(crate) struct Struct<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: StructAttrs,
    pub(crate) lockable: Option<Lockable>,
    pub(crate) serde: serde::SerdeStructAttrs,
    pub(crate) fields: Vec<Field<'a>>,
}

pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
    pub(crate) serde: serde::SerdeFieldAttrs,
    /// The attribute name under which serde writes the field.
    pub(crate) written: String,
    /// The attribute name under which serde reads the field, without the aliases.
    pub(crate) read: String,
}

impl<'a> Struct<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let attrs = StructAttrs::read(&input.attrs, errors);
        let lockable = Lockable::read(&input.attrs, errors);
        let serde = serde::SerdeStructAttrs::read(&input.attrs);
        let fields =
            named_fields(input, errors)?.named.iter().filter_map(|field| Field::read(field, &serde, errors)).collect();
        Some(Self { input, attrs, lockable, serde, fields })
    }
}

fn named_fields<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Option<&'a FieldsNamed> {
    let (word, problem): (&dyn ToTokens, &str) = match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => return Some(fields),
        Data::Struct(DataStruct { fields: Fields::Unnamed(fields), .. }) => {
            (fields, "a tuple struct has no attributes, since its fields have no names: name them")
        }
        Data::Struct(DataStruct { fields: Fields::Unit, .. }) => {
            (&input.ident, "a unit struct has no attributes: an item has at least a partition key")
        }
        Data::Enum(data) => (
            &data.enum_token,
            "an enum has no fixed attributes: an item is a struct with named fields, one of which may be the enum",
        ),
        Data::Union(data) => {
            (&data.union_token, "a union has no fixed attributes: an item is a struct with named fields")
        }
    };
    errors.at(word, problem);
    None
}

impl<'a> Field<'a> {
    fn read(field: &'a syn::Field, container: &serde::SerdeStructAttrs, errors: &mut Errors) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let serde = serde::SerdeFieldAttrs::read(&field.attrs);
        let name = ident.unraw().to_string();
        let written = match &serde.written {
            Some(renamed) => renamed.value(),
            None => container.written.apply(&name),
        };
        let read = match serde.read.first() {
            Some(renamed) => renamed.value(),
            None => container.read.apply(&name),
        };
        Some(Self { ident, ty: &field.ty, attrs: FieldAttrs::read(&field.attrs, errors), serde, written, read })
    }

    /// Returns whether serde writes the field as one attribute under the name `written`.
    pub(crate) fn is_written(&self) -> bool {
        self.serde.flatten.is_none() && self.serde.not_written.is_none()
    }

    /// Returns whether serde reads the field from one attribute, which may have several names.
    pub(crate) fn is_read(&self) -> bool {
        self.serde.flatten.is_none() && self.serde.not_read.is_none()
    }

    /// Returns all attribute names from which serde reads the field, including aliases.
    pub(crate) fn read_names(&self) -> impl Iterator<Item = String> {
        let further = self.serde.further_names().map(LitStr::value);
        std::iter::once(self.read.clone()).chain(further)
    }

    /// Returns the attribute names from which serde reads the field, except the name under which
    /// serde writes the field.
    pub(crate) fn aliases(&self) -> Vec<String> {
        let mut aliases: Vec<String> = self.read_names().filter(|name| *name != self.written).collect();
        aliases.sort_unstable();
        aliases.dedup();
        aliases
    }
}
