//! Generates the attribute handles: the struct `OrderAttributes`, and the constant
//! `Order::ATTR` with one handle for each attribute.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{DeriveInput, ExprPath, LitStr, Path, Type, ext::IdentExt as _};

use crate::{
    check::{Default, Handle, Missing, Values},
    expand::{generated, generated_ident, type_ident},
};

/// `handles` must contain at least one handle.
pub(crate) fn expand(input: &DeriveInput, krate: &Path, handles: &[Handle<'_>]) -> TokenStream {
    let structure = structure(input, krate, handles);
    let copy = copy(input);
    let debug = debug(input, handles);
    let constant = constant(input, krate, handles);

    quote! {
        #structure
        #copy
        #debug
        #constant
    }
}

fn attributes_ident(input: &DeriveInput) -> Ident {
    let name = format!("{}Attributes", input.ident.unraw());
    Ident::new(&name, generated(input.ident.span()))
}

fn structure(input: &DeriveInput, krate: &Path, handles: &[Handle<'_>]) -> TokenStream {
    let ident = type_ident(input);
    let attributes = attributes_ident(input);
    let vis = &input.vis;
    let generics = &input.generics;
    let (_, ty_generics, where_clause) = generics.split_for_impl();
    let doc = format!("The handles of the attributes of a `{}`, for conditions and patches.", input.ident.unraw());
    let fields = handles.iter().map(|handle| {
        let field = field(handle);
        let values = values(handle, input, krate);
        let role = Ident::new(handle.role, generated(handle.attribute.ident.span()));
        let doc = format!("The attribute `{}`.", handle.attribute.name);
        quote! {
            #[doc = #doc]
            #vis #field: #krate::private::Attribute<#ident #ty_generics, #values, #krate::private::#role>
        }
    });

    // Lints have already checked the field types in the struct of the user. A program need not use
    // all generated handles.
    quote! {
        #[doc = #doc]
        #[allow(
            dead_code,
            deprecated,
            private_bounds,
            private_interfaces,
            unused_qualifications,
            clippy::disallowed_types,
            clippy::restriction
        )]
        #vis struct #attributes #generics #where_clause {
            #(#fields),*
        }
    }
}

/// Derived implementations would require that the type parameters of the struct implement `Clone`
/// and `Copy`.
fn copy(input: &DeriveInput) -> TokenStream {
    let attributes = attributes_ident(input);
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();

    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics ::core::clone::Clone for #attributes #ty_generics #where_clause {
            fn clone(&self) -> Self {
                *self
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics ::core::marker::Copy for #attributes #ty_generics #where_clause {}
    }
}

fn debug(input: &DeriveInput, handles: &[Handle<'_>]) -> TokenStream {
    let attributes = attributes_ident(input);
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let fields: Vec<Ident> = handles.iter().map(field).collect();
    let labels = fields.iter().map(|field| field.unraw().to_string());
    let name = attributes.to_string();

    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics ::core::fmt::Debug for #attributes #ty_generics #where_clause {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.debug_struct(#name)#(.field(#labels, &self.#fields))*.finish()
            }
        }
    }
}

fn constant(input: &DeriveInput, krate: &Path, handles: &[Handle<'_>]) -> TokenStream {
    let ident = type_ident(input);
    let attributes = attributes_ident(input);
    let vis = &input.vis;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let doc = format!("The handles of the attributes of a `{}`, for conditions and patches.", input.ident.unraw());
    let fields = handles.iter().map(field);
    let values = handles.iter().map(|handle| value(handle, input, krate));

    quote! {
        #[allow(dead_code, deprecated)]
        impl #impl_generics #ident #ty_generics #where_clause {
            #[doc = #doc]
            #vis const ATTR: #attributes #ty_generics = #attributes {
                #(#fields: #values),*
            };
        }
    }
}

fn field(handle: &Handle<'_>) -> Ident {
    generated_ident(handle.attribute.ident)
}

fn value(handle: &Handle<'_>, input: &DeriveInput, krate: &Path) -> TokenStream {
    let Handle { attribute, missing, aliases, .. } = handle;
    let name = &attribute.name;
    let missing = match missing {
        Missing::Refused if aliases.is_empty() => return quote!(#krate::private::attribute(#name)),
        Missing::Refused => quote!(Refused),
        Missing::Empty => quote!(Empty),
        Missing::Default(default) => {
            let function = default_function(default, handle, input);
            quote!(Default(#function))
        }
    };
    quote!(#krate::private::attribute_with(#name, &[#(#aliases),*], #krate::private::Missing::#missing))
}

fn default_function(default: &Default<'_>, handle: &Handle<'_>, input: &DeriveInput) -> TokenStream {
    let field = field(handle);
    match default {
        Default::FieldType(ty) => {
            let ty = outside(ty, input);
            quote!(<#ty as ::core::default::Default>::default)
        }
        Default::Function(path) => function(path),
        Default::Struct => quote!(|| <Self as ::core::default::Default>::default().#field),
        Default::StructFunction(path) => {
            let function = function(path);
            quote!(|| {
                let value: Self = #function();
                value.#field
            })
        }
    }
}

/// If the string is not a path, `function` returns no tokens, because serde itself reports an
/// error.
fn function(path: &LitStr) -> TokenStream {
    path.parse::<ExprPath>().map(|path| path.to_token_stream()).unwrap_or_default()
}

fn values(handle: &Handle<'_>, input: &DeriveInput, krate: &Path) -> TokenStream {
    match handle.values {
        Values::Typed => outside(handle.attribute.ty, input),
        Values::Opaque => quote!(#krate::private::Opaque),
        Values::Set(name) => {
            let name = Ident::new(name, generated(handle.attribute.ident.span()));
            let ty = outside(handle.attribute.ty, input);
            quote!(#krate::private::#name<#ty>)
        }
    }
}

/// In generated code outside of the struct, the name of the struct replaces `Self` in the type of a
/// field.
pub(crate) fn outside(ty: &Type, input: &DeriveInput) -> TokenStream {
    let ident = type_ident(input);
    let (_, ty_generics, _) = input.generics.split_for_impl();
    without_self(ty.to_token_stream(), &quote!(#ident #ty_generics))
}

fn without_self(tokens: TokenStream, name: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(word) if word == "Self" => name.clone(),
            TokenTree::Group(group) => {
                let mut renamed = Group::new(group.delimiter(), without_self(group.stream(), name));
                renamed.set_span(group.span());
                TokenTree::Group(renamed).into()
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => token.into(),
        })
        .collect()
}
