//! What is told when the pass is over: findings about the file, its map and its schema, and what was not checked.

use std::path::Path;

use formats::sqlite::{Damage, Fault};
use results::check::{Accounting, CheckLevel, CheckReport, Confidence, NotChecked};

use crate::catalog::RowDamage;
use crate::catalog::candidates;
use crate::finding::Draft;
use crate::map::chain;
use crate::map::{MapFinding, PageMap};
use crate::page::faults::fault_text;
use crate::rules;
use crate::run::prepared::Prepared;
use crate::run::worker::Worker;
use crate::source::anchor::Anchor;
use crate::source::fields;
use crate::source::view::Change;
use crate::source::wal::OTHER_DATABASE;
use check::evidence::{Place, Terms, Watch};

pub(crate) fn report_anchor(anchor: &Anchor, worker: &mut Worker<'_>) {
    for draft in header_drafts(anchor) {
        worker.report_at_once(draft);
    }
    let page_size = u64::from(anchor.header.page_size_bytes).max(1);
    let in_file = anchor.file_bytes / page_size;
    let is_short = in_file < u64::from(anchor.page_count);
    let lacks_pages = is_short && worker.unreadable_count > 0;
    if lacks_pages || anchor.claimed_page_count != anchor.page_count {
        let expected = format!("{} pages of {page_size} bytes", anchor.claimed_page_count);
        let found = format!("{} bytes, {in_file} whole pages", anchor.file_bytes);
        worker.report_at_once(Draft::of_file(&rules::FILE_SIZE, expected, found));
    } else if !anchor.file_bytes.is_multiple_of(page_size) {
        let expected = format!("a multiple of {page_size} bytes");
        worker.report_at_once(Draft::of_file(
            &rules::FILE_SIZE,
            expected,
            format!("{} bytes", anchor.file_bytes),
        ));
    }
    for draft in side_file_drafts(anchor) {
        worker.report_at_once(draft);
    }
}

/// What to do about one field of the header.
const WRITE_FIELD: &str = "keep a copy of the file; in another copy, write the expected value into this field of the first 100 bytes, then check that copy";

/// What is wrong with the header: one finding for each field, or one when it was overwritten as a whole.
pub(crate) fn header_drafts(anchor: &Anchor) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = anchor
        .wrong_fields
        .iter()
        .map(|field| {
            let expected = format!("{} {}", field.name, field.expected);
            let found = format!("{} {}", field.name, field.found);
            let mut draft = Draft::new(&rules::HEADER, 1, expected, found).next_step(WRITE_FIELD);
            draft.offset_bytes = Some(field.offset_bytes);
            draft
        })
        .collect();
    let mut start = [0; 16];
    let is_read = anchor.reader.file.read_exact_at(&mut start, 0).is_ok();
    let found_text = |damage: &Damage| match damage.fault {
        Fault::Magic if is_read => format!("\"{}\"", start.escape_ascii()),
        _ => damage.found_text(),
    };
    if anchor.is_header_lost() {
        let fields = anchor.header_damage.iter();
        let parts: Vec<_> =
            fields.map(|damage| format!("{} {}", fault_text(damage.fault), found_text(damage))).collect();
        let found = format!("{} wrong fields: {}", parts.len(), parts.join(", "));
        drafts.insert(0, Draft::new(&rules::HEADER, 1, "the header of a SQLite database", found));
        return drafts;
    }
    for damage in &anchor.header_damage {
        let value = match damage.fault {
            Fault::TextEncoding => candidates::encoding_text(anchor.header.encoding),
            Fault::SchemaFormat => "1 to 4, and 4 where SQLite 3.7.10 or later made the file".to_owned(),
            _ => format!(": {}", damage.expected_text()),
        };
        let expected = format!("{} {value}", fault_text(damage.fault)).replace(" :", ":");
        let mut draft = Draft::new(&rules::HEADER, 1, expected, found_text(damage)).next_step(WRITE_FIELD);
        draft.offset_bytes = Some(u64::from(damage.offset_bytes));
        drafts.push(draft);
    }
    drafts.extend(fields::versions_draft(anchor));
    drafts
}

