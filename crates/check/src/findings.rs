//! Collecting findings: all are counted, by rule and by object; so many of each rule are kept, and those always the
//! first in the file.

use std::collections::BTreeMap;

use results::check::{Finding, RuleCount};
use results::object::{Affected, ObjectCount};
use serde::{Deserialize, Serialize};

use crate::rule::RuleSet;

mod consequences;

/// Most pairs of rule and object that are counted apart, about 400 bytes each. Beyond it the last in the order of
/// rules and objects are counted by rule only.
const OBJECT_COUNTS_MAX: usize = 4096;

/// The findings of one worker or of a whole check. Merges by addition, in any order with the same result.
#[derive(Debug, Clone)]
pub struct Findings {
    rules: &'static RuleSet,
    per_rule_max: usize,
    by_rule: BTreeMap<String, Kept>,
    by_object: BTreeMap<(String, Option<String>), ObjectCount>,
    /// What follows from a cause that is reported once, in the end: by cause, rule and object.
    consequences: BTreeMap<(String, String, Option<String>), ObjectCount>,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    found_count: u64,
    findings: Vec<Finding>,
}

/// What was collected.
#[derive(Debug, Clone)]
pub struct Lists {
    /// The rules of the engine.
    pub rules: &'static RuleSet,
    /// The findings to list, sorted.
    pub findings: Vec<Finding>,
    /// Counts by rule, sorted.
    pub rule_counts: Vec<RuleCount>,
    /// Counts by rule and object, sorted.
    pub object_counts: Vec<ObjectCount>,
}

/// Findings as a stopped check keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredFindings {
    /// The findings to list so far.
    pub findings: Vec<Finding>,
    /// Findings so far by rule.
    pub rule_counts: Vec<RuleCount>,
    /// Findings so far by rule and object.
    pub object_counts: Vec<ObjectCount>,
    /// What follows from causes that are reported in the end: the cause, and findings so far by rule and object.
    pub consequences: Vec<(String, ObjectCount)>,
}

impl Findings {
    /// Starts without findings. At most `per_rule_max` of each rule are kept.
    #[must_use]
    pub fn new(rules: &'static RuleSet, per_rule_max: usize) -> Self {
        Self {
            rules,
            per_rule_max,
            by_rule: BTreeMap::new(),
            by_object: BTreeMap::new(),
            consequences: BTreeMap::new(),
        }
    }

    /// The form that is kept when a check is stopped.
    #[must_use]
    pub fn to_stored(&self) -> StoredFindings {
        let consequences = self.consequences.iter();
        let consequences = consequences.map(|((cause, ..), count)| (cause.clone(), count.clone())).collect();
        let Lists { findings, rule_counts, object_counts, .. } = self.clone().into_lists();
        StoredFindings { findings, rule_counts, object_counts, consequences }
    }

    /// The findings that were kept.
    #[must_use]
    pub fn from_stored(rules: &'static RuleSet, per_rule_max: usize, stored: StoredFindings) -> Self {
        let mut all = Self::new(rules, per_rule_max);
        for count in &stored.rule_counts {
            all.count_more(&count.rule, count.found_count);
        }
        for finding in stored.findings {
            all.by_rule.entry(finding.rule.clone()).or_default().findings.push(finding);
        }
        stored.object_counts.into_iter().for_each(|count| all.count_object(count));
        let consequences = stored.consequences.into_iter();
        consequences.for_each(|(cause, count)| all.count_consequence(&cause, count));
        all
    }

    /// Adds a finding. It affects one row or one index entry where its rule is about one.
    pub fn push(&mut self, finding: Finding) {
        let affected = self.rules.role(&finding.rule).unit.affected();
        self.push_affecting(finding, affected);
    }

    /// Adds a finding that explains others: they are no findings of their own, and only the rows and index entries that
    /// they are about are counted.
    pub fn push_affecting(&mut self, finding: Finding, affected: Affected) {
        self.count_object(ObjectCount { found_count: 1, affected, first: finding.clone() });
        let kept = self.by_rule.entry(finding.rule.clone()).or_default();
        kept.found_count += 1;
        kept.findings.push(finding);
        kept.cut(self.per_rule_max, 2);
    }

