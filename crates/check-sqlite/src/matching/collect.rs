//! The second pass: objects whose sums differ are read again, and their facts held and sorted, to name the rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use disk::scan::ScanFile;
use results::check::Confidence;

use check::findings::Findings;
use check::matching::sums::{BUCKET_COUNT, BucketSet};
use check::options::Options;
use check::pass::Pass;
use check::progress::Progress;

use crate::causes::{Explained, Lonely, naming};
use crate::finding::Draft;
use crate::map::chain::Window;
use crate::matching::collector::{Collector, Fact, Wanted};
use crate::rules;
use crate::run::context::Context;
use crate::run::pass::visit;
use crate::run::worker::Worker;
use crate::source::anchor::Anchor;
use crate::versions::Doubts;

/// Pages without interest between two wanted ones that are read all the same, because a new read would cost more.
const GAP_PAGES_MAX: u32 = 64;
/// Parts of one bucket that are read one after the other, when all its facts would not fit.
const PART_COUNT_MAX: u64 = 4096;

/// What a second pass brought, and how far it came.
pub(crate) struct Named {
    pub(crate) findings: Findings,
    /// What differs and is in doubt.
    pub(crate) doubts: Doubts,
    /// Readings done, in this call and those before it.
    pub(crate) done_count: usize,
    /// Pairs whose sums differ.
    pub(crate) object_count: u64,
    /// Most bytes of facts at one time.
    pub(crate) memory_bytes_max: u64,
    /// Rows and entries that findings about pages explain.
    pub(crate) explained: Explained,
    /// Why what differs could not be named, or not all of it.
    pub(crate) trouble: Option<String>,
    /// Whether time was over or the check was stopped, so that a later call can go on.
    pub(crate) is_stopped: bool,
}

/// Reads the objects again whose sums differ, and names what differs. `named` is what earlier calls brought; `is_due`
/// means that one reading is done even when time is over, so that repeated calls come to an end.
pub(crate) fn second_pass(
    context: &Context<'_>,
    anchor: &Anchor,
    pass: &Worker<'_>,
    reading: Pass<'_>,
    is_due: bool,
    mut named: Named,
    progress: &mut dyn Progress,
) -> Named {
    let (groups, indexes) = groups(context, pass, reading.options);
    named.object_count = indexes.len() as u64;
    let first = named.done_count;
    for (index, wanted) in groups.into_iter().enumerate().skip(first) {
        let deadline = reading.deadline.filter(|_| !is_due || index > first);
        let reading = Pass { deadline, ..reading };
        let outcome = if reading.is_over() {
            Err(Trouble::Stopped)
        } else {
            name_differences(context, anchor, wanted, reading, &mut named, progress)
        };
        match outcome {
            Ok(()) => named.done_count = index + 1,
            Err(Trouble::Stopped) => {
                named.is_stopped = true;
                let names: Vec<_> = indexes.iter().map(|index| context.tree_name(*index)).collect();
                named.trouble = Some(format!(
                    "stopped before all differences between tables and {} were reported",
                    names.join(", ")
                ));
                return named;
            }
            Err(Trouble::Reading(reason)) => {
                named.trouble = Some(reason);
                return named;
            }
        }
    }
    named
}

enum Trouble {
    Stopped,
    Reading(String),
}

