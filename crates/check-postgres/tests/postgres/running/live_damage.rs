//! Damage in tables that nobody writes to, while the server runs; and what looks like it and is none.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use results::check::{CheckLevel, CheckReport};

use crate::running::live::with_clients;
use crate::scene::clean::check;
use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple};
use crate::scene::server::Cluster;

pub(crate) const COLD: &str = "create table cold(id int primary key, v text)
insert into cold select i, repeat('c', i % 90) from generate_series(1, 5000) i
delete from cold where id between 700 and 710
vacuum (freeze) cold
update cold set v = 'changed' where id = 2000
create table plain(id int, v text)
create index plain_id on plain(id)
insert into plain select i, repeat('p', i % 90) from generate_series(1, 3000) i
create table bare(id int, v text)
insert into bare select i, repeat('b', 80) from generate_series(1, 3000) i
vacuum (freeze) bare
create table hot(id int primary key)
insert into hot select generate_series(1, 1000)
";

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

/// Class, what is done, and a rule that must be among the findings.
pub(crate) type Case = (&'static str, fn(&mut Editor, &Scene), &'static str);

pub(crate) struct Scene {
    cold: PathBuf,
    map: PathBuf,
    index: PathBuf,
    plain: PathBuf,
    bare: PathBuf,
}

impl Scene {
    pub(crate) fn new(cluster: &Cluster) -> Scene {
        let cold = cluster.path_of_running("cold");
        Scene {
            map: PathBuf::from(format!("{}_vm", cold.display())),
            index: cluster.path_of_running("cold_pkey"),
            plain: cluster.path_of_running("plain"),
            bare: cluster.path_of_running("bare"),
            cold,
        }
    }
}

pub(crate) const CASES: &[Case] = &[
    (
        "all-visible bit of a block that is not",
        |editor, scene| {
            let first = editor.read(&scene.cold);
            let not_visible =
                (0..first.len() / BLOCK).find(|block| first[block * BLOCK + 10] & 4 == 0).unwrap();
            editor.sealed(&scene.map, 0, |page| page[24 + not_visible / 4] |= 1 << (not_visible % 4 * 2));
        },
        "pg-visibility-map",
    ),
    (
        "all-visible flag and bit with a deleted row",
        |editor, scene| {
            editor.sealed(&scene.cold, 3, |page| {
                let row = tuple(page, 5);
                put_u32(page, row + 4, 3);
                let mask = u16::from_le_bytes([page[row + 20], page[row + 21]]) & !0x0800 | 0x0400;
                page[row + 20..row + 22].copy_from_slice(&mask.to_le_bytes());
            });
        },
        "pg-visibility-map",
    ),
    (
        "inserting transaction of the future",
        |editor, scene| {
            editor.sealed(&scene.plain, 2, |page| {
                let row = tuple(page, 5);
                put_u32(page, row, 0x4000_0000);
            });
        },
        "pg-xmin-bounds",
    ),
    (
        "deleting transaction of the future",
        |editor, scene| {
            editor.sealed(&scene.plain, 2, |page| {
                let row = tuple(page, 5);
                put_u32(page, row + 4, 0x4000_0000);
                page[row + 21] &= !0x08;
            });
        },
        "pg-xmax-bounds",
    ),
    (
        "multixact of the future",
        |editor, scene| {
            editor.sealed(&scene.plain, 2, |page| {
                let row = tuple(page, 5);
                put_u32(page, row + 4, 0x0100_0000);
                page[row + 21] = page[row + 21] & !0x08 | 0x10;
            });
        },
        "pg-xmax-bounds",
    ),
    ("table file missing", |editor, scene| editor.remove(&scene.plain), "pg-file-missing"),
    ("index file missing", |editor, scene| editor.remove(&scene.index), "pg-file-missing"),
    (
        "table file truncated by whole blocks",
        |editor, scene| editor.file(&scene.cold, |bytes| bytes.truncate(bytes.len() - 4 * BLOCK)),
        "pg-btree-tid",
    ),
    (
        "table file truncated by whole blocks, told by its map",
        |editor, scene| editor.file(&scene.cold, |bytes| bytes.truncate(bytes.len() - 20 * BLOCK)),
        "pg-btree-tid",
    ),
    (
        "table file truncated inside a block",
        |editor, scene| editor.file(&scene.plain, |bytes| bytes.truncate(bytes.len() - 100)),
        "pg-partial-block",
    ),
    (
        "last block zeroed",
        |editor, scene| {
            let last = editor.read(&scene.plain).len() / BLOCK - 1;
            editor.block(&scene.plain, last, |page| page.fill(0));
        },
        "pg-entry-without-row",
    ),
    (
        "block of a table without indexes zeroed",
        |editor, scene| editor.block(&scene.bare, 7, |page| page.fill(0)),
        "pg-visibility-map",
    ),
    (
        "LSN in the future",
        |editor, scene| editor.sealed(&scene.plain, 1, |page| page[2] = 0x70),
        "pg-page-lsn",
    ),
];

