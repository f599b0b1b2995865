//! Rows and index entries that do not match: one finding for a row, a block or an index, however many indexes say so.

use crate::matching::mismatches::EntryPlace;
use crate::matching::mismatches::KEYS_MAX;
use crate::matching::mismatches::Lost;
use crate::matching::mismatches::Without;
use std::collections::BTreeMap;

use check::findings::Findings;
use formats::postgres::Tid;
use results::check::{Confidence, Finding};
use results::object::Affected;
use results::wording::counted;

use crate::finding::ZEROS;
use crate::matching::exact::Exact;
use crate::matching::mismatches::Mismatches;
use crate::naming::{entry_difference, row_text};
use crate::rules;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;

impl ReportBuilder<'_> {
    /// Reports what does not match.
    pub(crate) fn report_mismatches(&mut self, found: Mismatches, state: &PassState, exact: &Exact<'_>) {
        let report = Report { state, exact, findings: &mut self.findings };
        report.all(found);
    }
}

struct Report<'r, 'e> {
    state: &'r PassState,
    exact: &'r Exact<'e>,
    findings: &'r mut Findings,
}

impl Report<'_, '_> {
    fn all(mut self, found: Mismatches) {
        let mut run: Option<ZeroRun> = None;
        for ((table, block), lost) in found.lost {
            run = self.lost(table, block, lost, run);
        }
        self.end_run(run);
        for (table, rows) in found.differing {
            for (tid, entries) in rows {
                self.differing(table, tid, &entries);
            }
        }
        self.differing_more(&found.differing_more);
        for (index, blocks) in found.without {
            self.without(index, blocks);
        }
    }

    fn name(&self, relation: u32) -> &str {
        self.exact.second.plan.relation(relation).map_or("?", |relation| relation.name.as_str())
    }

    /// Whether a block breaks rules by its own bytes, so that what others say of it follows.
    fn is_broken(&self, relation: u32, block: u32) -> bool {
        self.state.sums.not_clean.get(&(relation, block)) == Some(&true)
    }

    /// Adds to the finding about a block, or about one of its line pointers, what follows from it; whether there is one.
    fn follows(
        &mut self,
        relation: u32,
        (block, item): (u32, Option<u16>),
        affected: Affected,
        text: &str,
    ) -> bool {
        let name = self.name(relation).to_owned();
        let place = (u64::from(block), item.map(u64::from));
        self.is_broken(relation, block) && self.findings.attribute_to_page(&name, place, affected, text)
    }

    fn lost(&mut self, table: u32, block: u32, lost: Lost, run: Option<ZeroRun>) -> Option<ZeroRun> {
        let Some(first) = lost.first else { return run };
        let affected = lost.affected();
        let entries = counted(affected.entry_count, "index entry");
        if self.follows(
            table,
            (block, Some(first.item)),
            affected,
            &format!("; {entries} of its rows have no counterpart"),
        ) {
            return run;
        }
        let (found, confidence) = self.exact.describe(table, first);
        if found != ZEROS {
            self.exact.note(table, block, false);
            self.push_lost(table, first, &lost.by_index, affected, found, confidence);
            return run;
        }
        // The map says of the block what entries say of each of its rows.
        let visibility = rules::VISIBILITY_MAP.id;
        let name = self.name(table).to_owned();
        if self.exact.first.plan.visibility_of(table, block).all_visible {
            self.findings.take_out_of_page(visibility, &name, u64::from(block));
        }
        self.exact.note(table, block, true);
        match run {
            Some(mut run) if run.table == table && run.last + 1 == block => {
                run.add(block, &lost);
                Some(run)
            }
            run => {
                self.end_run(run);
                let mut run = ZeroRun { table, first, last: block, by_index: Vec::new(), row_count: 0 };
                run.add(block, &lost);
                Some(run)
            }
        }
    }

    fn end_run(&mut self, run: Option<ZeroRun>) {
        let Some(run) = run else { return };
        let found = match run.last - run.first.block {
            0 => ZEROS.to_owned(),
            _ => format!("blocks {} to {} are zeros", run.first.block, run.last),
        };
        let affected = Affected {
            row_count: run.row_count,
            entry_count: run.by_index.iter().map(|(_, count, _)| *count).sum(),
        };
        self.push_lost(run.table, run.first, &run.by_index, affected, found, Confidence::Certain);
    }

    fn push_lost(
        &mut self,
        table: u32,
        first: Tid,
        by_index: &[(u32, u64, (u32, u16))],
        affected: Affected,
        found: String,
        confidence: Confidence,
    ) {
        let names: Vec<String> = by_index
            .iter()
            .map(|(index, _, (block, item))| {
                format!("{} (block {block} line pointer {item})", self.name(*index))
            })
            .collect();
        let noun = if names.len() == 1 { "index" } else { "indexes" };
        let rows = counted(affected.row_count, "row");
        let expected = format!("{rows} with entries in {noun} {}", names.join(", "));
        let finding = self.exact.finding(&rules::ENTRY_WITHOUT_ROW, table, first, expected, found);
        self.findings.push_affecting(Finding { confidence, ..finding }, affected);
    }

