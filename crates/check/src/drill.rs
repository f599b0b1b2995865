//! What drills on all engines have in common: why one cannot be made, and where the search for a place begins.

use std::io;
use std::path::{Path, PathBuf};

/// A class of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrillClass {
    /// The name on the command line.
    pub name: &'static str,
    /// What is done, in one sentence without a full stop.
    pub what: &'static str,
}

/// What a drill did to the copy of a cluster or of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drill {
    /// The class.
    pub class: &'static str,
    /// What was done, in one sentence.
    pub what: &'static str,
    /// The file: in a copy that is a directory, one inside it.
    pub file: PathBuf,
    /// The table or index, where the class concerns one.
    pub object: Option<String>,
    /// The page, where the class concerns one.
    pub page: Option<u32>,
    /// First byte that differs in the copy.
    pub offset_bytes: u64,
    /// Number of bytes that differ, or that are gone.
    pub changed_bytes: u64,
    /// The bytes before and after, where the engine lists them.
    pub changes: Vec<Change>,
    /// The command that finds it.
    pub command: String,
}

/// A change of bytes in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where in the file.
    pub offset_bytes: u64,
    /// The bytes before; at most 16 of them.
    pub before: Vec<u8>,
    /// The bytes after; at most 16 of them. A cut has none.
    pub after: Vec<u8>,
}

/// Why a drill could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// The original cannot be opened; the words are those of whoever tried.
    #[error("{0}")]
    Open(String),
    /// The original is no database that can be damaged.
    #[error("cannot damage a copy of \"{}\": {why}", path.display())]
    Source {
        /// The original.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The original is in use, or was not shut down cleanly.
    #[error("cannot damage a copy of \"{}\": it is {standing}\nhint: shut the server down cleanly first, so that the copy is consistent", path.display())]
    NotStopped {
        /// The cluster.
        path: PathBuf,
        /// How it stands.
        standing: &'static str,
    },
    /// The class does not exist.
    #[error("unknown class of damage \"{name}\"\nhint: use one of {known}")]
    Class {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Nothing in the original can be damaged that way.
    #[error("cannot make damage of class \"{class}\" in \"{}\": nothing in it allows it", path.display())]
    NoPlace {
        /// The class.
        class: &'static str,
        /// The original.
        path: PathBuf,
    },
    /// The copy exists already.
    #[error("cannot write the copy \"{}\": it exists already", path.display())]
    Exists {
        /// The copy.
        path: PathBuf,
    },
    /// The copy would lie in the original.
    #[error("cannot write the copy \"{}\": it would lie inside the original", path.display())]
    Inside {
        /// The copy.
        path: PathBuf,
    },
    /// The copy could not be written.
    #[error("could not write the copy \"{}\": {source}", path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Finds a class by its name, or by a name that it had before: `old_names` has those with the names of today.
///
/// # Errors
/// No class has the name.
pub fn class<'a, C>(
    classes: &'a [C],
    name_of: impl Fn(&C) -> &'static str,
    old_names: &[(&str, &str)],
    name: &str,
) -> Result<&'a C, DrillError> {
    let today = old_names.iter().find(|(old, _)| *old == name).map_or(name, |(_, today)| today);
    let found = classes.iter().find(|known| name_of(known) == today);
    found.ok_or_else(|| DrillError::Class {
        name: name.to_owned(),
        known: classes.iter().map(&name_of).collect::<Vec<_>>().join(", "),
    })
}

/// Refuses a copy that is there already; a link that leads nowhere counts too, because it would be written through.
pub fn refuse_existing(copy_to: &Path) -> Result<(), DrillError> {
    match copy_to.symlink_metadata() {
        Ok(_) => Err(DrillError::Exists { path: copy_to.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// The place of `count` at which a seed begins to look; 0 when there is none.
pub fn start(seed: u64, count: usize) -> usize {
    // A step that spreads seeds over the file; the golden ratio of 2^64.
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % count.max(1)
}

/// The command that finds the damage of a copy, as a shell takes it.
pub fn command(copy_to: &Path, options: &str) -> String {
    let path = copy_to.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    let word = if path.bytes().all(is_plain) && !path.starts_with('-') {
        path.into_owned()
    } else {
        let dot = if path.starts_with('-') { "./" } else { "" };
        format!("'{dot}{}'", path.replace('\'', "'\\''"))
    };
    format!("fathom check {word}{options}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_class_is_found_by_its_name_and_by_one_that_it_had() {
        let find =
            |name| class(&["stale-page", "lost-row"], |known| *known, &[("lost-write", "stale-page")], name);
        assert_eq!(*find("lost-row").unwrap(), "lost-row");
        assert_eq!(*find("lost-write").unwrap(), "stale-page");
        let unknown = find("nothing").unwrap_err().to_string();
        assert!(unknown.ends_with("hint: use one of stale-page, lost-row"), "{unknown}");
    }

    #[test]
    fn a_path_of_any_characters_is_one_word_of_the_shell() {
        assert_eq!(command(Path::new("/tmp/b.db"), " --level full"), "fathom check /tmp/b.db --level full");
        assert_eq!(command(Path::new("my copy's.db"), ""), "fathom check 'my copy'\\''s.db'");
        assert_eq!(command(Path::new("-b.db"), ""), "fathom check './-b.db'");
    }
}
