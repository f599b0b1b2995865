//! SP-GiST index pages: inner tuples and their nodes, chains of leaf tuples, and what stands in for tuples that moved.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::btree::{IndexTuple, TUPLE_HEADER_BYTES};
use crate::postgres::page::{HEADER_BYTES, Item, ItemState, Page};
use crate::postgres::primitive::{MAX_ALIGN, Tid};

/// The page of the meta data.
// EVIDENCE: src/include/access/spgist_private.h SPGIST_METAPAGE_BLKNO
pub const META: u32 = 0;
/// Root of the tree of values.
// EVIDENCE: spgist_private.h SPGIST_ROOT_BLKNO
pub const ROOT: u32 = 1;
/// Root of the tree of nulls.
// EVIDENCE: spgist_private.h SPGIST_NULL_BLKNO
pub const NULL_ROOT: u32 = 2;
/// Magic number of the first page.
// EVIDENCE: spgist_private.h SPGIST_MAGIC_NUMBER
const MAGIC: u32 = 0xBA0B_ABEE;
/// Length of the header of an inner tuple; its prefix follows.
// EVIDENCE: spgist_private.h SGITHDRSZ
const INNER_HEADER_BYTES: usize = 8;
/// Length of a tuple that stands in for another, and the least of all.
// EVIDENCE: spgist_private.h SGDTSIZE
const DEAD_BYTES: usize = 16;
/// Bits of the place of the next tuple in the chain.
// EVIDENCE: spgist_private.h SGLT_GET_NEXTOFFSET (14 and later)
const NEXT_MASK: u16 = 0x3FFF;
/// Bit: a bitmap of nulls follows the header of a leaf tuple.
// EVIDENCE: spgist_private.h SGLT_GET_HASNULLMASK
const HAS_NULLS: u16 = 0x8000;

/// Flags of a page.
// EVIDENCE: spgist_private.h SPGIST_*
pub mod flag {
    /// The first page.
    pub const META: u16 = 1;
    /// Not in use.
    pub const DELETED: u16 = 2;
    /// Has leaf tuples.
    pub const LEAF: u16 = 4;
    /// Of the tree of nulls.
    pub const NULLS: u16 = 8;
}

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// See [`flag`].
    pub flags: u16,
    /// Tuples that tell where another went.
    pub redirects: u16,
    /// Tuples that keep the place of one that is gone.
    pub placeholders: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: spgist_private.h SpGistPageOpaqueData: flags @0, nRedirection @2, nPlaceholder @4
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        Some(Opaque {
            flags: u16_at(special, 0)?,
            redirects: u16_at(special, 2)?,
            placeholders: u16_at(special, 4)?,
        })
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What a tuple is, by its first two bits.
// EVIDENCE: spgist_private.h SPGIST_LIVE, REDIRECT, DEAD, PLACEHOLDER
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// An inner or leaf tuple.
    Live,
    /// Tells searches under way where the tuple went.
    Redirect,
    /// An empty chain that a node still names.
    Dead,
    /// Keeps a place that nobody names.
    Placeholder,
}

impl State {
    /// The state of a tuple; `None` if it is too short to have one.
    #[must_use]
    pub fn of(tuple: &[u8]) -> Option<State> {
        Some(match u32_at(tuple, 0)? & 3 {
            0 => State::Live,
            1 => State::Redirect,
            2 => State::Dead,
            _ => State::Placeholder,
        })
    }
}

/// A live tuple of an inner page, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct InnerTuple<'a> {
    bytes: &'a [u8],
    /// Whether the nodes are alternatives for the same values.
    pub all_the_same: bool,
    /// Number of nodes.
    pub node_count: u16,
    prefix_bytes: usize,
    size_bytes: usize,
}

