//! Which results of expressions depend on the version or the build of SQLite.
//!
//! fathom computes expressions with the SQLite that it is linked with; the application may use another one. Where a
//! result differs from what the file holds, and two versions or builds of SQLite are known to compute different
//! results from such values, neither is wrong. Such a result is *in doubt*: it is listed under "not checked".

mod doubts;
mod functions;
mod like;
mod rows;
mod values;

use crate::catalog::expressions::Vocabulary;
pub(super) use crate::versions::doubts::{Doubt, Doubts, with_versions};
use crate::versions::functions::Kind;
pub(super) use crate::versions::like::make_case_sensitive;
pub(super) use crate::versions::rows::ComputedRow;
pub(super) use crate::versions::values::Inputs;

/// What an expression does that versions or builds of SQLite do differently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dependence {
    /// The values that the expression takes, by their place among those bound.
    pub(super) inputs: Vec<usize>,
    /// A function whose results changed between versions.
    function: Option<String>,
    /// LIKE or GLOB.
    matches_patterns: bool,
    /// LIKE, `upper` or `lower`.
    folds_case: bool,
    /// Whether a number may become text.
    makes_text: bool,
    /// Whether a number is computed from others.
    calculates: bool,
    /// Whether a REAL value is made from other values.
    makes_real: bool,
    rounds: bool,
    /// Whether text is taken apart, joined or converted.
    processes_text: bool,
    /// Whether a text is searched in another value.
    searches: bool,
}

/// What is known of the columns that an expression takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Columns {
    /// Whether one has TEXT affinity, so that numbers put into it or compared with it become text.
    pub(super) has_text: bool,
    /// Whether one that is generated has REAL affinity.
    pub(super) has_real: bool,
}

/// Parts of names of types that make a REAL value.
// EVIDENCE: sqlite datatype3 3.1
const REAL_TYPES: [&str; 5] = ["REAL", "FLOA", "DOUB", "NUM", "DEC"];

impl Dependence {
    /// What an expression depends on. `inputs`: its values by their place among those bound; `columns`: what is known
    /// of the columns that it takes.
    pub(super) fn of(vocabulary: &Vocabulary, inputs: Vec<usize>, columns: Columns) -> Self {
        let is_type = |word: &&str| vocabulary.has_word("CAST") && vocabulary.has_word_with(word);
        let mut dependence = Self {
            inputs,
            matches_patterns: vocabulary.has_word("LIKE") || vocabulary.has_word("GLOB"),
            folds_case: vocabulary.has_word("LIKE"),
            makes_real: columns.has_real || vocabulary.has_real_literal || REAL_TYPES.iter().any(is_type),
            makes_text: columns.has_text || vocabulary.has_concatenation || vocabulary.has_word("CAST"),
            calculates: vocabulary.has_arithmetic || vocabulary.has_real_literal,
            processes_text: vocabulary.has_concatenation || vocabulary.has_word("CAST"),
            ..Self::default()
        };
        if vocabulary.has_arrow {
            dependence.function = Some("operator ->".to_owned());
        }
        for function in &vocabulary.functions {
            dependence.add(function);
        }
        dependence.makes_text |= dependence.matches_patterns;
        dependence.processes_text |= dependence.matches_patterns || dependence.folds_case;
        dependence
    }

    fn add(&mut self, function: &str) {
        match functions::kind(function) {
            Kind::Plain => {}
            Kind::Calculating => self.calculates = true,
            Kind::Rounding => self.rounds = true,
            Kind::Text => (self.makes_text, self.processes_text) = (true, true),
            Kind::Searching => (self.makes_text, self.processes_text, self.searches) = (true, true, true),
            Kind::Case => (self.makes_text, self.folds_case) = (true, true),
            Kind::Pattern => self.matches_patterns = true,
            Kind::Changed => _ = self.function.get_or_insert_with(|| format!("function {function}()")),
        }
    }

