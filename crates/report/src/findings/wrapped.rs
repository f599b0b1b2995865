//! Lines no wider than a terminal.

/// Narrower than this nothing is wrapped: it would be all margin.
const WIDTH_MIN: usize = 40;

/// A value that begins beyond this column does not set the margin of the lines that follow.
const MARGIN_MAX: usize = 18;

/// Breaks lines that are wider than `width` characters at spaces. What follows stands below the value of a line that
/// begins with a label, four columns further in otherwise.
pub fn wrapped(text: &str, width: usize) -> String {
    if width < WIDTH_MIN {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        wrap_line(&mut out, line, width);
        out.push_str(end);
    }
    out
}

fn wrap_line(out: &mut String, line: &str, width: usize) {
    if line.chars().count() <= width {
        out.push_str(line);
        return;
    }
    let margin = margin(line);
    let indent = line.len() - line.trim_start_matches(' ').len();
    out.push_str(&line[..indent]);
    let mut column = indent;
    let mut is_first = true;
    for word in line[indent..].split(' ') {
        let length = word.chars().count();
        if !is_first && column + 1 + length > width && column > margin {
            let kept = out.trim_end_matches(' ').len();
            out.truncate(kept);
            out.push('\n');
            out.push_str(&" ".repeat(margin));
            column = margin;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        is_first = false;
    }
}

/// The column below which the rest of a line stands.
fn margin(line: &str) -> usize {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let label = rest.split_once(':').filter(|(label, value)| {
        indent > 0 && value.starts_with(' ') && label.chars().all(|character| character.is_ascii_lowercase())
    });
    let column = label
        .map(|(label, value)| indent + label.len() + 1 + (value.len() - value.trim_start_matches(' ').len()));
    column.filter(|column| *column <= MARGIN_MAX).unwrap_or(indent + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_spaces_and_stand_below_their_value() {
        let text = format!("short\n    found:    {}\n{}", "word ".repeat(12).trim_end(), "x".repeat(60));
        let expected = format!(
            "short\n    found:    word word word word word\n              word word word word word\n              word word\n{}",
            "x".repeat(60)
        );
        assert_eq!(wrapped(&text, 40), expected);
        assert_eq!(wrapped(&text, 10), text);
    }

    #[test]
    fn nothing_is_lost_but_spaces_at_breaks() {
        let text = "shop.public.orders: 12 rows affected; pg-page-checksum on base/5/16384 block 17: found; next: step";
        let again = wrapped(text, 44);
        assert!(again.lines().all(|line| line.chars().count() <= 44), "{again}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&again), words(text));
    }
}
