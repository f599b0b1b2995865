//! Headers of tar files: ustar, with the extensions of GNU tar and the records of pax.

/// Bytes of a header, and of the unit in which tar files are written.
// EVIDENCE: POSIX.1-2017 pax, "ustar Interchange Format": blocks of 512 bytes; the end is two blocks of zeros
pub(super) const BLOCK_BYTES: usize = 512;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Symlink,
    /// The data is the name of the next member.
    LongName,
    /// The data is what the next member links to.
    LongLink,
    /// The data is records about the next member.
    Pax,
    /// A file of which only some parts are stored.
    Sparse,
    /// Hard links, devices, pipes, volume labels, records about all members.
    Other,
}

/// A header whose checksum is right.
#[derive(Debug)]
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK_BYTES],
    pub(super) kind: Kind,
    /// Bytes of data that follow.
    pub(super) data_bytes: u64,
}

impl<'a> Header<'a> {
    /// Reads a header; `None` where the checksum is not that of the bytes, or the size cannot be read.
    // EVIDENCE: POSIX.1-2017 pax, "ustar Interchange Format": name 0 to 100, size at 124, chksum at 148, typeflag at 156,
    // linkname at 157, magic at 257, prefix at 345
    pub(super) fn read(block: &'a [u8; BLOCK_BYTES]) -> Option<Self> {
        // The checksum counts its own field as spaces.
        let sum: u32 = block.iter().enumerate().map(|(at, byte)| u32::from(summed(at, *byte))).sum();
        // Old writers added signed characters.
        let signed: i64 =
            block.iter().enumerate().map(|(at, byte)| i64::from(summed(at, *byte).cast_signed())).sum();
        let stored = number(block.get(148..156)?)?;
        if stored != u64::from(sum) && i64::try_from(stored) != Ok(signed) {
            return None;
        }
        let kind = match block.get(156)? {
            b'0' | 0 | b'7' if text(block.get(..100)?).ends_with(b"/") => Kind::Directory,
            b'0' | 0 | b'7' => Kind::File,
            b'2' => Kind::Symlink,
            b'5' => Kind::Directory,
            b'L' => Kind::LongName,
            b'K' => Kind::LongLink,
            b'x' => Kind::Pax,
            b'S' => Kind::Sparse,
            _ => Kind::Other,
        };
        Some(Self { block, kind, data_bytes: number(block.get(124..136)?)? })
    }

    /// Whether a block has no byte that is not 0: the end of a tar file.
    pub(super) fn is_end(block: &[u8; BLOCK_BYTES]) -> bool {
        block.iter().all(|byte| *byte == 0)
    }

    /// The name, with its prefix.
    pub(super) fn name(&self) -> Vec<u8> {
        let field = |from: usize, to: usize| self.block.get(from..to).map_or(&[][..], text);
        // EVIDENCE: GNU tar manual, "Basic Tar Format": the old GNU format has "ustar  " and other fields at 345
        let is_posix = self.block.get(257..263).is_some_and(|magic| magic == b"ustar\0");
        let prefix = if is_posix { field(345, 500) } else { &[] };
        match prefix {
            [] => field(0, 100).to_vec(),
            prefix => [prefix, b"/", field(0, 100)].concat(),
        }
    }

    /// What a link leads to.
    pub(super) fn link(&self) -> Vec<u8> {
        self.block.get(157..257).map_or_else(Vec::new, |field| text(field).to_vec())
    }
}

/// Bytes from a header to the next one, for data of so many bytes.
pub(super) fn stride_bytes(data_bytes: u64) -> u64 {
    let blocks = data_bytes.div_ceil(BLOCK_BYTES as u64).saturating_add(1);
    blocks.saturating_mul(BLOCK_BYTES as u64)
}

fn summed(at: usize, byte: u8) -> u8 {
    if (148..156).contains(&at) { b' ' } else { byte }
}

/// Text up to its first 0.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in octal digits, or in binary.
// EVIDENCE: GNU tar manual, "Extensions": a first byte with the highest bit set marks a big-endian number
fn number(field: &[u8]) -> Option<u64> {
    if let Some((first, rest)) = field.split_first().filter(|(first, _)| **first >= 0x80) {
        return rest.iter().try_fold(u64::from(first & 0x7F), |value, byte| {
            value.checked_mul(256).map(|value| value | u64::from(*byte))
        });
    }
    let digits = text(field).trim_ascii();
    digits.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_octal_or_binary_and_never_overflow() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b" 755 \0\0"), Some(0o755));
        assert_eq!(number(b"\0\0\0\0"), Some(0));
        assert_eq!(number(b"8"), None);
        assert_eq!(number(&[0x80, 0, 0, 1, 0]), Some(256));
        assert_eq!(number(&[0xFF; 12]), None);
        assert_eq!(number(b"777777777777777777777777777777"), None);
    }

    #[test]
    fn a_header_of_the_tar_crate_is_read_and_one_with_a_changed_bit_is_none() {
        let mut header = tar::Header::new_ustar();
        header.set_path("a/long/directory/that/is/split/somewhere/".repeat(4) + "file").unwrap();
        header.set_size(8192);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        let mut block = *header.as_bytes();
        let read = Header::read(&block).unwrap();
        assert_eq!((read.kind, read.data_bytes, stride_bytes(8192)), (Kind::File, 8192, 8704));
        assert!(read.name().ends_with(b"somewhere/file"));
        block[3] ^= 1;
        assert!(Header::read(&block).is_none());
        assert!(Header::is_end(&[0; BLOCK_BYTES]) && !Header::is_end(&block));
    }
}
