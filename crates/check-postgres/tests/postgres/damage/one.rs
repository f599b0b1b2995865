//! One damage at a time, at literal offsets, with valid checksums where the class needs them; for each the finding
//! that it calls for. The classes are those of the table of what checkers find and miss.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use results::check::{CheckLevel, CheckReport};

use crate::damage::classes::{CLASSES, scene};
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor, u16_at};
use crate::scene::peers::Classes;
use crate::scene::server::{Cluster, servers};

/// Which of the rules that a class names must be found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Each of them.
    All,
    /// One of them at least.
    Any,
}

/// Makes each damage alone in a cluster that `scene` has filled: it must be found, as `is_told_well` wants it told, and
/// the cluster be silent before and after. On the newest major with tools at hand.
pub(crate) fn assert_each_is_found<S>(
    classes: &Classes<S>,
    scene: fn(&Cluster) -> S,
    level: CheckLevel,
    wants: Wanted,
    is_told_well: impl Fn(&str, &CheckReport) -> bool,
) {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        assert_silent(&cluster, "before any damage");
        let mut faults = Vec::new();
        for (class, damage, wanted) in classes {
            let mut editor = Editor::new(&cluster.data());
            damage(&mut editor, &scene);
            let report = check(&cluster, level, 2);
            let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
            let is_among = |rule: &&str| rules.contains(rule);
            let is_found = match wants {
                Wanted::All => wanted.iter().all(is_among),
                Wanted::Any => wanted.iter().any(is_among),
            };
            let is_right = is_found && report.exit_code() == 1 && report.accounting.is_balanced();
            if !is_right || !is_told_well(class, &report) {
                let found = &report.findings;
                faults.push(format!(
                    "PostgreSQL {major}, {class}: wanted {wanted:?}, found {rules:?}, {found:#?}"
                ));
            }
            editor.undo();
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_silent(&cluster, "after all damage was undone");
    }
}

/// How many findings are of rules with this beginning: one damage makes a few, not one for each page.
pub(crate) fn count_of(report: &CheckReport, beginning: &str) -> usize {
    report.findings.iter().filter(|finding| finding.rule.starts_with(beginning)).count()
}

#[test]
fn each_class_of_damage_is_found_where_it_was_made_and_nothing_is_written() {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        assert_silent(&cluster, "before any damage");
        let mut faults = Vec::new();
        for (class, damage, wanted) in CLASSES {
            let mut editor = Editor::new(&cluster.data());
            damage(&mut editor, &scene);
            let before = state_of_files(&cluster);
            let report = check(&cluster, CheckLevel::Full, 2);
            assert_eq!(state_of_files(&cluster), before, "{class}: a file was written");
            let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
            let is_found = wanted.iter().any(|rule| rules.contains(rule));
            if !is_found || report.exit_code() != 1 || !report.accounting.is_balanced() {
                faults.push(format!(
                    "PostgreSQL {major}, {class}: wanted {wanted:?}, found {rules:?}, {:?}",
                    report.accounting
                ));
            }
            editor.undo();
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_silent(&cluster, "after all damage was undone");
    }
}

#[test]
fn a_stale_block_after_vacuum_brings_rows_back_that_no_index_has() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        cluster.run_all("vacuum v\n");
        assert_silent(&cluster, "before any damage");
        let mut editor = Editor::new(&cluster.data());
        editor.block(&scene.v, 3, |page| page.copy_from_slice(&scene.old_heap));
        let report = check(&cluster, CheckLevel::Full, 1);
        let found: Vec<_> =
            report.findings.iter().filter(|finding| finding.rule == "pg-row-without-entry").collect();
        assert_eq!(found.len(), 2, "one for each index: {:#?}", report.findings);
        assert!(found.iter().all(|finding| finding.page == Some(3)), "{found:#?}");
    }
}

#[test]
fn a_zeroed_block_is_named_once_with_the_number_of_lost_rows_and_the_indexes_that_have_them() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        let mut editor = Editor::new(&cluster.data());
        let rows = (u16_at(&editor.read(&scene.v)[20 * BLOCK..], 12) - 24) / 4;
        editor.block(&scene.v, 20, |page| page.fill(0));
        let report = check(&cluster, CheckLevel::Full, 1);
        let found: Vec<_> =
            report.findings.iter().filter(|finding| finding.rule == "pg-entry-without-row").collect();
        assert_eq!(found.len(), 1, "{:#?}", report.findings);
        for finding in found {
            assert!(finding.expected.contains("v_pkey") && finding.expected.contains("v_k"), "{finding:?}");
            assert_eq!((finding.page, finding.object.as_deref()), (Some(20), Some("postgres.public.v")));
            assert!(finding.expected.starts_with(&format!("{rows} rows")), "{finding:?}");
            assert_eq!(finding.found, "a block of zeros");
        }
    }
}

/// Size and time of change of every file in the data directory, to see that a check writes nothing.
fn state_of_files(cluster: &Cluster) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![cluster.data()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                directories.push(entry.path());
            } else {
                found.insert(entry.path(), (metadata.len(), metadata.modified().unwrap()));
            }
        }
    }
    found
}
