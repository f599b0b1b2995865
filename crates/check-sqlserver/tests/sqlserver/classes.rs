//! One damage at a time at a literal place of a real file, with the protection made to fit where the class needs it:
//! each gives the finding that it should.
//!
//! Places are those of northwnd-2008-checksum.mdf: rows of Order Details in 231 and 266 to 289 below 265, its index 2 in
//! 257, 269 and 281 below 268; Orders from 286 on; Employees in 220 with large values from 216 on; the heap Territories
//! in 383; extent 36 owned as a whole by IAM page 256, extent 49 mixed, extent 51 free.

use formats::sqlserver::{PAGE_BYTES, Record};
use results::check::CheckLevel;

use crate::advice::assert_safe_advice;
use crate::copy::{Copy, NORTHWIND, NORTHWIND_TORN, checked, options, pointer, rules_of};
use crate::edits::{lengthen_record, make_stub, share_photo};

/// Name; the file; the damage; rules of which all must be found, none for damage that must stay silent.
pub(crate) type Class = (&'static str, &'static str, fn(&mut Copy), &'static [&'static str]);

pub(crate) fn raw(copy: &mut Copy, page: u32, offset: usize, bits: u8) {
    copy.bytes[page as usize * PAGE_BYTES + offset] ^= bits;
}

pub(crate) fn zero(copy: &mut Copy, page: u32) {
    copy.bytes[page as usize * PAGE_BYTES..][..PAGE_BYTES].fill(0);
}

pub(crate) fn overwrite(copy: &mut Copy, page: u32, with: u32) {
    let from = with as usize * PAGE_BYTES;
    copy.bytes.copy_within(from..from + PAGE_BYTES, page as usize * PAGE_BYTES);
}

/// Takes the last slot away, as if its record had never been written there.
pub(crate) fn drop_last_record(copy: &mut Copy, page: u32) {
    let header = copy.header(page);
    let offset = copy.slot(page, usize::from(header.slot_count) - 1);
    let bytes = copy.page(page);
    let length = Record::new(&bytes, &header, 0, offset).unwrap().bytes.len() as u16;
    copy.write(page, 22, &(header.slot_count - 1).to_le_bytes());
    copy.write(page, 28, &(header.free_count + length + 2).to_le_bytes());
}

pub(crate) fn write_record(copy: &mut Copy, page: u32, slot: usize, offset: usize, bytes: &[u8]) {
    let record = copy.slot(page, slot);
    copy.write(page, record + offset, bytes);
}

pub(crate) fn set_slot(copy: &mut Copy, page: u32, slot: usize, offset: usize) {
    copy.write(page, PAGE_BYTES - 2 * (slot + 1), &(offset as u16).to_le_bytes());
}

/// Turns the bit of an extent in a map.
pub(crate) fn turn_extent(copy: &mut Copy, page: u32, extent: usize) {
    let bits = copy.bits(page);
    copy.flip(page, bits + extent / 8, 1 << (extent % 8));
}

pub(crate) fn pfs(copy: &mut Copy, page: usize, value: u8) {
    copy.write(1, 100 + page, &[value]);
}