/// What is wrong with the WAL and the rollback journal.
pub(crate) fn side_file_drafts(anchor: &Anchor) -> Vec<Draft> {
    let mut drafts = Vec::new();
    if let Some(found) = anchor.log.and_then(|log| log.break_at) {
        let sum = |(first, second): (u32, u32)| format!("{first:#010x} {second:#010x}");
        let number = found.frame + 1;
        let expected = format!("checksum {} in frame {number} of the WAL", sum(found.expected_sum));
        let what = format!(
            "{}; SQLite ignores this frame and the {} after it, which commit {} transactions",
            sum(found.found_sum),
            found.frame_count.saturating_sub(1),
            found.commit_count
        );
        drafts.push(Draft::of_file(&rules::WAL, expected, what).confidence(Confidence::Possible));
    }
    if let Some(damage) = &anchor.wal_damage {
        let draft = Draft::of_file(&rules::WAL_HEADER, damage.expected.clone(), damage.found.clone());
        let draft = draft.confidence(damage.confidence);
        drafts.push(match damage.other_page_size_bytes {
            Some(_) => draft.next_step(OTHER_DATABASE),
            None => draft,
        });
    }
    let is_rollback_mode = anchor.header.read_version == 1;
    let committed = anchor.log.map_or(0, |log| log.committed_count);
    if is_rollback_mode && committed > 0 {
        let expected = "2 in bytes 18 and 19 of the database beside a WAL with committed frames";
        let found =
            format!("1, and {committed} frames that SQLite reads: the WAL may belong to another database");
        drafts.push(Draft::of_file(&rules::WAL_HEADER, expected, found).confidence(Confidence::Possible));
    }
    // Without a record that is right, nothing says that the file ever was a journal of this database.
    if let Some(damage) = anchor.journal_damage.as_ref().filter(|damage| damage.record_count > 0) {
        let bytes =
            |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        let found = format!(
            "{}; {} page records with valid checksums follow, which SQLite will not roll back",
            bytes(&damage.magic),
            damage.record_count
        );
        let expected = "d9 d5 05 f9 20 a1 63 d7 as first bytes of the journal";
        drafts.push(Draft::of_file(&rules::JOURNAL, expected, found).confidence(Confidence::Certain));
    }
    drafts
}

pub(crate) fn report_map(map: &PageMap, worker: &mut Worker<'_>) {
    for finding in &map.findings {
        let context = worker.context;
        let draft = match finding {
            MapFinding::Root { tree, page } => Draft::new(
                &rules::SCHEMA,
                1,
                format!("a root page from 2 to {}, not a pointer map", context.page_count),
                format!("root page {page}"),
            )
            .tree(*tree),
            MapFinding::Child { by, tree, slot, page, loses } => Draft::new(
                &rules::CHILD_POINTER,
                *by,
                format!("a child page from 2 to {}, not a pointer map", context.page_count),
                format!("page {page}"),
            )
            .slot(*slot as usize)
            .tree(*tree as usize)
            .loses(*loses),
            MapFinding::UsedTwice { page, first, by, slot, what, loses } => {
                let owner = chain::use_text(context, *page, *first);
                let found = format!("it is {owner} and also {what}");
                let mut draft =
                    Draft::new(&rules::PAGE_USED_TWICE, *by, format!("page {page} used once"), found);
                draft.slot = slot.map(u64::from);
                match loses {
                    Some((tree, rowids)) => draft.tree(*tree).loses(*rowids),
                    // Named by the free list: the tree keeps its rows.
                    None => {
                        draft.object =
                            context.map.tree_of(*page).map(|tree| context.tree_name(tree).to_owned());
                        draft.next_step(FREE_IN_USE)
                    }
                }
            }
            MapFinding::FreeList { page, slot, expected, found } => {
                let mut draft = Draft::new(&rules::FREE_LIST, *page, expected.clone(), found.clone());
                draft.slot = slot.map(u64::from);
                draft
            }
            // The pass reads the page as well and reports it.
            MapFinding::Unreadable => continue,
        };
        worker.report_at_once(draft);
    }
}

