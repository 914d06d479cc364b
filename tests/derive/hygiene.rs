//! The generated code does not depend on the meaning of the names around a struct.

mod without_a_prelude {
    #![no_implicit_prelude]

    #[derive(::serde::Serialize, ::serde::Deserialize, ::dynalock::KeyAttribute)]
    pub(super) struct Number(pub(super) u64);

    #[derive(::serde::Serialize, ::serde::Deserialize, ::dynalock::Versioned)]
    #[dynalock(table = "bare", index(name = "by_y", partition_key = "y", sort_key = "number"))]
    pub(super) struct Bare {
        #[dynalock(partition_key)]
        pub(super) id: ::std::string::String,
        #[dynalock(sort_key)]
        pub(super) number: Number,
        #[dynalock(version)]
        pub(super) version: u64,
        #[serde(alias = "x")]
        pub(super) y: u64,
    }
}

mod shadowed {
    #![allow(non_camel_case_types, dead_code, reason = "they only stand in the way")]

    use ::serde::{Deserialize, Serialize};

    struct Result;
    struct String;
    struct Option;
    struct Some;
    struct None;
    struct Vec;
    struct Box;
    struct Key;
    struct Model;
    struct Client;
    struct Repository;
    struct dynalock;
    trait From {}
    trait Into {}
    struct KeyType;
    struct KeyValue;
    trait Clone {}
    trait Send {}
    trait Sync {}
    trait Sized {}
    trait Versioned {}
    trait KeyAttribute {}
    trait AsKey {}
    mod core {}
    mod std {}

    #[derive(Serialize, Deserialize, ::dynalock::KeyAttribute)]
    pub(super) enum Name {
        Some,
    }

    #[derive(Serialize, Deserialize, ::dynalock::Versioned)]
    #[dynalock(table = "shadowed", index(name = "by_type", partition_key = "type", sort_key = "key", keys_only))]
    pub(super) struct Shadowed {
        #[dynalock(partition_key)]
        pub(super) client: Name,
        #[dynalock(sort_key)]
        pub(super) key: i64,
        #[dynalock(version)]
        pub(super) version: ::std::primitive::u64,
        pub(super) value: u8,
        pub(super) partition: u8,
        pub(super) sort: u8,
        pub(super) repository: u8,
        pub(super) r#type: u8,
        pub(super) r#move: u8,
    }
}

mod beside_others {
    use dynalock::Versioned;
    use serde::{Deserialize, Serialize};

    /// Two structs in one scope. The name of one struct contains the name of the other.
    #[derive(Serialize, Deserialize, Versioned)]
    #[dynalock(table = "orders")]
    pub(super) struct Order {
        #[dynalock(partition_key)]
        pub(super) id: String,
    }

    #[derive(Serialize, Deserialize, Versioned)]
    #[dynalock(table = "order-lines")]
    pub(super) struct OrderLine {
        #[dynalock(partition_key)]
        pub(super) id: String,
    }

    /// A trait with a method of the same name is in scope.
    pub(super) trait Keyed {
        fn key(&self) -> &'static str {
            "another"
        }
    }

    impl Keyed for Order {}
}

/// Items and keys whose types and attributes are arguments of a `macro_rules!`. The compiler puts
/// each type from a `$ty:ty` into an invisible group.
mod made_by_macros {
    use dynalock::{KeyAttribute, Versioned};
    use serde::{Deserialize, Serialize};
    use serde_bytes::ByteBuf;

