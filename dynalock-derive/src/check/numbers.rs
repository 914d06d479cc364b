//! Checks the struct for number types that are too large for DynamoDB.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;

use crate::{
    errors::Errors,
    model::{Field, Struct},
};

pub(super) fn check(model: &Struct<'_>, errors: &mut Errors) {
    for field in model.fields.iter().filter(|field| is_converted_by_its_type(field)) {
        for word in too_large(field.ty.to_token_stream()) {
            let smaller = if word == "u128" { "u64" } else { "i64" };
            errors.at(
                &word,
                format_args!(
                    "`{word}` cannot be stored: a number of DynamoDB has at most 38 digits; use `{smaller}`, or a string by \
                     `#[serde(with = \"..\")]`"
                ),
            );
        }
    }
}

/// Returns `false` if functions in `with`, `serialize_with` or `deserialize_with` both write and
/// read the field.
fn is_converted_by_its_type(field: &Field<'_>) -> bool {
    let serde = &field.serde;
    let written = serde.not_written.is_none() && !serde.written_by_other_code();
    let read = serde.not_read.is_none() && !serde.read_by_other_code();
    written || read
}

fn too_large(ty: TokenStream) -> Vec<Ident> {
    let mut found = Vec::new();
    for token in ty {
        match token {
            TokenTree::Group(group) => found.extend(too_large(group.stream())),
            TokenTree::Ident(word) if word == "u128" || word == "i128" => found.push(word),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}
