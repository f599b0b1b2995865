//! Hint bits, update chains and bits of the row header, changed one at a time in rows whose history is known.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use results::check::CheckLevel;

use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::{Cluster, servers};

/// `h`: every second row updated on its page, not pruned. `d`: rows deleted, and a delete and an insert that were rolled
/// back. `m`: rows updated under a multixact. `r`: redirects. `w`: a value in TOAST. `i`: indexes of four kinds.
const HISTORY: &str = "create table r(id int primary key, n int) with (fillfactor = 50)
insert into r select i, 0 from generate_series(1, 100) i
update r set n = 1
vacuum r
create table w(id int primary key, v text, big text)
alter table w alter big set storage external
insert into w select i, 'v' || i, repeat('b', 5000) from generate_series(1, 20) i
create table i(id int primary key, h int, p point, f bool)
insert into i select i, i, point(i, i), i % 2 = 0 from generate_series(1, 300) i
create index i_hash on i using hash(h)
create index i_gist on i using gist(p)
create index i_partial on i(h) where f
create table d(id int primary key, v text)
insert into d select i, 'v' || i from generate_series(1, 100) i
begin
delete from d where id = 20
rollback
begin
insert into d values (1000, 'never')
rollback
create table m(id int primary key, v int)
insert into m select i, i from generate_series(1, 100) i
create table h(id int primary key, n int) with (fillfactor = 50)
insert into h select i, 0 from generate_series(1, 100) i
do $$ begin perform 1 from d where id = 50 for key share; end $$
create table o(id int, v text, n int)
insert into o select i, null, i from generate_series(1, 20) i
begin
select count(*) from (select * from m where id = 5 for key share) x
savepoint s
update m set v = -v where id = 5
release s
commit
delete from d where id = 10
update h set n = 1 where id % 2 = 0
";

pub(crate) struct Scene {
    h: PathBuf,
    d: PathBuf,
    m: PathBuf,
    r: PathBuf,
    w: PathBuf,
    o: PathBuf,
    indexes: [PathBuf; 4],
    /// A transaction that committed: that of the rows of `h`.
    committed: u32,
}

pub(crate) type Case = (&'static str, fn(&mut Editor, &Scene), &'static str);

