//! Engines are values: code that all engines share names none of them, and engines do not use each other.

use std::collections::BTreeSet;

use crate::tree;

/// Names that decide nothing outside an engine's own folder.
const NAMES: [&str; 6] = ["noop", "sqlite", "postgres", "postgresql", "sqlserver", "mssql"];

/// Crates whose code is for all engines.
const SHARED: [&str; 4] =
    ["crates/lab/src/", "crates/report/src/", "crates/results/src/", "crates/fathom/src/"];

/// Files that name an engine, each with its reason. May only become fewer.
const EXCEPTIONS: [&str; 2] = [
    // The list of ids.
    "crates/results/src/engine.rs",
    // The engine that is none: its own record of facts.
    "crates/lab/src/engine/noop.rs",
];

#[test]
fn shared_code_names_no_engine() {
    let mut named = BTreeSet::new();
    for file in tree::files() {
        let is_shared = SHARED.iter().any(|directory| file.path.starts_with(directory));
        let is_test = file.path.ends_with("tests.rs")
            || file.path.contains("/tests/")
            || file.path.ends_with("made_up.rs");
        if !is_shared || !file.is_rust() || is_test {
            continue;
        }
        let code = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        if code.lines().filter(|line| !is_comment(line)).any(has_name) {
            named.insert(file.path.clone());
        }
    }
    let known: BTreeSet<String> = EXCEPTIONS.map(str::to_owned).into();
    let new: Vec<&String> = named.difference(&known).collect();
    assert!(new.is_empty(), "read a value of the engine in place of comparing its name: {new:?}");
    let gone: Vec<&String> = known.difference(&named).collect();
    assert!(gone.is_empty(), "strike from EXCEPTIONS what names no engine any more: {gone:?}");
}

#[test]
fn the_program_uses_engines_in_one_folder() {
    let is_own = |path: &str| {
        path.starts_with("crates/fathom/src/") && !path.starts_with("crates/fathom/src/engines/")
    };
    let uses_one = |line: &&str| {
        ["lab_", "check_"]
            .iter()
            .any(|prefix| NAMES.iter().any(|name| line.contains(&format!("{prefix}{name}::"))))
    };
    for file in tree::files().iter().filter(|file| file.is_rust() && is_own(&file.path)) {
        let found = file.text.lines().find(uses_one);
        assert_eq!(found, None, "{}: what names an engine belongs into crates/fathom/src/engines", file.path);
    }
}

fn has_name(line: &str) -> bool {
    NAMES.iter().any(|name| line.contains(&format!("\"{name}\"")))
}

#[test]
fn engines_do_not_use_each_other() {
    let is_engine = |name: &str| name.starts_with("lab-") || name.starts_with("check-");
    let edges = tree::fenced_block("ARCHITECTURE.md", "edges");
    let parted: Vec<(&str, &str)> = edges.iter().filter_map(|line| line.split_once("->")).collect();
    assert!(parted.iter().any(|(from, _)| is_engine(from)), "{edges:?}");
    for (from, to) in parted {
        let others: Vec<&str> = to.split_whitespace().filter(|to| is_engine(to)).collect();
        assert!(!is_engine(from) || others.is_empty(), "{} uses {others:?}", from.trim());
    }
}
