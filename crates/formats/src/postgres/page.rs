//! A relation page: header, line pointers, and which bytes they claim.

use crate::postgres::bytes::{u16_at, u32_at, u64_at};
use crate::postgres::coverage::Coverage;
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::primitive::MAX_ALIGN;

/// Length of the page header, bytes; line pointers follow.
// EVIDENCE: PostgreSQL docs 73.6 "Database Page Layout", PageHeaderData 24 bytes
pub const HEADER_BYTES: usize = 24;
/// Length of a line pointer, bytes.
// EVIDENCE: PostgreSQL docs 73.6, ItemIdData 4 bytes
pub const ITEM_BYTES: usize = 4;
/// Layout version that all supported majors write.
// EVIDENCE: bufpage.h PG_PAGE_LAYOUT_VERSION 4 (8.3 and later)
pub const LAYOUT_VERSION: u16 = 4;
/// Flag: there are unused line pointers (a hint).
// EVIDENCE: bufpage.h PD_HAS_FREE_LINES
pub const FLAG_HAS_FREE_LINES: u16 = 0x0001;
/// Flag: an update found no room (a hint).
// EVIDENCE: bufpage.h PD_PAGE_FULL
pub const FLAG_PAGE_FULL: u16 = 0x0002;
/// Flag: every row version is visible to everyone.
// EVIDENCE: bufpage.h PD_ALL_VISIBLE
pub const FLAG_ALL_VISIBLE: u16 = 0x0004;
/// All flags that exist.
// EVIDENCE: bufpage.h PD_VALID_FLAG_BITS
pub const FLAGS_ALL: u16 = 0x0007;

/// Bytes of tuples that are read on one page, for each byte of it. Sound pages claim each byte once; where a hostile one leads
/// all of its line pointers to one long tuple, the time would grow with the square of the page.
const TUPLE_BYTES_FACTOR: usize = 4;

/// The fields of a page header, as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Position in the log after the last change of this page.
    pub lsn: u64,
    /// Stored checksum; 0 when checksums were off.
    pub checksum: u16,
    /// Flag bits.
    pub flags: u16,
    /// Offset of the end of the line pointers.
    pub lower: u16,
    /// Offset of the start of the tuples.
    pub upper: u16,
    /// Offset of the access method's own space.
    pub special: u16,
    /// Page size as recorded, bytes.
    pub size_bytes: u16,
    /// Layout version.
    pub version: u16,
    /// Oldest transaction whose work might be pruned; 0 for none.
    pub prune_xid: u32,
}

/// What a line pointer says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// Free for use.
    Unused,
    /// Points to a tuple.
    Normal,
    /// Points to another line pointer (heap only).
    Redirect,
    /// Dead; may still be named by index entries.
    Dead,
}

/// A line pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number in the page, from 1.
    pub number: u16,
    /// Offset of the tuple in the page; number of another line pointer for a redirect.
    pub offset: u16,
    /// Length of the tuple, bytes.
    pub length: u16,
    /// Its state.
    pub state: ItemState,
}

impl Item {
    // EVIDENCE: itemid.h: lp_off 15 bits, lp_flags 2 bits, lp_len 15 bits, from the low end
    #[inline]
    fn of(number: u16, raw: u32) -> Item {
        let states = [ItemState::Unused, ItemState::Normal, ItemState::Redirect, ItemState::Dead];
        let state = states[(raw >> 15 & 3) as usize];
        Item { number, offset: (raw & 0x7FFF) as u16, length: (raw >> 17) as u16, state }
    }
}

/// How many bytes of tuples may still be read on a page.
#[derive(Clone, Copy, Debug)]
pub struct TupleLimit {
    left_bytes: usize,
}

impl TupleLimit {
    /// Whether a tuple may be read; counts its bytes. On a page without overlapping tuples it always may.
    #[inline]
    pub fn allows(&mut self, tuple: &[u8]) -> bool {
        let left = self.left_bytes.checked_sub(tuple.len());
        self.left_bytes = left.unwrap_or(0);
        left.is_some()
    }
}

