//! Generates the code of `#[derive(Versioned)]`. The code generation cannot fail, because the
//! module `check` has already found all errors.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Path, WhereClause, ext::IdentExt as _, parse_quote, spanned::Spanned as _};

use crate::{
    attr::TimeUnit,
    check::{Attribute, Item, Lock, Place, Time, Times, Version},
    handles, indexes,
};

pub(crate) fn expand(item: &Item<'_>) -> TokenStream {
    let versioned = versioned(item);
    let key = key(item);
    let conversions = conversions(item);
    let lockable = lockable(item);
    let ranges = ranges(item);
    let constructor = constructor(item);
    let handles = handles::expand(item.input, &item.krate, &item.handles);
    let indexes = indexes::expand(item);

    quote! {
        #versioned
        #lockable
        #key
        #conversions
        #ranges
        #constructor
        #handles
        #indexes
    }
}

pub(crate) fn key_ident(input: &DeriveInput, named: Option<&Ident>) -> Ident {
    match named {
        Some(named) => generated_ident(named),
        None => Ident::new(&format!("{}Key", input.ident.unraw()), generated(input.ident.span())),
    }
}

fn key_of(item: &Item<'_>) -> Ident {
    key_ident(item.input, item.key_type.as_ref())
}

/// Returns the name of the struct for generated code, with a span that disables the lints of the
/// user's crate.
pub(crate) fn type_ident(input: &DeriveInput) -> Ident {
    generated_ident(&input.ident)
}

pub(crate) fn generated_ident(word: &Ident) -> Ident {
    let mut ident = word.clone();
    ident.set_span(generated(ident.span()));
    ident
}

pub(crate) fn generated(place: Span) -> Span {
    Span::call_site().located_at(place)
}

fn versioned(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let key = key_of(item);
    let (impl_generics, ty_generics, _) = item.input.generics.split_for_impl();
    let where_clause = where_clause(item.input, &supertraits(krate));
    let model = model(item);
    let key_values = key_values(item, &quote!(self));
    let mirror = mirror(item);
    let mirror_times = mirror_times(item);

    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::private::Versioned for #ident #ty_generics #where_clause {
            type Key = #key;

            const MODEL: &'static #krate::private::Model = &#model;

            fn key(&self) -> #krate::private::Key {
                #krate::private::Key::new(#key_values)
            }

            fn typed_key(key: #krate::private::Key) -> #key {
                #key(key)
            }

            #mirror

            #mirror_times
        }
    }
}

