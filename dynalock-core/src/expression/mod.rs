//! Builds the texts of DynamoDB expressions, with placeholders for names and values.

mod condition;

mod attribute;
mod change;
mod comparison;
mod evaluate;
mod operand;
mod patch;
mod patch_methods;
mod patched;
mod path;
mod update_operand;
mod user;

pub use attribute::{Attribute, Opaque};
pub(crate) use change::{ListEnd, PatchFault, PatchTexts};
pub use comparison::{AttributeType, HasSize, Size};
pub(crate) use condition::{absent, exists, lives, same_attributes, unchanged};
pub use operand::{AsBound, AsOperand, AsPart, AsPrefix};
pub(crate) use patch::PatchContent;
pub(crate) use patch_methods::patch_methods;
pub(crate) use path::DocumentPath;
use path::FieldName;
pub use path::{Changeable, Defaulted, Fixed, List, Map, Missing, Nested, Path, Place, Removable, Required, Role};
pub use update_operand::{BinarySet, Number, NumberSet, Set, SetElement, StringSet};
pub use user::Condition;

use std::{collections::HashMap, fmt};

use aws_sdk_dynamodb::types::AttributeValue;

use crate::codec::Item;

#[derive(Default)]
pub(crate) struct Placeholders {
    names: Vec<String>,
    map_keys: Vec<String>,
    values: Vec<AttributeValue>,
    /// If `hides_keys` is `true`, `[..]` replaces each map key in the expression, because map keys
    /// are user data.
    hides_keys: bool,
    /// The first free number for a name placeholder, and the first free number for a value
    /// placeholder. The earlier expressions of the request use all smaller placeholder numbers.
    before: (usize, usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamePlaceholder {
    Attribute(usize),
    MapKey(usize),
}

#[derive(Clone, Copy)]
pub(crate) struct ValuePlaceholder(usize);

impl Placeholders {
    pub(crate) fn after(names: usize, values: usize) -> Self {
        Self { before: (names, values), ..Self::default() }
    }

    pub(crate) fn name(&mut self, name: &str) -> NamePlaceholder {
        NamePlaceholder::Attribute(self.before.0 + position(name, &mut self.names))
    }

    pub(crate) fn without_content() -> Self {
        Self { hides_keys: true, ..Self::default() }
    }

    pub(crate) fn key(&mut self, key: &str) -> NamePlaceholder {
        let key = if self.hides_keys { "[..]" } else { key };
        NamePlaceholder::MapKey(self.before.0 + position(key, &mut self.map_keys))
    }

    pub(crate) fn value(&mut self, value: AttributeValue) -> ValuePlaceholder {
        if self.values.is_empty() {
            // Most requests have at most eight values, so the `Vec` rarely needs a second
            // allocation.
            self.values.reserve_exact(8);
        }
        self.values.push(value);
        ValuePlaceholder(self.before.1 + self.values.len() - 1)
    }

    pub(crate) fn name_of(&self, name: NamePlaceholder) -> &str {
        match name {
            NamePlaceholder::Attribute(index) => &self.names[index - self.before.0],
            NamePlaceholder::MapKey(index) => &self.map_keys[index - self.before.0],
        }
    }

    pub(crate) fn value_of(&self, ValuePlaceholder(index): ValuePlaceholder) -> &AttributeValue {
        &self.values[index - self.before.1]
    }

    /// Returns `None` instead of an empty map, because DynamoDB refuses an empty map of names or
    /// values.
    pub(crate) fn finish(self) -> (Option<HashMap<String, String>>, Option<Item>) {
        let Self { names, map_keys, values, before, .. } = self;
        let names = (before.0..).zip(names).map(|(index, name)| (placeholder(NamePlaceholder::SIGN, index), name));
        let map_keys = (before.0..).zip(map_keys).map(|(index, key)| (placeholder(MAP_KEY_SIGN, index), key));
        let all: HashMap<_, _> = names.chain(map_keys).collect();
        let names = (!all.is_empty()).then_some(all);
        let values = (!values.is_empty()).then(|| {
            (before.1..).zip(values).map(|(index, value)| (placeholder(ValuePlaceholder::SIGN, index), value)).collect()
        });
        (names, values)
    }
}

pub(crate) const MAP_KEY_SIGN: &str = "#_";

impl NamePlaceholder {
    const SIGN: &str = "#";

    fn parts(self) -> (&'static str, usize) {
        match self {
            Self::Attribute(index) => (Self::SIGN, index),
            Self::MapKey(index) => (MAP_KEY_SIGN, index),
        }
    }
}

impl ValuePlaceholder {
    const SIGN: &str = ":";
}

/// Equal names share a placeholder, which keeps the expression short.
fn position(name: &str, names: &mut Vec<String>) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        if names.is_empty() {
            names.reserve_exact(8);
        }
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn placeholder(sign: &str, index: usize) -> String {
    let mut text = String::with_capacity(4);
    push_placeholder(sign, index, &mut text);
    text
}

fn push_placeholder(sign: &str, index: usize, text: &mut String) {
    text.push_str(sign);
    write_digits(index, text).expect("a string takes any text");
}

/// Writes the number of a placeholder in base 36. With decimal placeholder numbers, for example
/// `#100`, an expression of 4 KB (DynamoDB's maximum) would have room for about 20 % fewer
/// attributes than with base 36.
fn write_digits(number: usize, to: &mut impl fmt::Write) -> fmt::Result {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    if number >= DIGITS.len() {
        write_digits(number / DIGITS.len(), to)?;
    }
    to.write_char(char::from(DIGITS[number % DIGITS.len()]))
}

impl fmt::Display for NamePlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, index) = self.parts();
        f.write_str(sign)?;
        write_digits(index, f)
    }
}