    fn differing(&mut self, table: u32, tid: Tid, entries: &[EntryPlace]) {
        let affected = Affected { row_count: 1, entry_count: entries.len() as u64 };
        let text = "; a row in it differs from its index entries";
        if self.follows(table, (tid.block, Some(tid.item)), affected, text) {
            return;
        }
        let mut entries = entries.to_vec();
        let of_one = Affected { row_count: 0, entry_count: 1 };
        entries.retain(|(index, (block, _))| {
            !self.follows(*index, (*block, None), of_one, "; an entry in it differs from its row")
        });
        if entries.is_empty() {
            return;
        }
        self.exact.note(table, tid.block, false);
        let mut expected = Vec::new();
        let mut found = Vec::new();
        for (index, place) in &entries {
            let name = self.name(*index).to_owned();
            expected.push(format!("{name}, block {} line pointer {}", place.0, place.1));
            let difference = entry_difference(self.exact.second.plan, *index, table, tid, *place);
            let in_index = if entries.len() == 1 { String::new() } else { format!(" in {name}") };
            found.push(match difference {
                Some((row, entry)) => format!("row: {row}; index entry{in_index}: {entry}"),
                None => format!("a different key{in_index}"),
            });
        }
        let noun = if expected.len() == 1 { "index" } else { "indexes" };
        let expected = format!("the key of the row in {noun} {}", expected.join("; "));
        let finding = self.exact.finding(&rules::ENTRY_DIFFERS, table, tid, expected, found.join("; "));
        self.findings.push_affecting(finding, affected);
    }

    /// Rows beyond those that are named.
    fn differing_more(&mut self, more: &BTreeMap<(u32, u32), u64>) {
        let mut tables: BTreeMap<u32, Affected> = BTreeMap::new();
        for ((table, _), count) in more {
            let affected = tables.entry(*table).or_default();
            affected.row_count = affected.row_count.max(*count);
            affected.entry_count += count;
        }
        for (table, affected) in tables {
            let name = self.name(table).to_owned();
            let text = format!("; so in {} more of the table", counted(affected.row_count, "row"));
            self.findings.attribute(rules::ENTRY_DIFFERS.id, Some(&name), affected, &text);
        }
    }

    fn without(&mut self, index: u32, blocks: BTreeMap<u32, Without>) {
        let mut rows: Vec<Tid> = Vec::new();
        let mut count = 0;
        let mut of_table = None;
        for (block, without) in blocks {
            let affected = Affected { row_count: without.count, entry_count: 0 };
            let text = format!("; {} of it without index entry", counted(without.count, "row"));
            if self.follows(without.table, (block, None), affected, &text) {
                continue;
            }
            self.exact.note(without.table, block, false);
            of_table = Some(without.table);
            count += without.count;
            rows.extend(without.rows.iter().take(KEYS_MAX - rows.len()));
        }
        let (Some(table), Some(first)) = (of_table, rows.first().copied()) else { return };
        let plan = self.exact.second.plan;
        let named: Vec<String> = rows
            .iter()
            .map(|tid| match row_text(plan, table, *tid) {
                Some(key) if !key.starts_with("ctid") => format!("{tid} {key}"),
                _ => tid.to_string(),
            })
            .collect();
        let more = match count - rows.len() as u64 {
            0 => String::new(),
            more => format!("; and {} more", results::wording::thousands(more)),
        };
        let expected = format!("an entry in index {} for each visible row", self.name(index));
        let found =
            format!("{} of {} without: {}{more}", counted(count, "row"), self.name(table), named.join("; "));
        let mut finding = self.exact.finding(&rules::ROW_WITHOUT_ENTRY, table, first, expected, found);
        finding.object = Some(self.name(index).to_owned());
        self.findings.push_affecting(finding, Affected { row_count: count, entry_count: 0 });
    }
}

/// Blocks of zeros that follow each other in a table.
struct ZeroRun {
    table: u32,
    first: Tid,
    last: u32,
    by_index: Vec<(u32, u64, (u32, u16))>,
    row_count: u64,
}

impl ZeroRun {
    fn add(&mut self, block: u32, lost: &Lost) {
        self.last = block;
        self.row_count += lost.affected().row_count;
        for (index, count, entry) in &lost.by_index {
            match self.by_index.iter_mut().find(|(number, ..)| number == index) {
                Some((_, all, _)) => *all += count,
                None => self.by_index.push((*index, *count, *entry)),
            }
        }
    }
}
