//! What a new rule of the checker touches: CONTRIBUTING lists the files, and rules of today are in no others.

use std::collections::BTreeSet;

use crate::tree;

/// Most files that a rule about two pages of a B-tree touches, without a drill.
const FILES_MAX: usize = 8;

/// Such a rule of each engine: its crate, and what it is called in files.
const EXAMPLES: [(&str, &str, &[&str]); 3] = [
    ("sqlite", "check-sqlite", &["sqlite-parent-bounds", "rules::PARENT_BOUNDS", "PARENT_BOUNDS {"]),
    ("postgres", "check-postgres", &["pg-btree-siblings", "BTREE_SIBLINGS", "LinkKind::Sibling"]),
    ("sqlserver", "check-sqlserver", &["mssql-index-sibling", "INDEX_SIBLING", "FactKind::Sibling"]),
];

#[test]
fn a_rule_about_two_pages_touches_the_files_that_are_listed_and_few() {
    let listed: BTreeSet<String> = tree::fenced_block("CONTRIBUTING.md", "rule").into_iter().collect();
    let files = tree::files();
    let unknown: Vec<&String> =
        listed.iter().filter(|path| files.iter().all(|file| file.path != **path)).collect();
    assert!(unknown.is_empty(), "files of CONTRIBUTING.md that are not there: {unknown:?}");
    for (engine, name, words) in EXAMPLES {
        let source = format!("crates/{name}/src/");
        let document = format!("docs/check/{engine}.md");
        let of_engine = |path: &str| path.starts_with(&format!("crates/{name}/")) || path == document;
        let count = listed.iter().filter(|path| of_engine(path) || path.as_str() == "CHANGELOG.md").count();
        assert!(count <= FILES_MAX, "{name}: {count} files are listed for a rule, {FILES_MAX} may be");
        let named: BTreeSet<&str> = files
            .iter()
            .filter(|file| file.path.starts_with(&source) || file.path == document)
            .filter(|file| !file.path.contains("/drill/"))
            .filter(|file| words.iter().any(|word| file.text.contains(word)))
            .map(|file| file.path.as_str())
            .collect();
        assert!(named.len() > 2, "{words:?} are not the names of a rule: {named:?}");
        let more: Vec<&str> = named.into_iter().filter(|path| !listed.contains(*path)).collect();
        assert!(
            more.is_empty(),
            "a rule of {name} is also in {more:?}: list it in CONTRIBUTING.md, or move it"
        );
    }
}
