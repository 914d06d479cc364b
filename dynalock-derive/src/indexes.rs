//! Generates the handles of indexes: the struct `OrderIndexes`, and the constant `Order::INDEX`
//! with one handle for each index.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, ext::IdentExt as _, spanned::Spanned as _};

use crate::{
    check::{Attribute, Holds, Index, Item},
    expand::{generated, optional, type_ident, where_clause},
    handles::outside,
};

pub(crate) fn expand(item: &Item<'_>) -> Option<TokenStream> {
    (!item.indexes.is_empty()).then(|| {
        let structure = structure(item);
        let constant = constant(item);
        quote!(#structure #constant)
    })
}

pub(crate) fn models(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let models = item.indexes.iter().map(|index| {
        let Index { name, is_local, .. } = index;
        let scope = if *is_local { quote!(Local) } else { quote!(Global) };
        let partition_key = key_model(krate, &index.partition_key);
        let sort_key = optional(index.sort_key.as_ref().map(|key| key_model(krate, key)));
        let projection = match &index.holds {
            Holds::All => quote!(All),
            Holds::KeysOnly => quote!(KeysOnly),
            Holds::Include(names) => quote!(Include(&[#(#names),*])),
        };
        quote! {
            #krate::private::IndexModel {
                name: #name,
                scope: #krate::private::IndexScope::#scope,
                partition_key: #partition_key,
                sort_key: #sort_key,
                projection: #krate::private::Projection::#projection,
            }
        }
    });
    quote!(&[#(#models),*])
}

fn key_model(krate: &Path, Attribute { ty, name, .. }: &Attribute<'_>) -> TokenStream {
    let key_type = quote_spanned! {ty.span()=>
        <<#ty as #krate::private::IndexAttribute>::Key as #krate::private::KeyAttribute>::TYPE
    };
    quote!(#krate::private::KeyModel { name: #name, key_type: #key_type })
}

fn indexes_ident(item: &Item<'_>) -> Ident {
    let name = format!("{}Indexes", item.input.ident.unraw());
    Ident::new(&name, generated(item.input.ident.span()))
}

fn structure(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let indexes = indexes_ident(item);
    let vis = &item.input.vis;
    let generics = &item.input.generics;
    let (_, ty_generics, where_clause) = generics.split_for_impl();
    let doc = format!("The handles of the indexes of the table of `{}`, for queries.", item.input.ident.unraw());
    let fields = item.indexes.iter().map(|index| {
        let Index { handle, name, is_local, .. } = index;
        let kind = if *is_local { quote!(InLocalIndex) } else { quote!(InGlobalIndex) };
        let partition = outside(index.partition_key.ty, item.input);
        let sort = index.sort_key.as_ref();
        let sort = sort.map_or_else(|| quote!(#krate::private::NoSortKey), |key| outside(key.ty, item.input));
        let content = match &index.holds {
            Holds::All => quote!(WholeItems),
            Holds::KeysOnly | Holds::Include(_) => quote!(KeysAlone),
        };
        let doc = format!("The index `{name}`.");
        quote! {
            #[doc = #doc]
            #vis #handle: #krate::private::Index<
                #ident #ty_generics,
                #partition,
                #krate::private::#kind<#sort, #krate::private::#content>
            >
        }
    });

    quote! {
        #[doc = #doc]
        #[allow(
            dead_code,
            deprecated,
            non_snake_case,
            private_bounds,
            private_interfaces,
            unused_qualifications,
            clippy::disallowed_types,
            clippy::restriction
        )]
        #[derive(::core::fmt::Debug)]
        #vis struct #indexes #generics #where_clause {
            #(#fields),*
        }
    }
}

fn constant(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let indexes = indexes_ident(item);
    let vis = &item.input.vis;
    let (impl_generics, ty_generics, _) = item.input.generics.split_for_impl();
    let where_clause = where_clause(item.input, &quote!(#krate::private::Versioned));
    let doc = format!("The handles of the indexes of the table of `{}`, for queries.", item.input.ident.unraw());
    let handles = item.indexes.iter().map(|index| &index.handle);
    let places = 0..item.indexes.len();

    quote! {
        #[allow(dead_code, deprecated)]
        impl #impl_generics #ident #ty_generics #where_clause {
            #[doc = #doc]
            #vis const INDEX: #indexes #ty_generics = #indexes {
                #(#handles: #krate::private::index(<Self as #krate::private::Versioned>::MODEL, #places)),*
            };
        }
    }
}
