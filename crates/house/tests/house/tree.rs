//! The text files of the repository, as they lie on the disk.

use std::path::{Path, PathBuf};

/// Top-level directories with what was built or measured.
const NOT_OURS: [&str; 2] = ["target", "fathom-results"];
/// The file by which cargo marks what it builds into, wherever that is.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// Hidden directories that are ours.
const HIDDEN_OURS: [&str; 3] = [".cargo", ".ci", ".github"];

/// One text file.
pub(crate) struct TextFile {
    /// Relative to the repository, with forward slashes.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl TextFile {
    /// Is it Rust?
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All text files in the order of their paths. What is not UTF-8 is data and left out.
pub(crate) fn files() -> Vec<TextFile> {
    let root = root();
    let mut found = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                let is_hidden = name.starts_with('.') && !HIDDEN_OURS.contains(&name.as_str());
                let is_output = directory == root && NOT_OURS.contains(&name.as_str())
                    || entry.path().join(CACHE_TAG).exists();
                if !is_hidden && !is_output {
                    directories.push(entry.path());
                }
            } else if kind.is_file()
                // In a second working tree of git this is a file that says where the repository is.
                && name != ".git"
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                let path = entry.path().strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push(TextFile { path, text });
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

/// The lines of the block that a document fences as ```` ```name ````.
pub(crate) fn fenced_block(document: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let fence = format!("```{name}");
    let mut lines = text.lines().skip_while(|line| line.trim() != fence);
    assert!(lines.next().is_some(), "{document} has no block that begins with \"{fence}\"");
    lines
        .take_while(|line| line.trim() != "```")
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}
