//! The syntax of a Rust attribute like `#[dynalock(..)]`: a list of entries, separated by commas.
//! An entry of a Rust attribute has the form `key`, `key = value` or `key(entries)`.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::{
    Attribute, Lit, LitInt, LitStr, Meta, Token,
    ext::IdentExt as _,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    token::Paren,
};

pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    /// `key`
    Absent,
    /// `key = ".."`
    Text(LitStr),
    /// `key = 8`
    Number(LitInt),
    /// `key(..)`
    List(Vec<Entry>),
    /// `key = 1.5`
    Other(TokenStream),
}

pub(crate) fn entries<'a>(
    attributes: &'a [Attribute],
    name: &'a str,
) -> impl Iterator<Item = syn::Result<Vec<Entry>>> + 'a {
    attributes.iter().filter(move |attribute| attribute.path().is_ident(name)).map(move |attribute| {
        match &attribute.meta {
            Meta::List(list) => list.parse_args_with(|input: ParseStream<'_>| match lone_text(input) {
                Some(text) => Err(syn::Error::new(text.span(), advice(name, &text))),
                None => parse_entries(input),
            }),
            Meta::Path(_) | Meta::NameValue(_) => {
                Err(syn::Error::new_spanned(&attribute.meta, format_args!("expected `#[{name}(..)]`")))
            }
        }
    })
}

/// Returns the string at the start of a Rust attribute's content, where the syntax requires a key.
fn lone_text(input: ParseStream<'_>) -> Option<LitStr> {
    input.fork().parse().ok()
}

fn advice(name: &str, text: &LitStr) -> String {
    let text = text.token();
    match name {
        "dynalock" => format!("expected a key before the value: the table's name is `table = {text}`, on the struct"),
        "lockable" => format!("expected a key before the value: the time of a lease is `ttl = {text}`"),
        _ => format!("expected a key before the value: `key = {text}`"),
    }
}

fn parse_entries(input: ParseStream<'_>) -> syn::Result<Vec<Entry>> {
    let entries = Punctuated::<Entry, Token![,]>::parse_terminated(input)?;
    Ok(entries.into_iter().collect())
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.call(Ident::parse_any)?;
        let value = if input.peek(Paren) {
            Value::in_parentheses(&input.parse()?)
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::after_equals(input)?
        } else {
            Value::Absent
        };
        Ok(Self { key, value })
    }
}

impl Value {
    fn in_parentheses(group: &Group) -> Self {
        match syn::parse::Parser::parse2(parse_entries, group.stream()) {
            Ok(entries) => Self::List(entries),
            Err(_) => Self::Other(group.stream()),
        }
    }

    fn after_equals(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut tokens = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
        if tokens.is_empty() {
            return Err(input.error("expected a value"));
        }
        Ok(match syn::parse2::<Lit>(tokens.clone()) {
            Ok(Lit::Str(text)) => Self::Text(text),
            Ok(Lit::Int(number)) => Self::Number(number),
            _ => Self::Other(tokens),
        })
    }
}
