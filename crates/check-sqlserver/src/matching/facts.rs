//! What one page says about another: summed up in the pass, kept in the second look.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use formats::sqlserver::{PageId, RecordId};

use check::matching::exact::unmatched;
use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::Difference;

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FactKind {
    /// A page names its right neighbour; a page names its left one. By allocation unit.
    Sibling,
    /// An entry names a page below; a page is there. By allocation unit.
    Child,
    /// A stub names a row; a row names its stub. By allocation unit.
    Forward,
    /// A row or node names a record of a large value; the record is there. By rowset.
    Lob,
    /// A row or node tells the length of a piece of a large value; the piece has it. By rowset.
    LobLength,
    /// A row states an entry of an index; the entry is there. By index.
    Entry,
}

/// A fact with its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    pub(crate) hash: u128,
    /// Who states it.
    pub(crate) place: RecordId,
    /// What is named.
    pub(crate) other: RecordId,
}

/// A set of facts that two sides must state alike.
pub(crate) type Group = (FactKind, u32);

/// Spreads small numbers that are looked up for every page; the standard hasher took longer than the sums themselves.
pub(crate) type Quick = BuildHasherDefault<Spread>;

/// A hasher for numbers that no outsider chooses, such as places in a plan.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    // The tag of an enumeration.
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // An odd number near 2^64 divided by the golden ratio: neighbours come far apart.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The facts of one worker. Merges by addition.
pub(crate) struct Facts {
    key: Key,
    pub(crate) sums: HashMap<Group, Difference, Quick>,
    /// Groups that cannot be compared, with the reason.
    pub(crate) poisoned: HashMap<Group, &'static str>,
    kept: Option<Kept>,
    /// Whether facts are not taken now: those of another batch.
    pub(crate) is_muted: bool,
}

/// Facts of the groups that are looked at a second time.
pub(crate) struct Kept {
    groups: HashSet<Group>,
    pub(crate) facts: HashMap<Group, [Vec<Fact>; 2]>,
}

impl Facts {
    /// Starts without facts, to sum them up.
    pub(crate) fn new(key: Key) -> Self {
        Self { key, sums: HashMap::default(), poisoned: HashMap::new(), kept: None, is_muted: false }
    }

    /// Starts without facts, to keep those of some groups.
    pub(crate) fn keeping(key: Key, groups: HashSet<Group>) -> Self {
        let kept = Kept { groups, facts: HashMap::new() };
        Self { kept: Some(kept), ..Self::new(key) }
    }

    /// Takes a fact: `bytes` are the same on both sides.
    pub(crate) fn state(&mut self, group: Group, side: Side, bytes: &[u8], place: RecordId, other: RecordId) {
        if self.is_muted {
            return;
        }
        let hash = self.key.hash(bytes);
        match &mut self.kept {
            None => {
                self.sums.entry(group).or_default().add(side, hash);
            }
            Some(kept) if kept.groups.contains(&group) => {
                let sides = kept.facts.entry(group).or_default();
                sides[side as usize].push(Fact { hash, place, other });
            }
            Some(_) => {}
        }
    }

    /// Gives a group up.
    pub(crate) fn poison(&mut self, group: Group, why: &'static str) {
        if !self.is_muted {
            self.poisoned.entry(group).or_insert(why);
        }
    }

    /// Adds what another worker saw.
    pub(crate) fn merge(&mut self, other: Self) {
        for (group, difference) in other.sums {
            self.sums.entry(group).or_default().merge(&difference);
        }
        for (group, why) in other.poisoned {
            self.poisoned.entry(group).or_insert(why);
        }
    }

    /// The facts that were kept, by group: those who name, and those who are there, without counterpart.
    pub(crate) fn unmatched(self) -> Vec<(Group, Vec<Fact>, Vec<Fact>)> {
        let Some(kept) = self.kept else { return Vec::new() };
        let mut groups: Vec<_> = kept.facts.into_iter().collect();
        groups.sort_by_key(|(group, _)| *group);
        groups
            .into_iter()
            .map(|(group, [names, there])| {
                let (mut names, mut there) = unmatched(names, there, |fact| fact.hash);
                names.sort_by_key(|fact| (fact.place, fact.other));
                there.sort_by_key(|fact| (fact.place, fact.other));
                (group, names, there)
            })
            .collect()
    }
}

/// What both sides of a fact of this kind hash.
pub(crate) fn link_bytes(level: u8, from: PageId, to: PageId) -> [u8; 13] {
    let mut bytes = [level; 13];
    bytes[..4].copy_from_slice(&from.page.to_le_bytes());
    bytes[4..6].copy_from_slice(&from.file.to_le_bytes());
    bytes[6..10].copy_from_slice(&to.page.to_le_bytes());
    bytes[10..12].copy_from_slice(&to.file.to_le_bytes());
    bytes
}

fn record_bytes(record: RecordId) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&record.page.page.to_le_bytes());
    bytes[4..6].copy_from_slice(&record.page.file.to_le_bytes());
    bytes[6..].copy_from_slice(&record.slot.to_le_bytes());
    bytes
}

/// What both sides of a fact of this kind hash.
pub(crate) fn lob_bytes(value: u64, record: RecordId) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    bytes[8..].copy_from_slice(&record_bytes(record));
    bytes
}

/// What both sides of a fact of this kind hash.
pub(crate) fn length_bytes(record: RecordId, length: u64) -> [u8; 16] {
    lob_bytes(length, record)
}

/// What both sides of a fact of this kind hash.
pub(crate) fn forward_bytes(stub: RecordId, row: RecordId) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&record_bytes(stub));
    bytes[8..].copy_from_slice(&record_bytes(row));
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_one_side_says_more_often_is_left_over() {
        let group = (FactKind::Child, 7);
        let mut facts = Facts::keeping(Key::new(1), HashSet::from([group]));
        let place = RecordId::default();
        for bytes in [b"a", b"b", b"b"] {
            facts.state(group, Side::Expected, bytes, place, place);
        }
        facts.state(group, Side::Found, b"b", place, place);
        facts.state(group, Side::Found, b"c", place, place);
        facts.state((FactKind::Child, 8), Side::Found, b"c", place, place);
        let unmatched = facts.unmatched();
        assert_eq!(unmatched.len(), 1);
        assert_eq!((unmatched[0].1.len(), unmatched[0].2.len()), (2, 1));
    }
}
