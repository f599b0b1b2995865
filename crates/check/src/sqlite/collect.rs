//! The second pass: objects whose sums differ are read again, and their facts held and sorted, to name the rows.

use std::collections::{HashMap, HashSet};

use results::check::Confidence;

use crate::sums::{BUCKET_COUNT, bucket_of};

use super::chain::Window;
use super::context::{Context, Draft};
use super::rules;
use super::worker::Worker;

/// Holds the facts of some buckets of some pairs.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// Buckets wanted of each pair, as bits.
    wanted: Vec<u64>,
    facts: Vec<Fact>,
}

/// One row as an index should know it, or one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fact {
    pair: u32,
    hash: u128,
    is_row: bool,
    page: u32,
    slot: u32,
    rowid: i64,
}

const _: () = assert!(BUCKET_COUNT == 64, "the buckets of a pair are the bits of a word");

impl Collector {
    pub(super) fn row(&mut self, pair: usize, hash: u128, page: u32, slot: usize, rowid: i64) {
        self.push(pair, Fact { pair: pair as u32, hash, is_row: true, page, slot: slot as u32, rowid });
    }

    pub(super) fn entry(&mut self, pair: usize, hash: u128, page: u32, slot: usize, rowid: i64) {
        self.push(pair, Fact { pair: pair as u32, hash, is_row: false, page, slot: slot as u32, rowid });
    }

    fn push(&mut self, pair: usize, fact: Fact) {
        if self.wanted.get(pair).is_some_and(|buckets| buckets & 1 << bucket_of(fact.hash) != 0) {
            self.facts.push(fact);
        }
    }
}

/// Bounds of the second pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) memory_bytes_max: u64,
    /// Pairs that are read at the same time.
    pub(super) pair_count_max: usize,
}

