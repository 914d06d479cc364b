#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use dynalock_core::{
    Aliases, AsBound, AsKey, AsOperand, AsPart, AsPrefix, Attribute, CancellationClass, Cancelled, Checked, CodecError,
    Committed, Condition, Conflict, Create, CreateTable, Delete, DeleteUnchecked, Deleted, Error, Etag, Get,
    InvalidTransaction, Key, KeyAttribute, KeyModel, KeyType, KeyValue, Model, Op, Opaque, OperationReason, Pace,
    ParseEtagError, Reason, Refusal, Repository, Request, Result, Snapshot, Stored, Transaction, TransactionGet,
    TryUpdateWith, Tx, Unavailable, UnitOfWork, Update, UpdateWith, UpsertWith, Versioned, transact,
};

#[cfg(feature = "derive")]
pub use dynalock_derive::Versioned;

#[cfg(feature = "local")]
pub use dynalock_local as local;

#[doc(hidden)]
pub use dynalock_core::private;