fn put_u16(page: &mut [u8], offset: usize, value: u16) {
    page[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
}

/// Sets and clears bits of `infomask` of the row whose first column is `id`, the first version in the block.
fn infomask(page: &mut [u8], id: u32, set: u16, clear: u16) -> usize {
    let items = (u16_at(page, 12) - 24) / 4;
    let is_row = |number: &usize| {
        let is_normal = u32_at(page, pointer(*number)) >> 15 & 3 == 1;
        is_normal && u32_at(page, tuple(page, *number) + 24) == id
    };
    let row = tuple(page, (1..=items).find(is_row).unwrap());
    let mask = u16_at(page, row + 20) as u16;
    put_u16(page, row + 20, mask & !clear | set);
    row
}

fn bits(page: &mut [u8], id: u32, set: u16, clear: u16) {
    infomask(page, id, set, clear);
}

/// Sets the flags of a line pointer of an index to dead.
fn mark_dead(editor: &mut Editor, file: &Path, block: usize, item: usize) {
    editor.sealed(file, block, |page| {
        let raw = u32_at(page, pointer(item));
        put_u32(page, pointer(item), raw | 3 << 15);
    });
}

pub(crate) const CASES: &[Case] = &[
    ("XMAX_INVALID on a deleted row", |e, s| e.sealed(&s.d, 0, |p| bits(p, 10, 0x0800, 0)), "pg-commit-hint"),
    (
        "XMAX_COMMITTED on a row whose delete was rolled back",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 20, 0x0400, 0x0800)),
        "pg-commit-hint",
    ),
    (
        "XMAX_INVALID on a row that a member of a multixact updated",
        |e, s| e.sealed(&s.m, 0, |p| bits(p, 5, 0x0800, 0)),
        "pg-commit-hint",
    ),
    (
        "lock-only bit on a deleted row",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 10, 0x0480, 0)),
        "pg-commit-hint",
    ),
    (
        "lock-only bit alone on a deleted row",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 10, 0x0080, 0x0400)),
        "pg-commit-hint",
    ),
    (
        "exclusive lock bit on a deleted row",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 10, 0x0440, 0)),
        "pg-commit-hint",
    ),
    (
        "exclusive lock bit on a deleted row without hint",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 10, 0x0040, 0x0400)),
        "pg-commit-hint",
    ),
    (
        "lock-only bit of a locked row lost",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 50, 0, 0x0880)),
        "pg-commit-hint",
    ),
    (
        "lock-only bit on an updated row",
        |e, s| e.sealed(&s.h, 0, |p| bits(p, 2, 0x0080, 0x0400)),
        "pg-commit-hint",
    ),
    (
        "lock-only bit on a multixact with an update",
        |e, s| e.sealed(&s.m, 0, |p| bits(p, 5, 0x0080, 0)),
        "pg-commit-hint",
    ),
    (
        "bit of VACUUM FULL before 9.0",
        |e, s| e.sealed(&s.d, 0, |p| bits(p, 30, 0x4000, 0)),
        "pg-tuple-header",
    ),
    ("HASNULL lost", |e, s| e.sealed(&s.o, 0, |p| bits(p, 3, 0, 0x0001)), "pg-tuple-attribute"),
    (
        "line pointer of the successor of a HOT update lost",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let row = infomask(p, 2, 0, 0);
                let next = u16_at(p, row + 16);
                put_u32(p, pointer(next), 0);
            })
        },
        "pg-update-chain",
    ),
    (
        "committed update of a row whose insert was rolled back",
        |e, s| {
            e.sealed(&s.d, 0, |p| {
                let row = infomask(p, 1000, 0, 0x0800);
                put_u32(p, row + 4, s.committed);
            })
        },
        "pg-update-chain",
    ),
    (
        "two redirects to one row",
        |e, s| {
            e.sealed(&s.r, 0, |p| {
                let redirects: Vec<usize> =
                    (1..=50).filter(|item| u32_at(p, pointer(*item)) >> 15 & 3 == 2).collect();
                let led = u32_at(p, pointer(redirects[0])) & 0x7FFF;
                let other = u32_at(p, pointer(redirects[1])) & !0x7FFF;
                put_u32(p, pointer(redirects[1]), other | led);
            })
        },
        "pg-update-chain",
    ),
    (
        "heap-only bit of the successor lost",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let row = infomask(p, 2, 0, 0);
                let next = tuple(p, u16_at(p, row + 16));
                let mask = u16_at(p, next + 18) as u16;
                assert_ne!(mask & 0x8000, 0);
                put_u16(p, next + 18, mask & !0x8000);
            })
        },
        "pg-update-chain",
    ),
    (
        "HOT-updated bit lost",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let row = infomask(p, 2, 0, 0);
                let mask = u16_at(p, row + 18) as u16;
                assert_ne!(mask & 0x4000, 0);
                put_u16(p, row + 18, mask & !0x4000);
            })
        },
        "pg-update-chain",
    ),
    (
        "HOT-updated bit on a deleted row",
        |e, s| {
            e.sealed(&s.d, 0, |p| {
                let row = infomask(p, 10, 0, 0);
                let mask = u16_at(p, row + 18) as u16;
                put_u16(p, row + 18, mask | 0x4000);
            })
        },
        "pg-update-chain",
    ),
    (
        "heap-only bit on a row with index entries",
        |e, s| {
            e.sealed(&s.d, 0, |p| {
                let row = infomask(p, 30, 0, 0);
                let mask = u16_at(p, row + 18) as u16;
                put_u16(p, row + 18, mask | 0x8000);
            })
        },
        "pg-hot-chain",
    ),
    ("HASEXTERNAL lost", |e, s| e.sealed(&s.w, 0, |p| bits(p, 3, 0, 0x0004)), "pg-tuple-header"),
    ("HASVARWIDTH lost", |e, s| e.sealed(&s.w, 0, |p| bits(p, 3, 0, 0x0002)), "pg-tuple-header"),
    ("LP_DEAD in a B-tree", |e, s| mark_dead(e, &s.indexes[0], 1, 7), "pg-entry-dead"),
    (
        "LP_DEAD in a hash index",
        |e, s| {
            let block = (1..).find(|block| u16_at(&e.read(&s.indexes[1])[block * BLOCK..], 12) > 40).unwrap();
            mark_dead(e, &s.indexes[1], block, 2);
        },
        "pg-entry-dead",
    ),
    (
        "LP_DEAD in a GiST index",
        |e, s| {
            let leaf = (0..).find(|block| e.read(&s.indexes[2])[(block + 1) * BLOCK - 4] & 1 == 1).unwrap();
            mark_dead(e, &s.indexes[2], leaf, 3);
        },
        "pg-entry-dead",
    ),
    ("LP_DEAD in a partial index", |e, s| mark_dead(e, &s.indexes[3], 1, 5), "pg-entry-dead"),
];

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(HISTORY);
    let path = |name: &str| cluster.path_of(name);
    let h = path("h");
    let bytes = std::fs::read(cluster.data().join(&h)).unwrap();
    Scene {
        committed: u32_at(&bytes, tuple(&bytes, 1)),
        h,
        d: path("d"),
        m: path("m"),
        r: path("r"),
        w: path("w"),
        o: path("o"),
        indexes: ["i_pkey", "i_hash", "i_gist", "i_partial"].map(path),
    }
}

