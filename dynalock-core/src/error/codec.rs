use std::{error::Error as StdError, fmt, sync::Arc};

/// The error for a value that serde could not read from an item, or could not write into an item.
///
/// The `Display` text of a `CodecError` names the table and the path of the field, and the key of a
/// stored item if the struct has `#[dynalock(show_key)]`. [`CodecError::reason`] describes the
/// problem. The `source()` of a `CodecError` is the [`CodecReason`]. Neither the `Display` text of a `CodecError` nor the [`CodecReason`] shows a
/// value of the item.
#[derive(Clone)]
pub struct CodecError {
    table: Arc<str>,
    key: Option<Arc<str>>,
    error: SerdeError,
    is_applied: bool,
}

/// The problem that serde found in a value. The text of a `CodecReason` contains names of fields
/// and kinds of values, but no value of an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecReason {
    /// The type of the stored value differs from the type of the struct's field.
    #[error("expected {expected}, found {found}")]
    #[non_exhaustive]
    Type {
        /// A description of the type that serde expected for the field.
        expected: Box<str>,
        /// The kind of the stored value, for example `a string`.
        found: &'static str,
    },
    /// The stored value has the right type, but does not fit into the field, for example because a
    /// number is too large or has a fraction.
    #[error("expected {expected}, found {found} that does not fit")]
    #[non_exhaustive]
    Value {
        /// A description of the type that serde expected for the field.
        expected: Box<str>,
        /// The kind of the stored value, for example `a number`.
        found: &'static str,
    },
    /// The item has no attribute for a field, and the field has no default.
    #[error("the field `{field}` is missing; write the attribute, or give the field `#[serde(default)]`")]
    #[non_exhaustive]
    MissingField {
        /// The name under which serde reads the field.
        field: Box<str>,
    },
    /// The item contains the same field twice, for example under the field's name and under an
    /// alias of the field.
    #[error("the field `{field}` is in the item twice")]
    #[non_exhaustive]
    DuplicateField {
        /// The name under which serde reads the field.
        field: Box<str>,
    },
    /// The type has `deny_unknown_fields`, and the item has an attribute that is not a field of the
    /// type.
    #[error("the attribute is not known, and the type denies unknown fields; expected {expected}")]
    #[non_exhaustive]
    UnknownField {
        /// The names of the fields of the type.
        expected: Box<str>,
    },
    /// The stored value is not a variant of the enum.
    #[error("expected {expected}, found another variant")]
    #[non_exhaustive]
    UnknownVariant {
        /// The names of the variants of the enum.
        expected: Box<str>,
    },
    /// DynamoDB or dynalock does not support the kind of the value. The text in `NotStorable`
    /// describes the problem.
    #[error("{0}")]
    NotStorable(&'static str),
    /// A hand-written `Serialize` or `Deserialize` refused the value, or no variant of an untagged
    /// enum fits.
    #[error("the code of its type refused it; `CodecError::detail` has the text, which may quote content")]
    Refused,
}

/// The error type of the library's serializers and deserializers.
#[derive(Clone)]
pub(crate) struct SerdeError(Box<SerdeErrorParts>);

#[derive(Clone)]
struct SerdeErrorParts {
    /// The parts of the path, innermost part first: the last element is the name of the attribute.
    path: Vec<PathPart>,
    reason: CodecReason,
    detail: Option<Box<str>>,
}

#[derive(Clone)]
enum PathPart {
    Field(Box<str>),
    /// A list element or a map value.
    Entry,
}

impl CodecError {
    pub(crate) fn new(table: Arc<str>, error: SerdeError) -> Self {
        Self { table, key: None, error, is_applied: false }
    }

    /// `key` must be `None` if errors must not show the key of the item.
    pub(crate) fn of_item(self, key: Option<Arc<str>>) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn after_write(self) -> Self {
        Self { is_applied: true, ..self }
    }

    /// Returns the name of the item's table.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// println!("a bad item in the table {}", error.table());
    /// # }
    /// ```
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns the key of the stored item that serde could not read. Returns `None` if the struct
    /// has no `#[dynalock(show_key)]`, or if serde could not write a value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// if let Some(key) = error.key() {
    ///     println!("mend the item under {key}");
    /// }
    /// # }
    /// ```
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns `true` if DynamoDB has applied the write of the failed call, and serde cannot read
    /// the item after the write. For example, a patch changes an item that does not fit its struct.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// if error.is_applied() {
    ///     println!("mend the item, and do not repeat the call");
    /// }
    /// # }
    /// ```
    pub fn is_applied(&self) -> bool {
        self.is_applied
    }

