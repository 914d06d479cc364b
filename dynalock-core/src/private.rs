//! What generated code may name. Not public API: it changes with the derive, in lockstep.

pub use aws_sdk_dynamodb::Client;
pub use serde::{Serialize, de::DeserializeOwned};

pub use crate::{
    Repository,
    expression::{Attribute, Opaque},
    key::{AsKey, Key, KeyAttribute},
    model::{Aliases, KeyModel, LockModel, Lockable, Model, TimeUnit, Versioned},
};

/// The handle of an attribute that serde writes under this name.
pub const fn attribute<T, V>(name: &'static str) -> Attribute<T, V> {
    Attribute::named(name)
}

/// The field that mirrors the stored version.
#[diagnostic::on_unimplemented(message = "the version field must be a `u64`, not `{Self}`", label = "must be `u64`")]
pub trait VersionField {
    /// Sets it.
    fn mirror(&mut self, version: u64);
}

impl VersionField for u64 {
    fn mirror(&mut self, version: u64) {
        *self = version;
    }
}
