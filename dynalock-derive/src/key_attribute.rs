//! Implements `#[derive(KeyAttribute)]`: finds the key type (string, number or bytes) of a newtype
//! or of an enum without fields.
//!
//! At run time, serde writes the value of a key, so the key of an enum is the name that serde
//! writes for the variant.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Data, DataEnum, DataStruct, DeriveInput, Field, Fields, Generics, LitStr, Path, Type, parse_quote,
    spanned::Spanned as _,
};

use crate::{
    attr::StructAttrs,
    entry::{Value, entries},
    errors::Errors,
    expand::type_ident,
    serde,
    type_name::{has_name, is_byte_list},
};

enum Written {
    /// The key is the name of an enum variant.
    Text,
    /// The key is bytes, because serde writes the type by `serde_bytes`.
    Bytes,
    /// The key of the type is the key of another type: the type of the field, or the type in
    /// `#[serde(into = "..")]`.
    As(Box<Type>),
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let krate = StructAttrs::read_crate(&input.attrs, &mut errors);
    let written = written(input, &mut errors);
    match errors.finish(written) {
        Ok(written) => expand(input, &krate, &written),
        Err(error) => fallback(input, &krate, &error),
    }
}

fn written(input: &DeriveInput, errors: &mut Errors) -> Option<Written> {
    for word in words(&input.attrs, &["tag", "content", "untagged", "remote"]) {
        errors.at(
            &word,
            format_args!("a key cannot be `#[serde({word})]`: serde has to write one string, number or bytes"),
        );
    }
    if let Some(into) = text(&input.attrs, "into") {
        // If the text in `#[serde(into = "..")]` is not a type, serde itself reports an error.
        return into.parse().ok().map(Box::new).map(Written::As);
    }
    match &input.data {
        Data::Enum(data) => {
            unit_variants(input, data, errors);
            Some(Written::Text)
        }
        Data::Struct(data) => newtype(input, data, errors),
        Data::Union(data) => {
            errors.at(data.union_token, "a union cannot be a key: derive for a newtype, or for an enum without fields");
            None
        }
    }
}

fn unit_variants(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) {
    if data.variants.is_empty() {
        errors.at(&input.ident, "an enum without variants has no values: a key needs a variant");
    }
    if let Some(word) = two_rules(&input.attrs) {
        errors.at(word, "a key has one spelling: the same rule is needed for writing and reading");
    }
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(
                &variant.fields,
                "serde writes a variant with fields as a map or a list: a key is a variant without fields",
            );
        }
        let attrs = serde::SerdeFieldAttrs::read(&variant.attrs);
        for word in attrs.skips() {
            errors.at(word, "a variant of a key cannot be skipped: it could not be stored and read back");
        }
        for word in attrs.with.iter().cloned().chain(words(&variant.attrs, &["other", "untagged"])) {
            errors
                .at(&word, format_args!("a variant of a key cannot be `#[serde({word})]`: its name is the stored key"));
        }
        for alias in attrs.further_names() {
            errors.at(
                alias,
                "a variant of a key has one spelling: an item that is stored under an alias would not be found",
            );
        }
        let read = attrs.read.first().map(LitStr::value);
        if let (Some(word), true) = (&attrs.rename, attrs.written.as_ref().map(LitStr::value) != read) {
            errors.at(word, "a variant of a key has one spelling: the same name is needed for writing and reading");
        }
    }
}

fn newtype(input: &DeriveInput, data: &DataStruct, errors: &mut Errors) -> Option<Written> {
    let is_transparent = !words(&input.attrs, &["transparent"]).is_empty();
    let is_value = |field: &&Field| !is_transparent || !(is_phantom(&field.ty) || is_skipped(field));
    let problem = match &data.fields {
        Fields::Named(_) if !is_transparent => {
            "serde writes a struct with named fields as a map: use a tuple struct of one field, or add `#[serde(transparent)]`"
        }
        Fields::Unit => {
            errors.at(&input.ident, "a unit struct has no value: a key is a string, a number or bytes");
            return None;
        }
        fields => {
            let mut values = fields.iter().filter(is_value);
            if let (Some(field), None) = (values.next(), values.next()) {
                return of_field(field, errors);
            }
            "a key is one value: use one field, and `#[serde(transparent)]` beside a `PhantomData`"
        }
    };
    errors.at(&data.fields, problem);
    None
}

