//! Parses and compares DynamoDB numbers, which the SDK represents as text. Several texts can denote
//! the same number, for example `1` and `1.0`.

use std::cmp::Ordering;

/// Returns the same text for all notations of one number. Returns `text` unchanged if `text` is not
/// a number.
pub(crate) fn canonical(text: String) -> String {
    let plain = text.strip_prefix('-').unwrap_or(&text);
    // Most number keys are already in canonical notation, and are returned without a copy.
    let is_plain = plain.bytes().all(|byte| byte.is_ascii_digit()) && !plain.starts_with('0');
    if is_plain || text == "0" {
        return text;
    }
    let Some(Normal { negative, mut digits, exponent }) = normal(&text) else { return text };
    if digits.is_empty() {
        return "0".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    match usize::try_from(exponent) {
        Ok(zeros) if zeros <= LONGEST => {
            digits.extend(std::iter::repeat_n('0', zeros));
            format!("{sign}{digits}")
        }
        Ok(_) | Err(_) => format!("{sign}{digits}e{exponent}"),
    }
}

/// Counts the digits of a number, except leading and trailing zeros. For a text that is not a
/// number, returns the length of the text.
pub(crate) fn significant_digits(text: &str) -> usize {
    // Most numbers contain only digits, and are counted without a copy.
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.trim_matches('0').len();
    }
    normal(text).map_or(text.len(), |number| number.digits.len())
}

/// The largest number of trailing zeros that the canonical notation writes without an exponent.
const LONGEST: usize = 126;

/// Parses a non-negative whole number in any notation, for example `12`, `12.0` or `1.2e1`.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    u64::try_from(normal(text)?.shifted(0)?).ok()
}

/// Rounds a number up to a whole number. Returns `None` if the number is negative.
pub(crate) fn rounded_up(text: &str) -> Option<u64> {
    if let Some(whole) = whole_number(text) {
        return Some(whole);
    }
    // A parsed number has no trailing zeros, so only a number with a fraction has a negative
    // exponent.
    let Normal { negative, digits, exponent } = normal(text)?;
    let fraction = usize::try_from(exponent.unsigned_abs()).ok().filter(|_| exponent < 0 && !negative)?;
    let whole = digits.len().checked_sub(fraction).map_or("", |length| &digits[..length]);
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_add(1)
}

pub(crate) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (normal(one)?, normal(other)?);
    Some(match (one.negative, other.negative) {
        (false, false) => one.magnitude(&other),
        (true, true) => other.magnitude(&one),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    })
}

/// Returns the sum in canonical notation, or `None` if the sum needs more digits than DynamoDB
/// stores.
pub(crate) fn sum(one: &str, other: &str) -> Option<String> {
    let (one, other) = (normal(one)?, normal(other)?);
    let exponent = match (one.digits.is_empty(), other.digits.is_empty()) {
        (true, _) => other.exponent,
        (_, true) => one.exponent,
        (false, false) => one.exponent.min(other.exponent),
    };
    let sum = one.shifted(exponent)?.checked_add(other.shifted(exponent)?)?;
    let text = canonical(format!("{sum}e{exponent}"));
    (significant_digits(&text) <= MOST_DIGITS).then_some(text)
}

/// The largest number of significant digits that DynamoDB stores in a number.
const MOST_DIGITS: usize = 38;

/// DynamoDB stores numbers of up to 38 significant digits: zero, and numbers whose absolute value
/// is at least 1e-130 and less than 1e126.
pub(crate) fn is_stored(text: &str) -> bool {
    normal(text).is_some_and(|Normal { digits, exponent, .. }| {
        let places = i64::try_from(digits.len()).unwrap_or(i64::MAX).saturating_add(exponent.into());
        digits.len() <= MOST_DIGITS && (-129..=126).contains(&places)
    })
}

