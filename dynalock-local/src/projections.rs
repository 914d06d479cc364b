//! Finds queries and scans of an index that name an attribute which the index does not contain.
//!
//! DynamoDB refuses a query whose filter names an attribute that the index does not contain. For a
//! global index, DynamoDB refuses a projection expression that names an attribute which the index
//! does not contain. The local engine would treat an attribute outside the index as absent, so a
//! filter could silently match no item or each item.

use std::collections::{HashMap, HashSet};

use dynoxide::{
    Database, DynoxideError,
    actions::{describe_table::DescribeTableRequest, query::QueryRequest, scan::ScanRequest},
    types::{KeySchemaElement, Projection, ProjectionType},
};

type Names = Option<HashMap<String, String>>;

pub(crate) fn check_query(engine: &Database, request: &QueryRequest) -> dynoxide::Result<()> {
    let Some(index) = Index::of(engine, &request.table_name, request.index_name.as_deref()) else { return Ok(()) };
    let names = &request.expression_attribute_names;

    index.check_filter(request.filter_expression.as_deref(), names)?;
    index.check_projection(request.projection_expression.as_deref(), names)
}

pub(crate) fn check_scan(engine: &Database, request: &ScanRequest) -> dynoxide::Result<()> {
    let Some(index) = Index::of(engine, &request.table_name, request.index_name.as_deref()) else { return Ok(()) };

    index.check_projection(request.projection_expression.as_deref(), &request.expression_attribute_names)
}

/// An index that contains only some attributes of each item.
struct Index<'r> {
    name: &'r str,
    scope: Scope,
    attributes: HashSet<String>,
}

#[derive(PartialEq)]
enum Scope {
    Global,
    /// A local index. If a projection expression names an attribute that a local index does not
    /// contain, DynamoDB reads the attribute from the table.
    Local,
}

impl<'r> Index<'r> {
    /// Returns the index that a request reads. Returns `None` if the index contains all attributes
    /// of the items, or does not exist. The local engine refuses a request for a missing index.
    fn of(engine: &Database, table: &str, name: Option<&'r str>) -> Option<Self> {
        let name = name?;
        let table = engine.describe_table(DescribeTableRequest { table_name: table.to_owned() }).ok()?.table;

        let mut globals = table.global_secondary_indexes.iter().flatten();
        if let Some(index) = globals.find(|index| index.index_name == name) {
            let attributes = projected(&index.projection, [&table.key_schema, &index.key_schema])?;
            return Some(Self { name, scope: Scope::Global, attributes });
        }
        let mut locals = table.local_secondary_indexes.iter().flatten();
        let index = locals.find(|index| index.index_name == name)?;
        let attributes = projected(&index.projection, [&table.key_schema, &index.key_schema])?;
        Some(Self { name, scope: Scope::Local, attributes })
    }

    fn check_filter(&self, filter: Option<&str>, names: &Names) -> dynoxide::Result<()> {
        match self.missing(filter, names) {
            None => Ok(()),
            Some(missing) => Err(DynoxideError::ValidationException(format!(
                "One or more parameter values were invalid: Secondary index {} does not project one or more filter \
                 attributes: [{missing}]",
                self.name
            ))),
        }
    }

    fn check_projection(&self, projection: Option<&str>, names: &Names) -> dynoxide::Result<()> {
        match self.missing(projection, names).filter(|_| self.scope == Scope::Global) {
            None => Ok(()),
            Some(missing) => Err(DynoxideError::ValidationException(format!(
                "One or more parameter values were invalid: Global secondary index {} does not project [{missing}]",
                self.name
            ))),
        }
    }

    /// Returns the first attribute that the expression names and the index does not contain.
    fn missing(&self, expression: Option<&str>, names: &Names) -> Option<String> {
        top_level_names(expression?)
            .into_iter()
            .filter_map(|name| match name.starts_with('#') {
                // The check ignores an undefined placeholder, because the local engine refuses the
                // whole request.
                true => names.as_ref()?.get(name).cloned(),
                false => Some(name.to_owned()),
            })
            .find(|name| !self.attributes.contains(name))
    }
}

/// Returns the attributes that an index contains, or `None` if the index contains all attributes.
fn projected(projection: &Projection, keys: [&[KeySchemaElement]; 2]) -> Option<HashSet<String>> {
    if matches!(projection.projection_type, None | Some(ProjectionType::ALL)) {
        return None;
    }
    let keys = keys.into_iter().flatten().map(|key| key.attribute_name.clone());

    Some(keys.chain(projection.non_key_attributes.iter().flatten().cloned()).collect())
}

/// Returns the first attribute name or placeholder of each path in an expression.
fn top_level_names(expression: &str) -> Vec<&str> {
    const KEYWORDS: [&str; 5] = ["AND", "OR", "NOT", "BETWEEN", "IN"];
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | ':');

    let mut names = Vec::new();
    let mut rest = expression;
    let mut before = ' ';
    while let Some(start) = rest.find(is_word) {
        let between = rest[..start].trim_end();
        before = between.chars().last().unwrap_or(before);
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        rest = &rest[end..];

        let is_function = rest.trim_start().starts_with('(');
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '#'));
        if is_name && before != '.' && !is_function && !KEYWORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            names.push(word);
        }
        before = ' ';
    }
    names
}

#[cfg(test)]
mod tests {
    use super::top_level_names;

    #[test]
    fn names_are_those_that_start_a_path() {
        let cases: [(&str, &[&str]); 5] = [
            ("a, #b.c, d[0].e", &["a", "#b", "d"]),
            ("a . b = :c AND NOT (size(d) > :e)", &["a", "d"]),
            ("begins_with (a, :b) or c between :d and #e", &["a", "c", "#e"]),
            ("a IN (:b, :c) AND attribute_not_exists(d[1])", &["a", "d"]),
            ("", &[]),
        ];

        for (expression, names) in cases {
            assert_eq!(top_level_names(expression), names, "{expression}");
        }
    }
}
