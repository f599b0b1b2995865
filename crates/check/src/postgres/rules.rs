//! The promises that are tested in PostgreSQL files: one row each, the source of `explain` and of docs/check/.

use formats::postgres::Promise;
use results::check::CheckLevel;

macro_rules! rules {
    ($( $variant:ident $id:literal $level:ident $evidence:literal $promise:literal $meaning:literal $next:literal ),* $(,)?) => {
        /// A rule: one promise that the checker tests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Promised { $( #[doc = $promise]
            $variant, )* }

        /// All rules about PostgreSQL files, in the order in which they are documented.
        pub static RULES: &[crate::rule::Rule] = &[ $( crate::rule::Rule {
            id: $id,
            level: CheckLevel::$level,
            promise: $promise,
            meaning: $meaning,
            next_step: $next,
            evidence: $evidence,
        }, )* ];
    };
}

rules! {
    ControlFile "pg-control-file" Page
        "src/include/catalog/pg_control.h"
        "the control file has its checksum and possible values"
        "The server refuses to start, or starts from a wrong place in the log."
        "restore global/pg_control from a backup; do not start the server before",
    RelationMap "pg-relation-map" Page
        "src/backend/utils/cache/relmapper.c"
        "a map of file numbers has its magic number and checksum"
        "The server cannot find its catalogs; every connection fails."
        "restore the map from a backup of the same cluster",
    VersionFile "pg-version-file" Page
        "src/backend/utils/init/miscinit.c ValidatePgVersion"
        "PG_VERSION of the cluster and of each database has the major version"
        "The server does not start (is not a valid data directory, database files are incompatible with server), or refuses connections to the database."
        "write the major version into the file, if everything else is there: other files of the directory may be lost as well",
    Directory "pg-directory-missing" Page
        "PostgreSQL docs 73.1"
        "each directory that the server needs is there, also if it is empty"
        "The server does not start, or its first checkpoint fails. Copies that copy files only lose empty directories."
        "if the directory may be empty (pg_notify, pg_twophase, pg_replslot, pg_commit_ts, pg_subtrans, pg_logical/snapshots, pg_logical/mappings), make it with mkdir -m 700, owned by the server's user; restore pg_wal, pg_xact and pg_multixact from a backup",
    CheckpointRecord "pg-checkpoint-record" Page
        "src/backend/access/transam/xlogrecovery.c ReadCheckpointRecord"
        "the checkpoint record stands in the WAL where pg_control, or backup_label in a backup, says, with its CRC and redo position"
        "The server does not start: could not locate a valid checkpoint record."
        "restore the WAL segment from the archive or a backup; do not run pg_resetwal: it discards the transactions in the WAL",
    RecoveryWal "pg-recovery-wal" Page
        "src/backend/access/transam/xlogrecovery.c; PostgreSQL docs 26.3"
        "after a crash, and in a backup, all WAL records are there that recovery needs: from the redo position to the checkpoint record, or to the end of the backup"
        "Recovery ends too early: blocks that were written meanwhile do not agree with each other, or the server does not start (WAL ends before end of online backup)."
        "restore the missing segments from the WAL archive (restore_command with recovery.signal), or take another backup",
    BackupLabel "pg-backup-label" Page
        "PostgreSQL docs 26.3.4; src/backend/access/transam/xlogrecovery.c read_backup_label"
        "a base backup has its backup_label, with the positions from which recovery starts"
        "Without it the server starts from the checkpoint in pg_control, which is later than the start of the backup: changes in between are not replayed, and tables and indexes are corrupt without a message."
        "restore backup_label from the same backup before the server is started; if it was started without it, discard this cluster and restore again",
    DatabaseDirectory "pg-database-directory" Page
        "PostgreSQL docs 73.1"
        "each database of pg_database has its directory: base/<oid>, or pg_tblspc/<tablespace>/PG_<major>_<catalog version>/<oid>"
        "All files of the database are missing; connections fail. Typical causes: the directory was deleted, a copy left it out, or a tablespace is not mounted."
        "restore the directory from a backup of the same cluster whose WAL is replayed; do not DROP DATABASE before",
    Tablespace "pg-tablespace" Page
        "PostgreSQL docs 73.1"
        "each tablespace of pg_tablespace has its link in pg_tblspc, which leads to a directory PG_<major>_<catalog version>"
        "All relations of the tablespace are out of reach: the link was removed, or its target is not mounted."
        "mount the target, or make the link again: ln -s TARGET pg_tblspc/OID; the relations need no restore as long as the target is there",
    Catalog "pg-catalog" Page
        "PostgreSQL docs 52"
        "each database has rows in pg_class, pg_attribute and pg_index"
        "Connections to the database fail: its catalogs were lost or overwritten. Without them it is not known which table or index a file belongs to."
        "restore the database from a backup; its blocks were tested one by one, without what tables and indexes say of each other",
    CatalogAgreement "pg-catalog-agreement" Structure
        "PostgreSQL docs 52; src/backend/utils/cache/relcache.c"
        "rows of pg_attribute, pg_type, pg_index, pg_sequence and pg_class refer to rows of pg_class that are there, each relation has all its columns, and each column is stored as its type in pg_type says"
        "The relation cannot be opened (could not open relation with OID, pg_attribute catalog is missing attributes), although its files are there, or its rows are read at wrong places: rows of a catalog were lost or overwritten."
        "keep a copy of the files; restore the catalog's block from a backup; the files of the relation still have its rows, so do not drop anything that names it",
    LargeObject "pg-large-object" Full
        "PostgreSQL docs 52.31"
        "each large object with data has a row in pg_largeobject_metadata"
        "Programs cannot open the large object (large object does not exist), and pg_dump leaves it out, although its data are there."
        "keep a copy of the files; restore the block of pg_largeobject_metadata from a backup; do not run vacuumlo before",
    FileMissing "pg-file-missing" Page
        "PostgreSQL docs 73.1"
        "each relation of the catalog has its file"
        "The relation is lost, by a file system repair, a wrong rm, or a copy that left it out."
        "keep a copy of the directory, and restore the file from a backup of the same cluster whose WAL is replayed",
    InitFork "pg-init-fork" Page
        "src/backend/storage/file/reinit.c; PostgreSQL docs 73.5"
        "each unlogged table, index and sequence has its init fork, which is that of an empty relation; permanent relations have none"
        "A start after a crash replaces the relation by its init fork: without a valid one the server fails when it opens the relation, or shows rows that were deleted; a permanent relation with one is emptied."
        "copy the rows into a new table while the server runs (CREATE TABLE ... AS), then drop this one; ALTER TABLE ... SET LOGGED makes new files as well",
    SegmentMissing "pg-segment-missing" Page
        "PostgreSQL docs 73.1"
        "segments are complete: each but the last is full, none is longer or missing in between"
        "Rows of a whole gigabyte are gone; the server takes what follows for absent and says nothing. A segment that is too long ends each session that asks for its length (\"segment too big\")."
        "restore the relation from a backup; rows of the missing range are gone",
    PartialBlock "pg-partial-block" Page
        "PostgreSQL docs 73.6"
        "a file is a whole number of blocks"
        "The file was cut inside a block: a full disk, or an interrupted copy. The server ignores the rest of the block."
        "the file was cut: compare its length with a backup",
    TransactionLog "pg-transaction-log-missing" Page
        "src/backend/access/transam/slru.c, clog.c, multixact.c"
        "the files of pg_xact and pg_multixact are whole, from the oldest transaction that tables may name to the last"
        "The server does not start, or reading rows fails (could not access status of transaction)."
        "restore this file from a backup of the same cluster whose WAL is replayed, or from a standby; do not create a file of zeros in its place, all its transactions would count as aborted",
    Unreadable "pg-unreadable" Page
        "pread(2)"
        "each block can be read"
        "The device or file system gives no bytes; the rows of the block are out of reach."
        "look at the kernel log and the device, and copy the file away before more is lost",
    ReadingsDiffer "pg-readings-differ" Page
        "pread(2)"
        "each block reads with the same bytes every time, as long as no process writes its file"
        "The device, its cable or controller, or the memory of this machine changes bytes. What this machine reads is not certain; the file itself may be intact."
        "do not write to the database from this machine; copy the files and check the copy on another machine; then test the memory (memtest86+), the cables and the device (smartctl -a, dmesg) of this one",
    PageChecksum "pg-page-checksum" Page
        "src/include/storage/checksum_impl.h"
        "the checksum in the header is that of the block's bytes and number"
        "Bytes changed after the server wrote the block, or the block was written elsewhere, or only half of it."
        "restore the block from a backup; check the device and its cables",
    PageBounds "pg-page-bounds" Page
        "PostgreSQL docs 73.6"
        "header <= lower <= upper <= special <= block size"
        "The block was overwritten; the server refuses to read it (invalid page)."
        "restore the block from a backup",
    PageVersion "pg-page-version" Page
        "PostgreSQL docs 73.6"
        "a block records the size and layout version of the cluster"
        "The block was overwritten or belongs to another cluster."
        "restore the block from a backup",
    PageFlags "pg-page-flags" Page
        "src/include/storage/bufpage.h"
        "only defined flag bits are set in a block's header"
        "The header was overwritten."
        "restore the block from a backup",
    PageSpecial "pg-page-special" Page
        "src/include/storage/bufpage.h; src/include/access/nbtree.h"
        "the space at the end of a block is that of its access method"
        "The block belongs to a file of another kind, or its header was overwritten."
        "the block belongs to another file or is damaged: restore it from a backup",
    PageNewNotZero "pg-page-new-not-zero" Page
        "src/include/storage/bufpage.h PageIsNew"
        "a block that was never used is zero throughout"
        "A header was wiped while the rest of the block remained; the server takes the block for empty."
        "restore the block from a backup",
    PageLsn "pg-page-lsn" Page
        "src/backend/access/transam/README"
        "no block was changed after the end of the log"
        "A block from a newer copy stands in an older cluster, or the log was reset. Backups that compare positions skip such a block."
        "the block or the control file is from another time: compare with a backup",
    ItemBounds "pg-item-bounds" Structure
        "src/include/storage/itemid.h"
        "a line pointer stays inside the tuple space, on an eight byte boundary"
        "A line pointer was overwritten; reading it in the server can end the server."
        "restore the block; do not run amcheck on it in a server, which may crash",
    ItemOverlap "pg-item-overlap" Structure
        "src/include/storage/bufpage.h"
        "no two line pointers share bytes"
        "Two rows share bytes: one overwrote the other, or one line pointer was changed."
        "restore the block from a backup",
    ItemRedirect "pg-item-redirect" Structure
        "src/backend/access/heap/README.HOT"
        "a redirect names a heap-only row of its block"
        "Index entries lead nowhere; index scans miss the row that a table scan sees."
        "restore the block from a backup, or reindex after saving what can be read",
    TupleHeader "pg-tuple-header" Structure
        "PostgreSQL docs 73.6.1"
        "a row's header fits the row"
        "The row cannot be taken apart; reading it gives errors or wrong values."
        "restore the block from a backup",
    TupleAttribute "pg-tuple-attribute" Structure
        "src/backend/access/common/heaptuple.c"
        "each column lies inside its row, and the last ends where the row ends"
        "Reading the row gives errors (invalid memory alloc request size) or wrong values, or ends the server."
        "restore the block from a backup",
    HotChain "pg-hot-chain" Structure
        "src/backend/access/heap/README.HOT"
        "each visible heap-only row is reached from a line pointer that indexes can name"
        "Table scans see the row, index scans do not."
        "select the row by its ctid, save it, and restore the block",
    UpdateChain "pg-update-chain" Structure
        "contrib/amcheck/verify_heapam.c (16); src/backend/access/heap/README.HOT"
        "a row version and its successor fit: HEAP_HOT_UPDATED leads to a heap-only row of the same block, one chain leads to each heap-only row, and no committed transaction updates a row whose insert aborted"
        "Index scans return another row version than sequential scans, or miss the row. Bits of the row header, a ctid or a line pointer were changed behind the server."
        "select the rows of the block by ctid and save them; restore the block from a backup",
    XminBounds "pg-xmin-bounds" Structure
        "contrib/amcheck/verify_heapam.c"
        "the inserting transaction exists and is not older than the table's frozen horizon"
        "Reading the row fails (could not access status of transaction), or the row appears or vanishes wrongly."
        "keep a copy of the files; if many rows are named, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not freeze or kill rows before that",
    XmaxBounds "pg-xmax-bounds" Structure
        "contrib/amcheck/verify_heapam.c"
        "the deleting transaction or multixact exists and is not older than the table's horizon"
        "Reading or updating the row fails, or the row appears or vanishes wrongly."
        "keep a copy of the files; if many rows are named, pg_control or pg_xact is older than the table: compare them with a backup; if it is one row, restore its block from a backup; do not freeze or kill rows before that",
    NextXid "pg-next-xid" Structure
        "src/include/catalog/pg_control.h CheckPoint.nextXid"
        "no rows name transactions that pg_control has not assigned"
        "The control file, and with it the state from which the server starts, is older than the data: an old copy of global/pg_control, or pg_resetwal with a transaction id that is too low. The rows themselves are good. A server that starts gives their transaction ids to others, and rows vanish or appear."
        "do not start the server; keep a copy of the files, and restore global/pg_control and the WAL that belong to them; never run pg_resetwal on the only copy",
    CommitHint "pg-commit-hint" Structure
        "src/include/access/htup_details.h"
        "hint bits of a row (committed, aborted, frozen; for xmin and xmax) agree with pg_xact, and its lock bits with xmax"
        "Rows of an aborted insert are visible, deleted rows are visible, or rows that were not deleted are invisible. VACUUM makes this permanent."
        "pg_xact or the block is from another time: compare both with a backup",
    TransactionEnd "pg-transaction-end" Structure
        "src/backend/access/transam/transam.c, multixact.c"
        "pg_xact and pg_multixact have an entry for each transaction and multixact that a row names"
        "Part of the file was lost: its blocks were zeroed by a file system, a device or a repair tool. Reading the rows fails (could not access status of transaction), or their transactions count as aborted. The rows themselves are valid; they are compared with nothing."
        "do not start the server, and run no VACUUM: it would remove rows of transactions that look aborted; keep a copy of the files; restore this file from a backup of the same cluster whose WAL is replayed, or from a standby",
    VisibilityMap "pg-visibility-map" Structure
        "src/backend/access/heap/visibilitymap.c"
        "a block that the visibility map calls all-visible or frozen is so"
        "Index-only scans give rows that are not there, and VACUUM skips blocks that need it."
        "compare the block with a backup first: a stale version of it has lost rows; if it is the newest, pg_truncate_visibility_map (extension pg_visibility) and VACUUM mend the map",
    Sequence "pg-sequence" Structure
        "src/backend/commands/sequence.c"
        "a sequence has one block, with its magic number and one frozen tuple"
        "nextval fails (bad magic number in sequence), and so do INSERTs that use it."
        "find the highest value in use (SELECT max(column)); then drop and create the sequence, and set it with setval; or restore the file from a backup",
    FreeSpaceMap "pg-free-space" Structure
        "src/backend/storage/freespace/README, fsmpage.c, indexfsm.c"
        "each node of a free space map is the highest of its children, and no slot is of a page that cannot be"
        "Inserts try pages without enough free space; PostgreSQL repairs a slot when it hits one. No row is lost. Typical causes: the block was overwritten or belongs to another file, or a crash before checksums were enabled left half a page."
        "VACUUM the table; if it is found again, stop the server, remove the file that ends in _fsm, and VACUUM",
    ToastPointer "pg-toast-pointer" Structure
        "src/include/varatt.h"
        "a pointer into TOAST is possible and names the table's own TOAST table"
        "The value cannot be read."
        "restore the block from a backup",
    ToastChunk "pg-toast-chunk" Structure
        "src/backend/access/common/toast_internals.c"
        "each value kept in TOAST has all its pieces, in order and of the right size"
        "Reading the value fails (missing chunk number, unexpected chunk size), and so does a dump of the table."
        "restore the rows that are named; update them with a placeholder to make the table readable",
    ValueCompression "pg-value-compression" Full
        "src/common/pg_lzcompress.c; LZ4 block format"
        "a compressed value unpacks to its recorded size"
        "Reading the value fails (compressed data is corrupt)."
        "restore the row from a backup",
    BtreeMeta "pg-btree-meta" Structure
        "src/include/access/nbtree.h"
        "the first block of a B-tree describes it, and the root it names is the root"
        "The index cannot be used."
        "REINDEX the index",
    BtreeLinks "pg-btree-links" Structure
        "src/include/access/nbtree.h"
        "level, links and flags of a B-tree block fit each other"
        "Searches in the index fail or go round in circles."
        "REINDEX the index",
    BtreeTuple "pg-btree-tuple" Structure
        "src/include/access/nbtree.h"
        "a B-tree tuple is of the kind that its block calls for"
        "Searches in the index fail or give wrong rows."
        "REINDEX the index",
    BtreePosting "pg-btree-posting" Structure
        "src/backend/access/nbtree/README"
        "the row pointers of a posting list ascend"
        "Index scans give rows twice or not at all."
        "REINDEX the index",
    BtreeSiblings "pg-btree-siblings" Structure
        "src/backend/access/nbtree/README"
        "a B-tree block and its right sibling name each other, on the same level"
        "Scans along the index skip or repeat a range of keys: a stale block or a lost write."
        "REINDEX the index",
    BtreeParent "pg-btree-parent" Structure
        "src/backend/access/nbtree/README"
        "each B-tree block has one downlink, and its high key is the next separator in the parent"
        "Searches for some keys go to the wrong block and find nothing: a stale block, a lost write or a wrong downlink."
        "REINDEX the index",
    BtreeTid "pg-btree-tid" Structure
        "PostgreSQL docs 73.1"
        "an index entry names a block that the table has"
        "The file of the table is shorter than when the index was written: it was truncated outside PostgreSQL, and the rows past its end are lost."
        "the table was truncated outside PostgreSQL, or the index is from another copy: restore the table from a backup whose WAL is replayed; do not run VACUUM or REINDEX before, they remove the last trace of the missing rows",
    IndexPage "pg-index-page" Structure
        "src/include/access/hash.h, gist.h, spgist_private.h"
        "a block of a hash, GiST or SP-GiST index bears the mark of its access method and possible flags"
        "The block belongs to another file or was overwritten; scans of the index fail or miss rows."
        "REINDEX the index",
    IndexTid "pg-index-tid" Structure
        "PostgreSQL docs 73.1"
        "an entry of a hash, GIN, GiST or SP-GiST index names a block that the table has"
        "The table is shorter than when the index was written, or the entry was overwritten."
        "compare the length of the table with a backup: if it was truncated, restore it, its missing rows are gone; do not run REINDEX before that",
    BrinMeta "pg-brin-meta" Structure
        "src/include/access/brin_page.h"
        "the first block of a BRIN index describes it, with sizes that can be"
        "The index cannot be used, or is read with the wrong size of ranges and skips rows."
        "REINDEX the index",
    BrinPage "pg-brin-page" Structure
        "src/include/access/brin_page.h"
        "a block of a BRIN index bears the mark of its kind, and the range map takes the blocks that the first block says"
        "The block belongs to another file or was overwritten; scans of the index fail or skip ranges."
        "REINDEX the index",
    BrinTuple "pg-brin-tuple" Structure
        "src/include/access/brin_tuple.h"
        "the summary of a range fits its header and null bits, and is of a range that can be"
        "Scans of the index fail, or skip ranges whose rows they should give."
        "REINDEX the index",
    BrinRange "pg-brin-range" Structure
        "src/backend/access/brin/README"
        "each entry of the range map names the summary of its range, and each summary is named"
        "A range is judged by the summary of another one, so that its rows are missed; or insertions into it fail. A lost write of a block of the index, or of its map. Existing tools do not read BRIN indexes."
        "REINDEX the index",
    BrinSummary "pg-brin-summary" Full
        "src/backend/access/brin/brin_minmax.c, brin_minmax_multi.c, brin_bloom.c"
        "each visible row lies within what a BRIN index knows of its range: bounds, ranges, filter, and whether there are nulls or rows at all"
        "Scans of the index skip the range and miss the row: a block of the index or of the table is stale (a lost write), or was changed behind the server. Existing tools do not see this. Two faults of the server leave it, too: releases before May 2023 could lose the mark for nulls, and minmax-multi operator classes lose values of rows that are inserted while their range is being summarised (measured with 15: index scans miss them)."
        "compare the row with a backup; REINDEX makes the index follow the rows",
    GinMeta "pg-gin-meta" Structure
        "src/include/access/ginblock.h"
        "the first block of a GIN index describes it, and its list of pending entries fits its counts"
        "The index cannot be used, or its pending entries are lost."
        "REINDEX the index",
    GinPage "pg-gin-page" Structure
        "src/include/access/ginblock.h"
        "flags, links and contents of a GIN block are those of one kind of block"
        "The block belongs to another file or was overwritten; searches in the index fail or end the server."
        "REINDEX the index",
    GinEntry "pg-gin-entry" Structure
        "src/backend/access/gin/README"
        "a GIN entry has a key, and leads to what its block calls for: a child, a posting tree, or rows"
        "Searches for some keys fail, miss rows, or end the server."
        "REINDEX the index",
    GinPosting "pg-gin-posting" Structure
        "src/backend/access/gin/ginpostinglist.c"
        "the row pointers of a GIN key can be unpacked, ascend, are as many as the entry says, and stay below the block's bound"
        "Searches for the key miss rows or give others."
        "REINDEX the index",
    GinTree "pg-gin-tree" Structure
        "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)"
        "each block of a GIN index's trees has one link from above, and the bound that stands there"
        "Searches for some keys go to the wrong block and find nothing: a stale block, a lost write or a wrong link."
        "REINDEX the index",
    GinSiblings "pg-gin-siblings" Structure
        "src/backend/access/gin/README"
        "the right sibling of a GIN block is of its kind, and the next in the order of the level above"
        "Scans along the index skip or repeat keys or rows: a stale block or a lost write."
        "REINDEX the index",
    GinPending "pg-gin-pending" Structure
        "src/backend/access/gin/ginfast.c"
        "the list of pending entries leads from its first block to its last, with as many blocks and rows as the meta page says"
        "Rows that were added lately are not found by searches, or cleaning the list fails."
        "REINDEX the index",
    HashMeta "pg-hash-meta" Structure
        "src/include/access/hash.h"
        "the first block of a hash index describes it: masks, buckets, overflow and bitmap pages fit each other and the file"
        "Searches go to wrong blocks, or the index cannot be used."
        "REINDEX the index",
    HashPage "pg-hash-page" Structure
        "src/backend/access/hash/README"
        "each block of a hash index is of the kind that its place calls for, and of the bucket that stands there, as it was last split"
        "Searches in the bucket fail (unexpected zero page, corrupted page) or miss rows: a zeroed block, a lost write, or a block of another place."
        "REINDEX the index",
    HashChain "pg-hash-chain" Structure
        "src/backend/access/hash/README"
        "pages of a bucket name each other, forwards and backwards, and are of the same bucket; each overflow page in use is in one chain"
        "Searches miss the rows behind the break, or find those of another bucket; an overflow page may be used twice."
        "REINDEX the index",
    HashBitmap "pg-hash-bitmap" Structure
        "src/backend/access/hash/README"
        "a bitmap page has a set bit for each overflow page in use, and a clear one for each that is free"
        "A page in use is given to another bucket, which loses its entries; or a free page is never used again."
        "REINDEX the index",
    HashOrder "pg-hash-order" Structure
        "src/backend/access/hash/README"
        "entries of a page of a hash index ascend by hash value"
        "Searches in the page miss rows."
        "REINDEX the index",
    HashBucket "pg-hash-bucket" Structure
        "src/backend/access/hash/hashutil.c _hash_hashkey2bucket"
        "an entry stands in the bucket of its hash value, or in the one that was split and is not cleaned yet"
        "Searches look in another bucket and miss the row."
        "REINDEX the index",
    GistLinks "pg-gist-links" Structure
        "src/backend/access/gist/README"
        "flags and right link of a GiST block fit its place: the root is not deleted, leaves stand on the lowest level"
        "Searches fail, or follow a link to a block of another part of the tree."
        "REINDEX the index",
    GistTuple "pg-gist-tuple" Structure
        "src/include/access/gist_private.h"
        "a GiST tuple fills its line pointer, and a downlink names another block and is valid"
        "Searches fail (inner tuple marked as invalid), or go to a block that is no child."
        "REINDEX the index",
    GistParent "pg-gist-parent" Structure
        "src/backend/access/gist/README"
        "each used block of a GiST index but the root has one downlink, or its left sibling says that it has none yet"
        "Searches miss all rows below a block that no parent names, and find those twice that two name: a lost write or a wrong downlink."
        "REINDEX the index",
    GistKeys "pg-gist-keys" Full
        "src/backend/access/gist/README; src/backend/access/gist/gistproc.c"
        "the box in a downlink of a GiST index has all boxes of its child in it"
        "Searches miss rows whose boxes stick out: a key that was changed, or a lost write of an inner block."
        "REINDEX the index",
    SpGistPage "pg-spgist-page" Structure
        "src/include/access/spgist_private.h"
        "meta data and roots of an SP-GiST index stand in its first three blocks, and a block counts its redirects and placeholders rightly"
        "The index cannot be used, or its space is not found again."
        "REINDEX the index",
    SpGistTuple "pg-spgist-tuple" Structure
        "src/include/access/spgist_private.h"
        "an SP-GiST tuple is of a kind that its block may have, its parts fill it, and its nodes lead into the index"
        "Searches fail (unexpected SPGiST tuple state), read beyond the tuple, or miss rows."
        "REINDEX the index",
    SpGistChain "pg-spgist-chain" Structure
        "src/backend/access/spgist/README"
        "leaf tuples of a node form a chain inside their block that ends; each is in one"
        "Searches miss the rows behind the break, or do not end. VACUUM fails (inconsistent tuple chain links)."
        "REINDEX the index",
    SpGistParent "pg-spgist-parent" Structure
        "src/backend/access/spgist/README"
        "each inner tuple and each chain of leaf tuples of an SP-GiST index is named by one node, of the same tree"
        "Searches miss all rows below a tuple that no node names: a lost write or a wrong downlink."
        "REINDEX the index",
    GinOrder "pg-gin-order" Full
        "src/backend/access/gin/README; contrib/amcheck/verify_gin.c (18)"
        "the keys of a GIN block ascend, each once"
        "Searches for some keys find nothing, and rows that are added get entries of their own beside the old ones."
        "REINDEX the index; if its order is that of a collation, compare the library's version",
    BtreeOrder "pg-btree-order" Full
        "src/backend/access/nbtree/README"
        "keys of a B-tree block ascend, from above the separator that leads to the block up to its high key"
        "Searches miss rows, and unique keys can be entered twice."
        "REINDEX the index; if its order is that of a collation, compare the library's version",
    BtreeUnique "pg-btree-unique" Full
        "PostgreSQL docs 11.6"
        "no two visible rows have the same key in a unique index"
        "The promise of a primary key or unique constraint does not hold: results of joins and updates are wrong."
        "find the rows by the key without the index (enable_indexscan off), keep one, and REINDEX",
    EntryWithoutRow "pg-entry-without-row" Full
        "src/backend/access/heap/README.HOT"
        "each index entry names a row of the table"
        "Rows that were there are gone: a block was zeroed, replaced by an older version of itself, or a line pointer was wiped. Existing tools do not see this."
        "rows are lost: restore the table's block from a backup whose WAL is replayed; do not run VACUUM or REINDEX before, they remove the last trace of the loss",
    RowWithoutEntry "pg-row-without-entry" Full
        "contrib/amcheck heapallindexed"
        "each visible row has its entry in every index"
        "Table scans see rows that index scans do not; after a lost write of a table block these are old versions come back."
        "REINDEX the index, after making sure that the rows are the newest (a stale block brings old rows back)",
    EntryDiffers "pg-entry-differs" Full
        "contrib/amcheck heapallindexed"
        "an index entry has the key of the row that it names"
        "Index and table disagree about a value: one of them was changed behind the server."
        "compare row and entry with a backup; REINDEX makes the index follow the row",
    EntryDead "pg-entry-dead" Full
        "src/backend/access/nbtree/nbtutils.c _bt_killitems; README, section on LP_DEAD"
        "an index entry that is marked dead (LP_DEAD) leads to no visible row"
        "Index scans miss this row, sequential scans return it. The next insertion into the index page removes the entry."
        "run REINDEX INDEX on the index",
    NotNull "pg-not-null" Full
        "PostgreSQL docs 5.5.2"
        "a column declared NOT NULL has a value"
        "Programs that rely on the constraint fail; the row was changed behind the server."
        "restore the row from a backup",
}

