//! `#[derive(Versioned)]`: the names it reads held against what serde writes, the conversions and handles it generates, and, in
//! `tests/ui`, the errors it reports.

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

/// The key that a repository of `T` would be asked for: its methods take `impl Into<T::Key>`.
fn key<T: Versioned>(key: impl Into<T::Key>) -> Key {
    key.into().into()
}