/// What is read together, within the limits; and the trees of the indexes concerned.
fn groups(context: &Context<'_>, pass: &Worker<'_>, options: &Options) -> (Vec<Wanted>, Vec<usize>) {
    // Half of the memory; facts of all workers are put together once.
    let facts_max = (options.memory_bytes_max / (4 * size_of::<Fact>() as u64)).max(1);
    let pair_count_max = options.object_batch.unwrap_or(usize::MAX).max(1);
    let mut groups: Vec<(Wanted, u64, Vec<usize>)> = Vec::new();
    let mut indexes = Vec::new();
    for (index, difference) in pass.differences.iter().enumerate() {
        let Some(pair) = context.plans.pairs.get(index) else { continue };
        let buckets = difference.unequal();
        if !buckets.is_empty() {
            indexes.push(pair.index_tree);
        }
        let fact_count = difference.count_of_both() / BUCKET_COUNT as u64 + 1;
        for bucket in buckets.iter() {
            let part_count = fact_count.div_ceil(facts_max).min(PART_COUNT_MAX);
            let fits = groups.last().is_some_and(|(wanted, sum, pairs)| {
                let pair_count = pairs.len() + usize::from(!pairs.contains(&index));
                part_count == 1
                    && wanted.part_count == 1
                    && sum + fact_count <= facts_max
                    && pair_count <= pair_count_max
            });
            if !fits {
                groups.extend((0..part_count).map(|part| {
                    let buckets = vec![BucketSet::default(); context.plans.pairs.len()];
                    let trees = vec![false; context.plans.trees.len()];
                    (Wanted { buckets, whole: Vec::new(), trees, part, part_count }, 0, Vec::new())
                }));
            }
            let count = if fits { 1 } else { part_count as usize };
            for (wanted, sum, pairs) in groups.iter_mut().rev().take(count) {
                *sum += fact_count;
                if !pairs.contains(&index) {
                    pairs.push(index);
                }
                if let Some(bits) = wanted.buckets.get_mut(index) {
                    bits.insert(bucket);
                }
                for tree in [pair.table_tree, pair.index_tree] {
                    if let Some(is_needed) = wanted.trees.get_mut(tree) {
                        *is_needed = true;
                    }
                }
            }
        }
    }
    let unequal: Vec<_> = pass.differences.iter().map(|difference| difference.unequal().len()).collect();
    let finished = groups.into_iter().map(|(mut wanted, _, _)| {
        let held = wanted.buckets.iter().map(|buckets| buckets.len());
        wanted.whole = held.zip(&unequal).map(|(held, all)| wanted.part_count == 1 && held == *all).collect();
        wanted
    });
    (finished.collect(), indexes)
}

fn name_differences(
    context: &Context<'_>,
    anchor: &Anchor,
    wanted: Wanted,
    reading: Pass<'_>,
    named: &mut Named,
    progress: &mut dyn Progress,
) -> Result<(), Trouble> {
    let collecting = || {
        let mut worker = Worker::new(context);
        worker.collector = Some(Collector { wanted: wanted.clone(), ..Collector::default() });
        worker
    };
    let in_file = anchor.whole_pages().min(context.page_count);
    let parts = parts(context, &wanted, in_file, &anchor.path);
    let outcome = reading
        .run(&parts, progress, |_| collecting(), |worker, extent| visit(context, worker, &extent))
        .map_err(|error| Trouble::Reading(error.to_string()))?;
    if outcome.files.iter().any(|file| file.unclaimed_bytes > 0) {
        return Err(Trouble::Stopped);
    }
    let unreadable_count: u64 = outcome.states.iter().map(|worker| worker.unreadable_count).sum();
    if unreadable_count > 0 && !context.has_unreadable() {
        return Err(Trouble::Reading(format!(
            "{unreadable_count} pages could not be read a second time, so the differences cannot be located"
        )));
    }
    let mut last = collecting();
    let mut bytes = Vec::new();
    for page in in_file.saturating_add(1)..=context.page_count {
        if context.reader.read(page, &mut bytes).is_ok() {
            let page_size_bytes = context.geometry.page_size_bytes as usize;
            last.look(&Window { first_page: page, bytes: &bytes, page_size_bytes });
        }
    }
    let workers = outcome.states.into_iter().chain([last]);
    let mut facts: Vec<Fact> = Vec::new();
    let mut doubted = Doubted::default();
    for collector in workers.filter_map(|worker| worker.collector) {
        facts.extend(collector.facts);
        collector.extras.into_iter().for_each(|key| *doubted.extras.entry(key).or_default() += 1);
        for (pair, reason) in collector.reasons {
            doubted.reasons.entry(pair).or_insert(reason);
        }
        doubted.overfull.extend(collector.overfull);
    }
    named.memory_bytes_max = named.memory_bytes_max.max((2 * facts.len() * size_of::<Fact>()) as u64);
    facts.sort_unstable();
    let mut left_over = Vec::new();
    for same in facts.chunk_by(|left, right| (left.pair, left.hash) == (right.pair, right.hash)) {
        // Sorted: entries before rows.
        let entry_count = same.iter().filter(|fact| !fact.is_row).count();
        let row_count = same.len() - entry_count;
        let (entries, rows) = same.split_at(entry_count);
        let matched = entry_count.min(row_count);
        left_over.extend(unmatched(context, entries, matched).chain(unmatched(context, rows, matched)));
    }
    drop(facts);
    if left_over.is_empty() && wanted.part_count == 1 {
        let trouble = "rows and entries differed, but agreed when they were read again: a page had two different readings";
        named.trouble.get_or_insert_with(|| trouble.to_owned());
    }
    let is_whole = |pair: u32| wanted.whole.get(pair as usize) == Some(&true);
    let left_over = doubted.settle(context, left_over, is_whole, &mut named.doubts);
    let left_over = without_explained(context, left_over, &mut named.explained);
    report_left_over(context, &left_over, |draft| named.findings.push(context.commit(draft)));
    Ok(())
}

