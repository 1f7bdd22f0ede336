//! The time in front of a line of a rank (`--timestamp-output`): UTC, as RFC 3339 writes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// The time now, with a blank behind it.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    of(since.unwrap_or_default())
}

/// The time so long after the first of January 1970.
fn of(since: Duration) -> String {
    let (year, month, day) = date(since.as_secs() / DAY);
    let second = since.as_secs() % DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z ",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Year, month and day of a number of days after the first of January 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while days >= 365 + leap(year) {
        days -= 365 + leap(year);
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

/// The leap days of a year.
fn leap(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    u64::from(is_leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_through_leap_years() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z "),
            (951_782_400, "2000-02-29T00:00:00.000Z "),
            (1_709_251_199, "2024-02-29T23:59:59.000Z "),
            (1_735_689_599, "2024-12-31T23:59:59.000Z "),
            (4_107_542_400, "2100-03-01T00:00:00.000Z "),
        ] {
            assert_eq!(of(Duration::from_secs(seconds)), expected);
        }
    }
}
