//! Which next steps must wait for another finding.

use std::collections::{BTreeMap, HashMap};

use results::check::Finding;
use results::object::ObjectCount;
use results::wording::counted;

use super::sources::Sources;
use crate::findings::Lists;
use crate::rule::{Rank, RuleSet, Suspect};

/// Words of steps that rebuild, remove or overwrite: they take the source for true.
const REBUILDS: &[&str] = &[
    "REINDEX",
    "VACUUM",
    "CLUSTER",
    "pg_truncate_visibility_map",
    "pg_surgery",
    "pg_resetwal",
    "REPAIR_",
    "REBUILD",
    "DBCC CHECKALLOC",
    "CHECKTABLE",
    "rebuild",
    "restore the row",
    "freeze or kill",
    "delete the other",
    "UPDATE",
    "set the value",
];

/// Words before the step that turn it into a warning.
const WARNINGS: &[&str] = &[
    "do not ",
    "before any ",
    "never ",
    "would hide",
    "not until",
    "only after",
    "cannot ",
    "no VACUUM",
    "instead of",
];

/// Whether a next step proposes to rebuild, remove or overwrite something. A clause that warns of it does not.
#[must_use]
pub fn proposes_rebuild(next_step: &str) -> bool {
    proposes(next_step, REBUILDS)
}

/// Whether a clause of a next step has one of these words and no warning of it.
#[must_use]
pub fn proposes(next_step: &str, words: &[&str]) -> bool {
    next_step.split([';', ':', '.', ',']).any(|clause| {
        words.iter().any(|step| clause.contains(step))
            && !WARNINGS.iter().any(|warning| clause.contains(warning))
    })
}

/// What calls objects into question.
pub(super) struct Guard<'l> {
    rules: &'static RuleSet,
    sources: &'l Sources,
    /// Findings that call everything into question, or a whole database, those closest to the cause first.
    databases: Vec<Blocker<'l>>,
    /// Of those that call a table into question, the closest to the cause, by table.
    tables: HashMap<&'l str, Blocker<'l>>,
    /// The first rule about a page as a whole, by file and page; of listed findings only.
    pages: BTreeMap<(&'l str, u64), &'l Finding>,
    /// The closest to the cause of all.
    first: Option<Blocker<'l>>,
    /// A rule that calls objects into question of which not all are known by name.
    unnamed: Option<&'l str>,
}

/// Findings of one rule in one object that come first.
#[derive(Clone, Copy)]
pub(super) struct Blocker<'l> {
    rules: &'static RuleSet,
    rank: Rank,
    pub(super) count: &'l ObjectCount,
}

impl<'l> Blocker<'l> {
    fn is_before(&self, other: &Self) -> bool {
        (self.rank, &self.count.first) < (other.rank, &other.count.first)
    }

    fn keep_first(slot: &mut Option<Self>, new: Self) {
        if slot.as_ref().is_none_or(|kept| new.is_before(kept)) {
            *slot = Some(new);
        }
    }

    /// The next step of findings that wait for this one.
    pub(super) fn next_step(&self) -> String {
        let first = &self.count.first;
        let place = place(self.rules, first);
        let what = match self.count.found_count {
            0 | 1 => format!("finding {} on {place}", first.rule),
            count => {
                let object = first.object.as_deref().map_or(String::new(), |object| format!(" in {object}"));
                format!("the {} of {}{object}, the first on {place},", counted(count, "finding"), first.rule)
            }
        };
        waits(&what)
    }

    /// The finding in short: `pg-page-checksum in shop.public.orders`.
    pub(super) fn name(&self) -> String {
        let first = &self.count.first;
        match &first.object {
            Some(object) => format!("{} in {object}", first.rule),
            None => format!("{} on {}", first.rule, place(self.rules, first)),
        }
    }
}

fn waits(what: &str) -> String {
    format!("resolve {what} first; keep a copy of the files, then check again")
}

/// The page of a finding in the words of its engine.
fn place(rules: &RuleSet, finding: &Finding) -> String {
    let word = rules.page_word;
    match finding.page {
        Some(page) => format!("{} {word} {page}", finding.file),
        None => finding.file.clone(),
    }
}

impl<'l> Guard<'l> {
    pub(super) fn new(lists: &'l Lists, sources: &'l Sources) -> Self {
        let mut guard = Self::from_counts(lists.rules, &lists.object_counts, sources);
        for finding in
            lists.findings.iter().filter(|finding| lists.rules.role(&finding.rule).rank == Rank::Page)
        {
            if let Some(page) = finding.page {
                guard.pages.entry((&finding.file, page)).or_insert(finding);
            }
        }
        let unnamed = lists.rule_counts.iter().find(|rule| {
            let counts = lists.object_counts.iter().filter(|count| count.first.rule == rule.rule);
            let named: u64 = counts.map(|count| count.found_count).sum();
            named < rule.found_count && lists.rules.role(&rule.rule).suspect != Suspect::Nothing
        });
        guard.unnamed = unnamed.map(|rule| rule.rule.as_str());
        guard
    }