    /// Counts findings of a rule that are not worth a text any more.
    pub fn count_more(&mut self, rule: &str, count: u64) {
        if count > 0 {
            self.by_rule.entry(rule.to_owned()).or_default().found_count += count;
        }
    }

    /// Findings of a rule so far.
    #[must_use]
    pub fn count_of(&self, rule: &str) -> u64 {
        self.by_rule.get(rule).map_or(0, |kept| kept.found_count)
    }

    /// The findings of a rule that are kept so far.
    #[must_use]
    pub fn kept_of(&self, rule: &str) -> &[Finding] {
        self.by_rule.get(rule).map_or(&[], |kept| &kept.findings)
    }

    /// Puts one finding in place of all that are of some rules: it is their cause.
    pub fn replace(&mut self, rules: &[&str], cause: Finding, affected: Affected) {
        self.by_rule.retain(|rule, _| !rules.contains(&rule.as_str()));
        self.by_object.retain(|(rule, _), _| !rules.contains(&rule.as_str()));
        self.push_affecting(cause, affected);
    }

    /// Says in the first finding of a rule on a page what it explains, and counts that with it.
    pub fn explain(&mut self, rule: &str, page: u64, affected: Affected, text: &str) {
        let Some(kept) = self.by_rule.get_mut(rule) else { return };
        let on_page = kept.findings.iter_mut().filter(|finding| finding.page == Some(page)).min();
        // When it is not among those kept, others of its rule are, and the count is with them.
        let Some(finding) = on_page else { return };
        let before = finding.clone();
        finding.found.push_str(text);
        if let Some(count) = self.by_object.get_mut(&(rule.to_owned(), finding.object.clone())) {
            count.affected += affected;
            if count.first == before {
                count.first = finding.clone();
            }
        }
    }

