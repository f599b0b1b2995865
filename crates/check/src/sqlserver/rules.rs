//! The promises that are tested in SQL Server files: one row each, the source of `explain` and docs/check/sqlserver.md.

use formats::sqlserver::Fault;
use results::check::CheckLevel;

macro_rules! rules {
    ($( $variant:ident $id:literal $level:ident $messages:literal $evidence:literal $promise:literal $meaning:literal $next:literal ),* $(,)?) => {
        /// A rule: one promise that the checker tests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) enum Promised { $( #[doc = $promise]
            $variant, )* }

        /// All rules about SQL Server files, in the order in which they are documented.
        pub static RULES: &[crate::rule::Rule] = &[ $( crate::rule::Rule {
            id: $id,
            level: CheckLevel::$level,
            promise: $promise,
            meaning: $meaning,
            next_step: $next,
            evidence: $evidence,
        }, )* ];

        /// Numbers of the messages that DBCC has for the same fault, by rule.
        static MESSAGES: &[&str] = &[ $( $messages, )* ];
    };
}

/// Numbers of the messages that DBCC CHECKDB has for the fault that a rule names, as text; `None` where no
/// correspondence is documented.
// EVIDENCE: Microsoft Learn, "Database engine events and errors", 2000 to 2999 and 8000 to 8999, the messages' texts
#[must_use]
pub fn dbcc_messages(rule: &str) -> Option<&'static str> {
    let index = RULES.iter().position(|known| known.id == rule)?;
    MESSAGES.get(index).copied().filter(|messages| !messages.is_empty())
}