/// One page, borrowed. The length of `bytes` is the block size.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Page<'a> {
    /// Looks at one page. Fewer bytes than a header read as zeros.
    // EVIDENCE: PostgreSQL docs 73.6: lsn @0 (high half first), checksum @8, flags @10, lower @12, upper @14,
    // special @16, pagesize_version @18, prune_xid @20; docs and bufpage.h, majors 14-18
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Page<'a> {
        let half = |offset| u16_at(bytes, offset).unwrap_or(0);
        let raw_lsn = u64_at(bytes, 0).unwrap_or(0);
        let size_version = half(18);
        let header = Header {
            // Two halves, the high one first, each little-endian.
            lsn: raw_lsn.rotate_left(32),
            checksum: half(8),
            flags: half(10),
            lower: half(12),
            upper: half(14),
            special: half(16),
            size_bytes: size_version & 0xFF00,
            version: size_version & 0x00FF,
            prune_xid: u32_at(bytes, 20).unwrap_or(0),
        };
        Page { bytes, header }
    }

    /// The header's fields.
    #[inline]
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All bytes of the page.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the page says that it was never initialised.
    // EVIDENCE: bufpage.h PageIsNew: pd_upper == 0
    #[inline]
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.header.upper == 0
    }

    /// Whether all bytes are zero, as in a page that was only added to the file.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        let (words, rest) = self.bytes.as_chunks::<32>();
        words.iter().all(|word| *word == [0; 32]) && rest.iter().all(|byte| *byte == 0)
    }

    /// Number of line pointers that the header gives room for; at most what fits the page.
    #[inline]
    #[must_use]
    pub fn item_count(&self) -> u16 {
        let lower = usize::from(self.header.lower).min(self.bytes.len());
        (lower.saturating_sub(HEADER_BYTES) / ITEM_BYTES) as u16
    }

    /// The line pointer of a number, from 1; `None` beyond the last.
    #[inline]
    #[must_use]
    pub fn item(&self, number: u16) -> Option<Item> {
        if number == 0 || number > self.item_count() {
            return None;
        }
        let raw = u32_at(self.bytes, HEADER_BYTES + (usize::from(number) - 1) * ITEM_BYTES)?;
        Some(Item::of(number, raw))
    }

    /// All line pointers, in order.
    #[inline]
    pub fn items(&self) -> impl Iterator<Item = Item> + use<'a> {
        let end = HEADER_BYTES + usize::from(self.item_count()) * ITEM_BYTES;
        let (items, _) = self.bytes.get(HEADER_BYTES..end).unwrap_or(&[]).as_chunks::<ITEM_BYTES>();
        (1u16..).zip(items).map(|(number, raw)| Item::of(number, u32::from_le_bytes(*raw)))
    }

    /// The bytes that a line pointer claims; `None` if they are not all inside the page.
    #[inline]
    #[must_use]
    pub fn item_bytes(&self, item: Item) -> Option<&'a [u8]> {
        let start = usize::from(item.offset);
        self.bytes.get(start..start + usize::from(item.length))
    }

    /// The limit of tuple bytes, four times the page, for one reading of it.
    #[inline]
    #[must_use]
    pub fn tuple_limit(&self) -> TupleLimit {
        TupleLimit { left_bytes: self.bytes.len() * TUPLE_BYTES_FACTOR }
    }

    /// The access method's own space; empty if the header's offset is beyond the page.
    #[inline]
    #[must_use]
    pub fn special(&self) -> &'a [u8] {
        self.bytes.get(usize::from(self.header.special)..).unwrap_or(&[])
    }

    /// Tests the header, given the length that the special space must have; `false` if the line pointers
    /// cannot be trusted.
    pub fn check_header(&self, special_bytes: usize, damage: &mut Vec<Damage>) -> bool {
        let header = &self.header;
        let size = self.bytes.len();
        let before = damage.len();
        if usize::from(header.size_bytes) != size || header.version != LAYOUT_VERSION {
            damage.push(Damage::at(
                Invariant::PageVersion,
                18,
                format!("size {size} and layout version {LAYOUT_VERSION}"),
                format!("size {} and layout version {}", header.size_bytes, header.version),
            ));
        }
        let [lower, upper, special] = [header.lower, header.upper, header.special].map(usize::from);
        if !(HEADER_BYTES <= lower && lower <= upper && upper <= special && special <= size)
            || special % MAX_ALIGN != 0
        {
            damage.push(Damage::at(
                Invariant::PageBounds,
                12,
                format!(
                    "{HEADER_BYTES} <= lower <= upper <= special <= {size}, special a multiple of {MAX_ALIGN}"
                ),
                format!("lower {lower}, upper {upper}, special {special}"),
            ));
        } else if size - special != special_bytes {
            damage.push(Damage::at(
                Invariant::PageSpecial,
                16,
                format!("{special_bytes} bytes of special space"),
                format!("{} bytes", size - special),
            ));
        }
        let trusted = damage.len() == before;
        if header.flags & !FLAGS_ALL != 0 {
            damage.push(Damage::at(
                Invariant::PageFlags,
                10,
                format!("no flag beyond {FLAGS_ALL:#06x}"),
                format!("{:#06x}", header.flags),
            ));
        }
        trusted
    }

    /// Tests where line pointers lead and that no two claim the same bytes. Needs a header that passed.
    ///
    /// `dead_has_storage`: in indexes a dead line pointer keeps its tuple; in heaps it has none.
    pub fn check_items(&self, least_bytes: usize, dead_has_storage: bool, damage: &mut Vec<Damage>) {
        let mut coverage = Coverage::new();
        let upper = usize::from(self.header.upper);
        let special = usize::from(self.header.special).min(self.bytes.len());
        for item in self.items() {
            let stores = match item.state {
                ItemState::Normal => true,
                ItemState::Dead => dead_has_storage,
                ItemState::Unused | ItemState::Redirect => false,
            };
            if !stores {
                damage.extend((item.length != 0).then(|| storage_of_nothing(item)));
                continue;
            }
            let (start, length) = (usize::from(item.offset), usize::from(item.length));
            if start < upper || start + length > special || start % MAX_ALIGN != 0 || length < least_bytes {
                damage.push(
                    Damage::at(
                        Invariant::ItemBounds,
                        HEADER_BYTES + (usize::from(item.number) - 1) * ITEM_BYTES,
                        format!(
                            "a multiple of {MAX_ALIGN} from {upper} on, at least {least_bytes} bytes, ending by {special}"
                        ),
                        format!("offset {start}, length {length}"),
                    )
                    .of_item(item.number),
                );
            } else if !coverage.claim(start, length) {
                damage.push(
                    Damage::at(
                        Invariant::ItemOverlap,
                        start,
                        "bytes that no other line pointer claims",
                        format!("bytes {start} to {} are claimed twice", start + length),
                    )
                    .of_item(item.number),
                );
            }
        }
    }
}