impl fmt::Display for ValuePlaceholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::SIGN)?;
        write_digits(self.0, f)
    }
}

/// Returns the number of operators and functions in an expression, as DynamoDB counts them.
pub(crate) fn operators(text: &str) -> usize {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','));
    let is_operator = |word: &str| {
        matches!(word, "AND" | "OR" | "NOT" | "BETWEEN" | "IN" | "=" | "<>" | "<" | "<=" | ">" | ">=")
            // In an expression, only the names of functions are lowercase. Placeholders begin with
            // `#` or `:`.
            || word.starts_with(|c: char| c.is_ascii_lowercase())
    };
    words.filter(|word| is_operator(word)).count()
}

pub(crate) struct Joined {
    text: String,
    separator: &'static str,
    empty: bool,
}

impl Joined {
    pub(crate) fn new(start: &str, separator: &'static str) -> Self {
        // Most expressions need at most 96 bytes after `start`, so one allocation is enough.
        let mut text = String::with_capacity(start.len() + 96);
        text.push_str(start);
        Self { text, separator, empty: true }
    }

    pub(crate) fn push(&mut self, term: fmt::Arguments<'_>) {
        self.separate();
        fmt::write(&mut self.text, term).expect("a string takes any text");
    }

    pub(crate) fn assign(&mut self, name: NamePlaceholder, value: ValuePlaceholder) {
        self.pair("", name, "=", value);
    }

    pub(crate) fn equal(&mut self, name: NamePlaceholder, value: ValuePlaceholder) {
        self.pair("", name, " = ", value);
    }

    pub(crate) fn begins_with(&mut self, name: NamePlaceholder, value: ValuePlaceholder) {
        self.pair("begins_with(", name, ", ", value);
        self.text.push(')');
    }

    /// `pair` copies strings, which is faster than the formatting of `fmt::Arguments`.
    fn pair(&mut self, before: &str, name: NamePlaceholder, between: &str, ValuePlaceholder(value): ValuePlaceholder) {
        self.separate();
        self.text.push_str(before);
        let (sign, name) = name.parts();
        push_placeholder(sign, name, &mut self.text);
        self.text.push_str(between);
        push_placeholder(ValuePlaceholder::SIGN, value, &mut self.text);
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.text.push_str(self.separator);
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