impl Promised {
    /// The row of the table.
    pub(crate) fn rule(self) -> &'static crate::rule::Rule {
        &RULES[self as usize]
    }

    /// The rule of a promise that the format readers test.
    pub(crate) fn of(promise: Promise) -> Promised {
        match promise {
            Promise::PageChecksum => Promised::PageChecksum,
            Promise::PageBounds => Promised::PageBounds,
            Promise::PageVersion => Promised::PageVersion,
            Promise::PageFlags => Promised::PageFlags,
            Promise::PageSpecial => Promised::PageSpecial,
            Promise::PageNewNotZero => Promised::PageNewNotZero,
            Promise::ItemBounds => Promised::ItemBounds,
            Promise::ItemOverlap => Promised::ItemOverlap,
            Promise::ItemRedirect => Promised::ItemRedirect,
            Promise::TupleHeader => Promised::TupleHeader,
            Promise::TupleAttribute => Promised::TupleAttribute,
            Promise::ValueCompression => Promised::ValueCompression,
            Promise::ToastPointer => Promised::ToastPointer,
            Promise::BtreeMeta => Promised::BtreeMeta,
            Promise::BtreeLinks => Promised::BtreeLinks,
            Promise::BtreeTuple => Promised::BtreeTuple,
            Promise::BtreePosting => Promised::BtreePosting,
            Promise::IndexPage => Promised::IndexPage,
            Promise::BrinMeta => Promised::BrinMeta,
            Promise::BrinPage => Promised::BrinPage,
            Promise::BrinTuple => Promised::BrinTuple,
            Promise::GinMeta => Promised::GinMeta,
            Promise::GinPage => Promised::GinPage,
            Promise::GinEntry => Promised::GinEntry,
            Promise::GinPosting => Promised::GinPosting,
            Promise::HashMeta => Promised::HashMeta,
            Promise::HashPage => Promised::HashPage,
            Promise::GistLinks => Promised::GistLinks,
            Promise::GistTuple => Promised::GistTuple,
            Promise::SpGistPage => Promised::SpGistPage,
            Promise::SpGistTuple => Promised::SpGistTuple,
            Promise::SpGistChain => Promised::SpGistChain,
            Promise::FreeSpaceMap => Promised::FreeSpaceMap,
            Promise::MapPage => Promised::PageBounds,
            Promise::Sequence => Promised::Sequence,
            Promise::ControlFile => Promised::ControlFile,
            Promise::RelationMap => Promised::RelationMap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_own_row() {
        assert_eq!(Promised::ControlFile.rule().id, "pg-control-file");
        assert_eq!(Promised::NotNull.rule().id, "pg-not-null");
        assert_eq!(Promised::NotNull as usize + 1, RULES.len());
    }
}
