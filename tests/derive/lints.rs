//! The generated code causes no warnings, even if the user enables all lints.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes,
    unused,
    nonstandard_style,
    let_underscore,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::missing_docs_in_private_items,
    clippy::missing_inline_in_public_items,
    clippy::exhaustive_structs,
    clippy::absolute_paths,
    clippy::implicit_return,
    clippy::single_char_lifetime_names,
    clippy::min_ident_chars,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::multiple_inherent_impl,
    clippy::impl_trait_in_params,
    clippy::same_name_method,
    clippy::shadow_reuse,
    clippy::unwrap_used
)]
use dynalock::{KeyAttribute, Versioned};
use serde::{Deserialize, Serialize};

/// A key of its own type.
#[derive(Debug, Serialize, Deserialize, KeyAttribute)]
struct Number(u64);

/// A key by name, one of which is on its way out.
#[derive(Debug, Serialize, Deserialize, KeyAttribute)]
enum Part {
    /// The first.
    First,
    /// The last.
    #[deprecated]
    Last,
}

/// Used for its key alone.
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", index(name = "byNumber", partition_key = "number", sort_key = "customer"))]
struct Order {
    /// Who.
    #[dynalock(partition_key)]
    customer: Box<str>,
    /// Which.
    #[dynalock(sort_key)]
    number: Number,
    /// How often.
    #[dynalock(version)]
    version: u64,
}

/// Made by a macro, whose words are the user's.
macro_rules! made {
    ($name:ident) => {
        /// Made.
        #[derive(Debug, Serialize, Deserialize, Versioned)]
        #[dynalock(table = "made")]
        struct $name {
            /// Who.
            #[dynalock(partition_key)]
            customer: String,
        }
    };
}

made!(Made);

/// Neither its key nor its repository is named anywhere.
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "unused", index(name = "by_part", partition_key = "part"))]
struct Unused {
    /// Who.
    #[dynalock(partition_key)]
    customer: String,
    /// Which.
    #[dynalock(sort_key)]
    part: Part,
}

/// With everything that may be unused.
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "generic", crate = "::dynalock", index(name = "by_place", local, sort_key = "place"))]
struct Generic<Payload> {
    /// Who.
    #[dynalock(partition_key)]
    customer: String,
    /// Which.
    #[dynalock(sort_key)]
    number: u64,
    /// Where.
    place: String,
    /// What.
    payload: Payload,
}

/// On its way out, with its fields.
#[deprecated = "use `Order`"]
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "old-orders", index(name = "by_place", partition_key = "place"))]
struct Old {
    /// Where.
    #[deprecated]
    place: String,
    /// Who.
    #[deprecated]
    #[dynalock(partition_key)]
    customer: String,
    /// How often.
    #[deprecated]
    #[dynalock(version)]
    version: u64,
}

/// A type that is not as public as the structs around it.
mod stock {
    use dynalock::{KeyAttribute, Versioned};
    use serde::{Deserialize, Serialize};

    /// Not for others.
    #[derive(Debug, Clone, Serialize, Deserialize, KeyAttribute)]
    struct Place(String);

    /// Public, the types of its keys are not.
    #[derive(Debug, Serialize, Deserialize, Versioned)]
    #[dynalock(table = "places", index(name = "by_next", partition_key = "next", sort_key = "row"))]
    pub struct Shelf {
        /// Where.
        #[dynalock(partition_key)]
        hall: Place,
        /// Which.
        #[dynalock(sort_key)]
        row: Place,
        /// The next one.
        next: Place,
    }

    /// Not for others.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Count(u64);

    /// Public, its fields are not.
    #[derive(Debug, Serialize, Deserialize, Versioned)]
    #[expect(non_snake_case, unused_qualifications, reason = "as another program has it")]
    #[expect(clippy::absolute_paths, clippy::option_option, reason = "as another program has it")]
    #[dynalock(table = "stock")]
    pub(super) struct Stock {
        /// Which.
        #[dynalock(partition_key)]
        sku: String,
        /// How many.
        count: Count,
        /// By place.
        #[serde(with = "serde_dynamo::string_set")]
        byPlace: Vec<String>,
        /// When.
        when: std::vec::Vec<std::option::Option<Option<::std::ffi::os_str::OsString>>>,
    }
}

#[test]
fn generated_code_compiles_without_a_warning() {
    let order = Order { customer: "alice".into(), number: Number(1), version: 1 };
    assert_eq!(order.key(), OrderKey::from(&order).into());
    assert_eq!((Unused::MODEL.table, Generic::<u8>::MODEL.table), ("unused", "generic"));
}
