//! The cluster that a drill damages a copy of.

use formats::postgres::attribute::Attribute;
use formats::postgres::page::{Item, ItemState, Page};

/// A block that may be damaged, with what is known about it.
pub(crate) struct Scene {
    pub(crate) page: Vec<u8>,
    pub(crate) block: u32,
    /// Blocks of the file.
    pub(crate) blocks: u32,
    /// Another block of the file.
    pub(crate) other: Vec<u8>,
    /// The block with the same number of an index of the table.
    pub(crate) foreign: Vec<u8>,
    pub(crate) all_visible: bool,
    /// Columns of the table, as the catalog has them.
    pub(crate) columns: Vec<Attribute>,
    /// Whether it is an index of unique keys.
    pub(crate) is_unique: bool,
    /// Whether the order of its keys is not known here.
    pub(crate) is_order_unknown: bool,
    /// Line pointers of rows that are there for everyone, ascending.
    pub(crate) live: Vec<u16>,
    pub(crate) next_xid: u32,
    pub(crate) log_end: u64,
    pub(crate) seed: u64,
}

/// The first line pointers of a block whose rows are there and can be named by an index.
pub(crate) fn rows(page: &[u8]) -> Vec<Item> {
    let page = Page::new(page);
    page.items().filter(|item| item.state == ItemState::Normal && page.item_bytes(*item).is_some()).collect()
}
