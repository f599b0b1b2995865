//! Databases of several files, and backups of several stripes: made from real ones, since none were at hand.

use std::path::{Path, PathBuf};

use check::options::Options;
use check::progress::Silent;
use formats::sqlserver::{Block, Media, PAGE_BYTES, STREAM_HEADER_BYTES, Stream};
use results::check::{CheckLevel, CheckReport};
use results::structure::StructureMode;

use crate::copy::{NORTHWIND, options, real, rules_of};

/// Pages of the second file.
const SECOND_PAGES: u32 = 400;

pub(crate) fn check(paths: &[PathBuf], options: &Options) -> CheckReport {
    let report = check_sqlserver::check(paths, options, &mut Silent).unwrap();
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    report
}

/// A database of two files; `None` when the real file is absent.
pub(crate) fn two_files(directory: &Path) -> Option<[PathBuf; 2]> {
    let paths = [directory.join("first.mdf"), directory.join("second.ndf")];
    crate::large::write_two(&real(NORTHWIND)?, &paths[0], &paths[1], SECOND_PAGES).unwrap();
    Some(paths)
}

#[test]
fn the_files_of_a_database_are_checked_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let Some([first, second]) = two_files(directory.path()) else { return };
    for level in [CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
        // In whatever order they are named.
        for paths in [[first.clone(), second.clone()], [second.clone(), first.clone()]] {
            let report = check(&paths, &options(level));
            assert_eq!(report.exit_code(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
            assert_eq!(report.accounting.page_count, 416 + u64::from(SECOND_PAGES));
        }
    }
    for mode in [StructureMode::Detailed, StructureMode::Sampled, StructureMode::Limited] {
        let options = check::structure::Options { mode, ..check::structure::Options::default() };
        let paths = [first.clone(), second.clone()];
        let report = check_sqlserver::structure(&paths, &options, &mut Silent).unwrap();
        let shippers = report.objects.iter().find(|object| object.table == "dbo.Shippers").unwrap();
        // The first leaf is in the first file: two stretches.
        assert_eq!((shippers.index_depth, shippers.levels[0].fragment_count), (2, 2));
        assert!(shippers.levels[0].page_count > 350, "{}", shippers.levels[0].page_count);
    }
    let inventory = check_sqlserver::inventory(&[first, second]).unwrap();
    let shippers = inventory.tables.iter().find(|table| table.name == "dbo.Shippers").unwrap();
    assert!(shippers.row_count > 25_000, "{}", shippers.row_count);
}

#[test]
fn a_file_that_was_not_named_is_told_and_nothing_is_accused() {
    let directory = tempfile::tempdir().unwrap();
    let Some([first, second]) = two_files(directory.path()) else { return };
    let report = check(&[first], &options(CheckLevel::Full));
    assert_eq!(report.exit_code(), 2, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    let gap = report.not_checked.iter().find(|gap| gap.what.contains("comparisons between pages")).unwrap();
    // The base has its log under this number.
    assert!(
        gap.why.contains("file 2 (\"C:\\dbs\\northwnd_log.ldf\" on the server) of the database"),
        "{}",
        gap.why
    );
    // A secondary file alone has no catalog: pages and maps are judged, and the report says that this is all.
    let report = check(&[second], &options(CheckLevel::Structure));
    assert_eq!(report.exit_code(), 2, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert!(report.unfinished.as_deref().unwrap().contains("primary data file"), "{:?}", report.unfinished);
    assert!(
        report.not_checked.iter().any(|gap| gap.why.contains("cannot be read")),
        "{:?}",
        report.not_checked
    );
}

#[test]
fn damage_between_two_files_names_the_page_and_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let Some([first, second]) = two_files(directory.path()) else { return };
    let mut bytes = std::fs::read(&second).unwrap();
    // The leaf behind the first one, whose left neighbour is in the first file.
    bytes[17 * PAGE_BYTES..18 * PAGE_BYTES].fill(0);
    std::fs::write(&second, bytes).unwrap();
    let report = check(&[first, second.clone()], &options(CheckLevel::Structure));
    let rules = rules_of(&report);
    assert!(rules.contains(&"mssql-page-blank") && rules.contains(&"mssql-index-child"), "{rules:?}");
    let blank = report.findings.iter().find(|finding| finding.rule == "mssql-page-blank").unwrap();
    assert_eq!((blank.page, blank.file.as_str()), (Some(17), second.to_str().unwrap()));
    assert!(blank.object.as_deref().unwrap().contains("dbo.Shippers"), "{:?}", blank.object);
}

/// A stream of pages as it stands in a backup: header, two bytes, pages, and what fills up to four bytes.
pub(crate) fn stream_of_pages(pages: &[u8]) -> Vec<u8> {
    let mut header = Vec::from(*b"MQDA");
    header.extend([0; 4]);
    header.extend((pages.len() as u64 + 2).to_le_bytes());
    header.extend([0; 4]);
    let words = header.chunks_exact(2).map(|word| u16::from_le_bytes([word[0], word[1]]));
    let sum = words.fold(0, |sum, word| sum ^ word);
    header.extend(sum.to_le_bytes());
    header.extend([0, 0]);
    header.extend(pages);
    header.resize(header.len().next_multiple_of(4), 0);
    header
}

/// What stands before, in and behind the stream of pages of a backup.
pub(crate) fn parts(backup: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let at = backup.windows(4).position(|window| window == b"MQDA").unwrap();
    let stream = Stream::new(&backup[at..]).unwrap();
    let end = at + STREAM_HEADER_BYTES + stream.length_bytes as usize;
    let behind = Block::aligned(end as u64) as usize;
    (backup[..at].to_vec(), backup[at + STREAM_HEADER_BYTES + 2..end].to_vec(), backup[behind..].to_vec())
}

/// Tells the media how many stripes there are, and which one this is.
pub(crate) fn set_stripe(head: &mut [u8], stripe_count: u16, stripe: u16) {
    let data = usize::from(Block::new(head).unwrap().streams_offset) + STREAM_HEADER_BYTES;
    head[data + 20..][..2].copy_from_slice(&stripe_count.to_le_bytes());
    head[data + 24..][..2].copy_from_slice(&stripe.to_le_bytes());
    assert_eq!(Media::new(head), Some(Media { stripe_count, stripe }));
}

#[test]
fn stripes_of_a_backup_are_checked_as_a_whole() {
    let Some(backup) = real("pubs-2012-checksum.bak") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (mut head, pages, tail) = parts(&std::fs::read(backup).unwrap());
    // Every other extent, as in a real stripe (northwind-torn.bak).
    let stripes: [Vec<u8>; 2] = [0, 1].map(|own| {
        let extents = pages.chunks(8 * PAGE_BYTES).enumerate();
        extents.filter(|(number, _)| number % 2 == own).flat_map(|(_, extent)| extent.to_vec()).collect()
    });
    let paths = [0, 1].map(|number| {
        let path = directory.path().join(format!("stripe{number}.bak"));
        set_stripe(&mut head, 2, number as u16 + 1);
        std::fs::write(&path, [&head[..], &stream_of_pages(&stripes[number]), &tail].concat()).unwrap();
        path
    });
    let report = check(&paths, &options(CheckLevel::Full));
    assert_eq!(report.exit_code(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert!(!report.not_checked.iter().any(|gap| gap.why.contains("stripes")), "{:?}", report.not_checked);
    assert_eq!(report.accounting.page_count, (pages.len() / PAGE_BYTES) as u64);
    let alone = check(&paths[..1], &options(CheckLevel::Full));
    assert!(alone.unfinished.as_deref().unwrap().contains("stripe 2 is missing"), "{:?}", alone.unfinished);
    assert_eq!(alone.exit_code(), 2, "{}", report::findings::text(&alone, &check_sqlserver::RULES));
}

#[test]
fn a_backup_of_two_data_files_is_checked_as_one() {
    let Some(backup) = real("pubs-2012-checksum.bak") else { return };
    let directory = tempfile::tempdir().unwrap();
    let Some([first, second]) = two_files(directory.path()) else { return };
    let (head, _, tail) = parts(&std::fs::read(backup).unwrap());
    let streams = [first, second].map(|path| stream_of_pages(&std::fs::read(path).unwrap()));
    let path = directory.path().join("two.bak");
    std::fs::write(&path, [&head[..], &streams[0], &streams[1], &tail].concat()).unwrap();
    let report = check(&[path], &options(CheckLevel::Structure));
    assert_eq!(report.exit_code(), 0, "{}", report::findings::text(&report, &check_sqlserver::RULES));
    assert_eq!(report.accounting.page_count, 416 + u64::from(SECOND_PAGES));
}
