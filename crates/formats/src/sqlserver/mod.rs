//! SQL Server: data files and backups, internal versions 655 to 706 as seen in real files.
//!
//! There is no published format. What stands here comes from Microsoft's documentation, from published descriptions,
//! and from real files; each constant names its source. A page number is a `u32` that counts from 0 in a file, files
//! count from 1; file 0 means "none". Offsets are bytes from the start of the page. All numbers are little-endian.
//!
//! A page with torn page protection must be mended with [`restore`] before anything but its header is read.
//!
//! | item | reads |
//! |---|---|
//! | [`Header`], [`PageKind`], [`place`] | the header of a page, and what is due at fixed places |
//! | [`checksum`], [`audit_protection`], [`restore`], [`protect`] | checksums and torn page signatures |
//! | [`Record`], [`audit_records`] | rows, entries and pieces of large values |
//! | [`PfsByte`], [`ExtentMap`], [`Iam`] | allocation maps |
//! | [`Boot`], [`FileHeader`] | the description of database and file |
//! | [`LobRecord`], [`links_of`] | large values |
//! | [`AllocationUnit`], [`Rowset`], [`RowsetColumn`], [`Value`] | the catalog |
//! | [`TypeInfo`] | lengths, order and ranges of types |
//! | [`Block`], [`Stream`] | backups |

mod allocation;
mod audit;
mod backup;
mod boot;
mod bytes;
mod catalog;
mod damage;
mod exercise;
mod lob;
mod page;
mod protection;
mod record;
mod types;

pub use allocation::{ExtentMap, Iam, PfsByte, SINGLE_PAGES, is_whole, pfs_byte};
pub use audit::audit_records;
pub use backup::{
    Block, COMPRESSED_MAGIC, Media, PAGES_OFFSET, STREAM_HEADER_BYTES, SetKind, Stream, TAPE_MAGIC,
};
pub use boot::{Boot, DateTime, FileHeader, VERSION_2005, VERSIONS_KNOWN, is_version_known, product, utf16};
pub use bytes::{u8_at, u16_at, u32_at, u64_at};
pub use catalog::{AllocationUnit, ColumnOffset, HobtColumn, Rowset, RowsetColumn, Value, object};
pub use damage::{Damage, Fault};
pub use exercise::exercise;
pub use lob::{LobKind, LobLink, LobRecord, links_of};
pub use page::{
    EXTENT_PAGES, FLAG_CHECKSUM, FLAG_TORN, HEADER_BYTES, Header, Lsn, PAGE_BYTES, PageId, PageKind,
    RecordId, place, slot_offset,
};
pub use protection::{Protection, audit_protection, checksum, needs_restore, protect, restore};
pub use record::{Record, RecordKind, Variable};
pub use types::TypeInfo;
