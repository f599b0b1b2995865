//! Facts about one relation, kept to be compared one by one.

use std::collections::{BTreeMap, HashSet};

use check::matching::side::Side;
use check::matching::sums::BucketSet;
use formats::postgres::Tid;

use crate::btree::seams::Seam;
use crate::gin::blocks::GinRecord;
use crate::matching::exception::Exception;
use crate::matching::exceptions::boundary_code;
use crate::matching::links::Link;
use crate::matching::sink::{Boundary, EntrySink, RowSink};

/// A fact with what is needed to name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    pub(crate) tid: Tid,
    pub(crate) hash: u128,
    /// Block and line pointer of the index entry; zeros for a row.
    pub(crate) entry: (u32, u16),
}

/// Keeps the facts about one relation.
pub(crate) struct Collector {
    pub(crate) relation: u32,
    pub(crate) buckets: BucketSet,
    pub(crate) expected: Vec<Fact>,
    pub(crate) found: Vec<Fact>,
    /// Entries that are marked dead.
    pub(crate) dead: Vec<Fact>,
    pub(crate) links: Vec<(u128, Side, Link)>,
    /// Keys where leaves meet, of those that are wanted.
    pub(crate) boundaries: Vec<(u128, Side, Boundary)>,
    /// The wanted ones, as halves of [`boundary_code`].
    pub(crate) wanted_boundaries: HashSet<u64>,
    /// Keys of a unique index, of those that are wanted.
    pub(crate) unique_keys: Vec<Fact>,
    /// The wanted ones, as 63 bits of their hash.
    pub(crate) wanted_unique_keys: HashSet<u64>,
    /// What blocks of a GIN index say of each other.
    pub(crate) gin: Vec<GinRecord>,
    /// Whether those are wanted.
    pub(crate) wants_gin: bool,
    /// Facts about rows that were stated; where one may be stated often and counts once.
    pub(crate) seen: Option<HashSet<u128>>,
    /// Both sides of seams, of those that are wanted.
    pub(crate) seams: BTreeMap<Seam, [Option<Box<[u8]>>; 2]>,
    /// Whether something changed since the moment that is looked at.
    pub(crate) moved: bool,
    /// A table whose changed blocks are left out, with their rows and the entries of these.
    pub(crate) table: Option<u32>,
    /// Those blocks.
    pub(crate) changed: HashSet<u32>,
}

impl Collector {
    pub(crate) fn new(relation: u32, buckets: BucketSet) -> Collector {
        Collector {
            relation,
            buckets,
            expected: Vec::new(),
            found: Vec::new(),
            dead: Vec::new(),
            links: Vec::new(),
            boundaries: Vec::new(),
            wanted_boundaries: HashSet::new(),
            unique_keys: Vec::new(),
            wanted_unique_keys: HashSet::new(),
            gin: Vec::new(),
            wants_gin: false,
            seen: None,
            seams: BTreeMap::new(),
            moved: false,
            table: None,
            changed: HashSet::new(),
        }
    }
}

impl Collector {
    /// Whether another collected the same, in the same order.
    pub(crate) fn has_same_facts(&self, other: &Collector) -> bool {
        self.expected == other.expected
            && self.found == other.found
            && self.dead == other.dead
            && self.links == other.links
            && self.boundaries == other.boundaries
            && self.unique_keys == other.unique_keys
            && self.gin == other.gin
            && self.seams == other.seams
    }
}

impl Collector {
    /// Leaves out the facts about rows of blocks that changed in this reading or in an earlier one.
    pub(crate) fn leave_out_changed(&mut self, earlier: Option<&mut Collector>) {
        let changed = &mut self.changed;
        if let Some(earlier) = &earlier {
            changed.extend(&earlier.changed);
        }
        let lists = [&mut self.expected, &mut self.found, &mut self.dead].into_iter();
        let earlier =
            earlier.into_iter().flat_map(|other| [&mut other.expected, &mut other.found, &mut other.dead]);
        if !changed.is_empty() {
            lists.chain(earlier).for_each(|facts| facts.retain(|fact| !changed.contains(&fact.tid.block)));
        }
    }
}

impl RowSink for Collector {
    fn fact(&mut self, relation: u32, side: Side, bucket: usize, hash: u128, tid: Tid) {
        if relation == self.relation && self.buckets.has(bucket) {
            let fact = Fact { tid, hash, entry: (0, 0) };
            match side {
                Side::Expected => self.expected.push(fact),
                Side::Found => self.found.push(fact),
            }
        }
    }

    fn moved(&mut self, _relation: u32) {
        self.moved = true;
    }

    fn changed(&mut self, table: u32, block: u32) {
        if self.table == Some(table) {
            self.changed.insert(block);
        } else {
            self.moved = true;
        }
    }

    fn exception(&mut self, _table: u32, _tid: Tid, _exception: Exception) {}
}

impl EntrySink for Collector {
    fn entry(&mut self, index: u32, bucket: usize, hash: u128, tid: Tid, entry: (u32, u16)) {
        if index == self.relation && self.buckets.has(bucket) {
            if self.seen.as_mut().is_some_and(|seen| !seen.insert(hash)) {
                return;
            }
            self.found.push(Fact { tid, hash, entry });
        }
    }

    fn dead_entry(&mut self, index: u32, bucket: usize, hash: u128, tid: Tid, entry: (u32, u16)) {
        if index == self.relation && self.buckets.has(bucket) {
            self.dead.push(Fact { tid, hash, entry });
        }
    }

    fn unique_key(&mut self, index: u32, fact: u128, tid: Tid, place: (u32, u16)) {
        let code = boundary_code(Side::Expected, fact) >> 1;
        if index == self.relation && self.wanted_unique_keys.contains(&code) {
            self.unique_keys.push(Fact { tid, hash: fact, entry: place });
        }
    }

    fn link(&mut self, index: u32, side: Side, bucket: usize, hash: u128, link: Link) {
        if index == self.relation && self.buckets.has(bucket) {
            self.links.push((hash, side, link));
        }
    }

    fn boundary(&mut self, index: u32, side: Side, hash: u128, boundary: Boundary) {
        if index == self.relation && self.wanted_boundaries.contains(&(boundary_code(side, hash) >> 1)) {
            self.boundaries.push((hash, side, boundary));
        }
    }

    fn gin(&mut self, index: u32, record: GinRecord) {
        if index == self.relation && self.wants_gin {
            self.gin.push(record);
        }
    }

    fn seam(&mut self, seam: Seam, side: Side, key: &[u8]) -> Option<Box<[u8]>> {
        if let Some(sides) = self.seams.get_mut(&seam) {
            sides[side as usize] = Some(key.into());
        }
        None
    }

    fn unfinished(&mut self, _index: u32) {}

    fn order_not_known(&mut self, _index: u32) {}
}
