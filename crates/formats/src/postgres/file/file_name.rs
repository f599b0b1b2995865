//! Names of relation files.

use crate::postgres::primitive::Oid;

/// Which part of a relation a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    /// Rows or index entries.
    Main,
    /// Free space map.
    FreeSpace,
    /// Visibility map.
    Visibility,
    /// What an unlogged relation is reset to.
    Init,
}

impl Fork {
    /// The end that the fork's files have.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Fork::Main => "",
            Fork::FreeSpace => "_fsm",
            Fork::Visibility => "_vm",
            Fork::Init => "_init",
        }
    }
}

/// What the name of a file in a database directory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName {
    /// File number of the relation.
    pub number: Oid,
    /// Fork.
    pub fork: Fork,
    /// Segment, from 0.
    pub segment: u32,
    /// Whether it belongs to a temporary relation, which a crash leaves behind and a start removes.
    pub temporary: bool,
}

impl FileName {
    /// Parses a name; `None` for files that hold no relation (`PG_VERSION`, `pg_filenode.map`, `pgsql_tmp...`).
    // EVIDENCE: PostgreSQL docs 73.1 "Database File Layout"; src/common/relpath.c
    #[must_use]
    pub fn parse(name: &str) -> Option<FileName> {
        let (temporary, rest) = match name.strip_prefix('t') {
            Some(rest) => {
                let (backend, rest) = rest.split_once('_')?;
                digits(backend)?;
                (true, rest)
            }
            None => (false, name),
        };
        let (stem, segment) = match rest.split_once('.') {
            Some((stem, segment)) => (stem, digits(segment).filter(|segment| *segment > 0)?),
            None => (rest, 0),
        };
        let (number, fork) = match stem.split_once('_') {
            None => (stem, Fork::Main),
            Some((number, "fsm")) => (number, Fork::FreeSpace),
            Some((number, "vm")) => (number, Fork::Visibility),
            Some((number, "init")) => (number, Fork::Init),
            Some(_) => return None,
        };
        Some(FileName { number: digits(number)?, fork, segment, temporary })
    }
}

/// A decimal number without sign or leading zeros.
fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_relation_files_are_told_from_others() {
        let file = |number, fork, segment, temporary| Some(FileName { number, fork, segment, temporary });
        assert_eq!(FileName::parse("16384"), file(16384, Fork::Main, 0, false));
        assert_eq!(FileName::parse("16384.2"), file(16384, Fork::Main, 2, false));
        assert_eq!(FileName::parse("16384_vm"), file(16384, Fork::Visibility, 0, false));
        assert_eq!(FileName::parse("16384_fsm.1"), file(16384, Fork::FreeSpace, 1, false));
        assert_eq!(FileName::parse("t3_16384"), file(16384, Fork::Main, 0, true));
        for other in [
            "PG_VERSION",
            "pg_filenode.map",
            "pg_internal.init",
            "16384.0",
            "016384",
            "",
            "16384_x",
            "t_1",
            "99999999999",
        ] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }
}