    /// Returns the name of the attribute that caused the error, or `None` if the attribute is not
    /// known.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// if let Some(attribute) = error.attribute() {
    ///     println!("the attribute {attribute} does not fit");
    /// }
    /// # }
    /// ```
    pub fn attribute(&self) -> Option<&str> {
        match self.error.0.path.last() {
            Some(PathPart::Field(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the path of the value that caused the error, or `None` if no single attribute caused
    /// the error.
    ///
    /// For a value that serde could not read, the path consists only of the name of the attribute.
    /// For a value that serde could not write, the path includes the fields inside the attribute,
    /// for example `lines[..].price`. The path does not show the keys of maps, because the keys of
    /// a map are content of the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// if let Some(path) = error.path() {
    ///     println!("the value at {path} does not fit");
    /// }
    /// # }
    /// ```
    pub fn path(&self) -> Option<String> {
        let SerdeError(parts) = &self.error;
        (!parts.path.is_empty()).then(|| parts.to_path())
    }

    /// Returns the problem that serde found in the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// println!("{}", error.reason());
    /// # }
    /// ```
    pub fn reason(&self) -> &CodecReason {
        &self.error.0.reason
    }

    /// Returns the error text of the implementation that refused the value, for example of a
    /// hand-written `Deserialize`. Returns `None` if the reason is not [`CodecReason::Refused`].
    /// The returned text may quote content of the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::error::CodecError) {
    /// // The detail can quote user data: show it to developers only.
    /// if let Some(detail) = error.detail() {
    ///     println!("{detail}");
    /// }
    /// # }
    /// ```
    pub fn detail(&self) -> Option<&str> {
        self.error.0.detail.as_deref()
    }
}

impl StdError for CodecError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.reason())
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "attribute `{path}` of ")?;
        }
        f.write_str(&super::shown_item(self.table(), self.key()))
    }
}

debug_fields!(CodecError, self => { table: self.table, key: self.key, path: self.path(), reason: self.reason() });

impl SerdeError {
    pub(crate) fn new(reason: CodecReason) -> Self {
        Self(Box::new(SerdeErrorParts { path: Vec::new(), reason, detail: None }))
    }

    pub(crate) fn not_storable(why: &'static str) -> Self {
        Self::new(CodecReason::NotStorable(why))
    }

    pub(crate) fn refused(detail: impl fmt::Display) -> Self {
        let detail = Some(detail.to_string().into());
        Self(Box::new(SerdeErrorParts { path: Vec::new(), reason: CodecReason::Refused, detail }))
    }

    pub(crate) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(PathPart::Field(name.into()));
        self
    }

    pub(crate) fn in_entry(mut self) -> Self {
        self.0.path.push(PathPart::Entry);
        self
    }
}

impl SerdeErrorParts {
    fn to_path(&self) -> String {
        let mut path = String::new();
        for part in self.path.iter().rev() {
            match part {
                PathPart::Field(name) if path.is_empty() => path.push_str(name),
                PathPart::Field(name) => path.extend([".", name]),
                PathPart::Entry => path.push_str("[..]"),
            }
        }
        path
    }
}

/// The text of a `SerdeError` omits `detail`, because `detail` may quote a value of the item, and
/// serde may copy the text into another error.
impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.reason.fmt(f)
    }
}

debug_fields!(SerdeError, self => { path: self.0.to_path(), reason: self.0.reason });

impl StdError for SerdeError {}

impl serde::ser::Error for SerdeError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::refused(message)
    }
}

impl serde::de::Error for SerdeError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::refused(message)
    }

    fn invalid_type(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::new(CodecReason::Type { expected: expected.to_string().into(), found: kind(found) })
    }

    fn invalid_value(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::new(CodecReason::Value { expected: expected.to_string().into(), found: kind(found) })
    }

    fn invalid_length(_: usize, expected: &dyn serde::de::Expected) -> Self {
        Self::new(CodecReason::Value { expected: expected.to_string().into(), found: "another number of elements" })
    }

    /// The error omits the stored name of the variant, because the name is content of the item.
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(CodecReason::UnknownVariant { expected: one_of(expected) })
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(CodecReason::UnknownField { expected: one_of(expected) })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(CodecReason::MissingField { field: field.into() })
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(CodecReason::DuplicateField { field: field.into() })
    }
}

fn one_of(names: &[&str]) -> Box<str> {
    format!("one of `{}`", names.join("`, `")).into()
}

/// The returned text names the kind of a value, and never contains the value.
fn kind(value: serde::de::Unexpected<'_>) -> &'static str {
    use serde::de::Unexpected;
    match value {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Bytes(_) => "binary",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map | Unexpected::NewtypeStruct => "a map",
        Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant => "a variant",
        // The text in `Unexpected::Other` may be content of the item.
        Unexpected::Other(_) => "a value",
    }
}

pub(crate) type SerdeResult<T> = Result<T, SerdeError>;