fn model(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let Item { table, write_ids, attributes, flattens, show_key, .. } = item;
    let partition_key = key_model(krate, &item.partition_key);
    let sort_key = optional(item.sort_key.as_ref().map(|key| key_model(krate, key)));
    let version = item.version.name();
    let version_is_field = matches!(item.version, Version::Field(_));
    let lock = optional(item.lock.as_ref().map(|of| lock(krate, of)));
    let indexes = indexes::models(item);
    let times = times(item);
    let aliases = item.aliases.iter().map(
        |(attribute, aliases)| quote!(#krate::private::Aliases { attribute: #attribute, aliases: &[#(#aliases),*] }),
    );

    quote! {
        #krate::private::Model {
            table: #table,
            partition_key: #partition_key,
            sort_key: #sort_key,
            version: #version,
            version_is_field: #version_is_field,
            times: #times,
            write_ids: #write_ids,
            attributes: &[#(#attributes),*],
            show_key: #show_key,
            aliases: &[#(#aliases),*],
            flattens: #flattens,
            lock: #lock,
            indexes: #indexes,
        }
    }
}

fn times(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let kept = |Time { field, unit }: &Time<'_>| {
        let unit = match unit {
            TimeUnit::Seconds => quote!(Seconds),
            TimeUnit::Milliseconds => quote!(Milliseconds),
        };
        time_model(krate, field, &quote!(#krate::private::TimeUnit::#unit))
    };
    let expiring = |field: &Attribute<'_>| {
        let ty = field.ty;
        time_model(krate, field, &quote_spanned!(ty.span()=> <#ty as #krate::private::ExpiresField>::UNIT))
    };
    let Times { created_at, updated_at, expires } = &item.times;
    let created_at = optional(created_at.as_ref().map(kept));
    let updated_at = optional(updated_at.as_ref().map(kept));
    let expires = optional(expires.as_ref().map(expiring));
    quote!(#krate::private::TimesModel { created_at: #created_at, updated_at: #updated_at, expires: #expires })
}

fn time_model(krate: &Path, Attribute { name, .. }: &Attribute<'_>, unit: &TokenStream) -> TokenStream {
    quote!(#krate::private::TimeModel { name: #name, unit: #unit })
}

fn lock(krate: &Path, lock: &Lock) -> TokenStream {
    let Lock { ttl, names, seconds, place } = lock;
    let place = match place {
        Place::Item => quote!(Item),
        Place::Separate(_) => quote!(Separate),
    };
    let ttl = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    let unit = if *seconds { quote!(Seconds) } else { quote!(Milliseconds) };
    let [owner, fence, beat, until, released, crashed, queue, turn] = names;
    quote! {
        #krate::private::LockModel {
            owner: #owner,
            fence: #fence,
            beat: #beat,
            until: #until,
            released: #released,
            crashed: #crashed,
            queue: #queue,
            turn: #turn,
            unit: #krate::private::TimeUnit::#unit,
            ttl: ::core::time::Duration::from_millis(#ttl),
            place: #krate::private::LockPlace::#place,
        }
    }
}

fn lockable(item: &Item<'_>) -> Option<TokenStream> {
    let lock = item.lock.as_ref()?;
    let krate = &item.krate;
    let last = item.sort_key.as_ref().unwrap_or(&item.partition_key).ty;
    let key_type = quote_spanned!(last.span()=> <#last as #krate::private::KeyAttribute>::TYPE);
    let takes_suffix = match &lock.place {
        Place::Item => None,
        // All tokens of the call to `takes_suffix` have the span of the word `separate`, so that
        // the compiler shows an error at the word `separate`.
        Place::Separate(word) => Some(quote_spanned! {generated(word.span())=>
            const _: () = {
                use #krate::private::takes_suffix;
                takes_suffix(#key_type)
            };
        }),
    };
    let ident = type_ident(item.input);
    let (impl_generics, ty_generics, _) = item.input.generics.split_for_impl();
    let where_clause = where_clause(item.input, &supertraits(krate));
    Some(quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::private::Lockable for #ident #ty_generics #where_clause {}

        #takes_suffix
    })
}

fn key_model(krate: &Path, Attribute { ty, name, .. }: &Attribute<'_>) -> TokenStream {
    let key_type = quote_spanned!(ty.span()=> <#ty as #krate::private::KeyAttribute>::TYPE);
    quote!(#krate::private::KeyModel { name: #name, key_type: #key_type })
}

fn key_values(item: &Item<'_>, value: &TokenStream) -> TokenStream {
    let krate = &item.krate;
    let key_value = |Attribute { ident, ty, .. }: &Attribute<'_>| {
        quote_spanned! {ty.span()=>
            <#ty as #krate::private::KeyAttribute>::to_key_value(&#value.#ident)
        }
    };
    let partition_key = key_value(&item.partition_key);
    let sort_key = optional(item.sort_key.as_ref().map(key_value));
    quote!(#partition_key, #sort_key)
}

fn mirror(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    match &item.version {
        Version::Field(Attribute { ident, ty, .. }) => {
            // The words `self` and `version` have the span of the macro call. With the span of the
            // type, a type from a `macro_rules!` could not refer to the parameters of the method.
            let (field, version) = (quote!(self.#ident), quote!(version));
            let mirror = quote_spanned! {ty.span()=>
                <#ty as #krate::private::VersionField>::mirror(&mut #field, #version)
            };
            quote! {
                fn mirror_version(&mut self, version: ::core::primitive::u64) {
                    #mirror;
                }
            }
        }
        Version::Attribute(_) => quote! {
            fn mirror_version(&mut self, _version: ::core::primitive::u64) {}
        },
    }
}

fn mirror_times(item: &Item<'_>) -> Option<TokenStream> {
    let krate = &item.krate;
    let Times { created_at, updated_at, .. } = &item.times;
    let mirror = |time: &Time<'_>, word: &str| {
        let Attribute { ident, ty, .. } = time.field;
        let stored = Ident::new(word, Span::call_site());
        // As in `mirror`, the words `self` and `times` have the span of the macro call.
        let (field, stored) = (quote!(self.#ident), quote!(times.#stored));
        quote_spanned! {ty.span()=>
            <#ty as #krate::private::KeptTimeField>::mirror(&mut #field, #stored);
        }
    };
    let created_at = created_at.as_ref().map(|time| mirror(time, "created_at"));
    let updated_at = updated_at.as_ref().map(|time| mirror(time, "updated_at"));
    if created_at.is_none() && updated_at.is_none() {
        return None;
    }
    Some(quote! {
        fn mirror_times(&mut self, times: #krate::private::KeptTimes) {
            #created_at
            #updated_at
        }
    })
}

fn key(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let key = key_of(item);
    let vis = &item.input.vis;
    let doc = format!("The key of one `{}`.", item.input.ident.unraw());

    quote! {
        #[doc = #doc]
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            ::core::cmp::PartialEq,
            ::core::cmp::Eq,
            ::core::hash::Hash,
        )]
        #vis struct #key(#krate::private::Key);

        #[automatically_derived]
        impl ::core::convert::From<#key> for #krate::private::Key {
            fn from(key: #key) -> Self {
                key.0
            }
        }
    }
}

fn conversions(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let key = key_of(item);
    let (impl_generics, ty_generics, where_clause) = item.input.generics.split_for_impl();
    let key_values = key_values(item, &quote!(value));
    let plain = plain_conversion(item);

    quote! {
        #plain

        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics ::core::convert::From<&#ident #ty_generics> for #key #where_clause {
            fn from(value: &#ident #ty_generics) -> Self {
                Self(#krate::private::Key::new(#key_values))
            }
        }
    }
}

/// Returns the conversions from the types of the key fields into the key type.
fn plain_conversion(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let key = key_of(item);
    let partition = item.partition_key.ty;
    match &item.sort_key {
        None => quote! {
            #[automatically_derived]
            impl<__Partition> ::core::convert::From<__Partition> for #key
            where
                __Partition: #krate::private::AsKey<#partition>,
            {
                fn from(partition: __Partition) -> Self {
                    let partition = #krate::private::AsKey::<#partition>::as_key(&partition);
                    Self(#krate::private::Key::new(partition, ::core::option::Option::None))
                }
            }
        },
        Some(Attribute { ty: sort, .. }) => quote! {
            #[automatically_derived]
            impl<__Partition, __Sort> ::core::convert::From<(__Partition, __Sort)> for #key
            where
                __Partition: #krate::private::AsKey<#partition>,
                __Sort: #krate::private::AsKey<#sort>,
            {
                fn from((partition, sort): (__Partition, __Sort)) -> Self {
                    let partition = #krate::private::AsKey::<#partition>::as_key(&partition);
                    let sort = #krate::private::AsKey::<#sort>::as_key(&sort);
                    Self(#krate::private::Key::new(partition, ::core::option::Option::Some(sort)))
                }
            }
        },
    }
}

fn ranges(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let (_, ty_generics, _) = item.input.generics.split_for_impl();
    let where_clause = where_clause(item.input, &quote!(#krate::private::Versioned));
    let generics = |params: &[GenericParam]| {
        let mut generics = item.input.generics.clone();
        generics.params.extend(params.iter().cloned());
        generics.where_clause.clone_from(&where_clause);
        generics
    };
    let partition = item.partition_key.ty;
    let of_partition = generics(&[parse_quote!(__Partition: #krate::private::AsKey<#partition>)]);
    let (impl_generics, _, where_clause) = of_partition.split_for_impl();
    let partitioned = quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::private::Partitioned<__Partition> for #ident #ty_generics #where_clause {
            fn partition(value: __Partition) -> #krate::private::KeyValue {
                #krate::private::AsKey::<#partition>::as_key(&value)
            }
        }
    };
    let sorted = item.sort_key.as_ref().map(|Attribute { ty: sort, .. }| {
        let of_range =
            generics(&[parse_quote!(__Range: #krate::private::SortRange<#sort, __Mark>), parse_quote!(__Mark)]);
        let (impl_generics, _, where_clause) = of_range.split_for_impl();
        quote! {
            #[automatically_derived]
            #[allow(deprecated)]
            impl #impl_generics #krate::private::Sorted<__Range, __Mark> for #ident #ty_generics #where_clause {
                fn bounds(range: __Range) -> #krate::private::SortBounds {
                    #krate::private::SortRange::<#sort, __Mark>::into_bounds(range)
                }
            }
        }
    });
    quote!(#partitioned #sorted)
}

fn constructor(item: &Item<'_>) -> TokenStream {
    let krate = &item.krate;
    let ident = type_ident(item.input);
    let vis = &item.input.vis;
    let (impl_generics, ty_generics, _) = item.input.generics.split_for_impl();
    let where_clause = where_clause(item.input, &quote!(#krate::private::Versioned));
    let doc = format!(
        "Returns a repository of `{}` items, for the table `{}` unless the program sets another table.",
        item.input.ident.unraw(),
        item.table,
    );

    // A program need not use the constructor, but the compiler would report the unused constructor
    // of a struct from a `macro_rules!`.
    quote! {
        #[allow(dead_code)]
        impl #impl_generics #ident #ty_generics #where_clause {
            #[doc = #doc]
            #[must_use]
            #vis fn repository(client: &#krate::private::Client) -> #krate::private::Repository<Self> {
                #krate::private::Repository::new(client)
            }
        }
    }
}

pub(crate) fn supertraits(krate: &Path) -> TokenStream {
    quote! {
        #krate::private::Serialize
            + #krate::private::DeserializeOwned
            + ::core::marker::Send
            + ::core::marker::Sync
            + 'static
    }
}

/// If the struct has type parameters or const parameters, `where_clause` adds the condition that
/// the struct implements the traits in `bounds`.
pub(crate) fn where_clause(input: &DeriveInput, bounds: &TokenStream) -> Option<WhereClause> {
    let mut generics = input.generics.clone();
    let has_parameters = generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
    if has_parameters {
        generics.make_where_clause().predicates.push(parse_quote!(Self: #bounds));
    }
    generics.where_clause
}

pub(crate) fn optional(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(|| quote!(::core::option::Option::None), |value| quote!(::core::option::Option::Some(#value)))
}
