//! Amounts of money, without rounding.

use std::{fmt, iter::Sum, str::FromStr};

use serde::{Deserialize, Serialize};

/// The number of decimals of an amount. Currencies have two or three decimals, and prices of small
/// things have more.
const DECIMALS: usize = 6;

/// An amount in millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Money(i64);

impl Money {
    pub(crate) fn millionths(self) -> i64 {
        self.0
    }

    /// Returns the amount times `quantity`, or `None` if the product does not fit into 64 bits.
    pub(crate) fn times(self, quantity: i64) -> Option<Self> {
        self.0.checked_mul(quantity).map(Self)
    }

    /// Returns the sum of the absolute values of both amounts, or `None` if the sum does not fit
    /// into 64 bits.
    pub(crate) fn beside(self, other: Self) -> Option<Self> {
        self.0.checked_abs()?.checked_add(other.0.checked_abs()?).map(Self)
    }
}

impl FromStr for Money {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number =
            digits.len() > digits.matches('.').count() && [whole, fraction].iter().all(|part| is_digits(part));
        if !is_number {
            return Err("is not a decimal number");
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > DECIMALS {
            return Err("has more than 6 decimals");
        }
        let millionths = format!("{sign}{whole}{fraction:0<DECIMALS$}");
        millionths.parse().map(Self).map_err(|_| "is beyond 64 bits")
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds amounts of one file of invoices. [`Invoices`](crate::invoices::Invoices) ensures that the
/// sum of any amounts in a file fits into 64 bits.
impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self(amounts.map(|Self(amount)| amount).sum())
    }
}

/// Prints two decimals, or more if the amount has more.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let digits = format!("{:0>7}", self.0.unsigned_abs());
        let (whole, fraction) = digits.split_at(digits.len() - DECIMALS);
        write!(f, "{sign}{whole}.{:0<2}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_and_shown_without_rounding() {
        for (text, millionths, shown) in [
            ("2.55", 2_550_000, "2.55"),
            ("2.1", 2_100_000, "2.10"),
            ("0.001", 1_000, "0.001"),
            ("-11062.06", -11_062_060_000, "-11062.06"),
            ("+7", 7_000_000, "7.00"),
            (".5", 500_000, "0.50"),
            ("-0.25", -250_000, "-0.25"),
            ("1.10000000", 1_100_000, "1.10"),
            ("-9223372036854.775808", i64::MIN, "-9223372036854.775808"),
        ] {
            let money: Money = text.parse().unwrap();
            assert_eq!((money, money.to_string().as_str()), (Money(millionths), shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "-", "2,55", "1e3", "£2", "1.2.3", "--1", "+-1", "0x10", "١"] {
            assert_eq!(text.parse::<Money>(), Err("is not a decimal number"), "{text}");
        }
        assert_eq!("0.0000001".parse::<Money>(), Err("has more than 6 decimals"));
        assert_eq!("9223372036855".parse::<Money>(), Err("is beyond 64 bits"));
    }
}