#[test]
fn one_wrong_bit_of_a_row_version_or_a_live_entry_is_one_finding() {
    let mut majors = servers();
    // The oldest and the newest.
    majors.drain(1.min(majors.len())..majors.len().saturating_sub(1));
    for (major, bin) in majors {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        let scene = scene(&cluster);
        assert_silent(&cluster, &format!("PostgreSQL {major}, before any damage"));
        let mut faults = Vec::new();
        for (case, damage, wanted) in CASES {
            let mut editor = Editor::new(&cluster.data());
            damage(&mut editor, &scene);
            let report = check(&cluster, CheckLevel::Full, 2);
            let counts: Vec<_> =
                report.rule_counts.iter().map(|count| (count.rule.as_str(), count.found_count)).collect();
            // A redirect that was turned away leaves its row without one.
            let is_wanted = counts == [(*wanted, 1)]
                || *case == "two redirects to one row" && counts == [("pg-hot-chain", 1), (*wanted, 1)];
            if !is_wanted {
                faults.push(format!("PostgreSQL {major}, {case}: {:#?}", report.findings));
            }
            editor.undo();
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert_silent(&cluster, &format!("PostgreSQL {major}, after all was undone"));
    }
}

#[test]
fn entries_marked_dead_by_a_running_server_and_left_by_a_crash_are_silent() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run_all("create table t(id int primary key, v text)\ninsert into t select i, 'v' from generate_series(1, 3000) i\n");
        // Index scans mark entries of deleted rows; the index reaches its file, the table does not.
        cluster.crash_after("checkpoint\nset enable_seqscan = off\nset enable_bitmapscan = off\ndelete from t where id % 3 = 0\nselect count(v) from t where id between 1 and 3000\nselect count(v) from t where id between 1 and 3000\n");
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        cluster.run_all("set enable_seqscan = off\nset enable_bitmapscan = off\nselect count(v) from t where id between 1 and 3000\n");
        assert_silent(&cluster, "after replay");
    }
}

#[test]
fn a_frozen_row_whose_insert_was_rolled_back_is_found() {
    let Some(cluster) = crate::running::live::with_clients() else { return };
    // Only a server gives object ids of ordinary tables.
    cluster.start("");
    cluster.sql(&[
        "create table d(id int primary key, v text)",
        "insert into d select i, 'v' from generate_series(1, 100) i",
        "begin",
        "insert into d values (1000, 'never')",
        "rollback",
    ]);
    let path = cluster.path_of_running("d");
    cluster.stop("fast");
    assert_silent(&cluster, "before any damage");
    let mut editor = Editor::new(&cluster.data());
    editor.sealed(&path, 0, |page| bits(page, 1000, 0x0300, 0));
    let report = check(&cluster, CheckLevel::Full, 2);
    let counts: Vec<_> =
        report.rule_counts.iter().map(|count| (count.rule.as_str(), count.found_count)).collect();
    assert_eq!(counts, [("pg-commit-hint", 1)], "{:#?}", report.findings);
}