    /// Why two versions or builds of SQLite may compute different results from these values; `None` when none may.
    // EVIDENCE: sqlite compile, SQLITE_LIKE_DOESNT_MATCH_BLOBS, SQLITE_CASE_SENSITIVE_LIKE, SQLITE_ENABLE_ICU
    // OBSERVED: SQLite 3.40.1 and 3.54.1 write different texts of REAL values with 16 and 17 digits
    pub(super) fn doubt(&self, inputs: &Inputs) -> Option<String> {
        if let Some(function) = &self.function {
            return Some(format!("results of {function} depend on the SQLite version"));
        }
        let may_calculate_real = self.calculates && (inputs.has_real_text || inputs.may_overflow);
        let may_be_real = inputs.has_real || self.makes_real || may_calculate_real;
        let has_long_real = inputs.has_long_real || self.calculates && may_be_real;
        let reason = if self.matches_patterns && inputs.has_blob {
            "LIKE and GLOB on a BLOB depend on the build of SQLite (SQLITE_LIKE_DOESNT_MATCH_BLOBS)"
        } else if self.folds_case && inputs.has_letters_beyond_ascii {
            "LIKE, upper() and lower() outside ASCII depend on the build of SQLite (SQLITE_ENABLE_ICU)"
        } else if self.makes_text && has_long_real {
            "the text of a REAL value depends on the SQLite version"
        } else if self.rounds && may_be_real {
            "round() of a REAL value depends on the SQLite version"
        } else if inputs.has_long_number_text && (self.calculates || self.makes_real) {
            "the REAL value of a text with more than 15 digits depends on the SQLite version"
        } else if inputs.has_real && inputs.has_large_integer {
            "REAL values beside integers above 2^53 depend on the SQLite version"
        } else if self.processes_text && inputs.has_invalid_text {
            "text that is not valid in its encoding depends on the build of SQLite (SQLITE_REPLACE_INVALID_UTF)"
        } else if self.processes_text && inputs.has_zero_byte {
            "text with a zero byte depends on the SQLite version"
        } else if self.searches && inputs.has_blob {
            "searching in a BLOB depends on the SQLite version"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// Whether LIKE has a part in it, which a build or a pragma makes case-sensitive.
    pub(super) fn has_like(&self) -> bool {
        self.matches_patterns && self.folds_case
    }
}

/// A version number of the header as people write it: 3045001 is 3.45.1.
// EVIDENCE: sqlite c_source_id, SQLITE_VERSION_NUMBER
pub(super) fn version_text(number: u32) -> String {
    match number {
        0 => "an unknown version".to_owned(),
        _ => format!("SQLite {}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000),
    }
}

/// The version that computes here.
pub(super) fn own_version() -> String {
    format!("SQLite {}", rusqlite::version())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use formats::sqlite::{Encoding, Value};

    use super::*;
    use crate::catalog::expressions::vocabulary;

    fn doubt(expression: &str, values: &[Value<'_>]) -> bool {
        let dependence = Dependence::of(&vocabulary(expression), Vec::new(), Columns::default());
        dependence.doubt(&Inputs::of(values.iter().copied(), Encoding::Utf8)).is_some()
    }

    #[test]
    fn an_expression_is_in_doubt_only_for_values_that_builds_treat_differently() {
        let long = Value::Real(0.1 + 0.2);
        for (expression, value, is_in_doubt) in [
            ("a LIKE 'x%'", Value::Blob(b"x"), true),
            ("a LIKE 'x%'", Value::Text(b"x"), false),
            ("a = x'00'", Value::Blob(b"x"), false),
            ("a || ''", long, true),
            ("a || ''", Value::Real(0.25), false),
            ("a || ''", Value::Integer(7), false),
            ("a * 2 > 1", long, false),
            ("a * 1.1 || ''", Value::Real(0.5), true),
            ("hex(a)", long, true),
            ("a * 1.1 || ''", Value::Integer(3), true),
            ("CAST(a AS REAL) || ''", Value::Integer(3), false),
            ("a + 1 || ''", Value::Text(b"text 1.5"), false),
            ("a + 1 || ''", Value::Text(b"1.5"), true),
            ("round(a, 2)", Value::Real(2.5), true),
            ("round(a, 2)", Value::Integer(2), false),
            ("upper(a)", Value::Text("ä".as_bytes()), true),
            ("length(a)", Value::Text("ä".as_bytes()), false),
            ("a || 'x'", Value::Text(b"\xff"), true),
            ("a > 'x'", Value::Text(b"\xff"), false),
            ("substr(a, 3)", Value::Text(b"x\0y"), true),
            ("strftime('%Y', a)", Value::Integer(1), true),
            ("a ->> '$.x'", Value::Text(b"{}"), true),
            ("json_extract(a, '$')", Value::Text(b"{}"), true),
            ("never_heard_of(a)", Value::Null, true),
            ("CAST(a AS VARCHAR(10))", Value::Integer(1), false),
            ("a IN (1, 2) AND NOT (a = 3)", Value::Integer(1), false),
            ("\"soundex\"(a)", Value::Text(b"x"), false),
        ] {
            assert_eq!(doubt(expression, &[value]), is_in_doubt, "{expression} of {value:?}");
        }
        assert_eq!(version_text(3_045_001), "SQLite 3.45.1");
    }
}
