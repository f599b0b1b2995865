//! Expectations: `-- expect: rows = 1` in a comment beside a statement.

use std::fmt;

/// What a statement has to return or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    comparison: Comparison,
    rows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Longer operators first. `!=` is `<>`, as in expressions.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("<>", Comparison::Different),
    ("!=", Comparison::Different),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

/// What is wrong with a clause, and at which byte of the comment.
pub(crate) type Malformed = (usize, String);

impl Expect {
    /// Does this number of rows meet the expectation? A statement that changes rows is held to the rows changed.
    pub fn holds(self, rows: u64) -> bool {
        match self.comparison {
            Comparison::Equal => rows == self.rows,
            Comparison::Different => rows != self.rows,
            Comparison::Less => rows < self.rows,
            Comparison::AtMost => rows <= self.rows,
            Comparison::More => rows > self.rows,
            Comparison::AtLeast => rows >= self.rows,
        }
    }

    /// Reads what follows the two dashes of a comment; `None` where it is no expectation.
    pub(crate) fn read(comment: &str) -> Option<Result<Self, Malformed>> {
        let start = comment.len() - comment.trim_start().len();
        let word = comment.get(start..start + "expect".len())?;
        if !word.eq_ignore_ascii_case("expect") {
            return None;
        }
        let (at, rest) = after_blanks(comment, start + word.len());
        if let Some(clause) = rest.strip_prefix(':') {
            return Some(Self::clause(comment, comment.len() - clause.len()));
        }
        // Only the colon is missing: more likely a slip than a sentence.
        let is_slip = rest
            .strip_prefix("rows")
            .is_some_and(|rest| COMPARISONS.iter().any(|(sign, _)| rest.trim_start().starts_with(sign)));
        is_slip.then(|| Err((at, "missing colon after expect".to_owned())))
    }

    fn clause(comment: &str, at: usize) -> Result<Self, Malformed> {
        let (at, rest) = after_blanks(comment, at);
        let Some(rest) = rest.strip_prefix("rows") else {
            return Err((at, format!("unrecognized expectation: \"{}\"", rest.trim_end())));
        };
        let (at, rest) = after_blanks(comment, comment.len() - rest.len());
        let Some((sign, comparison)) = COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign)) else {
            return Err((at, format!("expectation without a comparison: \"{}\"", comment.trim())));
        };
        let (at, rest) = after_blanks(comment, at + sign.len());
        let digits = rest.trim_end();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err((at, format!("invalid number of rows: \"{digits}\"")));
        }
        let out_of_range = |_| (at, format!("number of rows \"{digits}\" is out of range"));
        digits.parse().map(|rows| Self { comparison: *comparison, rows }).map_err(out_of_range)
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARISONS.iter().find(|(_, comparison)| *comparison == self.comparison);
        write!(f, "rows {} {}", sign.map_or("", |(sign, _)| sign), self.rows)
    }
}

/// Where the next word begins, and the text from there.
fn after_blanks(text: &str, at: usize) -> (usize, &str) {
    let rest = text[at..].trim_start();
    (text.len() - rest.len(), rest)
}
