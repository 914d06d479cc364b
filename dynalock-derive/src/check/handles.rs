//! Decides for each field whether conditions and patches can use the field's attribute handle.

use syn::{LitStr, Type};

use super::Attribute;
use crate::{
    attr::FieldAttrs,
    model::{Field, Struct},
    serde::{self, DefaultAttr},
    type_name,
};

pub(crate) struct Handle<'a> {
    pub(crate) attribute: Attribute<'a>,
    pub(crate) values: Values,
    /// The name of the handle's role type in dynalock-core, which is `Required`, `Defaulted` or
    /// `Fixed`.
    pub(crate) role: &'static str,
    pub(crate) missing: Missing<'a>,
    pub(crate) aliases: Vec<String>,
}

#[derive(Clone, Copy)]
pub(crate) enum Values {
    Typed,
    /// A set that a module of `serde_dynamo` writes, with the name of the set type in
    /// dynalock-core, for example `StringSet`.
    Set(&'static str),
    /// The derive does not know the stored form of the attribute, because the field has `with` or
    /// `serialize_with`.
    Opaque,
}

/// The value from which a patch starts if an item lacks the attribute.
pub(crate) enum Missing<'a> {
    Refused,
    Empty,
    Default(Default<'a>),
}

pub(crate) enum Default<'a> {
    /// The result of `Default::default()` of the field's type.
    FieldType(&'a Type),
    /// The result of the function in `#[serde(default = "path")]` on the field.
    Function(LitStr),
    /// The value of the field in the result of `Default::default()` of the struct.
    Struct,
    /// The value of the field in the result of the function in `#[serde(default = "path")]` on the
    /// struct.
    StructFunction(LitStr),
}

const FIXED: &str = "Fixed";
const REQUIRED: &str = "Required";
const DEFAULTED: &str = "Defaulted";

impl<'a> Handle<'a> {
    /// Returns the attribute handles of all fields that serde writes and reads as one attribute.
    pub(crate) fn all(model: &Struct<'a>) -> Vec<Self> {
        let fields = model.fields.iter().filter(|field| field.is_written() && field.is_read());
        fields.map(|field| Self::of(field, &model.serde)).collect()
    }

    fn of(field: &Field<'a>, container: &serde::SerdeStructAttrs) -> Self {
        let values = values(field, container);
        let may_be_missing = default(field, container).is_some() || is_option(field);
        let role = match may_be_missing {
            _ if is_fixed(field) => FIXED,
            true => DEFAULTED,
            false => REQUIRED,
        };
        let missing = match (values, default(field, container)) {
            (Values::Typed, Some(default)) => Missing::Default(default),
            (_, _) if may_be_missing => Missing::Empty,
            (_, _) => Missing::Refused,
        };
        Self { attribute: Attribute::of(field), values, role, missing, aliases: field.aliases() }
    }
}

fn values(field: &Field<'_>, container: &serde::SerdeStructAttrs) -> Values {
    match (field.serde.set_type(), default(field, container)) {
        // A patch treats a missing set as empty, so a field whose default value is not the empty
        // set gets no set handle.
        (Some(set), None | Some(Default::FieldType(_))) => Values::Set(set),
        _ if field.serde.written_by_other_code() => Values::Opaque,
        _ => Values::Typed,
    }
}

/// A patch must not change a key, the version or a time that the library writes. A patch must not
/// change a field with only `deserialize_with`, because the derive does not know which values the
/// function can read.
fn is_fixed(field: &Field<'_>) -> bool {
    let reads_by_other_code = field.serde.read_by_other_code() && field.serde.set_type().is_none();
    let FieldAttrs { partition_key, sort_key, version, created_at, updated_at, .. } = &field.attrs;
    let is_key = [partition_key, sort_key, version].into_iter().any(Option::is_some);
    let is_kept = created_at.is_some() || updated_at.is_some();
    is_key || is_kept || (reads_by_other_code && !field.serde.written_by_other_code())
}

/// Returns whether serde reads a missing attribute as `None`.
fn is_option(field: &Field<'_>) -> bool {
    type_name::is_option(field.ty) && !field.serde.read_by_other_code()
}

fn default<'a>(field: &Field<'a>, container: &serde::SerdeStructAttrs) -> Option<Default<'a>> {
    match (&field.serde.default, &container.default) {
        (Some(DefaultAttr::OfType), _) => Some(Default::FieldType(field.ty)),
        (Some(DefaultAttr::Path(path)), _) => Some(Default::Function(path.clone())),
        (None, Some(DefaultAttr::OfType)) => Some(Default::Struct),
        (None, Some(DefaultAttr::Path(path))) => Some(Default::StructFunction(path.clone())),
        (None, None) => None,
    }
}
