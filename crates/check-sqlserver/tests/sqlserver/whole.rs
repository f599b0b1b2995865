//! Files that are too short, and files that are not all of a database: never silence.

use std::path::{Path, PathBuf};

use check::progress::Silent;
use formats::sqlserver::{PAGE_BYTES, protect};
use results::check::CheckLevel;
use results::structure::StructureMode;

use crate::copy::{Copy, NORTHWIND, case, checked, options, real, rules_of};
use crate::several::{check, parts, set_stripe, stream_of_pages, two_files};

const LEVELS: [CheckLevel; 4] = [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full];

fn stored(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_data_file_without_its_last_pages_is_one_finding_at_every_level_and_in_structure() {
    let Some(path) = case("truncated_pages.mdf") else { return };
    for level in LEVELS {
        let report = checked(&path, &options(level));
        let text = report::findings::text(&report, &check_sqlserver::RULES);
        assert_eq!((report.exit_code(), rules_of(&report)), (1, vec!["mssql-file-size"]), "{text}");
        let [finding] = &report.findings[..] else { panic!("{text}") };
        assert!(finding.expected.starts_with("at least 392 pages"), "{}", finding.expected);
        assert!(finding.found.starts_with("272 pages (2228224 bytes): the last 120 are missing"));
        let names_table = finding.found.contains("5 of dbo.Albums");
        assert_eq!(names_table, level >= CheckLevel::Structure, "{}", finding.found);
    }
    for mode in [StructureMode::Detailed, StructureMode::Sampled, StructureMode::Limited] {
        let options = check::structure::Options { mode, ..check::structure::Options::default() };
        let report = check_sqlserver::structure(std::slice::from_ref(&path), &options, &mut Silent).unwrap();
        assert_eq!(report.exit_code(), 1);
        assert!(report.unfinished.as_deref().unwrap().contains("too short: expected at least 392 pages"));
        let albums = report.objects.iter().find(|object| object.table == "dbo.Albums").unwrap();
        let is_told = albums.notes.iter().any(|note| note.contains("past the end of the file"));
        assert!(is_told, "{:?}", albums.notes);
    }
}

#[test]
fn pfs_and_gam_tell_the_length_where_the_catalog_cannot() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    // The boot page is gone, and the catalog with it; the header says 288 pages of the 416.
    copy.change(9, |page| page[1] = 1);
    copy.bytes.truncate(400 * PAGE_BYTES);
    let report = checked(&copy.store(), &options(CheckLevel::Read));
    assert_eq!(report.exit_code(), 1);
    let expected = &report.findings[0].expected;
    assert_eq!(expected, "at least 408 pages: PFS page 1:1 has page 1:407 allocated");
    copy.change(1, |page| page[100] ^= 0x80);
    copy.bytes[PAGE_BYTES + 200] ^= 1;
    let report = checked(&copy.store(), &options(CheckLevel::Read));
    let expected = &report.findings[0].expected;
    assert_eq!(expected, "at least 401 pages: GAM page 1:2 has the extent of page 1:400 allocated");
}

#[test]
fn a_file_that_lost_pages_which_nobody_used_is_too_short_as_well() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    copy.bytes.truncate(415 * PAGE_BYTES);
    for level in LEVELS {
        let report = checked(&copy.store(), &options(level));
        assert_eq!(
            rules_of(&report),
            ["mssql-file-size"],
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
    }
}

#[test]
fn a_file_without_bytes_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["northwnd.mdf", "northwnd.bak"] {
        let path = stored(directory.path(), name, b"");
        let error = check_sqlserver::check(&[path], &options(CheckLevel::Full), &mut Silent).unwrap_err();
        assert!(error.to_string().contains("it is empty"), "{error}");
    }
}

#[test]
fn a_second_file_without_its_last_pages_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let Some([first, second]) = two_files(directory.path()) else { return };
    let bytes = std::fs::read(&second).unwrap();
    std::fs::write(&second, &bytes[..300 * PAGE_BYTES]).unwrap();
    for level in LEVELS {
        let report = check(&[first.clone(), second.clone()], &options(level));
        assert_eq!(
            rules_of(&report),
            ["mssql-file-size"],
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
        assert_eq!(report.findings[0].file, second.to_str().unwrap());
    }
}

