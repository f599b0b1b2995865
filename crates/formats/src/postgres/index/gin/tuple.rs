//! Tuples of the key tree and of pending entries: a key, and what it leads to.

use crate::postgres::bytes::{u8_at, u16_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::btree::{IndexTuple, TUPLE_HEADER_BYTES};
use crate::postgres::index::gin::Kind;
use crate::postgres::index::gin::posting::{PostingList, list_of_entry, raw_tid};
use crate::postgres::page::Item;
use crate::postgres::primitive::Tid;
use crate::postgres::value::attribute::{Attribute, Columns, Datum};

/// Item number that says that the block is the root of a posting tree.
// EVIDENCE: src/include/access/ginblock.h GIN_TREE_POSTING
const TREE_POSTING: u16 = 0xFFFF;
/// Bit of the block number of a list that is packed.
// EVIDENCE: ginblock.h GIN_ITUP_COMPRESSED
const PACKED: u32 = 1 << 31;

/// What kind of key an entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// A value.
    Normal = 0,
    /// A null inside a value, as in an array.
    NullKey = 1,
    /// For values without keys, as empty arrays.
    EmptyItem = 2,
    /// For rows without value.
    NullItem = 3,
}

/// What an entry leads to.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Leaf: the rows, in place.
    Rows(PostingList<'a>, u16),
    /// Leaf: the root of a tree with the rows.
    Tree(u32),
    /// Inner block: the child.
    Child(u32),
    /// Pending: the row.
    Row(Tid),
}

/// A tuple of the key tree or of the list of pending entries, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct EntryTuple<'a> {
    bytes: &'a [u8],
    tuple: IndexTuple<'a>,
    /// What the entry leads to.
    pub payload: Payload<'a>,
    /// Where the key ends at the latest, in the tuple.
    key_end: usize,
}

impl<'a> EntryTuple<'a> {
    /// Reads a tuple of a block of a kind; `None`, with the damage, if what it leads to cannot be told.
    // EVIDENCE: src/backend/access/gin/README "Index structure"; ginblock.h GinGetNPosting, GinGetPostingOffset
    #[must_use]
    pub fn read(bytes: &'a [u8], kind: Kind, item: Item, damage: &mut Vec<Damage>) -> Option<EntryTuple<'a>> {
        let tuple = IndexTuple::read(bytes)?;
        let at = |expected: String, found: String| {
            Damage::at(Invariant::GinEntry, usize::from(item.offset), expected, found).of_item(item.number)
        };
        let length = tuple.length_bytes();
        if length > bytes.len() || length < tuple.data_offset() {
            let expected = format!("a tuple of at most the line pointer's {} bytes", bytes.len());
            damage.push(at(expected, format!("{length} bytes")));
            return None;
        }
        let (block, number) = raw_tid(bytes)?;
        let (payload, key_end) = match (kind, number) {
            (Kind::List, _) => (Payload::Row(tuple.tid), length),
            (Kind::EntryInner, 0) => (Payload::Child(block), length),
            (Kind::EntryInner, _) => {
                damage.push(at("a downlink with item number 0".to_owned(), format!("item number {number}")));
                return None;
            }
            (_, TREE_POSTING) => (Payload::Tree(block), length),
            (_, count) => {
                let start = (block & !PACKED) as usize;
                let is_placed = (tuple.data_offset()..=length).contains(&start) && start.is_multiple_of(2);
                let list = bytes.get(start..length).filter(|_| is_placed);
                let Some(list) = list.and_then(|list| list_of_entry(list, count, block & PACKED != 0)) else {
                    let expected = format!("a list of {count} TIDs inside the tuple's {length} bytes");
                    damage.push(at(expected, format!("a list at byte {start}")));
                    return None;
                };
                (Payload::Rows(list, count), start)
            }
        };
        Some(EntryTuple { bytes, tuple, payload, key_end })
    }

    /// Column of the index that the key is of, from 1; `None` if it does not stand in the tuple.
    // EVIDENCE: README: in an index with several columns an int2 with the column's number stands before the key
    #[must_use]
    pub fn column(&self, column_count: usize) -> Option<u16> {
        if column_count == 1 { Some(1) } else { u16_at(self.bytes, self.tuple.data_offset()) }
    }

    /// What kind of key it is; `None` if it is none that exists.
    // EVIDENCE: ginblock.h GinCategoryOffset: a byte after the column's number, if there are nulls
    #[must_use]
    pub fn category(&self, column_count: usize) -> Option<Category> {
        if !self.tuple.has_nulls() {
            return Some(Category::Normal);
        }
        match self.category_byte(column_count)? {
            1 => Some(Category::NullKey),
            2 => Some(Category::EmptyItem),
            3 => Some(Category::NullItem),
            _ => None,
        }
    }

    /// The byte of the category of an entry with nulls; `None` if it is past the end of the tuple.
    #[must_use]
    pub fn category_byte(&self, column_count: usize) -> Option<u8> {
        u8_at(self.bytes, self.tuple.data_offset() + if column_count == 1 { 0 } else { 2 })
    }

    /// The key; `None` if it does not lie inside the tuple. Null for all categories but normal ones.
    #[must_use]
    pub fn key(&self, column_count: usize, attribute: Attribute) -> Option<Datum<'a>> {
        if self.tuple.has_nulls() {
            return Some(Datum::Null);
        }
        let data = self.bytes.get(TUPLE_HEADER_BYTES..self.key_end)?;
        let mut columns = Columns::new(data, None);
        if column_count > 1 {
            columns.next_column(Attribute::INT2)?;
        }
        columns.next_column(attribute)
    }
}
