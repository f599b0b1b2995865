//! One wrong row is one finding: what several indexes say about it is put together.
//!
//! Each index of a table is compared with its rows by itself. A row that differs from its entries in two indexes, that has
//! none in both, or that is missing while both have its entry, is one damage.

use std::collections::{BTreeMap, HashMap};

use results::check::Finding;
use results::object::Affected;
use results::wording::counted_as;

use crate::rules;
use crate::run::context::Context;
use check::findings::Findings;

/// So many times more findings of a rule than are listed are kept until they are put together.
pub(crate) const KEPT_FACTOR: usize = 8;

/// Makes one finding of those about one row of a table with rowids. A rule of which not all findings were kept is left as
/// it is, so that its counts stay those of one kind.
pub(crate) fn fold_rows(context: &Context<'_>, findings: &mut Findings) {
    let tables = Tables::new(context);
    for rule in [&rules::ENTRY_DIFFERS, &rules::ENTRY_WITHOUT_ROW, &rules::ROW_WITHOUT_ENTRY] {
        let kept = findings.kept_of(rule.id);
        if kept.is_empty() || kept.len() as u64 != findings.count_of(rule.id) {
            continue;
        }
        let mut rows: BTreeMap<(usize, String), Vec<Finding>> = BTreeMap::new();
        let mut rest = Vec::new();
        for finding in kept {
            let place = tables.of(finding).filter(|table| tables.has_rowid(*table));
            match place.zip(finding.row.clone()) {
                Some(place) => rows.entry(place).or_default().push(finding.clone()),
                None => rest.push(finding.clone()),
            }
        }
        findings.take_out(rule.id, |_| true);
        rest.into_iter().for_each(|finding| findings.push(finding));
        for ((table, _), mut found) in rows {
            found.sort();
            let count = found.len() as u64;
            let Some(folded) = tables.folded(table, &found) else {
                found.into_iter().for_each(|finding| findings.push(finding));
                continue;
            };
            let affected = match rule.id == rules::ROW_WITHOUT_ENTRY.id {
                true => Affected { row_count: 1, entry_count: 0 },
                false => Affected { row_count: 0, entry_count: count },
            };
            findings.push_affecting(folded, affected);
        }
    }
}

/// The tables of the file and their indexes, by the names that findings give them.
struct Tables<'c> {
    context: &'c Context<'c>,
    by_name: HashMap<&'c str, usize>,
}

impl<'c> Tables<'c> {
    fn new(context: &'c Context<'c>) -> Self {
        let trees = context.plans.trees.iter().enumerate();
        Self { context, by_name: trees.map(|(tree, plan)| (plan.name.as_str(), tree)).collect() }
    }

    /// The table of a finding about one of its rows, or about an entry of one of its indexes.
    fn of(&self, finding: &Finding) -> Option<usize> {
        let tree = *self.by_name.get(finding.object.as_deref()?)?;
        let plan = self.context.plans.trees.get(tree)?;
        match plan.entries {
            Some(pair) => Some(self.context.plans.pairs.get(pair)?.table_tree),
            None => Some(tree),
        }
    }

    fn has_rowid(&self, table: usize) -> bool {
        self.context.plans.trees.get(table).is_some_and(|plan| plan.is_table == Some(true))
    }

    /// Whether the indexes with an entry say that the row is lost: all that have an entry for every row are among them, or
    /// there are two of those that need not have one.
    fn is_lost(&self, table: usize, found: &[Finding]) -> bool {
        let rows = self.context.plans.trees.get(table).and_then(|plan| plan.rows.as_ref());
        let feeds = rows.map(|rows| rows.feeds.as_slice()).unwrap_or_default();
        let full = feeds.iter().filter(|feed| feed.condition.is_none() && feed.unknown.is_none());
        let mut full = full.filter_map(|feed| self.context.plans.pairs.get(feed.pair)).peekable();
        if full.peek().is_none() {
            return found.len() > 1;
        }
        full.all(|pair| {
            let name = self.context.tree_name(pair.index_tree);
            found.iter().any(|finding| finding.object.as_deref() == Some(name))
        })
    }

    /// The finding that stands for all of one row; `None` where they stay apart.
    fn folded(&self, table: usize, found: &[Finding]) -> Option<Finding> {
        let first = found.first()?;
        let name = self.context.tree_name(table).to_owned();
        let row = first.row.clone()?;
        let places = |text: fn(&Finding) -> &str| {
            let place = |finding: &Finding| {
                let page = finding.page.unwrap_or(0);
                let slot = finding.slot.unwrap_or(0);
                let index = finding.object.as_deref().unwrap_or("an index");
                format!("{} in {index}, page {page} slot {slot}", text(finding))
            };
            found.iter().map(place).collect::<Vec<_>>().join("; ")
        };
        if first.rule == rules::ENTRY_DIFFERS.id && found.len() > 1 {
            let (page, slot) = row_place(first, &name)?;
            let values: Vec<&str> =
                found.iter().map(|finding| before(&finding.expected, &name)).collect::<Option<_>>()?;
            let mut distinct: Vec<&str> = Vec::new();
            values.iter().for_each(|value| distinct.extend((!distinct.contains(value)).then_some(*value)));
            return Some(Finding {
                page: Some(page),
                slot: Some(slot),
                object: Some(name),
                expected: format!(
                    "the values of {}: {}",
                    counted_as(found.len() as u64, "index entry", "index entries"),
                    places(|finding| &finding.found)
                ),
                found: distinct.join(", "),
                next_step: ROW_IS_WRONG.to_owned(),
                ..first.clone()
            });
        }
        if first.rule == rules::ENTRY_WITHOUT_ROW.id && self.is_lost(table, found) {
            return Some(Finding {
                object: Some(name.clone()),
                expected: format!("a row with {row} in {name}"),
                found: format!("none; {}", places(|finding| finding.found.trim_start_matches("none; "))),
                ..first.clone()
            });
        }
        if first.rule == rules::ROW_WITHOUT_ENTRY.id && found.len() > 1 {
            let prefix = format!("an entry for {row} in ");
            let indexes: Vec<&str> =
                found.iter().map(|finding| finding.expected.strip_prefix(&prefix)).collect::<Option<_>>()?;
            return Some(Finding {
                expected: format!("{prefix}{}", indexes.join(" and in ")),
                ..first.clone()
            });
        }
        None
    }
}

/// What to do about a row that several indexes contradict.
const ROW_IS_WRONG: &str = "compare the row with a backup: several indexes hold other values, so that the row is probably the damaged side; keep a copy, and do not run REINDEX before";

/// What an entry was expected to hold, without the place of its row.
fn before<'f>(expected: &'f str, table: &str) -> Option<&'f str> {
    expected.get(..expected.rfind(&format!(", as in {table}, page "))?)
}

/// The place of the row in the text of a finding about an entry that differs from it.
fn row_place(finding: &Finding, table: &str) -> Option<(u64, u64)> {
    let start = finding.expected.rfind(&format!(", as in {table}, page "))?;
    let place = finding.expected.get(start..)?.rsplit_once(", page ")?.1;
    let (page, slot) = place.split_once(" slot ")?;
    Some((page.parse().ok()?, slot.parse().ok()?))
}