pub(crate) static CLASSES: &[Class] = &[
    ("bit flip in a row, checksum on", NORTHWIND, |copy| raw(copy, 231, 1000, 4), &["mssql-page-checksum"]),
    ("bit flip in an index, checksum on", NORTHWIND, |copy| raw(copy, 257, 200, 1), &["mssql-page-checksum"]),
    (
        "torn page",
        NORTHWIND_TORN,
        |copy| (8..16).for_each(|sector| raw(copy, 95, 512 * sector + 511, 3)),
        &["mssql-page-torn"],
    ),
    (
        "zeroed table page",
        NORTHWIND,
        |copy| zero(copy, 267),
        &["mssql-page-blank", "mssql-entry-without-row"],
    ),
    (
        "zeroed index page",
        NORTHWIND,
        |copy| zero(copy, 269),
        &["mssql-page-blank", "mssql-row-without-entry"],
    ),
    ("page written to a wrong place", NORTHWIND, |copy| overwrite(copy, 277, 266), &["mssql-page-id"]),
    (
        "page of another table, number right",
        NORTHWIND,
        |copy| {
            overwrite(copy, 277, 313);
            copy.write(277, 32, &277u32.to_le_bytes());
        },
        &["mssql-page-owner", "mssql-index-child"],
    ),
    (
        "older version of a table page (last row missing)",
        NORTHWIND,
        |copy| drop_last_record(copy, 277),
        &["mssql-entry-without-row"],
    ),
    (
        "older version of an index page (last entry missing)",
        NORTHWIND,
        |copy| drop_last_record(copy, 269),
        &["mssql-row-without-entry"],
    ),
    (
        "key of an index entry changed",
        NORTHWIND,
        |copy| write_record(copy, 281, 682, 1, &[0x70, 0x2b]),
        &["mssql-entry-without-row", "mssql-row-without-entry"],
    ),
    (
        "value of an indexed column changed in the row",
        NORTHWIND,
        |copy| write_record(copy, 286, 3, 18, &[1, 2]),
        // Two indexes have the column: the row is the one cause.
        &["mssql-row-without-entry"],
    ),
    (
        "keys out of order",
        NORTHWIND,
        |copy| {
            let (third, fourth) = (copy.slot(231, 3), copy.slot(231, 4));
            set_slot(copy, 231, 3, fourth);
            set_slot(copy, 231, 4, third);
        },
        &["mssql-key-order"],
    ),
    (
        "duplicate key",
        NORTHWIND,
        |copy| {
            let key = copy.page(231)[copy.slot(231, 4) + 4..][..8].to_vec();
            write_record(copy, 231, 5, 4, &key);
        },
        &["mssql-key-duplicate"],
    ),
    ("wrong sibling", NORTHWIND, |copy| copy.write(266, 16, &pointer(289)), &["mssql-index-sibling"]),
    ("wrong previous sibling", NORTHWIND, |copy| copy.write(281, 8, &pointer(257)), &["mssql-index-sibling"]),
    (
        "wrong child: a page of another table",
        NORTHWIND,
        |copy| write_record(copy, 265, 3, 9, &pointer(313)),
        &["mssql-index-child", "mssql-index-orphan"],
    ),
    (
        "wrong child: a page not in use",
        NORTHWIND,
        |copy| write_record(copy, 265, 3, 9, &pointer(294)),
        &["mssql-index-child", "mssql-index-orphan"],
    ),
    (
        "wrong child: past the end",
        NORTHWIND,
        |copy| write_record(copy, 268, 1, 9, &pointer(70_000)),
        &["mssql-index-child", "mssql-index-orphan"],
    ),
    (
        "two parents",
        NORTHWIND,
        |copy| {
            let child = copy.page(265)[copy.slot(265, 2) + 9..][..6].to_vec();
            write_record(copy, 265, 3, 9, &child);
        },
        &["mssql-index-two-parents", "mssql-index-orphan"],
    ),
    (
        "parent key raised",
        NORTHWIND,
        |copy| write_record(copy, 265, 4, 1, &[0xff, 0x2f]),
        &["mssql-key-bounds"],
    ),
    ("slot outside of the page", NORTHWIND, |copy| set_slot(copy, 231, 7, 9000), &["mssql-slot"]),
    ("slot into the header", NORTHWIND, |copy| set_slot(copy, 231, 7, 40), &["mssql-slot"]),
    (
        "two slots of one record",
        NORTHWIND,
        |copy| set_slot(copy, 231, 7, copy.slot(231, 6)),
        &["mssql-record-overlap"],
    ),
    ("overlapping records", NORTHWIND, lengthen_record, &["mssql-record-overlap"]),
    (
        "fixed part longer than the page",
        NORTHWIND,
        |copy| write_record(copy, 231, 7, 2, &[0xff, 0x7f]),
        &["mssql-record"],
    ),
    ("record kind impossible", NORTHWIND, |copy| write_record(copy, 231, 7, 0, &[0x16]), &["mssql-record"]),
    ("free bytes wrong", NORTHWIND, |copy| copy.flip(231, 28, 8), &["mssql-free-count"]),
    ("ghost count wrong", NORTHWIND, |copy| copy.write(231, 58, &[3]), &["mssql-ghost-count"]),
    ("header version", NORTHWIND, |copy| copy.write(231, 0, &[7]), &["mssql-page-header"]),
    ("slot count impossible", NORTHWIND, |copy| copy.write(231, 22, &[0xff, 0xff]), &["mssql-page-header"]),
    ("page kind of another storage", NORTHWIND, |copy| copy.write(231, 1, &[3]), &["mssql-page-kind"]),
    (
        "forwarding stub to nothing",
        NORTHWIND,
        |copy| make_stub(copy, &[0x81, 1, 0, 0, 1, 0, 200, 0]),
        &["mssql-forward-target", "mssql-entry-without-row"],
    ),
    (
        "forwarded row without a stub",
        NORTHWIND,
        |copy| {
            let status = copy.page(383)[copy.slot(383, 5)];
            write_record(copy, 383, 5, 0, &[status | 2]);
        },
        &["mssql-forward-orphan"],
    ),
    (
        "large value: number changed in a piece",
        NORTHWIND,
        |copy| write_record(copy, 218, 0, 4, &[0xee]),
        &["mssql-lob-target", "mssql-lob-orphan"],
    ),
    ("large value: two rows share one", NORTHWIND, share_photo, &["mssql-lob-twice", "mssql-lob-orphan"]),
    (
        "large value: piece shorter than its root states",
        NORTHWIND,
        |copy| {
            let end = copy.slot(216, 1) + 24;
            copy.flip(216, end, 1);
        },
        &["mssql-lob-length"],
    ),
    (
        "large value: more links than the record has",
        NORTHWIND,
        |copy| write_record(copy, 216, 1, 16, &[200]),
        &["mssql-lob-record"],
    ),
    (
        "large value: link to a page of another table",
        NORTHWIND,
        |copy| write_record(copy, 216, 1, 28, &pointer(313)),
        &["mssql-lob-target", "mssql-lob-orphan"],
    ),
    ("PFS: used page called free", NORTHWIND, |copy| pfs(copy, 231, 0x20), &["mssql-pfs"]),
    ("PFS: IAM page called an ordinary one", NORTHWIND, |copy| pfs(copy, 256, 0x60), &["mssql-pfs"]),
    (
        "PFS: mixed page called one of an extent in one use",
        NORTHWIND,
        |copy| pfs(copy, 231, 0x40),
        &["mssql-pfs"],
    ),
    (
        "PFS: free page called used",
        NORTHWIND,
        |copy| pfs(copy, 409, 0x60),
        &["mssql-page-unowned", "mssql-extent-free"],
    ),
    (
        "PFS: page of a heap called full",
        NORTHWIND,
        |copy| copy.change(1, |page| page[100 + 383] = page[100 + 383] & !7 | 4),
        &["mssql-pfs-space"],
    ),
    (
        "PFS: page of large values called half full",
        NORTHWIND,
        |copy| copy.change(1, |page| page[100 + 218] = page[100 + 218] & !7 | 1),
        &["mssql-pfs-space"],
    ),
    ("PFS: page overwritten", NORTHWIND, |copy| raw(copy, 1, 3000, 0x40), &["mssql-page-checksum"]),
    ("GAM: used extent called free", NORTHWIND, |copy| turn_extent(copy, 2, 36), &["mssql-extent-free"]),
    ("GAM: free extent called used", NORTHWIND, |copy| turn_extent(copy, 2, 51), &["mssql-extent-leaked"]),
    (
        "GAM and SGAM: free and mixed at once",
        NORTHWIND,
        |copy| turn_extent(copy, 3, 51),
        &["mssql-extent-free"],
    ),
    (
        "SGAM: extent in one use called mixed",
        NORTHWIND,
        |copy| turn_extent(copy, 3, 36),
        &["mssql-extent-owned-twice"],
    ),
    ("differential map of another kind", NORTHWIND, |copy| copy.write(6, 1, &[17]), &["mssql-map-page"]),
    (
        "minimally logged map without its record",
        NORTHWIND,
        |copy| set_slot(copy, 7, 1, 0),
        &["mssql-map-page"],
    ),
    ("IAM: extent owned twice", NORTHWIND, |copy| turn_extent(copy, 258, 36), &["mssql-extent-owned-twice"]),
    (
        "IAM: single page owned twice",
        NORTHWIND,
        |copy| copy.write(258, 96 + 46 + 42, &pointer(231)),
        &["mssql-page-owned-twice"],
    ),
    (
        "IAM: extent dropped",
        NORTHWIND,
        |copy| turn_extent(copy, 256, 36),
        &["mssql-page-unowned", "mssql-index-child"],
    ),
    ("IAM: extent past the end", NORTHWIND, |copy| turn_extent(copy, 256, 90), &["mssql-allocation-range"]),
    ("IAM: previous link", NORTHWIND, |copy| copy.write(287, 8, &pointer(256)), &["mssql-iam-chain"]),
    (
        "IAM: next link into another chain",
        NORTHWIND,
        |copy| copy.write(287, 16, &pointer(256)),
        &["mssql-iam-chain"],
    ),
    (
        "IAM: next link past the end",
        NORTHWIND,
        |copy| copy.write(287, 16, &pointer(90_000)),
        &["mssql-allocation-range"],
    ),
    ("IAM: place in the chain", NORTHWIND, |copy| copy.write(287, 96 + 4, &[5]), &["mssql-iam-chain"]),
    (
        "IAM: allocation unit of another table",
        NORTHWIND,
        |copy| copy.write(287, 24, &[0x3d]),
        &["mssql-iam-chain"],
    ),
    ("IAM: page zeroed", NORTHWIND, |copy| zero(copy, 287), &["mssql-iam-chain"]),
    ("boot page of another kind", NORTHWIND, |copy| copy.write(9, 1, &[1]), &["mssql-boot-page"]),
    (
        "boot page: table of allocation units elsewhere",
        NORTHWIND,
        |copy| copy.write(9, 612, &pointer(231)),
        &["mssql-catalog"],
    ),
    ("file header of another kind", NORTHWIND, |copy| copy.write(0, 1, &[1]), &["mssql-file-header"]),
    (
        "file truncated by whole pages",
        NORTHWIND,
        |copy| copy.bytes.truncate(300 * PAGE_BYTES),
        &["mssql-file-size"],
    ),
    (
        "file truncated below the size in its header",
        NORTHWIND,
        |copy| copy.bytes.truncate(200 * PAGE_BYTES),
        &["mssql-file-size"],
    ),
    (
        "file truncated inside a page",
        NORTHWIND,
        |copy| copy.bytes.truncate(415 * PAGE_BYTES + 100),
        &["mssql-file-size"],
    ),
    (
        "NOT NULL column without a value",
        NORTHWIND,
        |copy| write_record(copy, 231, 7, 26 + 2, &[4]),
        &["mssql-not-null"],
    ),
    (
        "date out of range",
        NORTHWIND,
        |copy| write_record(copy, 286, 3, 22, &[0xff; 4]),
        &["mssql-value-range"],
    ),
    (
        "garbage in a page that is not in use",
        NORTHWIND,
        |copy| {
            copy.bytes[410 * PAGE_BYTES..411 * PAGE_BYTES]
                .iter_mut()
                .enumerate()
                .for_each(|(index, byte)| *byte = (index * 7) as u8);
        },
        &[],
    ),
    ("an old page in a page that is not in use", NORTHWIND, |copy| overwrite(copy, 411, 266), &[]),
];

#[test]
fn every_class_of_damage_gives_the_findings_that_it_should() {
    let mut failures = Vec::new();
    for (class, file, damage, rules) in CLASSES {
        let Some(mut copy) = Copy::of(file) else { return };
        damage(&mut copy);
        let report = checked(&copy.store(), &options(CheckLevel::Full));
        let found = rules_of(&report);
        let is_right = rules.iter().all(|rule| found.contains(rule));
        if !is_right || report.exit_code() != u8::from(!rules.is_empty()) {
            failures.push(format!(
                "{class}: {rules:?} in {found:?}\n{}",
                report::findings::text(&report, &check_sqlserver::RULES)
            ));
        }
        assert_safe_advice(&check_sqlserver::RULES, &report, |object| object.starts_with("index "));
        for finding in &report.findings {
            assert!(check_sqlserver::RULES.get(&finding.rule).is_some(), "{}", finding.rule);
            assert!(!finding.expected.is_empty() && !finding.found.is_empty(), "{finding:?}");
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