#[test]
fn damage_to_what_stands_still_is_found_while_the_server_runs() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(COLD);
    cluster.start("-c wal_level=replica");
    cluster.sql(&["checkpoint", "update hot set id = -id where id % 3 = 0"]);
    let clean = check(&cluster, CheckLevel::Full, 2);
    assert!(clean.findings.is_empty(), "{:#?}", clean.findings);
    let scene = Scene::new(&cluster);
    let mut faults = Vec::new();
    for (class, damage, wanted) in CASES {
        let mut editor = Editor::new(&cluster.data());
        damage(&mut editor, &scene);
        let report = check(&cluster, CheckLevel::Full, 2);
        if !rules(&report).contains(wanted) || report.exit_code() != 1 {
            faults.push(format!("{class}: wanted {wanted}, found {:?}", rules(&report)));
        }
        editor.undo();
    }
    let clean = check(&cluster, CheckLevel::Full, 2);
    cluster.stop("immediate");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(clean.findings.is_empty(), "after all damage was undone: {:#?}", clean.findings);
}

#[test]
fn a_table_that_vacuum_cut_and_that_grew_again_is_silent() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(COLD);
    cluster.start("-c wal_level=replica -c bgwriter_lru_maxpages=0");
    cluster.sql(&[
        "vacuum plain",
        "vacuum cold",
        "checkpoint",
        "delete from bare where id > 2000",
        "vacuum bare",
    ]);
    let blocks = |table: &Path| std::fs::metadata(cluster.data().join(table)).unwrap().len();
    let plain = cluster.path_of_running("plain");
    let before = blocks(&plain);
    // The entries of the rows that go are gone in memory only; the file is shorter at once.
    cluster.sql(&["delete from plain where id > 2000", "vacuum plain"]);
    let cut = check(&cluster, CheckLevel::Full, 2);
    assert!(blocks(&plain) < before, "VACUUM did not cut the table");
    cluster.sql(&["insert into plain select i, repeat('n', 400) from generate_series(5001, 7000) i"]);
    cluster.sql(&["insert into bare select i, repeat('n', 400) from generate_series(5001, 7000) i"]);
    let grown = check(&cluster, CheckLevel::Full, 2);
    cluster.sql(&["truncate cold", "drop table hot", "vacuum full plain"]);
    let replaced = check(&cluster, CheckLevel::Full, 2);
    cluster.stop("immediate");
    let crashed = check(&cluster, CheckLevel::Full, 2);
    for (what, report) in [("cut", cut), ("grown", grown), ("replaced", replaced), ("crashed", crashed)] {
        assert!(report.findings.is_empty(), "{what}: {:#?}", report.findings);
    }
}

/// Lets a block look as the server writes it after the last checkpoint.
fn set_position(page: &mut [u8], lsn: u64) {
    put_u32(page, 0, (lsn >> 32) as u32);
    put_u32(page, 4, lsn as u32);
}

#[test]
fn a_block_that_changed_leaves_out_its_own_rows_and_no_others() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(&format!("{COLD}create index cold_hash on cold using hash(v)\ncreate index cold_gin on cold using gin((array[id]))\n"));
    cluster.start("-c wal_level=replica -c autovacuum=off");
    cluster.sql(&["checkpoint", "update hot set id = -id where id % 3 = 0"]);
    let query = "select (redo_lsn - '0/0')::bigint + 8 from pg_control_checkpoint()";
    let output =
        cluster.client("psql", &["-d", "postgres", "-Atc", query]).stdout(Stdio::piped()).output().unwrap();
    let after: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let cold = cluster.path_of_running("cold");
    let mut editor = Editor::new(&cluster.data());
    // Three rows are gone from a block that changed: their entries may be gone from memory, too.
    editor.sealed(&cold, 8, |page| {
        (5..8).for_each(|number| put_u32(page, pointer(number), 0));
        set_position(page, after);
    });
    let changed = check(&cluster, CheckLevel::Full, 2);
    editor.sealed(&cold, 3, |page| put_u32(page, pointer(5), 0));
    let lost = check(&cluster, CheckLevel::Full, 2);
    editor.undo();
    cluster.stop("immediate");
    assert!(changed.findings.is_empty(), "{:#?}", changed.findings);
    assert!(changed.counters.row_count > 4000, "{:?}", changed.counters);
    assert!(changed.coverage.rows.unwrap().verified_count > 4000, "{:?}", changed.coverage);
    assert!(changed.not_checked.iter().any(|gap| gap.why.contains("changed since the last checkpoint")));
    let found: Vec<_> = lost.findings.iter().map(|finding| (finding.rule.as_str(), finding.page)).collect();
    assert!(found.contains(&("pg-entry-without-row", Some(3))), "{:#?}", lost.findings);
    assert!(found.iter().all(|(_, page)| *page == Some(3)), "{:#?}", lost.findings);
}
