//! Consequences: what follows from a cause is counted, and told in the finding of the cause.

use std::collections::BTreeMap;

use results::check::Finding;
use results::object::{Affected, ObjectCount};

use super::{Findings, Kept};
use crate::rule::Rank;

impl Findings {
    /// Counts a finding that follows from a cause, which is reported once when all are known.
    pub fn push_consequence(&mut self, cause: &str, finding: Finding, affected: Affected) {
        self.count_consequence(cause, ObjectCount { found_count: 1, affected, first: finding });
    }

    /// Takes out what follows from causes that are not reported yet: the cause, and counts by rule and object.
    pub fn take_consequences(&mut self) -> Vec<(String, ObjectCount)> {
        let all = std::mem::take(&mut self.consequences);
        all.into_iter().map(|((cause, ..), count)| (cause, count)).collect()
    }

    /// What was found of a rule, by object. Only the first objects are counted apart.
    pub fn objects_of<'f>(&'f self, rule: &str) -> impl Iterator<Item = &'f ObjectCount> + use<'f> {
        let from = (rule.to_owned(), None);
        let rule = rule.to_owned();
        self.by_object.range(from..).take_while(move |((other, _), _)| *other == rule).map(|(_, count)| count)
    }

    /// What was found of all rules, by rule and object. Only the first are counted apart.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectCount> {
        self.by_object.values()
    }

    /// Takes out all findings of a rule in an object, and gives what they were; `None` if there were none.
    pub fn remove(&mut self, rule: &str, object: Option<&str>) -> Option<ObjectCount> {
        let removed = self.by_object.remove(&(rule.to_owned(), object.map(str::to_owned)))?;
        if let Some(kept) = self.by_rule.get_mut(rule) {
            kept.findings.retain(|finding| finding.object.as_deref() != object);
            kept.found_count -= removed.found_count.min(kept.found_count);
            if kept.found_count == 0 {
                self.by_rule.remove(rule);
            }
        }
        Some(removed)
    }

    /// Tells in the first finding of a rule in an object what follows from it, and counts that with it; whether there is
    /// one.
    pub fn attribute(&mut self, rule: &str, object: Option<&str>, affected: Affected, text: &str) -> bool {
        let Some(count) = self.by_object.get_mut(&(rule.to_owned(), object.map(str::to_owned))) else {
            return false;
        };
        count.affected += affected;
        let before = count.first.clone();
        count.first.found.push_str(text);
        if let Some(kept) = self.by_rule.get_mut(rule)
            && let Some(same) = kept.findings.iter_mut().find(|finding| **finding == before)
        {
            same.found.push_str(text);
        }
        true
    }

    /// The rule of an object's findings that is closest to the cause, of those about a file, or about bytes of its pages.
    #[must_use]
    pub fn cause_in(&self, object: &str) -> Option<String> {
        let of_object = self.by_object.keys().filter(|(_, of)| of.as_deref() == Some(object));
        let causes =
            of_object.map(|(rule, _)| rule).filter(|rule| self.rules.role(rule).rank <= Rank::Record);
        causes.min_by_key(|rule| self.rules.role(rule).rank).cloned()
    }

    /// Adds what follows to the finding of an object that [`Findings::cause_in`] names; whether there is one.
    pub fn attribute_to_cause(&mut self, object: &str, affected: Affected, text: &str) -> bool {
        let Some(rule) = self.cause_in(object) else { return false };
        self.attribute(&rule, Some(object), affected, text)
    }

    /// Adds what follows to the finding about a page as a whole, or about the bytes of one of its items; whether there is
    /// one. Where findings of such a rule are not all listed, only what is affected is counted.
    pub fn attribute_to_page(
        &mut self,
        object: &str,
        (page, slot): (u64, Option<u64>),
        affected: Affected,
        text: &str,
    ) -> bool {
        let is_cause = |finding: &&Finding| {
            let is_of_item =
                slot.is_some() && finding.slot == slot && self.rules.role(&finding.rule).breaks_own_bytes();
            finding.page == Some(page)
                && finding.object.as_deref() == Some(object)
                && (self.rules.role(&finding.rule).rank == Rank::Page || is_of_item)
        };
        let all = self.by_rule.values().flat_map(|kept| &kept.findings).filter(is_cause);
        if let Some(rule) =
            all.min_by_key(|finding| self.rules.role(&finding.rule).rank).map(|first| first.rule.clone())
        {
            return self.attribute_to_rule_on_page(&rule, object, page, affected, text);
        }
        let rules = self.rules;
        let is_cut = |rule: &str| {
            let kept = self.by_rule.get(rule);
            kept.is_some_and(|kept| (kept.findings.len() as u64) < kept.found_count)
        };
        let mut counts = self.by_object.iter_mut().filter(|((rule, of), _)| {
            rules.role(rule).rank == Rank::Page && of.as_deref() == Some(object) && is_cut(rule)
        });
        counts.next().map(|(_, count)| count.affected += affected).is_some()
    }

    /// Takes out one finding of a rule on a page of an object, listed or not; whether there was one of the object.
    pub fn take_out_of_page(&mut self, rule: &str, object: &str, page: u64) -> bool {
        let key = (rule.to_owned(), Some(object.to_owned()));
        let (Some(count), Some(kept)) = (self.by_object.get_mut(&key), self.by_rule.get_mut(rule)) else {
            return false;
        };
        let is_of_page =
            |finding: &Finding| finding.page == Some(page) && finding.object.as_deref() == Some(object);
        match kept.findings.iter().position(is_of_page) {
            Some(at) => {
                kept.findings.remove(at);
            }
            None if kept.findings.len() as u64 == kept.found_count => return false,
            None => {}
        }
        kept.found_count -= kept.found_count.min(1);
        count.found_count -= count.found_count.min(1);
        let first = kept.findings.iter().filter(|finding| finding.object.as_deref() == Some(object)).min();
        if let Some(first) = first.filter(|_| count.first.page == Some(page)) {
            count.first = first.clone();
        }
        let (is_object_empty, is_rule_empty) = (count.found_count == 0, kept.found_count == 0);
        if is_object_empty {
            self.by_object.remove(&key);
        }
        if is_rule_empty {
            self.by_rule.remove(rule);
        }
        true
    }

    /// Adds what follows to the first finding of a rule on a page of an object; whether there is one. The text is added
    /// once.
    pub fn attribute_to_rule_on_page(
        &mut self,
        rule: &str,
        object: &str,
        page: u64,
        affected: Affected,
        text: &str,
    ) -> bool {
        let Some(count) = self.by_object.get_mut(&(rule.to_owned(), Some(object.to_owned()))) else {
            return false;
        };
        let Some(kept) = self.by_rule.get_mut(rule) else { return false };
        let is_all_listed = kept.findings.len() as u64 == kept.found_count;
        let on_page = kept
            .findings
            .iter_mut()
            .filter(|finding| finding.page == Some(page) && finding.object.as_deref() == Some(object));
        match on_page.min() {
            Some(finding) if !finding.found.contains(text) => {
                if count.first == *finding {
                    count.first.found.push_str(text);
                }
                finding.found.push_str(text);
            }
            None if is_all_listed => return false,
            _ => {}
        }
        count.affected += affected;
        true
    }

    pub(super) fn count_consequence(&mut self, cause: &str, more: ObjectCount) {
        let key = (cause.to_owned(), more.first.rule.clone(), more.first.object.clone());
        match self.consequences.get_mut(&key) {
            Some(count) => count.add(more),
            None => {
                self.consequences.insert(key, more);
            }
        }
    }
}

