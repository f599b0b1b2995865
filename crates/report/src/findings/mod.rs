//! A check for people: one line for each damaged object, then details, what was not checked, the accounting, and the
//! verdict.

mod accounting;
mod details;
mod objects;
mod words;
mod wrapped;

use check::rule::RuleSet;
use results::check::CheckReport;

pub use wrapped::wrapped;

/// Findings shown of one rule in one object, if nobody asks for more.
pub const SHOWN_PER_OBJECT: usize = 5;

/// The report as text, with [`SHOWN_PER_OBJECT`] findings of each rule in each object.
pub fn text(report: &CheckReport, rules: &RuleSet) -> String {
    text_of(report, rules, SHOWN_PER_OBJECT)
}

/// The report as text: causes first, and at most so many findings of one rule in one object.
pub fn text_of(report: &CheckReport, rules: &RuleSet, shown_max: usize) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = objects::write(&mut out, report, rules);
    let _ = details::write(&mut out, report, rules, shown_max);
    let _ = accounting::write(&mut out, report);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use check::advice::{Sources, conclude};
    use check::findings::Findings;
    use results::check::{CheckLevel, Finding};
    use results::engine::EngineId;

    use super::*;

    check::rules! {
        PAGE_CHECKSUM {
            id: "test-page-checksum",
            level: Full,
            role: (Page, Object, Other),
            invariant: "what holds",
            meaning: "What it means.",
            next_step: "restore the block from a backup",
            evidence: "none",
        }
        ROW_WITHOUT_ENTRY {
            id: "test-row-without-entry",
            level: Full,
            role: (Comparison, Nothing, Row),
            invariant: "what holds",
            meaning: "What it means.",
            next_step: "keep a copy; when the table itself checks clean, REINDEX the index",
            evidence: "none",
        }
    }

    static RULES: RuleSet = RuleSet {
        engine: EngineId::Postgres,
        page_word: "block",
        slot_word: "item",
        rebuild: "REINDEX",
        messages_word: "",
        tables: &[TABLE],
        is_of_one_database: |_| false,
        explains: |_, _| true,
    };

    fn finding(rule: &str, object: &str, page: u64) -> Finding {
        let known = RULES.get(rule).unwrap();
        Finding {
            page: Some(page),
            object: Some(object.to_owned()),
            row: Some(format!("id = {page}")),
            ..RULES.finding(known, "base/5/16384", "an entry", "none")
        }
    }

    #[test]
    fn the_text_begins_with_a_line_for_each_object_the_cause_before_its_consequences() {
        let mut findings = Findings::new(&RULES, 100);
        (0..212).for_each(|page| findings.push(finding("test-row-without-entry", "d.s.orders_pkey", page)));
        findings.push(finding("test-page-checksum", "d.s.orders", 1017));
        let mut sources = Sources::default();
        sources.add_index("d.s.orders_pkey", "d.s.orders");
        let mut report = CheckReport::empty("postgres", "data", CheckLevel::Full);
        conclude(&mut report, findings.into_lists(), &sources);
        let text = text(&report, &RULES);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("d.s.orders: test-page-checksum on base/5/16384 block 1017: "),
            "{text}"
        );
        let second =
            "d.s.orders_pkey: 212 rows affected; probably follows from test-page-checksum in d.s.orders";
        assert!(lines[1].starts_with(second), "{text}");
        assert!(
            lines[1].contains("; next: resolve finding test-page-checksum on base/5/16384 block 1017 first")
        );
        assert!(text.contains("test-row-without-entry: 212 findings in d.s.orders_pkey, 5 shown"), "{text}");
        assert!(!text.contains("REINDEX"), "{text}");
        assert!(text.ends_with("damage found: 213 findings in 2 objects\n"), "{text}");
        let all = text_of(&report, &RULES, 100);
        assert!(all.contains("212 findings in d.s.orders_pkey, 100 shown"), "{all}");
        assert!(
            all.contains("112 more findings of rule test-row-without-entry are counted, not listed"),
            "{all}"
        );
    }
}