impl<'a> InnerTuple<'a> {
    /// Reads a tuple; `None` if it is shorter than its header.
    // EVIDENCE: spgist_private.h SpGistInnerTupleData: tupstate 2 bits, allTheSame 1, nNodes 13, prefixSize 16; size @4
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<InnerTuple<'a>> {
        let word = u32_at(bytes, 0)?;
        Some(InnerTuple {
            bytes,
            all_the_same: word & 4 != 0,
            node_count: (word >> 3 & 0x1FFF) as u16,
            prefix_bytes: (word >> 16) as usize,
            size_bytes: usize::from(u16_at(bytes, 4)?),
        })
    }

    /// The value that all below begin with, or are divided by; empty if there is none.
    #[must_use]
    pub fn prefix(&self) -> &'a [u8] {
        self.bytes.get(INNER_HEADER_BYTES..INNER_HEADER_BYTES + self.prefix_bytes).unwrap_or(&[])
    }

    /// The nodes, as far as they lie inside the tuple.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let bytes = self.bytes;
        let mut offset = INNER_HEADER_BYTES + self.prefix_bytes;
        // At most 8191 turns: the count has thirteen bits.
        (0..self.node_count).map_while(move |_| {
            let rest = bytes.get(offset..)?;
            let tuple = IndexTuple::read(rest)?;
            let length = tuple.length_bytes();
            let label = rest.get(TUPLE_HEADER_BYTES..length)?;
            offset += length;
            Some(Node { target: tuple.tid, label: (!tuple.has_nulls()).then_some(label) })
        })
    }

    /// Tests the parts of the tuple against its size.
    fn check(&self, item: Item, damage: &mut Vec<Damage>) -> bool {
        let nodes = self.nodes();
        let (mut count, mut end) = (0u16, INNER_HEADER_BYTES + self.prefix_bytes);
        for node in nodes {
            count += 1;
            end += TUPLE_HEADER_BYTES + node.label.map_or(0, <[u8]>::len);
        }
        let fits = self.size_bytes == usize::from(item.length)
            && self.prefix_bytes.is_multiple_of(MAX_ALIGN)
            && count == self.node_count
            && count > 0
            && end.max(DEAD_BYTES) == self.size_bytes;
        if !fits {
            let expected =
                format!("{} nodes that end with the tuple, at byte {}", self.node_count, item.length);
            let found = format!("{count} nodes that end at byte {end}, size {}", self.size_bytes);
            damage.push(broken(Invariant::SpGistTuple, item, expected, found));
        }
        fits
    }
}

/// A node of an inner tuple: a label, and where the tuples are that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// An inner tuple, or the head of a chain of leaf tuples; item 0 if there is none yet.
    pub target: Tid,
    /// The label's bytes, padding included; `None` if it is null.
    pub label: Option<&'a [u8]>,
}

/// A live tuple of a leaf page, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct LeafTuple<'a> {
    bytes: &'a [u8],
    /// The row.
    pub tid: Tid,
    /// The next tuple of the same node, on the same page; 0 for none.
    pub next: u16,
    has_nulls: bool,
    size_bytes: usize,
}

impl<'a> LeafTuple<'a> {
    /// Reads a tuple; `None` if it is shorter than its header.
    // EVIDENCE: spgist_private.h SpGistLeafTupleData: tupstate 2 bits, size 30 bits, t_info @4, heapPtr @6
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<LeafTuple<'a>> {
        let info = u16_at(bytes, 4)?;
        Some(LeafTuple {
            bytes,
            tid: Tid::read(bytes, 6)?,
            next: info & NEXT_MASK,
            has_nulls: info & HAS_NULLS != 0,
            size_bytes: (u32_at(bytes, 0)? >> 2) as usize,
        })
    }

    /// The bytes of the columns, padding included.
    // EVIDENCE: spgist_private.h SGLTHDRSZ: 16 bytes with and without the bitmap of nulls
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.bytes.get(DEAD_BYTES..self.size_bytes).unwrap_or(&[])
    }

    /// The bitmap of nulls (1 = present), if there is one.
    #[must_use]
    pub fn null_bitmap(&self) -> Option<&'a [u8]> {
        self.has_nulls.then(|| self.bytes.get(12..DEAD_BYTES).unwrap_or(&[]))
    }
}