impl Normal {
    /// Returns the number divided by ten to the power of `exponent`, if the quotient is a whole
    /// number.
    fn shifted(&self, exponent: i32) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let zeros = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        let magnitude = self.digits.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(zeros)?)?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Compares the absolute values. If the first digits of two numbers have the same place value,
    /// like the first digits of `12` and `15.5`, the comparison of the digits as text is correct.
    fn magnitude(&self, other: &Self) -> Ordering {
        let places = |number: &Self| {
            let length = i64::try_from(number.digits.len()).unwrap_or(i64::MAX);
            // Zero has no first digit, and `None` is less than every `Some`.
            (!number.digits.is_empty()).then(|| length.saturating_add(number.exponent.into()))
        };
        places(self).cmp(&places(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// A parsed number: `digits` times ten to the power of `exponent`. The digits have no leading or
/// trailing zeros, and are empty for the number zero.
#[derive(Debug, PartialEq, Eq)]
struct Normal {
    negative: bool,
    digits: String,
    exponent: i32,
}

fn normal(text: &str) -> Option<Normal> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = all.trim_end_matches('0');
    let zeros = i32::try_from(all.len() - significant.len()).ok()?;
    let digits = significant.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some(Normal { negative: false, digits, exponent: 0 });
    }
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    Some(Normal { negative, digits, exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_one_notation() {
        let canonical = |text: &str| canonical(text.to_owned());
        for (one, other) in
            [("1", "1.0"), ("1.50", "15e-1"), ("0", "-0.00"), ("100", "1E+2"), ("-7", "-7.0"), ("7", "007")]
        {
            assert_eq!(canonical(one), canonical(other), "{one} {other}");
        }
        for (one, other) in [("1", "10"), ("1", "-1"), ("1.5", "1.05"), ("", "0"), ("x", "y"), ("1e200", "1e201")] {
            assert_ne!(canonical(one), canonical(other), "{one} {other}");
        }
        assert_eq!(canonical("-120"), "-120");
        assert_eq!(canonical("12e1"), "120");
    }

    #[test]
    fn numbers_are_ordered_by_their_values() {
        let rising = ["-1e40", "-12", "-1.5", "-1", "-0.5", "0", "1e-3", "0.5", "1", "1.5", "9", "10", "11", "1e40"];
        for (place, one) in rising.iter().enumerate() {
            for (other_place, other) in rising.iter().enumerate() {
                assert_eq!(compare(one, other), Some(place.cmp(&other_place)), "{one} {other}");
            }
        }
        assert_eq!(compare("10", "1.0e1"), Some(Ordering::Equal));
        assert_eq!(compare("x", "1"), None);
    }

    #[test]
    fn sums_are_exact() {
        for (one, other, total) in [
            ("1", "2", "3"),
            ("0.1", "0.2", "3e-1"),
            ("1.5", "-1.5", "0"),
            ("0", "-7", "-7"),
            ("1e40", "0", "10000000000000000000000000000000000000000"),
            ("99", "1", "100"),
            ("9223372036854775807", "-9223372036854775808", "-1"),
            ("99999999999999999999999999999999999998", "1", "99999999999999999999999999999999999999"),
        ] {
            assert_eq!(sum(one, other).as_deref(), Some(total), "{one} + {other}");
            assert_eq!(sum(other, one).as_deref(), Some(total), "{other} + {one}");
        }
    }

    #[test]
    fn a_sum_with_more_digits_than_dynamodb_stores_is_none() {
        for (one, other) in [("1e100", "1"), ("99999999999999999999999999999999999999", "2"), ("x", "1"), ("1", "")] {
            assert_eq!(sum(one, other), None, "{one} + {other}");
        }
    }

    #[test]
    fn a_part_of_a_number_is_rounded_up() {
        for (text, whole) in [("1763712345.678", 1_763_712_346), ("7", 7), ("7.0", 7), ("0.001", 1), ("12e-3", 1)] {
            assert_eq!(rounded_up(text), Some(whole), "{text}");
        }
        for text in ["-1", "-0.5", "x", "1e40"] {
            assert_eq!(rounded_up(text), None, "{text}");
        }
    }

    #[test]
    fn dynamodb_stores_38_digits_from_1e_130_to_1e126() {
        let nines = "9".repeat(38);
        for text in ["0", "-7", "1.5", "1e-130", "-1e-130", "9e125", &nines, &format!("{nines}e88"), "00.0"] {
            assert!(is_stored(text), "{text}");
        }
        for text in ["", "-", "x", "1e", "1_000", "1e126", "9e-131", &format!("{nines}9"), &format!("{nines}e89")] {
            assert!(!is_stored(text), "{text}");
        }
    }

    #[test]
    fn zeros_around_a_number_take_no_room() {
        for (text, digits) in
            [("1700000000000", 2), ("007", 1), ("0.001", 1), ("-12.50", 3), ("0", 0), ("00", 0), ("", 0)]
        {
            assert_eq!(significant_digits(text), digits, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_read_in_any_notation() {
        for (text, number) in [
            ("0", 0),
            ("1", 1),
            ("1.0", 1),
            ("1e3", 1000),
            ("1.2E1", 12),
            ("1200e-2", 12),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole_number(text), Some(number), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_not_versions() {
        for text in ["-1", "1.5", "1e-1", "18446744073709551616", "1e20", "1e99999999999", "", "abc", "NaN"] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }
}