fn of_field(field: &Field, errors: &mut Errors) -> Option<Written> {
    for word in serde::SerdeFieldAttrs::read(&field.attrs).skips() {
        errors.at(word, "the value of a key cannot be skipped");
    }
    let with = text(&field.attrs, "with").or_else(|| text(&field.attrs, "serialize_with"));
    match with {
        Some(path) if names_serde_bytes(&path.value()) => Some(Written::Bytes),
        Some(path) => {
            let message = "the derive does not know what this code writes: use `serde_bytes`, or implement `KeyAttribute` by hand";
            errors.at(path, message);
            None
        }
        None if is_byte_list(&field.ty) => {
            let message = "serde writes this as a list of numbers, and a list cannot be a key: add `#[serde(with = \"serde_bytes\")]`";
            errors.at(&field.ty, message);
            None
        }
        None if is_byte_buffer(&field.ty) => Some(Written::Bytes),
        None => Some(Written::As(Box::new(field.ty.clone()))),
    }
}

fn expand(input: &DeriveInput, krate: &Path, written: &Written) -> TokenStream {
    let key_type = match written {
        Written::Text => quote!(#krate::private::KeyType::S),
        Written::Bytes => quote!(#krate::private::KeyType::B),
        Written::As(ty) => quote_spanned!(ty.span()=> <#ty as #krate::private::KeyAttribute>::TYPE),
    };
    let mut generics = input.generics.clone();
    if generics.type_params().next().is_some() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(parse_quote!(Self: #krate::private::Serialize));
        if let Written::As(ty) = written {
            predicates.push(parse_quote!(#ty: #krate::private::KeyAttribute));
        }
    }
    implementation(input, krate, &generics, &key_type, &quote!(#krate::private::key_value(self)))
}

fn fallback(input: &DeriveInput, krate: &Path, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    let key_type = quote!(#krate::private::KeyType::S);
    let implementation = implementation(input, krate, &input.generics, &key_type, &quote!(::core::unreachable!()));
    quote!(#error #implementation)
}

fn implementation(
    input: &DeriveInput,
    krate: &Path,
    generics: &Generics,
    key_type: &TokenStream,
    key_value: &TokenStream,
) -> TokenStream {
    let ident = type_ident(input);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::private::KeyAttribute for #ident #ty_generics #where_clause {
            const TYPE: #krate::private::KeyType = #key_type;

            fn to_key_value(&self) -> #krate::private::KeyValue {
                #key_value
            }
        }
    }
}

fn words(attributes: &[Attribute], known: &[&str]) -> Vec<Ident> {
    let entries = entries(attributes, "serde").flatten().flatten();
    entries.map(|entry| entry.key).filter(|key| known.contains(&&*key.to_string())).collect()
}

/// Returns the word `rename_all` if `#[serde(rename_all(..))]` has different rules for writing and
/// reading.
fn two_rules(attributes: &[Attribute]) -> Option<Ident> {
    let entries = entries(attributes, "serde").flatten().flatten();
    entries.filter(|entry| entry.key == "rename_all").find_map(|entry| match entry.value {
        Value::List(rules) => {
            let rule = |direction: &str| {
                rules.iter().find(|rule| rule.key == direction).and_then(|rule| match &rule.value {
                    Value::Text(rule) => Some(rule.value()),
                    _ => None,
                })
            };
            (rule("serialize") != rule("deserialize")).then_some(entry.key)
        }
        _ => None,
    })
}

fn text(attributes: &[Attribute], name: &str) -> Option<LitStr> {
    entries(attributes, "serde").flatten().flatten().find_map(|entry| match entry.value {
        Value::Text(text) if entry.key == name => Some(text),
        _ => None,
    })
}

fn names_serde_bytes(path: &str) -> bool {
    path.split("::").any(|segment| segment.trim() == "serde_bytes")
}

fn is_skipped(field: &Field) -> bool {
    serde::SerdeFieldAttrs::read(&field.attrs).not_written.is_some()
}

fn is_phantom(ty: &Type) -> bool {
    has_name(ty, &["PhantomData"])
}

/// Serde writes the types `ByteBuf` and `ByteArray` of the crate `serde_bytes` as bytes.
fn is_byte_buffer(ty: &Type) -> bool {
    has_name(ty, &["ByteBuf", "ByteArray"])
}