/// What a page says about tuples and who names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A tuple of this page that one node must name.
    Named(u16),
    /// A node names a tuple.
    Names(Tid),
}

/// Tests a page of this number in an index of so many pages, whose line pointers were found in order; gives what it says
/// about links.
pub fn check_page(
    page: &Page<'_>,
    (block, block_count): (u32, u32),
    damage: &mut Vec<Damage>,
    facts: &mut Vec<Fact>,
) {
    let Some(opaque) = Opaque::read(page) else { return };
    let special = usize::from(page.header().special);
    if opaque.has(flag::META) != (block == META)
        || block == ROOT && opaque.has(flag::NULLS | flag::DELETED)
        || block == NULL_ROOT && (opaque.has(flag::DELETED) || !opaque.has(flag::NULLS))
    {
        let expected = "meta data in block 0, the root of values in block 1, that of nulls in block 2";
        let found = format!("flags {:#06x} in block {block}", opaque.flags);
        damage.push(Damage::at(Invariant::SpGistPage, special, expected, found));
        return;
    }
    if block == META {
        let magic = u32_at(page.bytes(), HEADER_BYTES).unwrap_or(0);
        if magic != MAGIC {
            let (expected, found) = (format!("magic number {MAGIC:#x}"), format!("{magic:#x}"));
            damage.push(Damage::at(Invariant::SpGistPage, HEADER_BYTES, expected, found));
        }
        return;
    }
    if opaque.has(flag::DELETED) {
        return;
    }
    let is_root = matches!(block, ROOT | NULL_ROOT);
    let states = states_of(page, &opaque, is_root, damage);
    let count = |state| states.iter().filter(|found| **found == Some(state)).count();
    let (redirects, placeholders) = (count(State::Redirect), count(State::Placeholder));
    if (redirects, placeholders) != (usize::from(opaque.redirects), usize::from(opaque.placeholders)) {
        damage.push(Damage::at(
            Invariant::SpGistPage,
            special + 2,
            format!("{redirects} redirects and {placeholders} placeholders, as the page has"),
            format!("{} and {}", opaque.redirects, opaque.placeholders),
        ));
    }
    if opaque.has(flag::LEAF) {
        check_chains(page, &states, is_root, damage, facts);
    } else {
        check_nodes(page, (&states, is_root), (block, block_count), damage, facts);
    }
}

/// The state of each tuple whose size is that of its line pointer, by number from 1 on.
fn states_of(
    page: &Page<'_>,
    opaque: &Opaque,
    is_root: bool,
    damage: &mut Vec<Damage>,
) -> Vec<Option<State>> {
    let is_leaf = opaque.has(flag::LEAF);
    let mut states = Vec::with_capacity(usize::from(page.item_count()));
    for item in page.items() {
        let tuple = page.item_bytes(item).unwrap_or(&[]);
        let state = State::of(tuple).filter(|_| item.state == ItemState::Normal);
        let size = match state {
            Some(State::Live) if !is_leaf => u16_at(tuple, 4).map(usize::from),
            _ => u32_at(tuple, 0).map(|word| (word >> 2) as usize),
        };
        let is_possible = match state {
            Some(State::Live) => true,
            Some(State::Dead) => is_leaf && !is_root,
            Some(State::Redirect | State::Placeholder) => !is_root,
            None => false,
        };
        if is_possible && size == Some(usize::from(item.length)) && tuple.len() >= DEAD_BYTES {
            states.push(state);
            continue;
        }
        states.push(None);
        let kind = if is_leaf { "a leaf" } else { "an inner" };
        let expected = format!("a tuple of {} bytes that {kind} page may have", item.length);
        let found =
            state.map_or("none".to_owned(), |state| format!("{state:?} of {} bytes", size.unwrap_or(0)));
        damage.push(broken(Invariant::SpGistTuple, item, expected, found));
    }
    states
}

