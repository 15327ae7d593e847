//! A moment by the calendar, for names of files: std has none.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// Such as `20261125T013015.123Z`, in UTC: names in the order of the alphabet are in that of time. Moments
/// before 1970 are taken for its begin.
pub(super) fn date(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / DAY);
    let second = since.as_secs() % DAY;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let milli = since.subsec_millis();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{milli:03}Z")
}

/// Year, month and day, `days` days after the first one of 1970. In years that begin with March the day
/// that comes in some years only is the last one, and 400 years have always as many days.
fn civil(days: u64) -> (u64, u64, u64) {
    const CYCLE: u64 = 400 * 365 + 97;
    // From March of the year 0 on.
    let days = days + 719_468;
    let (cycle, day) = (days / CYCLE, days % CYCLE);
    let year = (day - day / 1_460 + day / 36_524 - day / (CYCLE - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * cycle + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn moments_are_by_the_calendar() {
        let after = |seconds, millis: u32| UNIX_EPOCH + Duration::new(seconds, millis * 1_000_000);
        assert_eq!(date(UNIX_EPOCH), "19700101T000000.000Z");
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), "19700101T000000.000Z");
        assert_eq!(date(after(951_782_399, 999)), "20000228T235959.999Z");
        assert_eq!(date(after(951_782_400, 0)), "20000229T000000.000Z");
        assert_eq!(date(after(1_709_251_199, 7)), "20240229T235959.007Z");
        assert_eq!(date(after(4_107_542_400, 0)), "21000301T000000.000Z");
    }

    /// Each day follows the one before, with the months' lengths as everyone knows them.
    #[test]
    fn no_day_is_left_out() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(civil(days), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                _ if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}
