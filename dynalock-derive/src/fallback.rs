//! Generates code after an error of `#[derive(Versioned)]`, so that uses of the struct cause no
//! further errors.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Path};

use crate::{
    attr::StructAttrs,
    check::Handle,
    errors::Errors,
    expand::{key_ident, supertraits, type_ident, where_clause},
    handles,
    lockable::Lockable,
    model::Struct,
    serde,
};

/// The plain number types that the generated key type accepts by value.
const PLAIN: [&str; 10] = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];

pub(crate) fn expand(input: &DeriveInput, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    // `derive` has already reported the errors in `#[dynalock(..)]`, so `expand` ignores the
    // errors.
    let attrs = StructAttrs::read(&input.attrs, &mut Errors::default());
    let krate = attrs.krate();
    let ident = key_ident(input, attrs.key_type.as_ref());
    let key = key(input, &krate, &ident);
    let handles = handles(input, &krate);
    let item = can_be_owned_and_serde(input).then(|| {
        let versioned = versioned(input, &krate, &ident);
        let constructor = constructor(input, &krate);
        let lockable = lockable(input, &krate);
        quote!(#versioned #constructor #lockable)
    });

    quote! {
        #error
        #key
        #handles
        #item
    }
}

fn handles(input: &DeriveInput, krate: &Path) -> Option<TokenStream> {
    let model = Struct::read(input, &mut Errors::default())?;
    let handles = Handle::all(&model);
    (!handles.is_empty()).then(|| handles::expand(input, krate, &handles))
}

/// For a type without the traits of serde, an implementation of `Versioned` would cause a second
/// error.
fn can_be_owned_and_serde(input: &DeriveInput) -> bool {
    let without_impl = |word: &Ident| word == "remote" || word == "untagged";
    let union = matches!(input.data, Data::Union(_));
    let borrows = input.generics.lifetimes().next().is_some();
    !union && !borrows && !serde::SerdeStructAttrs::read(&input.attrs).refused.iter().any(without_impl)
}

/// The key type has several `From` implementations, because a single implementation for all types
/// would overlap with `From<T> for T`.
fn key(input: &DeriveInput, krate: &Path, key: &Ident) -> TokenStream {
    let vis = &input.vis;
    let plain = PLAIN.map(|name| format_ident!("{name}"));

    quote! {
        #[doc(hidden)]
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            ::core::cmp::PartialEq,
            ::core::cmp::Eq,
            ::core::hash::Hash,
        )]
        #vis struct #key;

        #[automatically_derived]
        impl ::core::convert::From<#key> for #krate::private::Key {
            fn from(_: #key) -> Self {
                ::core::unreachable!()
            }
        }

        #[automatically_derived]
        impl<__T: ?::core::marker::Sized> ::core::convert::From<&__T> for #key {
            fn from(_: &__T) -> Self {
                ::core::unreachable!()
            }
        }

        #[automatically_derived]
        impl<__Partition, __Sort> ::core::convert::From<(__Partition, __Sort)> for #key {
            fn from(_: (__Partition, __Sort)) -> Self {
                ::core::unreachable!()
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<::std::string::String> for #key {
            fn from(_: ::std::string::String) -> Self {
                ::core::unreachable!()
            }
        }

        #(
            #[automatically_derived]
            impl ::core::convert::From<::core::primitive::#plain> for #key {
                fn from(_: ::core::primitive::#plain) -> Self {
                    ::core::unreachable!()
                }
            }
        )*
    }
}

fn versioned(input: &DeriveInput, krate: &Path, key: &Ident) -> TokenStream {
    let ident = type_ident(input);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let where_clause = where_clause(input, &supertraits(krate));

    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::private::Versioned for #ident #ty_generics #where_clause {
            type Key = #key;

            const MODEL: &'static #krate::private::Model = &#krate::private::Model {
                table: "",
                partition_key: #krate::private::KeyModel {
                    name: "",
                    key_type: <::std::string::String as #krate::private::KeyAttribute>::TYPE,
                },
                sort_key: ::core::option::Option::None,
                version: "",
                version_is_field: false,
                times: #krate::private::TimesModel::NONE,
                write_ids: 16,
                attributes: &[],
                show_key: false,
                aliases: &[],
                flattens: false,
                lock: ::core::option::Option::None,
                indexes: &[],
            };

            fn key(&self) -> #krate::private::Key {
                ::core::unreachable!()
            }

            fn typed_key(_: #krate::private::Key) -> #key {
                ::core::unreachable!()
            }

            fn mirror_version(&mut self, _: ::core::primitive::u64) {}
        }
    }
}

fn lockable(input: &DeriveInput, krate: &Path) -> Option<TokenStream> {
    let is_lockable = Lockable::read(&input.attrs, &mut Errors::default()).is_some();
    let ident = type_ident(input);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let where_clause = where_clause(input, &supertraits(krate));
    is_lockable.then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::private::Lockable for #ident #ty_generics #where_clause {}
        }
    })
}

fn constructor(input: &DeriveInput, krate: &Path) -> TokenStream {
    let ident = type_ident(input);
    let vis = &input.vis;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let where_clause = where_clause(input, &quote!(#krate::private::Versioned));

    quote! {
        impl #impl_generics #ident #ty_generics #where_clause {
            #[doc(hidden)]
            #vis fn repository(_: &#krate::private::Client) -> #krate::private::Repository<Self> {
                ::core::unreachable!()
            }
        }
    }
}
