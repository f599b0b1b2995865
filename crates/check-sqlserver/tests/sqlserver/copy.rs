//! Real files, and copies of them that may be changed.

use std::path::{Path, PathBuf};

use check::options::Options;
use check::progress::Silent;
use formats::sqlserver::{Header, PAGE_BYTES, PageId, protect, restore, slot_offset, u16_at};
use results::check::{CheckLevel, CheckReport};

use skips::{Capability, skip};

pub(crate) const NORTHWIND: &str = "northwnd-2008-checksum.mdf";
pub(crate) const NORTHWIND_TORN: &str = "northwnd-2000-torn.mdf";

/// A real file by name; `None`, and a skip that is counted, when it is absent.
pub(crate) fn real(name: &str) -> Option<PathBuf> {
    below("data/sqlserver", name)
}

/// A file on which a check once gave a wrong answer, by name; `None`, and a skip that is counted, when it is absent.
pub(crate) fn case(name: &str) -> Option<PathBuf> {
    below("data/cases/sqlserver", name)
}

fn below(folder: &str, name: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var_os("FATHOM_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = shared.join(folder).join(name);
    if !path.exists() {
        skip(Capability::Shared, format!("there is no real file \"{}\"", path.display()));
        return None;
    }
    Some(path)
}

pub(crate) fn options(level: CheckLevel) -> Options {
    Options { level, findings_per_rule_max: 1000, ..Options::default() }
}

/// Checks a file, and proves that the accounting holds and that the file was not touched.
pub(crate) fn checked(path: &Path, options: &Options) -> CheckReport {
    let before = std::fs::read(path).unwrap();
    let report = check_sqlserver::check(&[path.to_owned()], options, &mut Silent).unwrap();
    assert!(before == std::fs::read(path).unwrap(), "the file was changed");
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    report
}

pub(crate) fn rules_of(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

/// A copy of a real file in a directory of its own, page by page.
pub(crate) struct Copy {
    pub(crate) bytes: Vec<u8>,
    directory: tempfile::TempDir,
}

impl Copy {
    /// Copies a real file; `None` when it is absent.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let bytes = std::fs::read(real(name)?).unwrap();
        Some(Self { bytes, directory: tempfile::tempdir().unwrap() })
    }

    /// The database that these tests make.
    pub(crate) fn made(protection: crate::made::Protection) -> Self {
        Self { bytes: crate::made::database(protection), directory: tempfile::tempdir().unwrap() }
    }

    /// A page with the bits that torn page signatures displaced put back.
    pub(crate) fn page(&self, page: u32) -> Vec<u8> {
        let start = page as usize * PAGE_BYTES;
        let mut bytes = self.bytes[start..start + PAGE_BYTES].to_vec();
        restore(&mut bytes);
        bytes
    }

    /// Changes a page and makes its protection fit.
    pub(crate) fn change(&mut self, page: u32, change: impl FnOnce(&mut [u8])) {
        let mut bytes = self.page(page);
        change(&mut bytes);
        protect(&mut bytes);
        let start = page as usize * PAGE_BYTES;
        self.bytes[start..start + PAGE_BYTES].copy_from_slice(&bytes);
    }

    /// Writes bytes at a literal offset of a page and makes its protection fit.
    pub(crate) fn write(&mut self, page: u32, offset: usize, bytes: &[u8]) {
        self.change(page, |page| page[offset..offset + bytes.len()].copy_from_slice(bytes));
    }

    /// Turns bits at a literal offset of a page and makes its protection fit.
    pub(crate) fn flip(&mut self, page: u32, offset: usize, bits: u8) {
        self.change(page, |page| page[offset] ^= bits);
    }

    /// Stores the copy.
    pub(crate) fn store(&self) -> PathBuf {
        let path = self.directory.path().join("copy.mdf");
        std::fs::write(&path, &self.bytes).unwrap();
        path
    }

    pub(crate) fn header(&self, page: u32) -> Header {
        Header::new(&self.page(page))
    }

    /// Offset of the record in a slot.
    pub(crate) fn slot(&self, page: u32, slot: usize) -> usize {
        slot_offset(&self.page(page), slot).unwrap().into()
    }

    /// Offset of the bits of an extent map.
    pub(crate) fn bits(&self, page: u32) -> usize {
        let offset = self.slot(page, 1);
        assert_eq!(u16_at(&self.page(page), offset + 2), Some(7992));
        offset + 4
    }
}

/// Six bytes that name a page.
pub(crate) fn pointer(page: u32) -> [u8; 6] {
    let id = PageId { file: 1, page };
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&id.page.to_le_bytes());
    bytes[4..].copy_from_slice(&id.file.to_le_bytes());
    bytes
}
