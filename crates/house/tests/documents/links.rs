//! Links between the documents lead to files that exist, and docs/README.md lists every page.

use std::path::{Path, PathBuf};

/// All Markdown files of the repository's root, of `docs` and of `benches`.
fn documents() -> Vec<PathBuf> {
    let root = crate::root();
    let mut found = Vec::new();
    let mut directories = vec![root.join("docs"), root.join("benches")];
    for entry in std::fs::read_dir(&root).unwrap() {
        found.push(entry.unwrap().path());
    }
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    found.sort();
    found
}

/// Targets of the links and pictures of a document that name files.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with('#') && !target.contains(' '))
        .map(|target| target.split('#').next().unwrap_or(target))
}

#[test]
fn every_link_leads_to_a_file() {
    let mut faults = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let directory = path.parent().unwrap_or(Path::new(""));
        for target in targets(&text) {
            if !directory.join(target).exists() {
                faults.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "links to files that do not exist:\n{}", faults.join("\n"));
}

#[test]
fn the_index_of_the_documents_lists_every_page() {
    let docs = crate::root().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let listed: Vec<&str> = targets(&index).collect();
    let absent: Vec<String> = documents()
        .into_iter()
        .filter_map(|path| Some(path.strip_prefix(&docs).ok()?.to_string_lossy().into_owned()))
        .filter(|page| page != "README.md" && !listed.contains(&page.as_str()))
        .collect();
    assert!(absent.is_empty(), "docs/README.md does not list {absent:?}");
}