/// What is too many of equal facts: those on damaged pages before others.
fn unmatched(context: &Context<'_>, same: &[Fact], matched: usize) -> impl Iterator<Item = Fact> + use<> {
    let mut facts = Vec::new();
    if same.len() > matched {
        let losses = context.losses();
        let is_on_damaged = |fact: &Fact| {
            let pair = context.plans.pairs.get(fact.pair as usize);
            let tree = pair.map(|pair| if fact.is_row { pair.table_tree } else { pair.index_tree });
            tree.is_some_and(|tree| losses.of_page(tree, fact.member.page).is_some())
        };
        facts.extend_from_slice(same);
        facts.sort_by_key(is_on_damaged);
    }
    facts.into_iter().skip(matched)
}

/// The rows in doubt of one reading.
#[derive(Debug, Default)]
struct Doubted {
    /// Rows that may belong to an entry, by pair and identity: how many.
    extras: HashMap<(u32, u64), u64>,
    reasons: BTreeMap<u32, String>,
    overfull: BTreeSet<u32>,
}

impl Doubted {
    /// Takes out of what is left over what may be right by another version or build of SQLite, and counts it.
    fn settle(
        mut self,
        context: &Context<'_>,
        left_over: Vec<Fact>,
        is_whole: impl Fn(u32) -> bool,
        doubts: &mut Doubts,
    ) -> Vec<Fact> {
        if self.reasons.is_empty() {
            return left_over;
        }
        let key = |fact: &Fact| (fact.pair, fact.member.identity);
        for row in left_over.iter().filter(|fact| fact.is_row && fact.doubt.is_any()) {
            *self.extras.entry(key(row)).or_default() += 1;
        }
        let mut settled: HashMap<(u32, u64), u64> = HashMap::new();
        let mut doubt = |fact: &Fact, what: &str| {
            let tree = context.plans.pairs.get(fact.pair as usize).map_or(0, |pair| pair.index_tree);
            doubts.add(tree, what, self.reasons.get(&fact.pair).map_or("", String::as_str));
        };
        let is_settled = |entry: &Fact| match self.extras.get_mut(&key(entry)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                *settled.entry(key(entry)).or_default() += 1;
                true
            }
            _ => self.overfull.contains(&entry.pair),
        };
        let (entries, rows): (Vec<Fact>, Vec<Fact>) = left_over.into_iter().partition(|fact| !fact.is_row);
        let (in_doubt, mut rest): (Vec<Fact>, Vec<Fact>) = entries.into_iter().partition(is_settled);
        in_doubt.iter().for_each(|entry| doubt(entry, "values of expressions in its entries"));
        for row in rows {
            if let Some(count) = settled.get_mut(&key(&row)).filter(|count| row.doubt.is_any() && **count > 0)
            {
                *count -= 1;
            } else if row.doubt.of_entry || row.doubt.is_any() && !is_whole(row.pair) {
                doubt(&row, "rows without entry");
            } else if self.overfull.contains(&row.pair) {
                doubt(&row, "values of expressions in its entries");
            } else {
                rest.push(row);
            }
        }
        rest
    }
}

