//! The structure of each crate: no cycles between its files, no crowded folders.
//!
//! The numbers of the tables are ratchets: they may only go down, and are lowered when the code is below them.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{Crate, Needs, cycles};
use crate::tree;

/// Files that are part of a cycle, per crate that has some. `modules` says what a cycle is.
const FILES_IN_CYCLES: &[(&str, usize)] = &[];

/// Rust files of one folder of `src` or `tests`.
const FILES_PER_FOLDER: usize = 20;
/// Folders that have more.
const CROWDED_FOLDERS: &[(&str, usize)] = &[];

/// Compares what was counted with a ratchet; `allowed` is the number without an entry.
fn faults(
    table: &str,
    ratchet: &[(&str, usize)],
    allowed: usize,
    counted: &BTreeMap<String, usize>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, count) in counted {
        let most = ratchet.iter().find(|(known, _)| known == name).map_or(allowed, |(_, most)| *most);
        if *count > most {
            faults.push(format!("{name} has {count}, {most} may"));
        }
    }
    for (name, most) in ratchet {
        let count = counted.get(*name).copied().unwrap_or(0);
        if count <= allowed {
            faults.push(format!("strike (\"{name}\", {most}) from {table}: it has {count}"));
        } else if count < *most {
            faults.push(format!("lower (\"{name}\", {most}) in {table} to {count}"));
        }
    }
    faults
}

/// The graph of each crate, without those that have no code.
fn crates() -> BTreeMap<String, Needs> {
    let files = tree::files();
    let mut sources: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if let Some((name, path)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        {
            sources.entry(name.to_owned()).or_default().push((path, &file.text));
        }
    }
    assert!(sources.len() > 8, "only {:?} were found", sources.keys());
    sources.into_iter().map(|(name, files)| (name, Crate::read(files).needs())).collect()
}

/// What ties the files of a cycle, a line each.
fn ties(needs: &Needs, cycle: &BTreeSet<&str>) -> String {
    let mut lines = Vec::new();
    for file in cycle {
        for (other, paths) in needs.get(*file).into_iter().flatten() {
            if cycle.contains(other.as_str()) {
                let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                lines.push(format!("    {file} -> {other}: {}", paths.join(", ")));
            }
        }
    }
    lines.join("\n")
}

#[test]
fn the_files_of_a_crate_form_no_cycles() {
    let mut counted = BTreeMap::new();
    let mut described = BTreeMap::new();
    for (name, needs) in crates() {
        let cycles = cycles(&needs);
        counted.insert(name.clone(), cycles.iter().map(BTreeSet::len).sum());
        let lines = cycles.iter().map(|cycle| format!("  {} files\n{}", cycle.len(), ties(&needs, cycle)));
        described.insert(name, lines.collect::<Vec<_>>().join("\n"));
    }
    let faults = faults("FILES_IN_CYCLES", FILES_IN_CYCLES, 0, &counted);
    let of: Vec<String> = described
        .iter()
        .filter(|(name, _)| faults.iter().any(|fault| fault.starts_with(&format!("{name} has "))))
        .map(|(name, cycles)| format!("cycles of {name}:\n{cycles}"))
        .collect();
    assert!(faults.is_empty(), "\n{}\n{}", faults.join("\n"), of.join("\n"));
}

#[test]
fn no_folder_is_crowded() {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for file in tree::files().iter().filter(|file| file.is_rust()) {
        let Some((folder, _)) = file.path.rsplit_once('/') else { continue };
        let mut parts = folder.split('/');
        let is_counted = parts.next() == Some("crates") && matches!(parts.nth(1), Some("src" | "tests"));
        if is_counted {
            *counted.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let faults = faults("CROWDED_FOLDERS", CROWDED_FOLDERS, FILES_PER_FOLDER, &counted);
    assert!(
        faults.is_empty(),
        "at most {FILES_PER_FOLDER} Rust files per folder: put those of one subject into a folder with its name\n{}",
        faults.join("\n")
    );
}

#[test]
fn a_ratchet_holds_in_both_directions() {
    let counted = [("a".to_owned(), 3), ("b".to_owned(), 1), ("c".to_owned(), 1)].into();
    let found = faults("T", &[("a", 2), ("b", 2), ("d", 5)], 0, &counted);
    assert_eq!(
        found,
        [
            "a has 3, 2 may",
            "c has 1, 0 may",
            "lower (\"b\", 2) in T to 1",
            "strike (\"d\", 5) from T: it has 0"
        ]
    );
}
