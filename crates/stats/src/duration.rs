//! Durations as people write them ("15h25m05s", "5 hours and 57 minutes") and as seconds.

/// Reads a duration of hours, minutes and seconds into seconds.
///
/// Each part is a whole number and a unit (`h`, `hour`, `hours`; `m`, `min`, `mins`, `minute`, `minutes`; `s`, `sec`,
/// `secs`, `second`, `seconds`), largest first, each at most once; spaces, commas and "and" may stand between.
/// Absent when the text is anything else, or too long for the type.
pub fn parse_duration_s(text: &str) -> Option<u64> {
    const SECONDS_OF_UNITS: [(u64, &[&str]); 3] = [
        (3600, &["h", "hour", "hours"]),
        (60, &["m", "min", "mins", "minute", "minutes"]),
        (1, &["s", "sec", "secs", "second", "seconds"]),
    ];
    let mut rest = text.trim();
    let mut total = 0_u64;
    let mut unit_before = u64::MAX;
    while !rest.is_empty() {
        let number_length = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let number: u64 = rest[..number_length].parse().ok()?;
        rest = rest[number_length..].trim_start();
        let word_length = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = &rest[..word_length];
        let &(unit, _) = SECONDS_OF_UNITS.iter().find(|(_, words)| words.contains(&word))?;
        if unit >= unit_before {
            return None;
        }
        unit_before = unit;
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest[word_length..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
    }
    (unit_before != u64::MAX).then_some(total)
}

/// Writes seconds as hours, minutes and seconds, as in `15h25m05s`; hours and minutes only when there are any before.
pub fn format_duration(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds:02}s"),
        _ => format!("{hours}h{minutes:02}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_ways_of_writing_are_read() {
        for (text, seconds) in [
            ("15h25m05s", 55_505),
            ("8h08m27s", 29_307),
            ("5 hours and 57 minutes", 21_420),
            ("4 hours 35 mins", 16_500),
            ("8 hours", 28_800),
            ("1 hour, 1 minute and 1 second", 3661),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration_s(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_duration_is_not_guessed_at() {
        for text in [
            "",
            "12",
            "h",
            "over a day",
            "5m3h",
            "5m5m",
            "1.5h",
            "-3s",
            "99999999999999999999h",
            "3 fortnights",
        ] {
            assert_eq!(parse_duration_s(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for seconds in [0, 7, 59, 60, 61, 3599, 3600, 3661, 55_505, 359_999] {
            assert_eq!(parse_duration_s(&format_duration(seconds)), Some(seconds));
        }
        assert_eq!(format_duration(55_505), "15h25m05s");
        assert_eq!((format_duration(65), format_duration(5)), ("1m05s".to_owned(), "5s".to_owned()));
    }
}