    pub(super) fn from_counts(
        rules: &'static RuleSet,
        counts: &'l [ObjectCount],
        sources: &'l Sources,
    ) -> Self {
        let mut guard = Self {
            rules,
            sources,
            databases: Vec::new(),
            tables: HashMap::new(),
            pages: BTreeMap::new(),
            first: None,
            unnamed: None,
        };
        counts.iter().for_each(|count| guard.add(count));
        guard
            .databases
            .sort_by(|one, other| (one.rank, &one.count.first).cmp(&(other.rank, &other.count.first)));
        guard
    }

    fn add(&mut self, count: &'l ObjectCount) {
        let role = self.rules.role(&count.first.rule);
        let blocker = Blocker { rules: self.rules, rank: role.rank, count };
        let object = count.first.object.as_deref();
        let table = match (role.suspect, object) {
            (Suspect::Nothing, _) => return,
            (Suspect::Database, _) => {
                self.databases.push(blocker);
                None
            }
            // An index that is damaged leaves its table as it is.
            (Suspect::Object, Some(object)) if self.sources.is_index(object) => return,
            (_, object) => object.map(|object| self.sources.table_of(object)),
        };
        Blocker::keep_first(&mut self.first, blocker);
        if let Some(table) = table {
            let mut kept = self.tables.get(table).copied();
            Blocker::keep_first(&mut kept, blocker);
            self.tables.extend(kept.map(|kept| (table, kept)));
        }
    }

    /// What calls the source of an object into question, closest to the cause first. Without an object, anything does.
    pub(super) fn blocker(&self, object: Option<&str>) -> Option<Blocker<'l>> {
        let covers = |blocker: &&Blocker<'_>| {
            let first = &blocker.count.first;
            object.is_none_or(|object| {
                first.object.as_deref() == Some(object)
                    || !(self.rules.is_of_one_database)(&first.rule)
                    || self.sources.is_of_database(object, &first.file)
            })
        };
        let mut blocker = self.databases.iter().find(covers).copied();
        let of_table = match object {
            Some(object) => self.tables.get(self.sources.table_of(object)).copied(),
            None => self.first,
        };
        if let Some(of_table) = of_table {
            Blocker::keep_first(&mut blocker, of_table);
        }
        blocker
    }

    /// Whether what was found in an object probably follows from a finding elsewhere: the object depends on it.
    pub(super) fn follows(&self, cause: &Finding, blocker: &Blocker<'_>) -> bool {
        (self.rules.explains)(&blocker.count.first.rule, &cause.rule)
    }

    /// The next step that a finding gets instead of its own; `None` where its own is safe and complete.
    pub(super) fn instead(&self, finding: &Finding, is_deep: bool) -> Option<String> {
        self.waiting(finding).or_else(|| self.rebuilt(finding).filter(|_| is_deep))
    }

    /// The step that rebuilds a damaged index, where no finding calls its table into question.
    fn rebuilt(&self, finding: &Finding) -> Option<String> {
        let role = self.rules.role(&finding.rule);
        let index = finding.object.as_deref().filter(|object| self.sources.is_index(object))?;
        let is_of_index = role.suspect == Suspect::Object && role.rank > Rank::Database;
        if !is_of_index || proposes_rebuild(&finding.next_step) || self.blocker(Some(index)).is_some() {
            return None;
        }
        let step = format!(
            "keep a copy of the files; no finding concerns the table: {} makes the index again from it",
            self.rules.rebuild
        );
        self.unnamed.is_none().then_some(step)
    }

    /// The finding that must be resolved first, as a next step.
    fn waiting(&self, finding: &Finding) -> Option<String> {
        let rank = self.rules.role(&finding.rule).rank;
        let on_page = finding.page.and_then(|page| self.pages.get(&(finding.file.as_str(), page)));
        if let Some(first) = on_page.filter(|first| rank > Rank::Page && first.rule != finding.rule) {
            return Some(waits(&format!("finding {} on {}", first.rule, place(self.rules, first))));
        }
        let blocker = self.blocker(finding.object.as_deref());
        let is_rebuild = proposes_rebuild(&finding.next_step);
        // What two objects say of each other means little while one of them is damaged in itself.
        let is_comparison = rank == Rank::Comparison && finding.object.is_some();
        if let Some(blocker) = blocker {
            let is_own = blocker.count.first.rule == finding.rule;
            let is_first = is_rebuild || is_comparison && blocker.rank < rank;
            return (!is_own && is_first).then(|| blocker.next_step());
        }
        if !is_rebuild {
            return None;
        }
        let rule = self.unnamed.filter(|rule| *rule != finding.rule)?;
        Some(waits(&format!("the findings of {rule}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_from_a_warning_of_it() {
        assert!(proposes_rebuild(
            "keep a copy; when the table itself checks clean, REINDEX rebuilds the index"
        ));
        assert!(!proposes_rebuild("restore the block from a backup; do not run REINDEX before"));
        assert!(!proposes_rebuild("note the keys before any REINDEX; restore the file from a backup"));
        assert!(!proposes_rebuild("restore the block from a backup"));
    }
}