/// Names what differs. Returns the number of objects read again.
pub(super) fn second_pass(context: &Context<'_>, pass: &mut Worker<'_>, limits: Limits) -> u64 {
    let mut work = Vec::new();
    for (pair, difference) in pass.differences.iter().enumerate() {
        // Rows that could not be computed are missing in these sums; the report says so.
        let is_known = context
            .plans
            .pairs
            .get(pair)
            .is_some_and(|pair| !pair.is_computed || !pass.unevaluated.contains_key(&pair.table_tree));
        if !is_known {
            continue;
        }
        let buckets = difference.unequal_buckets();
        let per_bucket = (difference.left_count + difference.right_count) / BUCKET_COUNT as u64 + 1;
        work.extend(buckets.into_iter().map(|bucket| (pair, bucket, per_bucket)));
    }
    let objects: HashSet<usize> = work.iter().map(|(pair, _, _)| *pair).collect();
    let facts_max = limits.memory_bytes_max / size_of::<Fact>() as u64;
    let mut rest = work.as_slice();
    while !rest.is_empty() {
        let mut fact_count = 0;
        let mut pairs = HashSet::new();
        // At least one bucket each time, so that the loop ends.
        let fits = rest.iter().take_while(|(pair, _, facts)| {
            pairs.insert(*pair);
            fact_count += facts;
            pairs.len() <= limits.pair_count_max.max(1) && fact_count <= facts_max
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        let mut wanted = vec![0; context.plans.pairs.len()];
        for (pair, bucket, _) in now {
            if let Some(buckets) = wanted.get_mut(*pair) {
                *buckets |= 1 << bucket;
            }
        }
        let drafts = name_differences(context, wanted);
        drafts.into_iter().for_each(|draft| pass.report_at_once(draft));
        rest = later;
    }
    objects.len() as u64
}

fn name_differences(context: &Context<'_>, wanted: Vec<u64>) -> Vec<Draft> {
    let is_wanted = |pair: usize| wanted.get(pair).is_some_and(|buckets| *buckets != 0);
    let pairs = context.plans.pairs.iter().enumerate().filter(|(index, _)| is_wanted(*index));
    let trees: HashSet<usize> = pairs.flat_map(|(_, pair)| [pair.table_tree, pair.index_tree]).collect();
    let mut reader = Worker::new(context);
    reader.collector = Some(Collector { wanted, facts: Vec::new() });
    let mut bytes = Vec::new();
    for page in 1..=context.page_count {
        let is_needed = context.map.tree_of(page).is_some_and(|tree| trees.contains(&tree));
        if is_needed && context.reader.read(page, &mut bytes).is_ok() {
            let page_size_bytes = context.geometry.page_size_bytes as usize;
            reader.look_at_page(&Window { first_page: page, bytes: &bytes, page_size_bytes }, page);
        }
    }
    let mut facts = reader.collector.take().map(|collector| collector.facts).unwrap_or_default();
    facts.sort_unstable();
    let mut left_over = Vec::new();
    for same in facts.chunk_by(|left, right| (left.pair, left.hash) == (right.pair, right.hash)) {
        // Sorted: entries before rows.
        let entry_count = same.iter().filter(|fact| !fact.is_row).count();
        let row_count = same.len() - entry_count;
        let (entries, rows) = same.split_at(entry_count);
        let matched = entry_count.min(row_count);
        left_over.extend(entries.iter().skip(matched).chain(rows.iter().skip(matched)).copied());
    }
    drafts(context, &left_over)
}

/// Joins what is left over on both sides by rowid: the same row with other values is one finding.
fn drafts(context: &Context<'_>, left_over: &[Fact]) -> Vec<Draft> {
    let has_rowid =
        |fact: &Fact| context.plans.pairs.get(fact.pair as usize).is_some_and(|pair| pair.has_rowid);
    let rows = left_over.iter().filter(|fact| fact.is_row);
    let mut rows_by_rowid: HashMap<(u32, i64), Fact> =
        rows.clone().filter(|fact| has_rowid(fact)).map(|fact| ((fact.pair, fact.rowid), *fact)).collect();
    let mut drafts = Vec::new();
    for entry in left_over.iter().filter(|fact| !fact.is_row) {
        let row = if has_rowid(entry) { rows_by_rowid.remove(&(entry.pair, entry.rowid)) } else { None };
        drafts.push(entry_draft(context, entry, row));
    }
    for row in rows {
        if !has_rowid(row) || rows_by_rowid.contains_key(&(row.pair, row.rowid)) {
            drafts.push(row_draft(context, row));
        }
    }
    drafts
}

fn entry_draft(context: &Context<'_>, entry: &Fact, row: Option<Fact>) -> Draft {
    let Some(pair) = context.plans.pairs.get(entry.pair as usize) else {
        return Draft::new(&rules::ENTRY_WITHOUT_ROW, entry.page, "a row", "none");
    };
    let table = context.tree_name(pair.table_tree);
    let draft = match row {
        Some(row) => Draft::new(
            &rules::ENTRY_DIFFERS,
            entry.page,
            format!("the values of rowid {} in {table}, page {} slot {}", row.rowid, row.page, row.slot),
            "other values".to_owned(),
        ),
        None => {
            let expected = if pair.has_rowid {
                format!("a row with rowid {} in {table}", entry.rowid)
            } else {
                format!("a row in {table}")
            };
            Draft::new(
                &rules::ENTRY_WITHOUT_ROW,
                entry.page,
                expected,
                "no such row with these values".to_owned(),
            )
        }
    };
    draft.slot(entry.slot as usize).tree(pair.index_tree).confidence(confidence(
        context,
        pair.table_tree,
        pair.index_tree,
    ))
}

fn row_draft(context: &Context<'_>, row: &Fact) -> Draft {
    let Some(pair) = context.plans.pairs.get(row.pair as usize) else {
        return Draft::new(&rules::ROW_WITHOUT_ENTRY, row.page, "an entry", "none");
    };
    let index = context.tree_name(pair.index_tree);
    let what = if pair.has_rowid { format!(" for rowid {}", row.rowid) } else { String::new() };
    Draft::new(&rules::ROW_WITHOUT_ENTRY, row.page, format!("an entry{what} in {index}"), "none".to_owned())
        .slot(row.slot as usize)
        .tree(pair.table_tree)
        .confidence(confidence(context, pair.table_tree, pair.index_tree))
}

fn confidence(context: &Context<'_>, table: usize, index: usize) -> Confidence {
    if context.damaged_trees.contains(table) || context.damaged_trees.contains(index) {
        Confidence::Consequence
    } else {
        Confidence::Certain
    }
}
