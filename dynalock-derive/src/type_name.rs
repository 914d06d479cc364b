//! Recognises the types of fields by their names, because a derive macro sees only the tokens of a
//! type.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

pub(crate) fn is_option(ty: &Type) -> bool {
    has_name(ty, &["Option"])
}

/// Returns whether the type is a path whose last word is in the list `names`.
pub(crate) fn has_name(ty: &Type, names: &[&str]) -> bool {
    last_segment(ty).is_some_and(|segment| names.iter().any(|name| segment.ident == name))
}

/// Returns whether serde writes the type as a list of bytes: an array of `u8` or a `Vec<u8>`.
pub(crate) fn is_byte_list(ty: &Type) -> bool {
    let is_byte = |ty: &Type| has_name(ty, &["u8"]);
    match bare(ty) {
        Type::Array(array) => is_byte(&array.elem),
        ty => has_name(ty, &["Vec"]) && first_argument(ty).is_some_and(is_byte),
    }
}

fn first_argument(ty: &Type) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &last_segment(ty)?.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The compiler puts a type into an invisible group if the type is an argument `$ty:ty` of a
/// `macro_rules!`.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}
