use std::{collections::HashMap, fmt};

use aws_sdk_dynamodb::types::AttributeValue;

use super::value::ValueText;
use crate::{codec::Item, expression::MAP_KEY_SIGN};

/// An expression of a request, with attribute names instead of placeholders.
///
/// The format `{}` shows the type of each value, and shows `[..]` instead of a map key. The format
/// `{:#}` shows the values and the map keys. An attribute name appears unchanged, even if the name
/// contains a dot.
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// let explained = products.delete_unchecked("85123A").when(Product::ATTR.stock.eq(0)).explain()?;
/// let condition = explained.requests()[0].actions()[0].condition().expect("a condition");
/// assert_eq!(condition.to_string(), "stock = <N>");
/// assert_eq!(format!("{condition:#}"), "stock = 0");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct ExplainedExpression {
    parts: Vec<ExpressionPart>,
}

#[derive(Clone, PartialEq)]
enum ExpressionPart {
    /// Text without user data: operators, functions and attribute names.
    Text(String),
    /// A map key, which is user data.
    MapKey(String),
    Value(AttributeValue),
}

impl ExplainedExpression {
    pub(super) fn new(text: &str, names: Option<&HashMap<String, String>>, values: Option<&Item>) -> Self {
        let mut resolved = Self { parts: Vec::new() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (token, after) = rest.split_at(token_length(rest, first));
            rest = after;
            match first {
                '#' => match names.and_then(|names| names.get(token)) {
                    Some(key) if token.starts_with(MAP_KEY_SIGN) => {
                        resolved.parts.push(ExpressionPart::MapKey(key.clone()));
                    }
                    name => resolved.text(name.map_or(token, String::as_str)),
                },
                ':' => match values.and_then(|values| values.get(token)) {
                    Some(value) => resolved.parts.push(ExpressionPart::Value(value.clone())),
                    None => resolved.text(token),
                },
                ',' => {
                    resolved.text(", ");
                    rest = rest.trim_start();
                }
                _ if is_operator(first) => {
                    resolved.operator(token);
                    rest = rest.trim_start();
                }
                _ => resolved.text(token),
            }
        }
        resolved
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ExpressionPart::Text(last)) => last.push_str(text),
            _ => self.parts.push(ExpressionPart::Text(text.to_owned())),
        }
    }

    /// The library sends expressions without unnecessary spaces, for example `#0=:0`.
    fn operator(&mut self, operator: &str) {
        let is_spaced = matches!(self.parts.last(), Some(ExpressionPart::Text(last)) if last.ends_with(' '));
        self.text(&format!("{}{operator} ", if is_spaced { "" } else { " " }));
    }
}

/// Returns the number of bytes of the first token in `text`: a placeholder, an operator, or one
/// character.
fn token_length(text: &str, first: char) -> usize {
    let length_while = |is_part: fn(char) -> bool| {
        let others = &text[first.len_utf8()..];
        first.len_utf8() + others.find(|c| !is_part(c)).unwrap_or(others.len())
    };
    match first {
        '#' | ':' => length_while(|c| c.is_ascii_alphanumeric() || c == '_'),
        _ if is_operator(first) => length_while(is_operator),
        _ => first.len_utf8(),
    }
}

fn is_operator(c: char) -> bool {
    matches!(c, '=' | '<' | '>' | '+' | '-')
}

impl fmt::Display for ExplainedExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            ExpressionPart::Text(text) => f.write_str(text),
            ExpressionPart::MapKey(key) if f.alternate() => f.write_str(key),
            ExpressionPart::MapKey(_) => f.write_str("[..]"),
            ExpressionPart::Value(value) => fmt::Display::fmt(&ValueText(value), f),
        })
    }
}

/// The `Debug` output of an expression contains no values, because values are user data.
impl fmt::Debug for ExplainedExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_and_spaces_are_regular() {
        let names = [("#0", "stock"), ("#1", "a.b"), ("#_2", "eur")];
        let names: HashMap<_, _> = names.into_iter().map(|(sign, name)| (sign.to_owned(), name.to_owned())).collect();
        let values = [(":0", "7"), (":1", "8")];
        let values: Item =
            values.into_iter().map(|(sign, number)| (sign.to_owned(), AttributeValue::N(number.to_owned()))).collect();
        let texts = |text: &str| {
            let expression = ExplainedExpression::new(text, Some(&names), Some(&values));
            [format!("{expression}"), format!("{expression:#}")]
        };
        let cases = [
            (
                "SET #0=:0,#1=if_not_exists(#1,:1)+:0 REMOVE #0[0]",
                [
                    "SET stock = <N>, a.b = if_not_exists(a.b, <N>) + <N> REMOVE stock[0]",
                    "SET stock = 7, a.b = if_not_exists(a.b, 8) + 7 REMOVE stock[0]",
                ],
            ),
            ("#0<>:0 AND #0 >= :1", ["stock <> <N> AND stock >= <N>", "stock <> 7 AND stock >= 8"]),
            ("#0.#_2 = :0", ["stock.[..] = <N>", "stock.eur = 7"]),
            ("#9 = :9", ["#9 = :9", "#9 = :9"]),
        ];
        for (text, expected) in cases {
            assert_eq!(texts(text), expected);
        }
    }
}
