#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use dynalock_core::{
    Aliases, AsBound, AsKey, AsOperand, AsPart, AsPrefix, Attribute, Checked, CodecError, Condition, Conflict, Create,
    CreateTable, Delete, DeleteUnchecked, Deleted, Error, Etag, Get, Key, KeyAttribute, KeyModel, KeyType, KeyValue,
    Model, Opaque, Pace, ParseEtagError, Refusal, Repository, Request, Result, Stored, TryUpdateWith, Unavailable,
    Update, UpdateWith, UpsertWith, Versioned,
};

#[cfg(feature = "derive")]
pub use dynalock_derive::Versioned;

#[cfg(feature = "local")]
pub use dynalock_local as local;

#[doc(hidden)]
pub use dynalock_core::private;
