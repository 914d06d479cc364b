//! Parses and compares DynamoDB numbers, which are stored as text. Several texts can denote the
//! same number, for example `1` and `1.0`.

use std::cmp::Ordering;

/// Returns the text of a number in canonical notation, so that equal numbers have equal texts. If
/// the text is not a number, returns the text unchanged.
pub(crate) fn canonical(text: String) -> String {
    let plain = text.strip_prefix('-').unwrap_or(&text);
    // Nearly all number keys already have canonical notation. A number in canonical notation is
    // returned without a copy.
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

/// Returns the number of digits of a number, without leading and trailing zeros. For a text that is
/// not a number, returns the length of the text.
pub(crate) fn significant_digits(text: &str) -> usize {
    // Most numbers are positive whole numbers, so the code counts the digits of these numbers
    // without a copy.
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.trim_matches('0').len();
    }
    normal(text).map_or(text.len(), |number| number.digits.len())
}

/// The largest number of trailing zeros that the canonical notation writes without an exponent.
const LONGEST: usize = 126;

/// Parses a whole number in any notation, for example `12`, `12.0` or `1.2e1`. Returns `None` if
/// the text is not a whole number, or if the number does not fit into a `u64`.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    u64::try_from(normal(text)?.shifted(0)?).ok()
}

/// Parses a number, and rounds the number up to a whole number. Returns `None` if the number is
/// negative, or too large for a `u64`.
pub(crate) fn rounded_up(text: &str) -> Option<u64> {
    if let Some(whole) = whole_number(text) {
        return Some(whole);
    }
    // `whole_number` returns each whole number that fits into a `u64`, so the code rounds up only
    // positive numbers with a fraction.
    let Normal { negative, digits, exponent } = normal(text)?;
    let fraction = usize::try_from(exponent.unsigned_abs()).ok().filter(|_| exponent < 0 && !negative)?;
    let whole = digits.len().checked_sub(fraction).map_or("", |length| &digits[..length]);
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_add(1)
}

/// Returns the order of two numbers by their values, or `None` if one of the texts is not a number.
pub(crate) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (normal(one)?, normal(other)?);
    Some(match (one.negative, other.negative) {
        (false, false) => one.magnitude(&other),
        // Of two negative numbers, the number with the larger absolute value is smaller.
        (true, true) => other.magnitude(&one),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    })
}

/// Adds two numbers, and returns the sum in canonical notation. Returns `None` if one of the texts
/// is not a number, or if the sum needs more than the 38 digits that DynamoDB stores.
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

/// Returns whether the text is a number that DynamoDB stores: a number with at most 38 significant
/// digits, which is zero or whose absolute value is from 1e-130 to less than 1e126.
pub(crate) fn is_stored(text: &str) -> bool {
    normal(text).is_some_and(|Normal { digits, exponent, .. }| {
        let places = i64::try_from(digits.len()).unwrap_or(i64::MAX).saturating_add(exponent.into());
        digits.len() <= MOST_DIGITS && (-129..=126).contains(&places)
    })
}

impl Normal {
    /// Returns the number divided by ten to the power of `exponent`. Returns `None` if the result
    /// is not a whole number, or does not fit into an `i128`.
    fn shifted(&self, exponent: i32) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let zeros = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        let magnitude = self.digits.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(zeros)?)?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Returns the order of the absolute values of two parsed numbers. Parsed numbers have no
    /// leading or trailing zeros, so the code can compare the digits as text.
    fn magnitude(&self, other: &Self) -> Ordering {
        let places = |number: &Self| {
            let length = i64::try_from(number.digits.len()).unwrap_or(i64::MAX);
            // For the number zero, the closure `places` returns `None`, which is less than each
            // `Some` in a comparison.
            (!number.digits.is_empty()).then(|| length.saturating_add(number.exponent.into()))
        };
        places(self).cmp(&places(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// A parsed number: the significant digits and a power of ten. For the number zero, `digits` is
/// empty.
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
