//! `backup_manifest`: which files a base backup has, and which range of the WAL it needs.

use std::path::Path;

use crate::source::Tree;

/// The longest manifest that is read, bytes: about a million files.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// What a backup manifest says.
// EVIDENCE: PostgreSQL docs 76 (Backup Manifest Format): Files: Path, Size, Checksum-Algorithm, Checksum; WAL-Ranges:
// Timeline, Start-LSN, End-LSN
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    files: Vec<ManifestFile>,
    /// Start and end of the WAL that the backup needs, of all time lines together.
    pub(crate) wal: Option<(u64, u64)>,
}

/// A file of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ManifestFile {
    path: String,
    bytes: u64,
}

impl Manifest {
    /// Reads the manifest of a backup; `None` if there is none.
    pub(crate) fn read(tree: &Tree) -> Option<Manifest> {
        let part = tree.part(Path::new("backup_manifest")).ok()?;
        let bytes = part.read(MANIFEST_BYTES_MAX.min(part.bytes)).ok()?;
        Some(Manifest::parse(&String::from_utf8_lossy(&bytes)))
    }

    fn parse(text: &str) -> Manifest {
        let (mut files, mut wal): (Vec<ManifestFile>, Option<(u64, u64)>) = (Vec::new(), None);
        // Objects of both lists have no objects in them.
        for object in text.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            if let Some(path) = field(object, "Path") {
                let bytes = field(object, "Size").and_then(|size| size.parse().ok()).unwrap_or(0);
                files.push(ManifestFile { path: path.to_owned(), bytes });
            }
            let range = field(object, "Start-LSN").zip(field(object, "End-LSN"));
            if let Some((start, end)) =
                range.and_then(|(start, end)| Some((position(start)?, position(end)?)))
            {
                wal = Some(wal.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Manifest { files, wal }
    }

    /// How long a file is; `None` if the manifest does not name it.
    pub(crate) fn bytes_of(&self, path: &str) -> Option<u64> {
        self.file(path).map(|file| file.bytes)
    }

    /// Files below a directory that ends in a slash, with their lengths.
    pub(crate) fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        let from = self.files.partition_point(|file| file.path.as_str() < directory);
        let rest = self.files.get(from..).unwrap_or_default();
        rest.iter()
            .take_while(move |file| file.path.starts_with(directory))
            .map(|file| (file.path.as_str(), file.bytes))
    }

    fn file(&self, path: &str) -> Option<&ManifestFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }
}

/// The value of a member of a JSON object: a string without its quotes, or a number.
fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let quoted = format!("\"{name}\"");
    let rest = object.split_once(quoted.as_str())?.1.trim_start().strip_prefix(':')?.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split(|sign: char| sign == ',' || sign.is_whitespace()).next(),
    }
}

/// A position as `16/B374D848`.
pub(crate) fn position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some(
        (u64::from(u32::from_str_radix(high, 16).ok()?) << 32)
            | u64::from(u32::from_str_radix(low, 16).ok()?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "PostgreSQL-Backup-Manifest-Version": 1,
"Files": [
{ "Path": "backup_label", "Size": 225, "Last-Modified": "2026-01-01 00:00:00 GMT", "Checksum-Algorithm": "CRC32C", "Checksum": "f7f7f7f7" },
{ "Path": "base/5/1259", "Size": 98304, "Last-Modified": "2026-01-01 00:00:00 GMT" }
],
"WAL-Ranges": [
{ "Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100" }
],
"Manifest-Checksum": "00"}"#;

    #[test]
    fn files_and_the_range_of_the_wal_are_read() {
        let manifest = Manifest::parse(TEXT);
        assert_eq!(manifest.bytes_of("backup_label"), Some(225));
        assert_eq!(manifest.bytes_of("base/5/1260"), None);
        assert_eq!(manifest.below("base/").collect::<Vec<_>>(), [("base/5/1259", 98_304)]);
        assert_eq!(manifest.wal, Some((0x200_0028, 0x200_0100)));
    }

    #[test]
    fn odd_text_is_an_empty_manifest() {
        for text in ["", "{", "{{{", "\"Path\":", "{\"Path\"", "{\"Path\": \"a\", \"Size\": x"] {
            assert_eq!(Manifest::parse(text).wal, None, "{text}");
        }
    }
}