rules! {
    FileHeader "mssql-file-header" Page ""
        "Microsoft Learn, Page and extent architecture guide"
        "the first page of a file is its header, and its record can be taken apart"
        "The server does not attach the file."
        "restore the file from a backup",
    FileSize "mssql-file-size" Read ""
        "observed: sizes in the file header (never greater than the file), in PFS, GAM and sys.sysprufiles (equal to the file) of six files"
        "a data file is a whole number of pages, and at least as long as its header, its PFS and GAM pages and the catalog say"
        "The file was truncated: a full disk, an interrupted copy or download. The server does not attach it, or marks the database suspect. The pages past its end are lost in this copy."
        "compare the length with the original, and copy the file again; else restore the database from a backup",
    BackupStream "mssql-backup-stream" Read ""
        "Microsoft Tape Format Specification 1.00a, 5.1 common block header, 6.1 data stream header"
        "the blocks and streams of a backup file follow each other up to the end of each backup set, and their checksums fit"
        "The backup file was truncated or overwritten: an interrupted backup, copy or download. RESTORE ends with message 3241 or 3203."
        "compare the length with the original, and copy the file again; else take another backup",
    BackupExtent "mssql-backup-extent" Page ""
        "Microsoft Learn, Full Database Backups; observed: two full backups of one stripe have all extents that their GAM pages call allocated"
        "a full backup has each extent that the GAM pages in it call allocated"
        "The pages of the missing extents cannot be restored from this backup. The file was changed, or parts of it were cut out."
        "take another backup of the same database",
    BootPage "mssql-boot-page" Page ""
        "observed: page 9 of the first file, versions 655 to 706; field names of DBCC DBINFO"
        "page 9 of the first file describes the database"
        "The database cannot be opened, and DBCC cannot mend it."
        "restore the database from a backup",
    Unreadable "mssql-unreadable" Page "8966"
        "pread(2)"
        "each page can be read"
        "The device or file system gives no bytes."
        "look at the kernel log and the device, and copy the file away before more is lost",
    ReadingsDiffer "mssql-readings-differ" Page ""
        "pread(2)"
        "each page reads with the same bytes every time, as long as no process writes its file"
        "The device, its cable or controller, or the memory of this machine changes bytes. What this machine reads is not certain; the file itself may be intact."
        "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
    PageChecksum "mssql-page-checksum" Page "8928, 8939"
        "observed: 1,544 pages of six files and 1,185 of four backups"
        "the checksum in the header is that of the page's bytes"
        "Bytes changed after the server wrote the page. Reading it in the server fails with message 824."
        "restore the page from a backup (RESTORE ... PAGE); check the device and its cables",
    PageTorn "mssql-page-torn" Page "8928, 8939"
        "Microsoft Learn, ALTER DATABASE SET TORN_PAGE_DETECTION; observed: 1,218 pages of three files"
        "all sectors of a page carry the signature of the same write"
        "Only a part of the page reached the disk when power failed. Reading it in the server fails with message 824."
        "restore the page from a backup (RESTORE ... PAGE)",
    PageHeader "mssql-page-header" Page "8939"
        "sqlskills.com, Anatomy of a page"
        "version, kind, slot count and end of the records fit a page"
        "The header was overwritten; the server refuses the page."
        "restore the page from a backup",
    PageId "mssql-page-id" Page "8909"
        "sqlskills.com, Anatomy of a page"
        "a page in use carries its own number"
        "The page was written to a wrong place, or belongs to another file; the page that should be here is lost."
        "restore the page from a backup, and look for the page whose number it carries",
    PageBlank "mssql-page-blank" Page "8909"
        "observed: no allocated page of any file is blank"
        "a page in use is not blank"
        "A write was lost, or the page was wiped: its rows are gone."
        "restore the page from a backup",
    MapPage "mssql-map-page" Page "8946, 8998"
        "sqlskills.com, GAM, SGAM, PFS and other allocation maps"
        "the page due at this place is the map that belongs there, with its records"
        "What the map describes can neither be allocated nor freed safely; the server may give pages out twice."
        "restore from a backup: allocation maps cannot be restored page by page",
    Catalog "mssql-catalog" Structure ""
        "sqlskills.com, CHECKDB From Every Angle: primitive checks of critical system tables"
        "the base tables that describe all others can be read"
        "The server does not open the database, or DBCC ends with message 8921 or 7984 to 7988."
        "restore the database from a backup",
    IamChain "mssql-iam-chain" Structure "2575, 2576, 2577, 8959, 8969"
        "sqlskills.com, IAM pages, IAM chains, and allocation units"
        "the allocation pages of a table or index form a chain: kind, owner, order and both links agree"
        "Scans of the table end early or read pages of another table."
        "restore from a backup; DBCC repairs this by throwing data away",
    AllocationRange "mssql-allocation-range" Structure "2579, 8968"
        "Microsoft Learn, message 2579"
        "an allocation page names pages that the database has"
        "The file was cut, or the allocation page is from another time."
        "compare the length of the file with the original; restore from a backup",
    ExtentOwnedTwice "mssql-extent-owned-twice" Structure "8904, 8913"
        "Microsoft Learn, message 8904"
        "an extent belongs to one table or index"
        "Two tables write over each other's rows."
        "restore from a backup from before both grew into the same extent",
    PageOwnedTwice "mssql-page-owned-twice" Structure "8910"
        "Microsoft Learn, message 8910"
        "a page of a mixed extent belongs to one table or index"
        "Two tables write over each other's rows."
        "restore from a backup",
    ExtentFree "mssql-extent-free" Structure "8903"
        "Microsoft Learn, message 8903; sqlskills.com, GAM, SGAM, PFS and other allocation maps"
        "an extent that the GAM calls free is in nobody's use, and no mixed extent"
        "The server will give the extent to another table, which then overwrites what is in it."
        "do not write to the database; restore from a backup",
    ExtentLeaked "mssql-extent-leaked" Structure "8905"
        "Microsoft Learn, message 8905"
        "an extent that the GAM calls used belongs to a table, an index, or to mixed use"
        "Space is lost; if rows were there, their table no longer knows."
        "look for missing pages in other findings; DBCC CHECKALLOC frees the extent",
    PageUnowned "mssql-page-unowned" Structure "8906"
        "Microsoft Learn, message 8906"
        "a page that the PFS calls used belongs to a table, an index or the maps"
        "The page is lost to its table, or was not freed."
        "look for missing pages in other findings",
    PfsState "mssql-pfs" Structure "8948"
        "Microsoft Learn, message 8948"
        "the PFS agrees with the allocation pages about kind and use of each page"
        "The server may give the page out a second time, or never use it again."
        "restore from a backup; DBCC CHECKALLOC corrects the PFS byte",
    PfsSpace "mssql-pfs-space" Structure "8914"
        "Microsoft Learn, message 8914; observed: 124 pages of heaps and large values in five files, all in step"
        "the PFS tells how full a page of a heap or of large values is"
        "Space is not found again, or is looked for in full pages. No row is lost: the server does not log each change of these bits, and a crash can leave them behind."
        "none is urgent: ALTER TABLE ... REBUILD writes the bits anew, once the table's other findings are resolved",
    PageOwner "mssql-page-owner" Structure "2533, 2534"
        "Microsoft Learn, messages 2533 and 2534"
        "a page carries the number of the allocation unit that it is allocated to"
        "A page of another table stands here: a write went to a wrong place or was lost. The rows of the page that belongs here are gone."
        "restore the page from a backup",
    PageKind "mssql-page-kind" Structure "8938"
        "Microsoft Learn, message 8938"
        "a page is of the kind that its owner has"
        "The page was overwritten, or belongs elsewhere."
        "restore the page from a backup",
    Slot "mssql-slot" Structure "8941"
        "Microsoft Learn, message 8941"
        "a slot points into the space of the records"
        "The record cannot be found; reading the page in the server fails."
        "restore the page from a backup",
    RecordBounds "mssql-record" Structure "8943, 8944"
        "sqlskills.com, Anatomy of a record"
        "a record is of a kind that its page holds, and its parts lie inside of it"
        "The row cannot be taken apart; queries fail or give wrong values."
        "restore the page from a backup",
    RecordOverlap "mssql-record-overlap" Structure "8942"
        "Microsoft Learn, message 8942"
        "no two records share bytes"
        "One record overwrote another, or a slot was changed."
        "restore the page from a backup",
    FreeCount "mssql-free-count" Structure "8939"
        "observed: all data, index and text pages of all files"
        "the free bytes of the header are those that records and slots leave"
        "Inserts overwrite records, or fail although there is room: the page was changed behind the server."
        "restore the page from a backup",
    GhostCount "mssql-ghost-count" Structure "8927"
        "Microsoft Learn, message 8927"
        "the ghost records of the header are those in the page"
        "Deleted rows are never removed, or the page was changed behind the server."
        "rebuild the index or table",
    IndexSibling "mssql-index-sibling" Structure "8936, 8978, 8981"
        "Microsoft Learn, messages 8936, 8978 and 8981"
        "neighbours on a level of a B-tree name each other"
        "Scans skip or repeat a range of keys: a write was lost, or an old version of a page came back."
        "restore the pages named here from a backup; a nonclustered index can be rebuilt",
    IndexChild "mssql-index-child" Structure "8931, 8976, 8980"
        "Microsoft Learn, messages 8931, 8976 and 8980"
        "each entry of an inner page names a page of the level below in the same B-tree"
        "Searches end in a wrong page or nowhere."
        "restore the pages named here from a backup; a nonclustered index can be rebuilt",
    IndexOrphan "mssql-index-orphan" Structure "8977, 8979"
        "Microsoft Learn, messages 8977 and 8979"
        "each page of a B-tree but the root is named by one above"
        "Searches do not find the keys of the page."
        "restore the pages named here from a backup; a nonclustered index can be rebuilt",
    IndexTwoParents "mssql-index-two-parents" Structure "8937"
        "Microsoft Learn, message 8937"
        "a page of a B-tree is named by one entry above"
        "Searches for two ranges of keys end in one page."
        "restore the pages named here from a backup; a nonclustered index can be rebuilt",
    KeyBounds "mssql-key-bounds" Structure "8933, 8934"
        "Microsoft Learn, messages 8933 and 8934"
        "the keys of a page lie between those that enclose it above"
        "Searches miss rows: a write was lost, or an old version of a page came back."
        "restore the pages named here from a backup; a nonclustered index can be rebuilt",
    ForwardTarget "mssql-forward-target" Structure "8993"
        "Microsoft Learn, message 8993"
        "a row that moved stands where its stub points, and points back"
        "The row is lost to queries."
        "restore the page from a backup",
    ForwardOrphan "mssql-forward-orphan" Structure "8994"
        "Microsoft Learn, message 8994"
        "the stub that a moved row names points to it"
        "The row appears in scans and not by its index, or not at all."
        "restore the page from a backup",
    LobRecord "mssql-lob-record" Structure ""
        "improve.dk, What are the different LOB structure types"
        "lengths and links of a piece of a large value fit its record"
        "Reading the value fails."
        "restore the page from a backup",
    LobTarget "mssql-lob-target" Structure "8961, 8965"
        "Microsoft Learn, messages 8961 and 8965"
        "a pointer to a large value names a record of that value"
        "Reading the value fails, or gives another one."
        "restore the page from a backup; set the value anew to make the row readable",
    LobOrphan "mssql-lob-orphan" Structure "8964"
        "Microsoft Learn, message 8964"
        "each record of a large value is named by a row or another record"
        "The row that had the value is gone or has another one; or space was not freed."
        "look for lost rows of the table in other findings",
    LobLength "mssql-lob-length" Structure "8961"
        "Microsoft Learn, message 8961; observed: 110 pieces of four files, all as long as their nodes say"
        "a piece of a large value is as long as the row or node that names it says"
        "Reading the value fails, or gives too much or too little of it."
        "restore the page from a backup; set the value anew to make the row readable",
    LobTwice "mssql-lob-twice" Structure "8974"
        "Microsoft Learn, message 8974"
        "a record of a large value is named once"
        "Two rows share a value; deleting one takes it from the other."
        "restore the page from a backup",
    KeyOrder "mssql-key-order" Full "2511"
        "Microsoft Learn, message 2511"
        "keys rise (or fall, where the index says so) within a page"
        "Searches miss rows."
        "restore the page from a backup; a nonclustered index can be rebuilt",
    KeyDuplicate "mssql-key-duplicate" Full "2512"
        "Microsoft Learn, message 2512"
        "no two entries of a B-tree have the same key"
        "The promise of a primary key or unique constraint does not hold."
        "find the rows by their key, keep one, and rebuild the index",
    RowWithoutEntry "mssql-row-without-entry" Full "8951"
        "Microsoft Learn, message 8951"
        "each row has its entry in every nonclustered index"
        "Queries that use the index miss the row."
        "rebuild the index, after making sure that the row is the newest",
    EntryWithoutRow "mssql-entry-without-row" Full "8952"
        "Microsoft Learn, message 8952"
        "each entry of a nonclustered index has its row"
        "The row is gone or was changed behind the server: a page was lost, zeroed or replaced by an older version of itself."
        "rows may be lost: restore the table's page from a backup; rebuilding the index would hide the loss",
    NotNull "mssql-not-null" Full "8970"
        "Microsoft Learn, message 8970"
        "a column that was created NOT NULL has a value"
        "Programs that rely on the constraint fail; the row was changed behind the server."
        "restore the row from a backup",
    ValueRange "mssql-value-range" Full "2570"
        "Microsoft Learn, message 2570 and DBCC CHECKDB, DATA_PURITY"
        "a value lies in the range of its type"
        "Queries give wrong results or fail when they touch the value."
        "set the value anew (UPDATE by the key of the row)",
}

