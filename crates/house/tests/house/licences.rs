//! Everything that fathom is built from may be passed on with it under MIT or Apache-2.0.

use crate::metadata::{metadata, packages};

/// Licences that ask for no more than their own text, and MPL-2.0, which asks for the source of its own files only.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

#[test]
fn every_dependency_has_a_licence_of_the_list() {
    let answer =
        metadata(&["--locked", "--all-features", "--filter-platform", &host()]).unwrap_or_else(|words| {
            panic!("could not read the licences offline: {words}\nhint: run `cargo fetch --locked` once")
        });
    let packages = packages(&answer);
    assert!(packages.len() > 50, "cargo metadata lists only {} packages", packages.len());
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    assert!(
        faults.is_empty(),
        "\n{}\nallowed are {}; add one only with a reason in the commit",
        faults.join("\n"),
        ALLOWED.join(", ")
    );
}

#[test]
fn choices_and_unions_of_licences_are_read_as_written() {
    for (expression, allowed) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(GPL-2.0 OR AGPL-3.0) AND MIT", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-2.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression), allowed, "{expression}");
    }
}

fn fault(package: &serde_json::Value) -> Option<String> {
    let word = |key: &str| package[key].as_str().unwrap_or("").to_owned();
    let licence = word("license");
    (!is_allowed(&licence))
        .then(|| format!("crate {} {} has the licence \"{licence}\"", word("name"), word("version")))
}

/// Reads an SPDX expression: brackets first, then AND, then OR.
fn is_allowed(expression: &str) -> bool {
    let mut groups = vec![String::new()];
    // A bracketed part is decided by itself and replaced with a word that stands for the decision.
    for character in expression.replace('/', " OR ").chars() {
        match character {
            '(' => groups.push(String::new()),
            ')' if groups.len() > 1 => {
                let verdict = if is_flat_allowed(&groups.pop().unwrap()) { "MIT" } else { "refused" };
                groups.last_mut().unwrap().push_str(verdict);
            }
            other => groups.last_mut().unwrap().push(other),
        }
    }
    groups.len() == 1 && is_flat_allowed(&groups[0])
}

fn is_flat_allowed(expression: &str) -> bool {
    expression.split(" OR ").any(|choice| {
        choice.split(" AND ").all(|part| {
            let name = part.split(" WITH ").next().unwrap_or("").trim();
            ALLOWED.contains(&name)
        })
    })
}

/// The platform that this test was built for.
fn host() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}
