//! The edges between the crates are those that ARCHITECTURE.md lists: the document is the rule.

use std::collections::BTreeSet;

use crate::metadata::{metadata, packages};
use crate::tree;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// `from -> to`, or `from (tests) -> to` for what only tests need.
type Edges = BTreeSet<String>;

#[test]
fn the_edges_between_crates_are_those_of_the_written_list() {
    let (written, built) = (written_edges(), built_edges());
    let mut faults = Vec::new();
    for edge in built.difference(&written) {
        faults.push(format!(
            "Cargo.toml has the edge \"{edge}\", {DOCUMENT} does not: take it out, or add it there with its reason"
        ));
    }
    for edge in written.difference(&built) {
        faults.push(format!(
            "{DOCUMENT} has the edge \"{edge}\", Cargo.toml does not: add the dependency, or strike the edge there"
        ));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_edge_leads_back() {
    let edges = written_edges();
    let mut crates: BTreeSet<&str> = edges.iter().filter_map(|edge| edge.split(' ').next()).collect();
    // Crates without an edge to one that is left can be built; whoever remains is on a cycle.
    loop {
        let buildable: Vec<&str> = crates
            .iter()
            .copied()
            .filter(|name| {
                !edges.iter().any(|edge| {
                    let mut words = edge.split(" -> ");
                    words.next() == Some(*name) && words.next().is_some_and(|to| crates.contains(to))
                })
            })
            .collect();
        if buildable.is_empty() {
            break;
        }
        crates.retain(|name| !buildable.contains(name));
    }
    assert!(crates.is_empty(), "these crates need each other in a cycle: {crates:?}");
}

/// The block ```` ```edges ````: one crate per line, `lab -> disk results stats`.
fn written_edges() -> Edges {
    let mut edges = Edges::new();
    for line in tree::fenced_block(DOCUMENT, "edges") {
        let (from, to) = line
            .split_once("->")
            .unwrap_or_else(|| panic!("{DOCUMENT}: line \"{line}\" of the block \"edges\" has no \"->\""));
        edges.extend(to.split_whitespace().map(|to| format!("{} -> {to}", from.trim())));
    }
    edges
}

fn built_edges() -> Edges {
    let answer = metadata(&["--no-deps"]).unwrap();
    let packages = packages(&answer);
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    assert!(names.len() > 5, "cargo metadata lists only {names:?}");
    let mut edges = Edges::new();
    for package in packages {
        let from = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            if names.contains(to) {
                let role = if dependency["kind"] == "dev" { " (tests)" } else { "" };
                edges.insert(format!("{from}{role} -> {to}"));
            }
        }
    }
    edges
}