/// What to do about a page that is in use and on the freelist: its rows are good until something is written.
const FREE_IN_USE: &str = "stop all writers: the next insert may overwrite the page; keep a copy of the file, then copy all rows into a new database (.recover or .dump of the sqlite3 shell)";
/// What to do about a row of sqlite_schema that SQLite refuses.
pub(crate) const CORRECT_ROW: &str = "keep a copy of the file; in another copy, PRAGMA writable_schema=ON and an UPDATE of the row in sqlite_schema correct it; no VACUUM and no VACUUM INTO before that: they drop the object";

fn report_rows(prepared: &Prepared, worker: &mut Worker<'_>) {
    let refused = prepared.verdict.as_deref().unwrap_or_default();
    for (index, row) in prepared.schema.resolved.iter().enumerate() {
        let refusal = refused.iter().find(|refusal| refusal.index == index);
        // Without SQLite's verdict, a comparison of texts alone is no proof.
        let is_unproven = prepared.verdict.is_err() && !row.damages.is_empty();
        let is_told = |damage: &&RowDamage| damage.is_damage_by_itself || refusal.is_some() || is_unproven;
        let told: Vec<_> = row.damages.iter().filter(is_told).collect();
        if told.is_empty() && refusal.is_none() {
            continue;
        }
        let parts = |part: fn(&RowDamage) -> &str| {
            told.iter().map(|damage| part(damage)).collect::<Vec<_>>().join("; ")
        };
        let (mut expected, mut found) = (parts(|damage| &damage.expected), parts(|damage| &damage.found));
        if expected.is_empty() {
            "a row that SQLite can load".clone_into(&mut expected);
        }
        if let Some(refusal) = refusal {
            let reason = if refusal.reason.is_empty() { "malformed" } else { refusal.reason.as_str() };
            let sep = if found.is_empty() { "" } else { "; " };
            found += &format!("{sep}SQLite refuses the database: {reason}");
            if refusal.dependent_count > 0 {
                found += &format!("; {} further rows depend on this one", refusal.dependent_count);
            }
        }
        let is_newer = worker.context.library_version > rusqlite::version_number().unsigned_abs();
        let confidence = match row.damages.iter().any(|damage| damage.is_damage_by_itself) {
            true => Confidence::Certain,
            false if is_unproven || is_newer => Confidence::Possible,
            false => Confidence::Certain,
        };
        let mut draft = Draft::new(&rules::SCHEMA, row.row.page, expected, found);
        draft.object = Some(format!("{} {}", row.row.kind.name(), row.row.name));
        worker.report_at_once(draft.slot(row.row.slot).confidence(confidence).next_step(CORRECT_ROW));
    }
}

pub(crate) fn report_schema(prepared: &Prepared, anchor: &Anchor, worker: &mut Worker<'_>) {
    report_rows(prepared, worker);
    if let Some(tree) = &prepared.descending {
        let expected = format!("schema format 4: {tree} is in descending order");
        let found = format!(
            "{}, with which SQLite takes DESC for ascending order and misses its entries",
            anchor.header.schema_format
        );
        let mut draft = Draft::new(&rules::HEADER, 1, expected, found).next_step(WRITE_FIELD);
        draft.offset_bytes = Some(44);
        worker.report_at_once(draft);
    }
    for name in prepared.plans.missing.iter().filter(|_| !prepared.schema.is_cut) {
        let draft = Draft::new(&rules::SCHEMA, 1, format!("a row for index {name}"), "none");
        worker.report_at_once(draft.tree(0));
    }
    let largest = prepared.plans.trees.iter().map(|plan| plan.root).max().unwrap_or(0);
    let header = &anchor.header;
    let is_comparable = header.largest_root != 0 && !prepared.schema.is_cut;
    if is_comparable && largest != header.largest_root && prepared.plans.trees.len() > 1 {
        let mut draft = Draft::new(
            &rules::HEADER,
            1,
            format!("{largest} as largest root page, as in sqlite_schema"),
            header.largest_root.to_string(),
        );
        draft.offset_bytes = Some(52);
        worker.report_at_once(draft);
    }
    for (page, slot) in &prepared.schema.unreadable {
        // What is wrong with its page was found before.
        if !worker.context.damaged_pages.contains(*page as usize) {
            let found = "an unreadable record";
            let draft = Draft::new(&rules::SCHEMA, *page, "five readable columns", found);
            worker.report_at_once(draft.slot(*slot).tree(0));
        }
    }
    if prepared.schema.is_cut && worker.findings.is_empty() {
        let draft =
            Draft::new(&rules::SCHEMA, 1, "readable rows of sqlite_schema", "at least one is unreadable");
        worker.report_at_once(draft.tree(0));
    }
}