impl Kept {
    /// Lists the first finding of each object in the place of those that were kept of a rule and taken out since.
    pub(super) fn fill(
        &mut self,
        rule: &str,
        by_object: &BTreeMap<(String, Option<String>), ObjectCount>,
        per_rule_max: usize,
    ) {
        if self.findings.len() >= per_rule_max.min(usize::try_from(self.found_count).unwrap_or(usize::MAX)) {
            return;
        }
        let objects = by_object.range((rule.to_owned(), None)..).take_while(|((other, _), _)| other == rule);
        for (_, count) in objects.take(per_rule_max) {
            if !self.findings.contains(&count.first) {
                self.findings.push(count.first.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::rule::examples::{ROW_WITHOUT_ENTRY, RULES};

    fn finding(object: &str, page: u64) -> Finding {
        Finding {
            page: Some(page),
            object: Some(object.to_owned()),
            ..RULES.finding(&ROW_WITHOUT_ENTRY, "f", "", "x")
        }
    }

    #[test]
    fn findings_of_other_objects_are_listed_when_those_of_a_consequence_are_taken_out() {
        let mut all = Findings::new(&RULES, 3);
        (0..20).for_each(|page| all.push(finding("a", page)));
        (50..52).for_each(|page| all.push(finding("b", page)));
        let removed = all.remove("test-row-without-entry", Some("a")).unwrap();
        assert_eq!((removed.found_count, removed.affected.row_count), (20, 20));
        assert!(all.attribute("test-row-without-entry", Some("b"), removed.affected, "; more"));
        assert!(!all.attribute("test-row-without-entry", Some("a"), removed.affected, ""));
        let lists = all.into_lists();
        assert_eq!((lists.rule_counts[0].found_count, lists.findings.len()), (2, 2));
        assert_eq!((lists.findings[0].page, lists.findings[0].found.as_str()), (Some(50), "x; more"));
        assert_eq!(lists.object_counts[0].affected.row_count, 22);
    }

    #[test]
    fn consequences_are_no_findings_and_survive_being_kept() {
        let affected = Affected { row_count: 1, entry_count: 0 };
        let mut one = Findings::new(&RULES, 3);
        let mut other = Findings::new(&RULES, 3);
        (0..5).for_each(|page| one.push_consequence("pg_xact/0000", finding("a", 9 - page), affected));
        other.push_consequence("pg_xact/0000", finding("a", 2), affected);
        one.merge(other);
        let mut again = Findings::from_stored(&RULES, 3, one.to_stored());
        assert!(!again.is_empty() && again.count_of("test-row-without-entry") == 0);
        let taken = again.take_consequences();
        assert_eq!((taken.len(), taken[0].0.as_str(), taken[0].1.affected.row_count), (1, "pg_xact/0000", 6));
        assert_eq!(taken[0].1.first.page, Some(2));
        assert!(again.is_empty());
    }
}
