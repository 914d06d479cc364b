//! The rules of `#[serde(rename_all = "..")]`, as serde applies the rules to fields.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RenameRule {
    #[default]
    None,
    Upper,
    Pascal,
    Camel,
    Kebab,
    ScreamingKebab,
}

impl RenameRule {
    /// For an unknown name, `from_name` returns [`RenameRule::None`], because serde itself reports
    /// an unknown rule.
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            // Serde assumes that field names are in snake case, so `SCREAMING_SNAKE_CASE` and
            // `UPPERCASE` are the same rule for fields.
            "UPPERCASE" | "SCREAMING_SNAKE_CASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => Self::None,
        }
    }

    pub(crate) fn apply(self, field: &str) -> String {
        match self {
            Self::None => field.to_owned(),
            Self::Upper => field.to_ascii_uppercase(),
            Self::Pascal => pascal(field),
            Self::Camel => camel(field),
            Self::Kebab => field.replace('_', "-"),
            Self::ScreamingKebab => field.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

fn pascal(field: &str) -> String {
    field.split('_').map(capitalized).collect()
}

fn camel(field: &str) -> String {
    let pascal = pascal(field);
    let mut chars = pascal.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::RenameRule;

    #[test]
    fn rules_are_applied_as_serde_does() {
        for (rule, expected) in [
            ("lowercase", ["very_tasty", "a", "_id", "x__y"]),
            ("UPPERCASE", ["VERY_TASTY", "A", "_ID", "X__Y"]),
            ("PascalCase", ["VeryTasty", "A", "Id", "XY"]),
            ("camelCase", ["veryTasty", "a", "id", "xY"]),
            ("snake_case", ["very_tasty", "a", "_id", "x__y"]),
            ("SCREAMING_SNAKE_CASE", ["VERY_TASTY", "A", "_ID", "X__Y"]),
            ("kebab-case", ["very-tasty", "a", "-id", "x--y"]),
            ("SCREAMING-KEBAB-CASE", ["VERY-TASTY", "A", "-ID", "X--Y"]),
        ] {
            let rule = RenameRule::from_name(rule);
            assert_eq!(["very_tasty", "a", "_id", "x__y"].map(|field| rule.apply(field)), expected);
        }
    }
}
