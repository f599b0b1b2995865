//! Which build of a program ran. A server can be upgraded on disk between two runs of one experiment, and two builds
//! of one version can differ; the build id of the linker tells them apart.

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use object::Object;
use object::read::ReadCache;
use serde::{Deserialize, Serialize};

/// The longest build id that is believed. Linkers write 8, 16 or 20 bytes; a long one is not an id.
const BUILD_ID_BYTES_MAX: usize = 64;

/// What identifies a program file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryFacts {
    /// The file, absolute and without symbolic links; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When it was last changed, in whole seconds since 1970 (UTC); absent before 1970.
    pub modified_unix_s: Option<u64>,
    /// The GNU build id in lower-case hexadecimal; absent where the linker wrote none.
    pub build_id: Option<String>,
}

/// Finds out what identifies the program file at `path`.
///
/// Reads the headers and the note of the file, not its content.
///
/// # Errors
/// When the file cannot be looked at. A file that is not ELF, or has no build id, is no error.
pub fn binary_facts(path: &Path) -> io::Result<BinaryFacts> {
    let path = path.canonicalize()?;
    let metadata = path.metadata()?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(BinaryFacts {
        size_bytes: metadata.len(),
        modified_unix_s: modified.map(|since| since.as_secs()),
        build_id: build_id(&path),
        path: path.to_string_lossy().into_owned(),
    })
}

/// Reads the GNU build id of the ELF file at `path`, in lower-case hexadecimal.
///
/// `None` when the file cannot be read, is not a regular ELF file, or carries no build id.
pub fn build_id(path: &Path) -> Option<String> {
    // Opening a pipe would block, and a device never ends.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = object::File::parse(&cache).ok()?;
    let id = elf.build_id().ok()??;
    (!id.is_empty() && id.len() <= BUILD_ID_BYTES_MAX).then(|| {
        id.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
            text
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A 64-bit little-endian ELF file: a header, one program header of type `PT_NOTE` at byte 64, and at byte 120 one
    /// GNU note of type 3 with `id`. Offsets: ELF-64 object file format 1.5, tables 3 and 15; gABI "Note section".
    fn elf_with_id(id: &[u8]) -> Vec<u8> {
        let mut file = vec![0u8; 120];
        file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        let mut put = |offset: usize, bytes: &[u8]| file[offset..offset + bytes.len()].copy_from_slice(bytes);
        put(16, &3u16.to_le_bytes()); // e_type ET_DYN
        put(18, &62u16.to_le_bytes()); // e_machine EM_X86_64
        put(20, &1u32.to_le_bytes()); // e_version
        put(32, &64u64.to_le_bytes()); // e_phoff
        put(52, &64u16.to_le_bytes()); // e_ehsize
        put(54, &56u16.to_le_bytes()); // e_phentsize
        put(56, &1u16.to_le_bytes()); // e_phnum
        put(58, &64u16.to_le_bytes()); // e_shentsize
        let note_bytes = 16 + id.len() as u64;
        put(64, &4u32.to_le_bytes()); // p_type PT_NOTE
        put(72, &120u64.to_le_bytes()); // p_offset
        put(96, &note_bytes.to_le_bytes()); // p_filesz
        put(104, &note_bytes.to_le_bytes()); // p_memsz
        put(112, &4u64.to_le_bytes()); // p_align
        file.extend(4u32.to_le_bytes()); // n_namesz
        file.extend((id.len() as u32).to_le_bytes()); // n_descsz
        file.extend(3u32.to_le_bytes()); // n_type NT_GNU_BUILD_ID
        file.extend(b"GNU\0");
        file.extend(id);
        file
    }

    fn id_of(content: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        build_id(file.path())
    }

    #[test]
    fn the_build_id_is_read_from_the_note() {
        assert_eq!(id_of(&elf_with_id(&[0x0a, 0xff, 0x00, 0x42])).as_deref(), Some("0aff0042"));
    }

    #[test]
    fn a_file_without_an_id_has_none() {
        assert_eq!(id_of(b""), None);
        assert_eq!(id_of(b"#!/bin/sh\n"), None);
        assert_eq!(id_of(&elf_with_id(&[])), None);
        assert_eq!(id_of(&elf_with_id(&[7; 68])), None);
        assert_eq!(build_id(Path::new("/")), None);
        assert_eq!(build_id(Path::new("/dev/zero")), None);
    }

    #[test]
    fn a_file_cut_or_damaged_anywhere_gives_an_id_or_none() {
        let whole = elf_with_id(&[1, 2, 3, 4]);
        for end in 0..whole.len() {
            assert_eq!(id_of(&whole[..end]), None, "cut at {end}");
        }
        for offset in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[offset] = 0xff;
            let _any = id_of(&damaged);
        }
    }

    #[test]
    fn a_file_is_identified_by_path_size_and_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"12345").unwrap();
        let facts = binary_facts(file.path()).unwrap();
        assert_eq!((facts.size_bytes, facts.build_id), (5, None));
        assert!(facts.modified_unix_s.unwrap() > 1_600_000_000);
        assert!(binary_facts(Path::new("/missing/postgres")).is_err());
    }
}
