//! Damage at literal offsets, undone afterwards.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use formats::postgres::checksum::page_checksum;

pub(crate) const BLOCK: usize = 8192;

/// Edits files of a data directory and puts them back.
pub(crate) struct Editor {
    data: PathBuf,
    originals: BTreeMap<PathBuf, Vec<u8>>,
    added: Vec<PathBuf>,
}

impl Editor {
    pub(crate) fn new(data: &Path) -> Editor {
        Editor { data: data.to_path_buf(), originals: BTreeMap::new(), added: Vec::new() }
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn read(&self, file: &Path) -> Vec<u8> {
        std::fs::read(self.data.join(file)).unwrap()
    }

    fn keep(&mut self, file: &Path) {
        let bytes = self.read(file);
        self.originals.entry(file.to_path_buf()).or_insert(bytes);
    }

    /// Changes the bytes of a file.
    pub(crate) fn file(&mut self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        self.keep(file);
        let mut bytes = self.read(file);
        change(&mut bytes);
        // Written in place: owner and mode stay.
        std::fs::write(self.data.join(file), bytes).unwrap();
    }

    /// Changes a block and leaves its checksum as it was.
    pub(crate) fn block(&mut self, file: &Path, block: usize, change: impl FnOnce(&mut [u8])) {
        self.file(file, |bytes| change(&mut bytes[block * BLOCK..(block + 1) * BLOCK]));
    }

    /// Changes a block and gives it the checksum that it must have.
    pub(crate) fn sealed(&mut self, file: &Path, block: usize, change: impl FnOnce(&mut [u8])) {
        self.block(file, block, |page| {
            change(page);
            let sum = page_checksum(page, block as u32);
            page[8..10].copy_from_slice(&sum.to_le_bytes());
        });
    }

    pub(crate) fn has(&self, file: &Path) -> bool {
        self.data.join(file).exists()
    }

    /// Makes a file that was not there.
    pub(crate) fn add(&mut self, file: &Path, bytes: &[u8]) {
        std::fs::write(self.data.join(file), bytes).unwrap();
        self.added.push(self.data.join(file));
    }

    pub(crate) fn remove(&mut self, file: &Path) {
        self.keep(file);
        std::fs::remove_file(self.data.join(file)).unwrap();
    }

    /// Puts back what was changed.
    pub(crate) fn undo(&mut self) {
        self.added.drain(..).for_each(|file| std::fs::remove_file(file).unwrap());
        for (file, bytes) in std::mem::take(&mut self.originals) {
            std::fs::write(self.data.join(&file), bytes).unwrap();
            // A file that was removed belongs to the server again.
            let of_server = std::fs::metadata(&self.data).unwrap();
            std::os::unix::fs::chown(self.data.join(file), Some(of_server.uid()), Some(of_server.gid()))
                .unwrap();
        }
    }
}

pub(crate) fn u16_at(page: &[u8], offset: usize) -> usize {
    usize::from(u16::from_le_bytes([page[offset], page[offset + 1]]))
}

pub(crate) fn u32_at(page: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(page[offset..offset + 4].try_into().unwrap())
}

pub(crate) fn put_u32(page: &mut [u8], offset: usize, value: u32) {
    page[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// Offset of a line pointer, by its number from 1.
pub(crate) fn pointer(number: usize) -> usize {
    24 + (number - 1) * 4
}

/// Offset of the tuple that a line pointer leads to.
pub(crate) fn tuple(page: &[u8], number: usize) -> usize {
    (u32_at(page, pointer(number)) & 0x7FFF) as usize
}
