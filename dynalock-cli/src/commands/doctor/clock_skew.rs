//! The clock of this machine, compared with the `Date` of the server's answer.

use std::time::Duration;

use super::{check::Check, exchange::Exchange};
use crate::output::duration;

/// The skew in seconds above which the check warns. If one clock is a second fast and another clock
/// is a second slow, the two clocks differ by the default `max_skew` of two seconds.
const WARNING: f64 = 1.0;

/// The skew in seconds above which the check fails.
const FAILURE: f64 = 2.0;

/// Returns `None` if the answer has no date.
pub(super) fn check(exchange: &Exchange) -> Option<Check> {
    const NAME: &str = "clock";
    const ADVICE: &str = "synchronize the clock of this machine (NTP): leases compare the clocks of machines";
    let (skew, uncertainty) = skew(exchange)?;
    let direction = if skew < 0.0 { "behind" } else { "ahead of" };
    let certain = skew.abs() - uncertainty;
    if certain <= WARNING {
        let most = shown(skew.abs() + uncertainty);
        return Some(Check::ok(NAME, format!("this clock differs from the server's by at most {most}")));
    }
    let message = format!("this clock is at least {} {direction} the server's", shown(certain));
    Some(match certain > FAILURE {
        true => Check::failed(NAME, message, ADVICE),
        false => Check::warning(NAME, message, ADVICE),
    })
}

fn shown(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "a lot".to_owned(), duration)
}

/// Returns by how many seconds the local clock is ahead of the server's clock, and the uncertainty
/// of this difference.
fn skew(Exchange { sent, round_trip, date, .. }: &Exchange) -> Option<(f64, f64)> {
    // The server read its clock at an unknown moment of the round trip, and rounded the time down
    // to a full second.
    let half = round_trip.as_secs_f64() / 2.0;
    let server = i32::try_from((*date)?.checked_sub(i64::try_from(sent.as_secs()).ok()?)?).ok()?;
    let here = f64::from(sent.subsec_millis()) / 1000.0 + half;
    Some((here - (f64::from(server) + 0.5), half + 0.5))
}

#[cfg(test)]
mod tests {
    use super::{super::check::State, *};

    const NOON: u64 = 1_800_000_000;

    fn state(ahead_millis: u64, behind_seconds: i64, round_trip_millis: u64) -> State {
        let exchange = Exchange {
            host: String::new(),
            sent: Duration::from_secs(NOON) + Duration::from_millis(ahead_millis),
            round_trip: Duration::from_millis(round_trip_millis),
            date: Some(i64::try_from(NOON).unwrap() + behind_seconds),
        };
        check(&exchange).unwrap().state
    }

    #[test]
    fn a_clock_within_the_second_of_the_date_is_right() {
        assert_eq!(state(0, 0, 0), State::Ok);
        assert_eq!(state(999, 0, 0), State::Ok);
        assert_eq!(state(1_900, 0, 0), State::Ok);
    }

    #[test]
    fn a_clock_that_is_certainly_wrong_is_reported() {
        assert_eq!(state(2_100, 0, 0), State::Warning);
        assert_eq!(state(3_100, 0, 0), State::Failed);
        assert_eq!(state(0, 2, 0), State::Warning);
        assert_eq!(state(0, 3, 0), State::Failed);
        assert_eq!(state(0, 86_400, 0), State::Failed);
    }

    #[test]
    fn a_slow_answer_proves_less() {
        assert_eq!(state(0, 3, 4_000), State::Ok);
    }

    #[test]
    fn an_answer_without_a_date_is_not_checked() {
        let exchange = Exchange { host: String::new(), sent: Duration::ZERO, round_trip: Duration::ZERO, date: None };
        assert_eq!(check(&exchange), None);
    }
}