impl Promised {
    /// The row of the table.
    pub(super) fn rule(self) -> &'static crate::rule::Rule {
        &RULES[self as usize]
    }

    /// The rule of a fault that the page views see.
    pub(super) fn of(fault: Fault) -> Self {
        match fault {
            Fault::Checksum => Self::PageChecksum,
            Fault::TornSector => Self::PageTorn,
            Fault::SlotOffset => Self::Slot,
            Fault::RecordKind
            | Fault::FixedLength
            | Fault::ColumnCount
            | Fault::VariableOffset
            | Fault::RecordEnd => Self::RecordBounds,
            Fault::RecordOverlap => Self::RecordOverlap,
            Fault::FreeCount => Self::FreeCount,
            Fault::GhostCount => Self::GhostCount,
            Fault::LobRecord => Self::LobRecord,
            Fault::MapRecord => Self::MapPage,
            _ => Self::PageHeader,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages_stand_beside_their_rule() {
        assert_eq!(dbcc_messages("mssql-row-without-entry"), Some("8951"));
        assert_eq!(dbcc_messages("mssql-page-id"), Some("8909"));
        assert_eq!(dbcc_messages("mssql-file-header"), None);
        assert_eq!(dbcc_messages("pg-page-id"), None);
        assert_eq!(Promised::ValueRange.rule().id, "mssql-value-range");
    }
}
