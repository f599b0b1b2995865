//! Each class of damage is found, where SQLite's own checks find it and where they do not.
#![allow(clippy::unwrap_used)]

use crate::support::cases::{Case, cases, ruled};
use crate::support::{Shape, checked, options, verdict};
use check::options::Options;
use check_sqlite::drill::{CLASSES, damage};
use results::check::{CheckLevel, CheckReport};

/// The verdict of one of SQLite's pragmas on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Found,
    NotFound,
    CannotRun,
}

fn verdict_of(case: &Case, pragma: &str) -> Verdict {
    let rows = verdict(&case.path, pragma);
    match rows.first().map(String::as_str) {
        Some("ok") => Verdict::NotFound,
        Some(row) if row.starts_with("error") => Verdict::CannotRun,
        _ => Verdict::Found,
    }
}

fn rules_found(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

#[test]
fn every_class_of_damage_gives_the_finding_that_it_should() {
    let directory = tempfile::tempdir().unwrap();
    let mut temporary_bytes = 0;
    for case in cases(directory.path()) {
        let report = checked(&case.path, &options(CheckLevel::Full));
        let text = report::findings::text(&report, &check_sqlite::RULES);
        let found = rules_found(&report);
        // What the map knows in a temporary file, with the keys and without them.
        let much = checked(&case.path, &options(CheckLevel::Structure));
        for memory_bytes_max in [64 << 10, 0] {
            let little = Options { memory_bytes_max, worker_count: 2, ..options(CheckLevel::Structure) };
            let little = checked(&case.path, &little);
            let path = case.path.display();
            temporary_bytes += little.counters.temporary_bytes;
            assert_eq!(little.findings, much.findings, "{path}");
            assert_eq!(little.rule_counts, much.rule_counts, "{path}");
            assert_eq!(little.accounting, much.accounting, "{path}");
        }
        if case.rules.is_empty() {
            assert!(found.is_empty(), "{}: {text}", case.path.display());
            continue;
        }
        assert!(found.iter().any(|rule| case.rules.contains(rule)), "{}: {text}", case.path.display());
        assert_eq!(report.exit_code(), 1);
        crate::support::advice::assert_safe_advice(&check_sqlite::RULES, &report, |object| {
            object.starts_with("index ")
        });
        for finding in &report.findings {
            assert!(check_sqlite::RULES.get(&finding.rule).is_some(), "{}", finding.rule);
            assert!(!finding.expected.is_empty() && !finding.found.is_empty(), "{finding:?}");
        }
    }
    assert!(temporary_bytes > 0, "nothing was written");
}

#[test]
fn no_damage_that_sqlite_finds_is_missed() {
    let directory = tempfile::tempdir().unwrap();
    for case in cases(directory.path()) {
        let quick = verdict_of(&case, "quick_check");
        let full = verdict_of(&case, "integrity_check");
        let found = checked(&case.path, &options(CheckLevel::Full)).finding_count() > 0;
        let structure = checked(&case.path, &options(CheckLevel::Structure)).finding_count() > 0;
        assert!(
            found || (quick, full) == (Verdict::NotFound, Verdict::NotFound),
            "{}: {full:?}",
            case.path.display()
        );
        assert!(found || !structure, "{}", case.path.display());
    }
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/check/sqlite.md");
const START: &str = "<!-- sqlite: made by `FATHOM_UPDATE=1 cargo test -p check-sqlite damage` -->\n";
const END: &str = "<!-- sqlite: end -->\n";

/// A class, its damage, and for each of its files: found at structure and at full, both pragmas, the rules.
type Row = (String, String, Vec<[bool; 2]>, Vec<[Verdict; 2]>, Vec<String>);

/// The part of docs/check/sqlite.md about SQLite: the rules, and what each checker says to each class of damage.
fn document() -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for case in cases(directory.path()) {
        let full = checked(&case.path, &options(CheckLevel::Full));
        let structure = checked(&case.path, &options(CheckLevel::Structure));
        let ours = [structure.finding_count() > 0, full.finding_count() > 0];
        let theirs = [verdict_of(&case, "quick_check"), verdict_of(&case, "integrity_check")];
        let rules: Vec<String> = rules_found(&full).iter().map(|rule| (*rule).to_owned()).collect();
        let expected = case.rules.iter().filter(|rule| rules.iter().any(|found| found == *rule));
        let expected: Vec<String> = expected.map(|rule| format!("`{rule}`")).collect();
        match rows.last_mut().filter(|row| row.0 == case.name) {
            Some(row) => {
                row.2.push(ours);
                row.3.push(theirs);
                row.4.extend(expected);
            }
            None => rows.push((case.name, case.what, vec![ours], vec![theirs], expected)),
        }
    }
    let mut text = String::from(START);
    text.push_str("\n## SQLite: rules\n\n");
    text.push_str(&check::rule::markdown_table_of(&check_sqlite::RULES));
    text.push_str("\n## SQLite: classes of damage and who finds them\n\n");
    text.push_str("Each class is made in a real file of 1 KiB pages, the drills with four seeds (`n/4` files found). quick_check and integrity_check are those of the SQLite linked into fathom; \"cannot run\" means that they end with an error instead of a verdict.\n\n");
    text.push_str("| class | damage | structure | full | rules | quick_check | integrity_check |\n|---|---|---|---|---|---|---|\n");
    for (name, what, ours, theirs, mut rules) in rows {
        rules.sort();
        rules.dedup();
        let share = |count: usize, of: usize| match (count, of) {
            (0, _) => "no".to_owned(),
            (count, of) if count == of => "yes".to_owned(),
            (count, of) => format!("{count}/{of}"),
        };
        let our = |level: usize| share(ours.iter().filter(|found| found[level]).count(), ours.len());
        let their = |pragma: usize| {
            let count = |wanted| theirs.iter().filter(|verdict| verdict[pragma] == wanted).count();
            match count(Verdict::CannotRun) {
                0 => share(count(Verdict::Found), theirs.len()),
                all if all == theirs.len() => "cannot run".to_owned(),
                some => format!(
                    "{}, cannot run {some}/{}",
                    share(count(Verdict::Found), theirs.len()),
                    theirs.len()
                ),
            }
        };
        let cells = [name, what, our(0), our(1), rules.join(", "), their(0), their(1)];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text.push('\n');
    text.push_str(END);
    text
}

#[test]
fn the_document_says_what_the_checkers_do() {
    let made = document();
    let written = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    let part = written.find(START).and_then(|start| Some(start..written.find(END)? + END.len()));
    if std::env::var_os("FATHOM_UPDATE").is_some_and(|value| value == "1") {
        let mut text = written.clone();
        match part {
            Some(range) => text.replace_range(range, &made),
            None => text.push_str(&made),
        }
        std::fs::write(DOCUMENT, text).unwrap();
        return;
    }
    let part = part.map(|range| &written[range]).unwrap_or_default();
    assert_eq!(part, made, "run FATHOM_UPDATE=1 cargo test -p check-sqlite damage");
}

/// Damage that no page shows: only the invariant of the definition is broken, at any shape of file.
#[test]
fn drills_against_constraints_break_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let shapes = [
        Shape { page_size: 512, encoding: "UTF-16le", ..Shape::default() },
        Shape { page_size: 4096, auto_vacuum: 1, reserved: 32, ..Shape::default() },
    ];
    let classes = ["stale-page", "stale-index-page", "duplicate-key", "null-in-not-null", "check-violated"];
    for (number, shape) in shapes.iter().enumerate() {
        let source = directory.path().join(format!("ruled-{number}.db"));
        ruled(&source, shape);
        for (class, seed) in classes.iter().flat_map(|class| (0..3).map(move |seed| (class, seed))) {
            let path = directory.path().join(format!("{class}-{number}-{seed}.db"));
            let drill = damage(&source, &path, class, seed).unwrap();
            assert!(
                !drill.changes.is_empty() && drill.changes.iter().all(|change| change.before != change.after)
            );
            assert_eq!(checked(&path, &options(CheckLevel::Structure)).finding_count(), 0, "{class} {seed}");
            let report = checked(&path, &options(CheckLevel::Full));
            let expected = CLASSES.iter().find(|known| known.name == *class).unwrap().rules;
            assert_eq!(
                rules_found(&report),
                expected,
                "{class} {seed}: {}",
                report::findings::text(&report, &check_sqlite::RULES)
            );
        }
    }
}