    macro_rules! item {
        ($(#[$meta:meta])* struct $name:ident { $($(#[$of_field:meta])* $field:ident: $ty:ty,)* }) => {
            $(#[$meta])*
            pub(super) struct $name {
                $($(#[$of_field])* pub(super) $field: $ty,)*
            }
        };
    }

    macro_rules! note {
        ($name:ident { $($(#[$of_field:meta])* $field:ident: $ty:ty,)* }) => {
            #[derive(Serialize, Deserialize, Versioned)]
            #[dynalock(table = "notes", index(name = "by_author", partition_key = "author"))]
            pub(super) struct $name {
                $($(#[$of_field])* pub(super) $field: $ty,)*
            }
        };
    }

    macro_rules! key {
        ($name:ident($ty:ty)) => {
            #[derive(Serialize, Deserialize, KeyAttribute)]
            pub(super) struct $name(pub(super) $ty);
        };
    }

    key!(Digest(ByteBuf));

    item! {
        #[derive(Serialize, Deserialize, Versioned)]
        #[dynalock(table = "files")]
        struct File {
            #[dynalock(partition_key)]
            digest: Digest,
            #[dynalock(version)]
            version: u64,
            #[dynalock(created_at)]
            created_at: Option<u64>,
            #[dynalock(updated_at)]
            #[serde(default)]
            updated_at: i64,
            size: Option<u32>,
        }
    }

    note!(Note {
        #[dynalock(partition_key)]
        id: String,
        #[dynalock(version)]
        version: u64,
        #[dynalock(updated_at = "millis")]
        updated_at: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        text: Option<Vec<String>>,
    });
}

use dynalock::{
    KeyAttribute as _, Versioned,
    condition::{Attribute, Defaulted},
    private::KeptTimes,
    table::{KeyType, KeyValue},
};

use crate::key;

#[test]
fn no_prelude_is_needed() {
    let mut bare =
        without_a_prelude::Bare { id: "a".to_owned(), number: without_a_prelude::Number(1), version: 0, y: 2 };
    bare.mirror_version(9);
    assert_eq!((bare.version, bare.y), (9, 2));
    assert_eq!(key::<without_a_prelude::Bare>(("a", without_a_prelude::Number(1))), bare.key());
}

#[test]
fn shadowed_names_do_not_matter() {
    let mut shadowed = shadowed::Shadowed {
        client: shadowed::Name::Some,
        key: 1,
        version: 0,
        value: 1,
        partition: 1,
        sort: 1,
        repository: 1,
        r#type: 1,
        r#move: 1,
    };
    shadowed.mirror_version(9);
    assert_eq!(shadowed.version, 9);
    assert_eq!(key::<shadowed::Shadowed>((shadowed::Name::Some, 1)), shadowed.key());
}

#[test]
fn other_items_do_not_matter() {
    use beside_others::{Keyed, Order, OrderLine};

    let order = Order { id: "a".to_owned() };
    let line = OrderLine { id: "a".to_owned() };
    assert_eq!(Keyed::key(&order), "another");
    assert_eq!(Versioned::key(&order), line.key());
}

#[test]
fn a_type_from_a_macro_is_read_like_a_type_by_hand() {
    use made_by_macros::{Digest, File, Note};

    let _: Attribute<File, Option<u32>, Defaulted> = File::ATTR.size;
    let _: Attribute<Note, Option<String>, Defaulted> = Note::ATTR.author;
    let _: Attribute<Note, Option<Vec<String>>, Defaulted> = Note::ATTR.text;
    let digest = Digest(serde_bytes::ByteBuf::from([1, 2]));
    assert_eq!((Digest::TYPE, digest.to_key_value()), (KeyType::B, KeyValue::B(vec![1, 2])));
}

#[test]
fn a_struct_from_a_macro_mirrors_its_version_and_its_times() {
    use made_by_macros::{Digest, File, Note};

    let times = KeptTimes { created_at: Some(3), updated_at: Some(4) };
    let digest = Digest(serde_bytes::ByteBuf::from([1, 2]));
    let mut file = File { digest, version: 0, created_at: None, updated_at: 0, size: None };
    file.mirror_version(9);
    file.mirror_times(times);
    assert_eq!((file.version, file.created_at, file.updated_at, file.size), (9, Some(3), 4, None));
    assert_eq!(key::<File>(&file), file.key());

    let mut note = Note { id: "a".to_owned(), version: 0, updated_at: None, author: None, text: None };
    note.mirror_version(9);
    note.mirror_times(times);
    assert_eq!((note.version, note.updated_at, note.author, note.text), (9, Some(4), None, None));
}
