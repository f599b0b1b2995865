//! The table of all promises that are tested.

use results::check::CheckLevel;

/// One promise of a format: tested by the checker, explained to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The name in findings, and what `fathom explain` takes.
    pub id: &'static str,
    /// The lowest level at which it is tested.
    pub level: CheckLevel,
    /// What the format promises, in one sentence without a full stop.
    pub promise: &'static str,
    /// What it means when the promise is broken, and how that usually comes about.
    pub meaning: &'static str,
    /// What to do then.
    pub next_step: &'static str,
    /// Where the promise is published.
    pub evidence: &'static str,
}

/// All rules of all engines, in the order in which they are documented.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    crate::sqlite::RULES.iter().chain(crate::postgres::RULES).chain(crate::sqlserver::RULES)
}

/// The rule of a name.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}

/// The text that `fathom explain RULE` prints.
#[must_use]
pub fn explanation(rule: &Rule) -> String {
    format!(
        "{}: {}\n\n{}\n\nTested from level {}. Source: {}.\nWhat to do: {}\n",
        rule.id,
        rule.promise,
        rule.meaning,
        rule.level.name(),
        rule.evidence,
        rule.next_step
    )
}

/// Rules as a table in Markdown, for docs/check/.
#[must_use]
pub fn markdown_table_of(rules: &[Rule]) -> String {
    let mut table =
        String::from("| rule | from level | promise | when it is broken | source |\n|---|---|---|---|---|\n");
    for rule in rules {
        let [promise, meaning, evidence] =
            [rule.promise, rule.meaning, rule.evidence].map(|text| text.replace('|', "\\|"));
        table.push_str(&format!(
            "| `{}` | {} | {promise} | {meaning} | {evidence} |\n",
            rule.id,
            rule.level.name()
        ));
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_all_its_texts() {
        let mut ids: Vec<_> = rules().map(|rule| rule.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for rule in rules() {
            for text in [rule.promise, rule.meaning, rule.next_step, rule.evidence] {
                assert!(!text.is_empty(), "{}", rule.id);
            }
            assert!(!rule.promise.ends_with('.'), "{}", rule.id);
            assert!(explanation(rule).contains(rule.promise));
        }
    }
}