/// The stretches of the file that hold the pages of these trees.
fn parts(context: &Context<'_>, wanted: &Wanted, in_file: u32, path: &std::path::Path) -> Vec<ScanFile> {
    let is_needed = |tree: Option<usize>| tree.is_some_and(|tree| wanted.trees.get(tree) == Some(&true));
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    for page in (1..=in_file).filter(|page| is_needed(context.map.tree_of(*page))) {
        match stretches.last_mut() {
            Some((_, last)) if page - *last <= GAP_PAGES_MAX => *last = page,
            _ => stretches.push((page, page)),
        }
    }
    let size = u64::from(context.geometry.page_size_bytes);
    let part =
        |(first, last): (u32, u32)| ScanFile::part(path, u64::from(first - 1) * size..u64::from(last) * size);
    stretches.into_iter().map(part).collect()
}

/// Counts what the loss of a page explains with that loss, and returns the rest in the order of the file.
fn without_explained(context: &Context<'_>, left_over: Vec<Fact>, explained: &mut Explained) -> Vec<Fact> {
    let lonely = |fact: &Fact| {
        let pair = context.plans.pairs.get(fact.pair as usize)?;
        Some(Lonely {
            is_row: fact.is_row,
            page: fact.member.page,
            rowid: pair.has_rowid.then_some(fact.member.rowid),
            table_tree: pair.table_tree,
            index_tree: pair.index_tree,
        })
    };
    let is_explained = |fact: &Fact, explained: &mut Explained| {
        lonely(fact).is_some_and(|lonely| lonely.explain(context, explained))
    };
    let mut rest: Vec<Fact> = left_over.into_iter().filter(|fact| !is_explained(fact, explained)).collect();
    rest.sort_by_key(|fact| (fact.pair, fact.member.page, fact.member.slot, fact.is_row));
    rest
}

/// Joins what is left over on both sides by rowid: the same row with other values is one finding.
fn report_left_over(context: &Context<'_>, left_over: &[Fact], mut report: impl FnMut(Draft)) {
    let has_rowid =
        |fact: &Fact| context.plans.pairs.get(fact.pair as usize).is_some_and(|pair| pair.has_rowid);
    let rows = left_over.iter().filter(|fact| fact.is_row);
    let mut rows_by_rowid: HashMap<(u32, i64), Fact> = rows
        .clone()
        .filter(|fact| has_rowid(fact))
        .map(|fact| ((fact.pair, fact.member.rowid), *fact))
        .collect();
    let mut shown = Shown { context, left: [context.findings_per_rule_max; 3] };
    for entry in left_over.iter().filter(|fact| !fact.is_row) {
        let row =
            if has_rowid(entry) { rows_by_rowid.remove(&(entry.pair, entry.member.rowid)) } else { None };
        report(shown.entry(entry, row));
    }
    for row in rows {
        if !has_rowid(row) || rows_by_rowid.contains_key(&(row.pair, row.member.rowid)) {
            report(shown.row(row));
        }
    }
}

/// Puts findings into words; only those that may be listed get their values, which costs a read.
struct Shown<'c> {
    context: &'c Context<'c>,
    /// How many findings still get values: entries without row, entries that differ, rows without entry.
    left: [usize; 3],
}

