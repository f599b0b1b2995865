//! Lost files of pg_xact and pg_multixact: one finding for a file, with the rows that depend on it.

use std::collections::{BTreeMap, BTreeSet};

use check::rule::Rule;
use formats::postgres::transaction::BLOCKS_PER_SEGMENT;
use results::object::{Affected, ObjectCount};
use results::wording::counted;

use crate::cluster::transactions::Transactions;
use crate::finding::file_finding;
use crate::rules;
use crate::run::report::ReportBuilder;

/// Objects that one finding names.
const NAMES_MAX: usize = 5;
/// Rules that compare rows by whether they are visible. Without pg_xact that is not known of all, and they say nothing.
const BY_VISIBILITY: [&Rule; 5] = [
    &rules::TOAST_CHUNK,
    &rules::ROW_WITHOUT_ENTRY,
    &rules::BTREE_UNIQUE,
    &rules::COMMIT_HINT,
    &rules::BRIN_SUMMARY,
];

impl ReportBuilder<'_> {
    /// Makes one finding for each file of the logs that rows miss, or adds the rows to the finding about the file.
    pub(crate) fn fold_lost_logs(
        &mut self,
        consequences: Vec<(String, ObjectCount)>,
        transactions: Option<&Transactions>,
    ) {
        let mut files: BTreeMap<String, Vec<ObjectCount>> = BTreeMap::new();
        for (file, count) in consequences {
            files.entry(file).or_default().push(count);
        }
        let mut is_first = true;
        for (file, mut tables) in files {
            tables.sort_by_key(|count| (std::cmp::Reverse(count.affected.row_count), count.first.clone()));
            let mut affected = Affected::default();
            tables.iter().for_each(|count| affected += count.affected);
            let mut text = format!("; {}", rows_of(&tables, affected));
            let others = if std::mem::take(&mut is_first) { self.take_out_comparisons() } else { None };
            text.extend(others.iter().map(|names| format!("; therefore not compared: {names}")));
            let rule = rules::TRANSACTION_LOG.id;
            if !self.findings.attribute(rule, Some(&file), affected, &text) {
                self.report_zeroed_log(&file, &tables, &text, affected, transactions);
            }
        }
    }

    /// Takes out what rows and others seem to say about each other, and names the objects.
    fn take_out_comparisons(&mut self) -> Option<String> {
        let mut names = BTreeSet::new();
        for rule in BY_VISIBILITY {
            let rule = rule.id;
            let objects: Vec<Option<String>> =
                self.findings.objects_of(rule).map(|count| count.first.object.clone()).collect();
            for object in objects {
                self.findings.remove(rule, object.as_deref());
                names.extend(object);
            }
        }
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| listed(&names))
    }

    fn report_zeroed_log(
        &mut self,
        file: &str,
        tables: &[ObjectCount],
        rows: &str,
        affected: Affected,
        transactions: Option<&Transactions>,
    ) {
        let Some(first) = tables.first().map(|count| &count.first) else { return };
        let block_bytes = self.cluster.block_bytes.max(1);
        let zeroed = transactions.and_then(|known| known.zeroed(file));
        let (expected, found, page) = match zeroed {
            Some((ids, bytes)) => (
                format!("the status of transactions {} to {}", ids.start(), ids.end()),
                format!("zeros from byte {} to byte {}", bytes.start, bytes.end - 1),
                Some(bytes.start / block_bytes % BLOCKS_PER_SEGMENT),
            ),
            None => (
                format!("an entry for each multixact that rows refer to, such as {}", first.expected),
                first.found.clone(),
                None,
            ),
        };
        let mut finding =
            file_finding(&rules::TRANSACTION_END, file, Some(file), expected, format!("{found}{rows}"));
        finding.page = page.map(|page| page as u64);
        self.findings.push_affecting(finding, affected);
    }
}

/// `29,249 rows in 12 tables name its transactions: 18,000 in shop.public.orders, ...`.
fn rows_of(tables: &[ObjectCount], affected: Affected) -> String {
    let names: Vec<String> = tables
        .iter()
        .take(NAMES_MAX)
        .map(|count| {
            let object = count.first.object.as_deref().unwrap_or("an unknown table");
            format!("{} in {object}", counted(count.affected.row_count, "row"))
        })
        .collect();
    let more = match tables.len() - names.len() {
        0 => String::new(),
        count => format!(" and {}", counted(count as u64, "more table")),
    };
    let verb = if affected.row_count == 1 { "needs" } else { "need" };
    format!("{} {verb} it: {}{more}", counted(affected.row_count, "row"), names.join(", "))
}

/// The first names, and how many more there are.
pub(super) fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
