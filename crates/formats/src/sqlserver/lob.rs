//! Large values: the pointers in rows and the trees behind them.

use super::bytes::{u16_at, u32_at, u64_at};
use super::page::RecordId;
use super::record::Variable;
use super::{Damage, Fault};

/// A link to a record of a large value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LobLink {
    /// Number of the value.
    pub value: u64,
    /// The record.
    pub record: RecordId,
    /// Bytes of the value up to the end of what hangs on this link; `None` for the first pointer to a tree.
    pub end_bytes: Option<u64>,
    /// Bytes of the piece that the link names; `None` where it names no piece, but a node.
    pub piece_bytes: Option<u64>,
}

/// What a record of a large value is.
// EVIDENCE: improve.dk, "What are the different LOB structure types": small root 0, internal 2, data 3, roots 4 and 5
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LobKind {
    /// A value that fits one record, in place of a root.
    SmallRoot,
    /// An inner node.
    Internal,
    /// A piece of the value.
    Data,
    /// The root of a tree, as version 2000 writes it (4) and as later ones do (5).
    LargeRoot,
    /// Other kinds, which are not looked into.
    Other(u16),
}

/// A record of a text page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LobRecord<'a> {
    /// Number of the value that it belongs to.
    pub value: u64,
    /// What it is.
    pub kind: LobKind,
    /// Bytes of the value in it.
    pub data_bytes: u64,
    link_count: u16,
    bytes: &'a [u8],
}

impl<'a> LobRecord<'a> {
    /// Reads a record of a text page.
    ///
    /// # Errors
    /// When lengths or links do not fit the record.
    // OBSERVED: pubs-2008-checksum.mdf pages 110 and 115; value number at 4, kind at 12, links from 20 or 24
    pub fn new(bytes: &'a [u8]) -> Result<Self, Damage> {
        let refuse = |found: usize| Damage::new(Fault::LobRecord, 0, 14..=8096, found as u64);
        let (Some(value), Some(code)) = (u64_at(bytes, 4), u16_at(bytes, 12)) else {
            return Err(refuse(bytes.len()));
        };
        let kind = match code {
            0 => LobKind::SmallRoot,
            2 => LobKind::Internal,
            3 => LobKind::Data,
            4 | 5 => LobKind::LargeRoot,
            code => LobKind::Other(code),
        };
        let mut record = Self { value, kind, data_bytes: 0, link_count: 0, bytes };
        match kind {
            LobKind::Data => record.data_bytes = bytes.len().saturating_sub(14) as u64,
            LobKind::SmallRoot => {
                let size = usize::from(u16_at(bytes, 14).unwrap_or(u16::MAX));
                if 20 + size > bytes.len() {
                    return Err(refuse(20 + size));
                }
                record.data_bytes = size as u64;
            }
            LobKind::Internal | LobKind::LargeRoot => {
                record.link_count = u16_at(bytes, 16).unwrap_or(u16::MAX);
                let needed = record.link_at(usize::from(record.link_count));
                if needed > bytes.len() {
                    return Err(refuse(needed));
                }
            }
            LobKind::Other(_) => {}
        }
        Ok(record)
    }

    fn link_at(&self, index: usize) -> usize {
        if self.kind == LobKind::Internal { 20 + 16 * index } else { 24 + 12 * index }
    }

    /// The links of a root or an inner node, in the order of the value.
    pub fn links(&self) -> impl Iterator<Item = LobLink> + '_ {
        // OBSERVED: pubs-2008-checksum.mdf, level at 18: 0 above pieces, 1 in the root above node 115
        let is_lowest = u16_at(self.bytes, 18) == Some(0);
        let mut before: u64 = 0;
        (0..usize::from(self.link_count)).filter_map(move |index| {
            let at = self.link_at(index);
            let (end, pointer) = match self.kind {
                LobKind::Internal => (u64_at(self.bytes, at)?, at + 8),
                _ => (u64::from(u32_at(self.bytes, at)?), at + 4),
            };
            let record = RecordId::at(self.bytes, pointer)?;
            let piece_bytes = end.checked_sub(before).filter(|_| is_lowest);
            before = end;
            Some(LobLink { value: self.value, record, end_bytes: Some(end), piece_bytes })
        })
    }
}

/// The links that a column of a row has to its large value: none when it is no pointer.
///
/// `is_text` is true for the types text, ntext and image, whose pointer has 16 bytes and no code.
// EVIDENCE: improve.dk, "Identifying complex columns in records": row overflow 2, root in the row 4
// OBSERVED: root in the row: time stamp at 8, links of 12 bytes from 12; text pointer: time stamp, 0, record
pub fn links_of(column: Variable<'_>, is_text: bool) -> Vec<LobLink> {
    let bytes = column.bytes;
    if is_text {
        let link = || {
            // A pointer of zeros is a value that was never given.
            let record = RecordId::at(bytes, 8).filter(|record| !record.page.is_none())?;
            Some(LobLink { value: u64_at(bytes, 0)?, record, end_bytes: None, piece_bytes: None })
        };
        return if bytes.len() == 16 { link().into_iter().collect() } else { Vec::new() };
    }
    let is_root = column.is_complex && matches!(bytes.first(), Some(2 | 4)) && u16_at(bytes, 0) != Some(1024);
    let Some(stamp) = u32_at(bytes, 8).filter(|_| is_root && bytes.len() >= 24) else { return Vec::new() };
    // OBSERVED: level at 1, as in roots on pages of their own
    let is_lowest = bytes.get(1) == Some(&0);
    let mut before = 0;
    let link = |links: &[u8]| {
        let end = u64::from(u32_at(links, 0)?);
        let piece_bytes = end.checked_sub(before).filter(|_| is_lowest);
        before = end;
        let (value, record) = (u64::from(stamp) << 16, RecordId::at(links, 4)?);
        Some(LobLink { value, record, end_bytes: Some(end), piece_bytes })
    };
    bytes.get(12..).unwrap_or_default().chunks_exact(12).filter_map(link).collect()
}
