//! Collecting findings: all are counted, so many of each rule are kept, and those always the first in the file.

use std::collections::BTreeMap;

use results::check::{Finding, RuleCount};

/// The findings of one worker or of a whole check. Merges by addition, in any order with the same result.
#[derive(Debug, Clone)]
pub struct Findings {
    per_rule_max: usize,
    by_rule: BTreeMap<String, Kept>,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    found_count: u64,
    findings: Vec<Finding>,
}

impl Findings {
    /// Starts without findings. At most `per_rule_max` of each rule are kept.
    #[must_use]
    pub fn new(per_rule_max: usize) -> Self {
        Self { per_rule_max, by_rule: BTreeMap::new() }
    }

    /// Starts from lists that were kept.
    #[must_use]
    pub fn from_lists(per_rule_max: usize, findings: Vec<Finding>, counts: &[RuleCount]) -> Self {
        let mut all = Self::new(per_rule_max);
        for count in counts {
            all.count_more(&count.rule, count.found_count);
        }
        for finding in findings {
            all.by_rule.entry(finding.rule.clone()).or_default().findings.push(finding);
        }
        all
    }

    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
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

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_rule.is_empty()
    }

    /// Adds what another collected.
    pub fn merge(&mut self, other: Self) {
        for (rule, more) in other.by_rule {
            let kept = self.by_rule.entry(rule).or_default();
            kept.found_count += more.found_count;
            kept.findings.extend(more.findings);
            kept.cut(self.per_rule_max, 2);
        }
    }

    /// The findings to list, sorted, and the counts by rule.
    #[must_use]
    pub fn into_lists(self) -> (Vec<Finding>, Vec<RuleCount>) {
        let mut findings = Vec::new();
        let mut counts = Vec::new();
        for (rule, mut kept) in self.by_rule {
            kept.cut(self.per_rule_max, 1);
            let listed_count = kept.findings.len() as u64;
            counts.push(RuleCount { rule, found_count: kept.found_count, listed_count });
            findings.append(&mut kept.findings);
        }
        findings.sort();
        (findings, counts)
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
    use results::check::Confidence;

    fn finding(page: u64) -> Finding {
        Finding {
            file: "a.db".to_owned(),
            page: Some(page),
            slot: None,
            offset_bytes: None,
            rule: "r".to_owned(),
            engine: "sqlite".to_owned(),
            object: None,
            promise: String::new(),
            expected: String::new(),
            found: String::new(),
            confidence: Confidence::Certain,
            next_step: String::new(),
            row: None,
        }
    }

    #[test]
    fn the_first_pages_are_kept_whoever_finds_them_first() {
        let mut late = Findings::new(3);
        let mut early = Findings::new(3);
        (50..100).rev().for_each(|page| late.push(finding(page)));
        (0..50).rev().for_each(|page| early.push(finding(page)));
        late.merge(early);
        let (list, counts) = late.into_lists();
        let pages: Vec<_> = list.iter().filter_map(|finding| finding.page).collect();
        assert_eq!(pages, [0, 1, 2]);
        let counts: Vec<_> = counts.iter().map(|count| (count.found_count, count.listed_count)).collect();
        assert_eq!(counts, [(100, 3)]);
    }
}
