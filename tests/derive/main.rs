//! `#[derive(Versioned)]`: the names that it reads, compared with the names that serde writes; the
//! conversions and handles that it generates; and in `tests/ui`, the errors that it reports.

mod conversions;
mod generics;
mod handles;
mod hygiene;
mod indexes;
mod keys;
mod lints;
mod names;
mod settings;
mod ui;

use dynalock::{Key, Versioned};

/// Returns the key for a call on a repository of `T`. Such calls take `impl Into<T::Key>`.
fn key<T: Versioned>(key: impl Into<T::Key>) -> Key {
    key.into().into()
}
