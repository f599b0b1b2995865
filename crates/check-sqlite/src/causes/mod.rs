//! What a damaged page explains: rows and index entries that are missing because of it are no findings of their own.
//!
//! A finding about a page, a chain or a pointer says which rows it loses: those of a page, by their rowids, or all of an
//! index. What the comparison of rows and entries finds missing there is counted with that finding.

pub(super) mod coverage;
pub(super) mod cycle;
pub(super) mod losses;
pub(super) mod naming;
pub(super) mod rows;

use std::collections::{BTreeMap, HashSet};

use results::check::Finding;
use results::object::Affected;

use check::findings::Findings;

pub(super) use crate::causes::losses::{ALL_ROWIDS, Loss, Losses, Rowids, rowids_of};
use crate::finding::Draft;
use crate::rules;
use crate::run::context::Context;

/// What findings explain: rows without entries and entries without rows, by page and rule.
pub(super) type Explained = BTreeMap<(u32, String), Affected>;

/// A row or an index entry that has no partner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lonely {
    pub(super) is_row: bool,
    pub(super) page: u32,
    /// Of the row; `None` where keys are no rowids.
    pub(super) rowid: Option<i64>,
    pub(super) table_tree: usize,
    pub(super) index_tree: usize,
}

impl Lonely {
    /// The loss that explains why the partner is missing.
    pub(super) fn cause(&self, losses: &Losses) -> Option<Loss> {
        let own_tree = if self.is_row { self.table_tree } else { self.index_tree };
        let partner = if self.is_row {
            losses.of_row(self.index_tree, None)
        } else {
            losses.of_row(self.table_tree, self.rowid)
        };
        partner.or_else(|| losses.of_page(own_tree, self.page))
    }

    /// Counts it with its cause; false when it has none.
    pub(super) fn explain(&self, context: &Context<'_>, explained: &mut Explained) -> bool {
        let losses = context.losses();
        let Some(cause) = self.cause(&losses) else { return false };
        let affected = explained.entry((cause.page, cause.rule.to_owned())).or_default();
        if self.is_row {
            affected.row_count += 1;
        } else {
            affected.entry_count += 1;
        }
        true
    }
}

/// What is added to a finding that explains others.
pub(super) fn explanation(affected: Affected) -> String {
    let plural =
        |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let entries = plural(affected.entry_count, "index entry has no row", "index entries have no row");
    let rows = plural(affected.row_count, "row has no index entry", "rows have no index entry");
    match (affected.entry_count, affected.row_count) {
        (_, 0) => format!("; because of it {entries}"),
        (0, _) => format!("; because of it {rows}"),
        _ => format!("; because of it {entries}, and {rows}"),
    }
}

/// Takes out findings about the order of an entry that is wrong itself: the entry is the cause.
pub(super) fn fold_key_order(findings: &mut Findings, named: &Findings) {
    let place = |finding: &Finding| Some((finding.page?, finding.slot?));
    let wrong = [rules::ENTRY_DIFFERS.id, rules::ENTRY_WITHOUT_ROW.id]
        .map(|rule| named.kept_of(rule).iter().filter_map(place).collect::<HashSet<_>>());
    let is_next_to_wrong = |finding: &Finding| {
        place(finding).is_some_and(|(page, slot)| {
            let neighbours = [Some(slot), slot.checked_sub(1)];
            neighbours.iter().flatten().any(|slot| wrong.iter().any(|wrong| wrong.contains(&(page, *slot))))
        })
    };
    findings.take_out(rules::KEY_ORDER.id, is_next_to_wrong);
}

/// Reduces what was found on one page to its cause: where cells are not where they should be, their records, keys and
/// values are wrong as well.
pub(super) fn fold_page(mut drafts: Vec<Draft>) -> Vec<Draft> {
    let is_inside = |draft: &Draft| {
        let elsewhere = [&rules::OVERFLOW, &rules::PAGE_USED_TWICE, &rules::CHECKSUM];
        elsewhere.iter().all(|rule| rule.id != draft.rule.id)
    };
    let rank = |draft: &Draft| {
        let causes = [&rules::PAGE_LAYOUT, &rules::CELL_OVERLAP];
        causes.iter().position(|rule| rule.id == draft.rule.id)
    };
    let cause = drafts.iter().enumerate().filter_map(|(at, draft)| Some((rank(draft)?, at))).min();
    let Some((_, at)) = cause else { return drafts };
    let mut cause = drafts.remove(at);
    let (inside, mut rest): (Vec<Draft>, Vec<Draft>) = drafts.into_iter().partition(is_inside);
    if !inside.is_empty() {
        let plural = if inside.len() == 1 { "breach" } else { "breaches" };
        cause.found += &format!("; {} more {plural} of rules on this page", inside.len());
    }
    rest.insert(0, cause);
    rest
}