/// Each leaf tuple has at most one before it in its chain, and the first of a chain is named by a node.
fn check_chains(
    page: &Page<'_>,
    states: &[Option<State>],
    is_root: bool,
    damage: &mut Vec<Damage>,
    facts: &mut Vec<Fact>,
) {
    let state_of = |number: u16| usize::from(number).checked_sub(1).and_then(|at| *states.get(at)?);
    let mut has_previous = vec![false; states.len() + 1];
    let mut next_of = vec![0u16; states.len() + 1];
    for item in page.items().filter(|item| state_of(item.number) == Some(State::Live)) {
        let Some(tuple) = page.item_bytes(item).and_then(LeafTuple::read) else { continue };
        if tuple.next == 0 {
            continue;
        }
        let is_taken = has_previous.get(usize::from(tuple.next)) == Some(&true);
        if is_root || is_taken || state_of(tuple.next) != Some(State::Live) {
            let expected = "a next leaf tuple of its own on the same page, or none".to_owned();
            let what = if is_root {
                "which has no chains"
            } else if is_taken {
                "which another has as its next"
            } else {
                "which is no leaf tuple"
            };
            damage.push(broken(
                Invariant::SpGistChain,
                item,
                expected,
                format!("line pointer {}, {what}", tuple.next),
            ));
            continue;
        }
        if let Some(entry) = has_previous.get_mut(usize::from(tuple.next)) {
            *entry = true;
        }
        if let Some(next) = next_of.get_mut(usize::from(item.number)) {
            *next = tuple.next;
        }
    }
    if is_root {
        return;
    }
    let mut is_reached = vec![false; states.len() + 1];
    for number in
        (1..=states.len() as u16).filter(|number| has_previous.get(usize::from(*number)) == Some(&false))
    {
        match state_of(number) {
            Some(State::Live | State::Dead) => facts.push(Fact::Named(number)),
            _ => continue,
        }
        // Bounded: each tuple has one before it at most, and the first has none.
        let mut at = number;
        while let Some(entry) = is_reached.get_mut(usize::from(at)).filter(|entry| at != 0 && !**entry) {
            *entry = true;
            at = next_of.get(usize::from(at)).copied().unwrap_or(0);
        }
    }
    let circle = page.items().find(|item| {
        let is_reached = is_reached.get(usize::from(item.number)) == Some(&true);
        state_of(item.number) == Some(State::Live) && !is_reached
    });
    if let Some(item) = circle {
        let expected = "a chain that ends".to_owned();
        damage.push(broken(Invariant::SpGistChain, item, expected, "one that goes in a cycle".to_owned()));
    }
}

fn check_nodes(
    page: &Page<'_>,
    (states, is_root): (&[Option<State>], bool),
    (block, block_count): (u32, u32),
    damage: &mut Vec<Damage>,
    facts: &mut Vec<Fact>,
) {
    for (item, _) in page.items().zip(states).filter(|(_, state)| **state == Some(State::Live)) {
        let Some(tuple) = page.item_bytes(item).and_then(InnerTuple::read) else { continue };
        // The root has one tuple, which nobody names.
        if !(is_root && item.number == 1) {
            facts.push(Fact::Named(item.number));
        }
        if !tuple.check(item, damage) {
            continue;
        }
        for target in tuple.nodes().map(|node| node.target).filter(|target| target.item != 0) {
            if target.block <= NULL_ROOT || target.block >= block_count {
                let expected =
                    format!("a node that leads into one of {block_count} blocks, to none of the first three");
                damage.push(broken(
                    Invariant::SpGistTuple,
                    item,
                    expected,
                    format!("{target} in block {block}"),
                ));
            } else {
                facts.push(Fact::Names(target));
            }
        }
    }
}

fn broken(invariant: Invariant, item: Item, expected: String, found: String) -> Damage {
    Damage::at(invariant, usize::from(item.offset), expected, found).of_item(item.number)
}