/// A file in the journal's place that has no record of a page: what it was cannot be told.
pub(crate) fn journal_gap(anchor: &Anchor) -> Option<NotChecked> {
    let damage = anchor.journal_damage.as_ref()?;
    let why = "it has no valid header and no page record with a valid checksum: SQLite deletes it";
    (damage.record_count == 0).then(|| NotChecked::coverage(None, "the rollback journal", why))
}

pub(crate) fn gaps(prepared: &Prepared, level: CheckLevel, has_checksums: bool, report: &mut CheckReport) {
    if let Err(reason) = &prepared.verdict {
        let why = format!("SQLite could not verify this: {reason}");
        report.not_checked.push(NotChecked::coverage(None, "whether SQLite can load the schema", &why));
    }
    // Below level full the verdict says what the level leaves out.
    if level == CheckLevel::Full {
        report.not_checked.extend(prepared.plans.not_checked.iter().cloned());
        let mut definitions = prepared.schema.rows.iter().filter_map(|row| row.definition.as_deref());
        if definitions.any(|definition| definition.to_ascii_uppercase().contains("REFERENCES")) {
            let why = "not part of the file format: PRAGMA foreign_key_check verifies them";
            report.not_checked.push(NotChecked::out_of_scope(None, "foreign keys", why));
        }
        if !has_checksums {
            let what = "payload bytes in no index";
            report.not_checked.push(NotChecked::out_of_scope(None, what, "the format has no checksum"));
        }
    }
}

/// Takes back what the reads of the files do not allow to be concluded.
pub(crate) fn settle(watch: Watch, path: &Path, page_size_bytes: u32, report: &mut CheckReport) {
    let canonical = std::fs::canonicalize(path).ok();
    let place = |file: &Path, offset: u64| {
        let is_database = file == path || canonical.as_deref() == Some(file);
        let page = offset.checked_div(u64::from(page_size_bytes)).map(|index| index + 1);
        match is_database {
            true => Place { file: path.display().to_string(), page, object: None },
            false => Place { file: file.display().to_string(), ..Place::default() },
        }
    };
    let terms = Terms {
        is_archive: |_| false,
        rules: &rules::RULES,
        differ: &rules::READINGS_DIFFER,
        unreadable: &rules::READ_ERROR,
        is_served: false,
        judges_changes: true,
        place: &place,
    };
    watch.settle(report, &terms);
}

/// Takes back what was found in a database that was changed while it was read.
pub(crate) fn accuse_nothing(report: &mut CheckReport, attempt_count: usize, change: Change) {
    report.findings.clear();
    report.rule_counts.clear();
    report.objects.clear();
    let page_count = report.accounting.page_count;
    report.accounting = Accounting {
        page_count,
        unreached_count: page_count,
        bytes_expected: report.accounting.bytes_expected,
        ..Accounting::default()
    };
    report.coverage = results::check::Coverage::default();
    let times = if attempt_count == 1 { "once".to_owned() } else { format!("{attempt_count} times") };
    report.unfinished = Some(match change {
        Change::Lost => format!(
            "\"{}\" or its -wal was removed, replaced or truncated during the check\nhint: stop that program, or check a copy",
            report.target
        ),
        _ => format!(
            "changed while it was checked: {times}\nhint: stop the writer, or check a backup (.backup or VACUUM INTO)"
        ),
    });
}
