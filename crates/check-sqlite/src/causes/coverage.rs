//! How much of a database a check verified.

use std::collections::BTreeSet;

use results::check::{CheckLevel, CheckReport, GapKind};
use results::coverage::{Coverage, Share};

use crate::run::context::Context;
use crate::run::prepared::Prepared;
use crate::run::worker::Worker;

/// What the pass counted.
struct Counted<'a> {
    /// Rows or index entries by tree.
    records: &'a [u64],
    /// Rows by tree that SQLite could not compute.
    uncomputed: &'a dyn Fn(usize) -> u64,
    /// Rows or entries by tree that were not decided.
    undecided: &'a dyn Fn(usize) -> u64,
    /// Whether all pages were seen, and everything that differs was named.
    is_whole: bool,
}

/// How much was verified, of what there is.
pub(crate) fn covered(
    context: &Context<'_>,
    prepared: &Prepared,
    worker: &Worker<'_>,
    is_whole: bool,
    report: &CheckReport,
) -> Coverage {
    let counted = Counted {
        records: &worker.record_counts,
        uncomputed: &|tree| worker.unevaluated.get(&tree).map_or(0, |(count, _)| *count),
        undecided: &|tree| worker.doubts.count_of(tree),
        is_whole: is_whole && report.unfinished.is_none(),
    };
    coverage(context, prepared, &counted, report)
}

/// Fills in the coverage of a report whose accounting and gaps are complete.
fn coverage(
    context: &Context<'_>,
    prepared: &Prepared,
    counted: &Counted<'_>,
    report: &CheckReport,
) -> Coverage {
    let accounting = &report.accounting;
    let read_count = accounting.page_count - accounting.unreached_count - accounting.unreadable_count;
    let mut coverage = Coverage::default();
    if report.level >= CheckLevel::Page {
        coverage.pages = Some(Share { verified_count: read_count, total_count: accounting.page_count });
    }
    if report.level < CheckLevel::Structure {
        return coverage;
    }
    let judged_count = read_count.saturating_sub(accounting.skipped_count());
    coverage.page_contents = Some(Share { verified_count: judged_count, total_count: accounting.page_count });
    let gaps: BTreeSet<&str> = report
        .not_checked
        .iter()
        .filter(|gap| gap.kind == GapKind::Coverage)
        .filter_map(|gap| gap.object.as_deref())
        .collect();
    let is_full = report.level == CheckLevel::Full;
    let losses = context.losses();
    let mut objects = Share::default();
    for (tree, plan) in context.plans.trees.iter().enumerate() {
        let is_left_out = is_full && gaps.contains(plan.name.as_str());
        objects.add(1, counted.is_whole && !is_left_out && !losses.has(tree));
    }
    let rootless = prepared.schema.resolved.iter().filter(|row| row.row.kind.has_tree() && row.row.root == 0);
    objects.add(rootless.count() as u64, false);
    coverage.objects = Some(objects);
    if is_full {
        let (rows, entries) = contents(context, prepared, counted);
        (coverage.rows, coverage.entries) = (Some(rows), Some(entries));
    }
    coverage
}

/// Rows that were compared with all their index entries, and index entries that were compared with their rows.
fn contents(context: &Context<'_>, prepared: &Prepared, counted: &Counted<'_>) -> (Share, Share) {
    let records = |tree: usize| counted.records.get(tree).copied().unwrap_or(0);
    let (mut rows, mut entries) = (Share::default(), Share::default());
    // Tables of which an index was not compared as a whole.
    let mut in_part = BTreeSet::new();
    // Tree 0 is sqlite_schema; the others are in the order of the rows of the schema.
    let trees = context.plans.trees.iter().enumerate().skip(1);
    for ((tree, plan), row) in trees.clone().zip(&prepared.schema.rows).filter(|(_, row)| !row.is_table) {
        let pair = plan.entries.and_then(|pair| context.plans.pairs.get(pair));
        let is_compared = counted.is_whole && pair.is_some_and(|pair| pair.fields.is_none());
        let undecided = (counted.undecided)(tree).min(records(tree));
        entries.total_count += records(tree);
        entries.verified_count += if is_compared { records(tree) - undecided } else { 0 };
        if !is_compared {
            in_part.insert(row.table_name.to_ascii_lowercase());
        }
    }
    for ((tree, plan), row) in trees.zip(&prepared.schema.rows).filter(|(_, row)| row.is_table) {
        let is_compared =
            counted.is_whole && plan.rows.is_some() && !in_part.contains(&row.name.to_ascii_lowercase());
        let open = ((counted.uncomputed)(tree) + (counted.undecided)(tree)).min(records(tree));
        rows.total_count += records(tree);
        rows.verified_count += if is_compared { records(tree) - open } else { 0 };
    }
    (rows, entries)
}
