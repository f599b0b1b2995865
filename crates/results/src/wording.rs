//! Numbers in sentences: thousands separators, plurals and percentages that never round to a claim.

/// The number with a comma between groups of three digits: `1,073,152`.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 finding`, `1,234 findings`. The plural is given where it is not the noun with an s.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let plural = match noun {
        "index entry" => "index entries".to_owned(),
        "entry" => "entries".to_owned(),
        _ => format!("{noun}s"),
    };
    counted_as(count, noun, &plural)
}

/// A number with its noun in both forms.
#[must_use]
pub fn counted_as(count: u64, singular: &str, plural: &str) -> String {
    let noun = if count == 1 { singular } else { plural };
    format!("{} {noun}", thousands(count))
}

/// A share in percent that says 0 and 100 only where nothing or everything is meant: `73 %`, `less than 1 %`,
/// `more than 99 %`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    match part {
        0 => "0 %".to_owned(),
        part if part >= whole => "100 %".to_owned(),
        _ if percent < 1.0 => "less than 1 %".to_owned(),
        _ if percent > 99.0 => "more than 99 %".to_owned(),
        _ => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_and_plurals_agree() {
        let texts = [0, 1, 999, 1000, 1_073_152, u64::MAX].map(thousands);
        assert_eq!(texts, ["0", "1", "999", "1,000", "1,073,152", "18,446,744,073,709,551,615"]);
        assert_eq!(counted(1, "finding"), "1 finding");
        assert_eq!(counted(0, "index entry"), "0 index entries");
    }

    #[test]
    fn a_percentage_never_rounds_to_nothing_or_everything() {
        let texts =
            [(0, 9), (1, 1000), (73, 100), (999, 1000), (9, 9)].map(|(part, whole)| percent(part, whole));
        assert_eq!(texts, ["0 %", "less than 1 %", "73 %", "more than 99 %", "100 %"]);
    }
}
