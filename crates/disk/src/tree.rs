//! The text files through which the kernel tells about itself, below one root so that tests can bring their own.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::facts::DeviceNumber;

/// The most that is read of one file. `/proc/cpuinfo` of 1024 processors is about 2 MiB, a mount table with ten
/// thousand mounts about as much; more than this is not a fact worth memory.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The device numbers that `stat` gives for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathNumbers {
    /// The device that holds the file.
    pub(crate) holder: DeviceNumber,
    /// The device that the file *is*, when it is a device node.
    pub(crate) node: DeviceNumber,
}

/// A root with `proc`, `sys` and `etc` below it.
#[derive(Clone, Debug)]
pub(crate) struct SystemTree {
    root: PathBuf,
    /// Device numbers cannot be made up in a directory, so tests bring a function.
    stat: fn(&Path) -> Option<PathNumbers>,
}

impl SystemTree {
    /// The running machine.
    pub(crate) fn of_this_machine() -> Self {
        SystemTree { root: PathBuf::from("/"), stat: stat_numbers }
    }

    /// A made-up tree, with made-up device numbers.
    #[cfg(test)]
    pub(crate) fn made_up(root: &Path, stat: fn(&Path) -> Option<PathNumbers>) -> Self {
        SystemTree { root: root.to_path_buf(), stat }
    }

    /// Places `path`, absolute or not, below the root. Steps upward (`..`) are dropped, so that no text read from
    /// one file can lead out of the tree.
    pub(crate) fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        let mut placed = self.root.clone();
        placed.extend(path.as_ref().components().filter(|part| matches!(part, Component::Normal(_))));
        placed
    }

    /// The content of a file below the root; `None` when it cannot be read.
    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        bytes_at(&self.place(path))
    }

    /// The content of a file below the root as trimmed text; `None` when it cannot be read or is empty.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        text_at(&self.place(path))
    }

    /// The whole number in a file below the root.
    pub(crate) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory below the root, sorted; empty when it cannot be read.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        names_in(&self.place(path))
    }

    /// The device numbers of a path of the machine (not placed below the root: it comes from a mount table).
    pub(crate) fn stat(&self, path: &Path) -> Option<PathNumbers> {
        (self.stat)(path)
    }
}

/// The content of a file; `None` when it cannot be read.
pub(crate) fn bytes_at(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The content of a file as trimmed text, odd bytes replaced; `None` when it cannot be read or is empty.
pub(crate) fn text_at(path: &Path) -> Option<String> {
    let content = bytes_at(path)?;
    let text = String::from_utf8_lossy(&content);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The names in a directory, sorted; empty when it cannot be read.
pub(crate) fn names_in(path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The choice in brackets, as in `none [mq-deadline] kyber`; a text of one word is the choice itself.
pub(crate) fn bracketed(text: &str) -> Option<String> {
    let choice = match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0,
        None => text,
    };
    let choice = choice.trim();
    (!choice.is_empty() && !choice.contains(char::is_whitespace)).then(|| choice.to_owned())
}

fn stat_numbers(path: &Path) -> Option<PathNumbers> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(PathNumbers {
        holder: DeviceNumber::from_raw(metadata.dev()),
        node: DeviceNumber::from_raw(metadata.rdev()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_choice_in_brackets_is_the_one_in_force() {
        assert_eq!(bracketed("none [mq-deadline] kyber").as_deref(), Some("mq-deadline"));
        assert_eq!(bracketed("[none]").as_deref(), Some("none"));
        assert_eq!(bracketed("none").as_deref(), Some("none"));
        for odd in ["", "[", "[]", "a b", "x [y", "] ["] {
            assert_eq!(bracketed(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn no_path_leads_out_of_the_tree() {
        let tree = SystemTree::made_up(Path::new("/made/up"), |_| None);
        assert_eq!(tree.place("/../../etc/./passwd"), Path::new("/made/up/etc/passwd"));
    }

    #[test]
    fn odd_bytes_in_a_file_are_replaced() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("odd"), b"a\xff\xfeb\n").unwrap();
        let tree = SystemTree::made_up(root.path(), |_| None);
        assert_eq!(tree.text("odd").as_deref(), Some("a\u{fffd}\u{fffd}b"));
        assert_eq!(tree.number("odd"), None);
        assert_eq!(tree.text("absent"), None);
    }
}