    /// Takes out findings of a rule that follow from another one. Those that are counted and not kept stay.
    pub fn take_out(&mut self, rule: &str, is_consequence: impl Fn(&Finding) -> bool) {
        let Some(kept) = self.by_rule.get_mut(rule) else { return };
        let (out, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut kept.findings).into_iter().partition(is_consequence);
        kept.findings = rest;
        kept.found_count -= (out.len() as u64).min(kept.found_count);
        let is_empty = kept.found_count == 0;
        for finding in out {
            let key = (rule.to_owned(), finding.object.clone());
            let next = kept.findings.iter().filter(|other| other.object == finding.object).min().cloned();
            let Some(count) = self.by_object.get_mut(&key) else { continue };
            count.found_count -= count.found_count.min(1);
            if count.first == finding
                && let Some(next) = next
            {
                count.first = next;
            }
            if count.found_count == 0 {
                self.by_object.remove(&key);
            }
        }
        if is_empty {
            self.by_rule.remove(rule);
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_rule.is_empty() && self.consequences.is_empty()
    }

    /// Whether one of the findings is about a page's own bytes: the page is damaged, not only affected.
    #[must_use]
    pub fn breaks_own_bytes(&self) -> bool {
        self.by_rule.keys().any(|rule| self.rules.role(rule).breaks_own_bytes())
    }

    /// Adds what another collected.
    pub fn merge(&mut self, other: Self) {
        for (rule, more) in other.by_rule {
            let kept = self.by_rule.entry(rule).or_default();
            kept.found_count += more.found_count;
            kept.findings.extend(more.findings);
            kept.cut(self.per_rule_max, 2);
        }
        other.by_object.into_values().for_each(|count| self.count_object(count));
        for ((cause, ..), count) in other.consequences {
            self.count_consequence(&cause, count);
        }
    }

    /// The findings to list, sorted, and the counts.
    #[must_use]
    pub fn into_lists(self) -> Lists {
        let mut lists = Lists {
            rules: self.rules,
            findings: Vec::new(),
            rule_counts: Vec::new(),
            object_counts: Vec::new(),
        };
        for (rule, mut kept) in self.by_rule {
            kept.fill(&rule, &self.by_object, self.per_rule_max);
            kept.cut(self.per_rule_max, 1);
            let listed_count = kept.findings.len() as u64;
            lists.rule_counts.push(RuleCount { rule, found_count: kept.found_count, listed_count });
            lists.findings.append(&mut kept.findings);
        }
        lists.findings.sort();
        lists.object_counts = self.by_object.into_values().collect();
        lists
    }

    /// Adds counts of one rule in one object.
    ///
    /// A pair that is among the first `OBJECT_COUNTS_MAX` of all is never removed, since so many before it never come:
    /// its counts are complete, and the same whatever the order of workers.
    fn count_object(&mut self, more: ObjectCount) {
        let key = (more.first.rule.clone(), more.first.object.clone());
        match self.by_object.get_mut(&key) {
            Some(count) => count.add(more),
            None => {
                self.by_object.insert(key, more);
                if self.by_object.len() > OBJECT_COUNTS_MAX {
                    self.by_object.pop_last();
                }
            }
        }
    }
}

impl Kept {
    /// Keeps the first `per_rule_max` in the order of the file, once there are `slack` times as many.
    fn cut(&mut self, per_rule_max: usize, slack: usize) {
        if self.findings.len() > per_rule_max.saturating_mul(slack) {
            self.findings.sort();
            self.findings.truncate(per_rule_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::examples::{PAGE_CHECKSUM, RULES};

    fn finding(page: u64) -> Finding {
        Finding { page: Some(page), ..RULES.finding(&PAGE_CHECKSUM, "a.db", "", "") }
    }

    fn in_object(object: usize, page: u64) -> Finding {
        Finding { object: Some(format!("{object:06}")), ..finding(page) }
    }

    #[test]
    fn the_first_pages_are_kept_whoever_finds_them_first() {
        let mut late = Findings::new(&RULES, 3);
        let mut early = Findings::new(&RULES, 3);
        (50..100).rev().for_each(|page| late.push(finding(page)));
        (0..50).rev().for_each(|page| early.push(finding(page)));
        late.merge(early);
        let lists = late.into_lists();
        let pages: Vec<_> = lists.findings.iter().filter_map(|finding| finding.page).collect();
        assert_eq!(pages, [0, 1, 2]);
        let counts: Vec<_> =
            lists.rule_counts.iter().map(|count| (count.found_count, count.listed_count)).collect();
        assert_eq!(counts, [(100, 3)]);
    }

    #[test]
    fn findings_that_are_not_listed_are_counted_by_object_in_bounded_memory() {
        let mut one = Findings::new(&RULES, 3);
        let mut other = Findings::new(&RULES, 3);
        for object in (0..OBJECT_COUNTS_MAX + 10).rev() {
            one.push(in_object(object, 7));
            other.push(in_object(object, 5));
            other.push(in_object(object, 9));
        }
        let mut reversed = other.clone();
        reversed.merge(one.clone());
        one.merge(other);
        let counts = one.into_lists().object_counts;
        assert_eq!(counts, reversed.into_lists().object_counts);
        assert_eq!(counts.len(), OBJECT_COUNTS_MAX);
        assert!(counts.iter().all(|count| count.found_count == 3 && count.first.page == Some(5)));
        assert_eq!(counts[0].first.object.as_deref(), Some("000000"));
    }

    #[test]
    fn counts_survive_being_kept_and_a_cause_carries_the_rows_that_it_explains() {
        let mut findings = Findings::new(&RULES, 2);
        findings.push_affecting(in_object(1, 1), Affected { row_count: 54, entry_count: 0 });
        (2..9).for_each(|page| findings.push(in_object(1, page)));
        let mut again = Findings::from_stored(&RULES, 2, findings.to_stored());
        again.push(in_object(1, 0));
        let lists = again.into_lists();
        assert_eq!((lists.rule_counts[0].found_count, lists.findings.len()), (9, 2));
        let count = &lists.object_counts[0];
        assert_eq!((count.found_count, count.affected.row_count, count.first.page), (9, 54, Some(0)));
    }
}
