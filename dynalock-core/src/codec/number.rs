//! DynamoDB numbers: decimal digits in any notation.

/// Whether two numbers are equal, however they are written: `1`, `1.0`, `10e-1`.
pub(super) fn same_number(one: &str, other: &str) -> bool {
    one == other || normal(one).is_some_and(|normal_one| Some(normal_one) == normal(other))
}

/// Reads a number that is whole and fits, in any notation that other programs write: `12`, `12.0`, `1.2e1`.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let Normal { negative, digits, exponent } = normal(text)?;
    if digits.is_empty() {
        return Some(0);
    }
    let shift = u32::try_from(exponent).ok().filter(|_| !negative)?;
    digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(shift)?)
}

/// A number as its significant digits times a power of ten; zero has no digits.
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
    fn numbers_are_equal_however_they_are_written() {
        for (one, other) in [("1", "1.0"), ("1.50", "15e-1"), ("0", "-0.00"), ("100", "1E+2"), ("-7", "-7.0")] {
            assert!(same_number(one, other), "{one} {other}");
        }
        for (one, other) in [("1", "10"), ("1", "-1"), ("1.5", "1.05"), ("", "0"), ("x", "y")] {
            assert!(!same_number(one, other), "{one} {other}");
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
