//! Formats attribute values and items for the printed requests of a call.

use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    codec::{Item, type_of},
    key::hex,
};

/// The format `{}` shows the type of the value, and `{:#}` shows the content of the value.
pub(super) struct ValueText<'v>(pub(super) &'v AttributeValue);

pub(super) struct ItemText<'i>(pub(super) &'i Item);

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return write!(f, "<{}>", type_of(self.0));
        }
        match self.0 {
            AttributeValue::S(text) => write!(f, "{text:?}"),
            AttributeValue::N(number) => f.write_str(number),
            AttributeValue::B(bytes) => hex(bytes.as_ref()).fmt(f),
            AttributeValue::Bool(value) => write!(f, "{value}"),
            AttributeValue::Null(_) => f.write_str("null"),
            AttributeValue::Ss(texts) => write!(f, "{{{}}}", joined(texts, |text| format!("{text:?}"))),
            AttributeValue::Ns(numbers) => write!(f, "{{{}}}", numbers.join(", ")),
            AttributeValue::Bs(blobs) => write!(f, "{{{}}}", joined(blobs, |bytes| hex(bytes.as_ref()).to_string())),
            AttributeValue::L(values) => write!(f, "[{}]", joined(values, |value| format!("{:#}", ValueText(value)))),
            AttributeValue::M(map) => {
                let entry = |(key, value): (&String, _)| format!("{key:?}: {:#}", ValueText(value));
                write!(f, "{{{}}}", joined(sorted(map), entry))
            }
            unknown => write!(f, "<{}>", type_of(unknown)),
        }
    }
}

impl fmt::Display for ItemText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in sorted(self.0).into_iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name} = ")?;
            fmt::Display::fmt(&ValueText(value), f)?;
        }
        Ok(())
    }
}

/// The iteration order of a `HashMap` is different in each process, so `sorted` sorts the
/// attributes by name.
fn sorted(item: &Item) -> Vec<(&String, &AttributeValue)> {
    let mut entries: Vec<_> = item.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    entries
}

fn joined<V>(values: impl IntoIterator<Item = V>, show: impl Fn(V) -> String) -> String {
    values.into_iter().map(show).collect::<Vec<_>>().join(", ")
}