impl Shown<'_> {
    fn is_listed(&mut self, kind: usize) -> bool {
        match self.left.get_mut(kind) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    fn entry(&mut self, entry: &Fact, row: Option<Fact>) -> Draft {
        let context = self.context;
        let index = entry.pair as usize;
        let Some(pair) = context.plans.pairs.get(index) else {
            return Draft::new(&rules::ENTRY_WITHOUT_ROW, entry.member.page, "a row", "none");
        };
        let table = context.tree_name(pair.table_tree);
        let table_plan = context.plans.trees.get(pair.table_tree);
        let key = pair.has_rowid.then(|| naming::rowid_text(table_plan, entry.member.rowid));
        let is_listed = self.is_listed(usize::from(row.is_some()));
        let values = if is_listed { naming::entry(context, index, &entry.member) } else { None };
        let mut draft = match row {
            Some(row) => {
                let place = format!("page {} slot {}", row.member.page, row.member.slot);
                let of_row = if is_listed { naming::row(context, index, &row.member) } else { None };
                let differing = match (&of_row, &values) {
                    (Some(row), Some(entry)) => row.differences(entry, context),
                    _ => Vec::new(),
                };
                let side = |values: Vec<&String>| values.into_iter().cloned().collect::<Vec<_>>().join(", ");
                let (in_row, in_entry) = match differing.as_slice() {
                    [] => ("the values of the row".to_owned(), "different values".to_owned()),
                    pairs => (
                        side(pairs.iter().map(|(row, _)| row).collect()),
                        side(pairs.iter().map(|(_, entry)| entry).collect()),
                    ),
                };
                let expected = format!("{in_row}, as in {table}, {place}");
                Draft::new(&rules::ENTRY_DIFFERS, entry.member.page, expected, in_entry)
            }
            None => {
                let expected = match &key {
                    Some(key) => format!("a row with {key} in {table}"),
                    None => format!("a row in {table}"),
                };
                let found = match &values {
                    Some(values) => format!("none; the entry holds {}", values.text(context)),
                    None => "no row with these values".to_owned(),
                };
                Draft::new(&rules::ENTRY_WITHOUT_ROW, entry.member.page, expected, found)
            }
        };
        draft.row = key.or_else(|| values.map(|values| values.text(context)));
        draft.slot(entry.member.slot as usize).tree(pair.index_tree).confidence(confidence(
            context,
            pair.table_tree,
            pair.index_tree,
        ))
    }

    fn row(&mut self, row: &Fact) -> Draft {
        let context = self.context;
        let index = row.pair as usize;
        let Some(pair) = context.plans.pairs.get(index) else {
            return Draft::new(&rules::ROW_WITHOUT_ENTRY, row.member.page, "an entry", "none");
        };
        let name = context.tree_name(pair.index_tree);
        let key = pair
            .has_rowid
            .then(|| naming::rowid_text(context.plans.trees.get(pair.table_tree), row.member.rowid));
        let values = if self.is_listed(2) { naming::row(context, index, &row.member) } else { None };
        let what = key.as_ref().map_or(String::new(), |key| format!(" for {key}"));
        let found = match &values {
            Some(values) => format!("none; the row holds {}", values.text(context)),
            None => "none".to_owned(),
        };
        let mut draft = Draft::new(
            &rules::ROW_WITHOUT_ENTRY,
            row.member.page,
            format!("an entry{what} in {name}"),
            found,
        );
        draft.row = key.or_else(|| values.map(|values| values.text(context)));
        draft.slot(row.member.slot as usize).tree(pair.table_tree).confidence(confidence(
            context,
            pair.table_tree,
            pair.index_tree,
        ))
    }
}

fn confidence(context: &Context<'_>, table: usize, index: usize) -> Confidence {
    if context.damaged_trees.contains(table) || context.damaged_trees.contains(index) {
        Confidence::Consequence
    } else {
        Confidence::Certain
    }
}