/// The server takes a length as a promise of bytes, and ends when VACUUM moves them.
// EVIDENCE: src/include/storage/itemid.h: LP_UNUSED and LP_REDIRECT have lp_len 0, ItemIdSetDead makes it 0; ItemIdHasStorage
// asks for the length alone
fn storage_of_nothing(item: Item) -> Damage {
    let offset = HEADER_BYTES + (usize::from(item.number) - 1) * ITEM_BYTES;
    let expected = format!("no length, since the line pointer is {:?}", item.state).to_lowercase();
    Damage::at(Invariant::ItemBounds, offset, expected, format!("length {}", item.length))
        .of_item(item.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of 8192 bytes with the given line pointers (offset, state, length).
    fn page_with(items: &[(u16, u32, u16)]) -> Vec<u8> {
        let mut page = vec![0u8; 8192];
        let lower = 24 + 4 * items.len() as u16;
        let upper = items.iter().filter(|item| item.1 == 1).map(|item| item.0).min().unwrap_or(8192);
        for (offset, value) in [(12, lower), (14, upper), (16, 8192), (18, 8192 | 4)] {
            page[offset..offset + 2].copy_from_slice(&u16::to_le_bytes(value));
        }
        for (index, (offset, state, length)) in items.iter().enumerate() {
            let raw = u32::from(*offset) | (state << 15) | (u32::from(*length) << 17);
            page[24 + index * 4..28 + index * 4].copy_from_slice(&raw.to_le_bytes());
        }
        page
    }

    fn damage_of(page: &[u8]) -> Vec<Damage> {
        let mut damage = Vec::new();
        let page = Page::new(page);
        if page.check_header(0, &mut damage) {
            page.check_items(24, false, &mut damage);
        }
        damage
    }

    #[test]
    fn a_page_in_order_is_silent() {
        assert_eq!(
            damage_of(&page_with(&[(8152, 1, 40), (8112, 1, 33), (1, 2, 0), (0, 3, 0), (0, 0, 0)])),
            vec![]
        );
    }

    #[test]
    fn bytes_claimed_twice_are_reported_at_the_second_claim() {
        let found = damage_of(&page_with(&[(8152, 1, 40), (8152, 1, 40)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].invariant, found[0].item), (Invariant::ItemOverlap, Some(2)));
    }

    #[test]
    fn a_tuple_that_all_line_pointers_claim_is_read_four_times_at_most() {
        let bytes = page_with(&[(4096, 1, 4096); 900]);
        let page = Page::new(&bytes);
        let mut limit = page.tuple_limit();
        let tuples = page.items().filter_map(|item| page.item_bytes(item));
        assert_eq!(tuples.filter(|tuple| limit.allows(tuple)).count(), 8);
    }

    #[test]
    fn a_misaligned_or_overlong_line_pointer_is_reported() {
        assert_eq!(damage_of(&page_with(&[(8150, 1, 40)]))[0].invariant, Invariant::ItemBounds);
        assert_eq!(damage_of(&page_with(&[(8152, 1, 48)]))[0].invariant, Invariant::ItemBounds);
        assert_eq!(damage_of(&page_with(&[(8168, 1, 8)]))[0].invariant, Invariant::ItemBounds);
    }

    #[test]
    fn a_header_out_of_order_stops_before_the_line_pointers() {
        let mut page = page_with(&[(8152, 1, 40)]);
        page[12..14].copy_from_slice(&9000u16.to_le_bytes());
        let found = damage_of(&page);
        assert_eq!(
            found.iter().map(|damage| damage.invariant).collect::<Vec<_>>(),
            vec![Invariant::PageBounds]
        );
    }
}