#[test]
fn a_stripe_is_a_part_of_a_backup_and_never_clean() {
    for (name, text) in [("data/cases", "stripe 2 is missing"), ("data", "stripe 1 is missing")] {
        let path = if name == "data" { real("northwind-torn.bak") } else { case("Northwind-CCono.bak") };
        let Some(path) = path else { continue };
        for level in LEVELS {
            let report = checked(&path, &options(level));
            assert_eq!(
                (report.exit_code(), report.finding_count()),
                (2, 0),
                "{}",
                report::findings::text(&report, &check_sqlserver::RULES)
            );
            let why = report.unfinished.unwrap();
            assert!(why.contains("the backup has 2 stripes") && why.contains(text), "{why}");
        }
        let options = check::structure::Options::default();
        let report = check_sqlserver::structure(&[path], &options, &mut Silent).unwrap();
        assert!(report.unfinished.unwrap().contains(text));
    }
}

#[test]
fn a_backup_without_its_end_is_damage_at_every_level() {
    let Some(path) = real("pubs-2012-checksum.bak") else { return };
    let bytes = std::fs::read(path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for length in [5_000, 20_000, 1_000_000, 3_200_000, bytes.len() - 9_000] {
        let path = stored(directory.path(), "cut.bak", &bytes[..length]);
        for level in LEVELS {
            let report = checked(&path, &options(level));
            let text = report::findings::text(&report, &check_sqlserver::RULES);
            assert!(rules_of(&report).contains(&"mssql-backup-stream"), "{length} {text}");
            assert_eq!(report.finding_count(), 1, "{length} {text}");
        }
    }
}

#[test]
fn a_changed_byte_in_the_header_of_a_block_of_a_backup_is_damage() {
    let Some(path) = real("pubs-2012-checksum.bak") else { return };
    let mut bytes = std::fs::read(path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    // The block that begins the backup set, its logical address.
    bytes[8192 + 20] ^= 1;
    let report = checked(&stored(directory.path(), "flip.bak", &bytes), &options(CheckLevel::Read));
    assert_eq!(
        rules_of(&report),
        ["mssql-backup-stream"],
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
    assert!(
        report.findings[0].expected.contains("block SSET at byte 8192"),
        "{}",
        report.findings[0].expected
    );
}

/// A backup with other pages, and with other attributes of its backup set.
fn backup_of(pages: impl Fn(Vec<u8>) -> Vec<u8>, attributes: u8) -> Option<(tempfile::TempDir, PathBuf)> {
    let backup = std::fs::read(real("pubs-2012-checksum.bak")?).unwrap();
    let (mut head, all, tail) = parts(&backup);
    set_stripe(&mut head, 1, 1);
    assert_eq!((&head[8192..8196], head[8192 + 52]), (&b"SSET"[..], 4));
    head[8192 + 52] = attributes;
    let directory = tempfile::tempdir().unwrap();
    let path =
        stored(directory.path(), "part.bak", &[&head[..], &stream_of_pages(&pages(all)), &tail].concat());
    Some((directory, path))
}

/// Leaves extents out.
fn without(pages: Vec<u8>, is_left_out: impl Fn(usize) -> bool) -> Vec<u8> {
    let extents = pages.chunks(8 * PAGE_BYTES).enumerate();
    extents.filter(|(number, _)| !is_left_out(*number)).flat_map(|(_, extent)| extent.to_vec()).collect()
}

#[test]
fn a_full_backup_that_lost_extents_is_damage() {
    // With the boot page, and another one.
    for (extent, text) in [(1, "pages 1:8; the boot page"), (20, "pages 1:160")] {
        let lost = |pages: Vec<u8>| without(pages, |number| number == extent);
        let Some((_directory, path)) = backup_of(lost, 4) else { return };
        let report = checked(&path, &options(CheckLevel::Full));
        let found =
            &report.findings.iter().find(|finding| finding.rule == "mssql-backup-extent").unwrap().found;
        assert!(found.contains("1 extents are missing") && found.contains(text), "{found}");
        assert_eq!(
            (report.exit_code(), report.finding_count()),
            (1, 1),
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
    }
}

#[test]
fn a_differential_backup_is_a_part_of_a_database_and_no_damage() {
    // By its attributes, and by its extents: those of the differential map (0 to 2 and 8).
    for attributes in [8, 4] {
        let changed = |pages: Vec<u8>| without(pages, |number| !matches!(number, 0..=2 | 8));
        let Some((_directory, path)) = backup_of(changed, attributes) else { return };
        for level in [CheckLevel::Page, CheckLevel::Full] {
            let report = checked(&path, &options(level));
            assert_eq!(
                (report.exit_code(), report.finding_count()),
                (2, 0),
                "{}",
                report::findings::text(&report, &check_sqlserver::RULES)
            );
            let why = report.unfinished.unwrap();
            let text = if attributes == 8 { "differential backup" } else { "has not all extents of file 1" };
            assert!(why.contains(text), "{why}");
        }
    }
}

#[test]
fn a_page_number_near_2_to_the_32_in_a_backup_takes_no_memory_for_the_pages_below() {
    for page in [0xffff_fff8u32, 0x8000_0000, 8_000_000] {
        let moved = |mut pages: Vec<u8>| {
            for index in 0..8 {
                let at = (20 * 8 + index) * PAGE_BYTES;
                let one = &mut pages[at..at + PAGE_BYTES];
                one[32..36].copy_from_slice(&(page + index as u32).to_le_bytes());
                protect(one);
            }
            pages
        };
        let Some((_directory, path)) = backup_of(moved, 4) else { return };
        let report = checked(&path, &options(CheckLevel::Full));
        assert_eq!(report.exit_code(), 1, "{}", report::findings::text(&report, &check_sqlserver::RULES));
        assert!(report.counters.memory_bytes_max < 4 << 20, "{}", report.counters.memory_bytes_max);
    }
}

#[test]
fn maps_that_need_more_memory_than_allowed_are_refused_with_what_they_need() {
    let Some(path) = real(NORTHWIND) else { return };
    let options = check::options::Options { memory_bytes_max: 512, ..options(CheckLevel::Full) };
    let error = check_sqlserver::check(&[path], &options, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("the allocation maps of 416 pages take more than 256 bytes"), "{error}");
    assert!(error.contains("\nhint: run it again with --max-memory 1MiB"), "{error}");
}

#[test]
fn of_several_backup_sets_the_last_full_one_is_checked_and_the_others_are_told() {
    let Some(path) = real("pubs-2012-checksum.bak") else { return };
    let bytes = std::fs::read(path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    // Appended as BACKUP ... WITH NOINIT does: everything behind the description of the media once more.
    let path = stored(directory.path(), "two.bak", &[&bytes[..], &bytes[8192..]].concat());
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!(
        (report.exit_code(), report.finding_count()),
        (2, 0),
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
    assert!(report.unfinished.unwrap().contains("has 2 backup sets, only set 2 is checked"));
}

#[test]
fn a_file_that_the_catalog_has_and_nobody_named_is_missed_at_every_level() {
    let Some(mut copy) = Copy::of(NORTHWIND) else { return };
    // The log, file 2 in the table of files, becomes a data file.
    let page = &mut copy.bytes[29 * PAGE_BYTES..30 * PAGE_BYTES];
    let offset = usize::from(u16::from_le_bytes([page[PAGE_BYTES - 4], page[PAGE_BYTES - 3]]));
    assert_eq!((page[offset + 8], page[offset + 20]), (2, 1));
    page[offset + 20] = 0;
    protect(page);
    for level in LEVELS {
        let report = checked(&copy.store(), &options(level));
        assert_eq!(
            (report.exit_code(), report.finding_count()),
            (2, 0),
            "{}",
            report::findings::text(&report, &check_sqlserver::RULES)
        );
        assert!(report.unfinished.unwrap().contains("file 2 (\"C:\\dbs\\northwnd_log.ldf\" on the server)"));
    }
}

#[test]
fn a_hole_of_a_terabyte_behind_a_data_file_is_listed_and_not_read() {
    let Some(copy) = Copy::of(NORTHWIND) else { return };
    let path = copy.store();
    let intact = checked(&path, &options(CheckLevel::Full));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let report = check_sqlserver::check(
        std::slice::from_ref(&path),
        &options(CheckLevel::Full),
        &mut check::progress::Silent,
    )
    .unwrap();
    assert_eq!(
        (report.finding_count(), report.exit_code()),
        (0, 0),
        "{}",
        report::findings::text(&report, &check_sqlserver::RULES)
    );
    assert_eq!(report.counters.row_count, intact.counters.row_count);
    assert!(report.not_checked.iter().any(|gap| gap.what.ends_with("bytes at the end of a file")));
}
