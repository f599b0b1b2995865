//! Hash, `GiST` and SP-GiST indexes of a server at work: what stood still is matched with its rows, and what moved is
//! left out.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use results::check::{CheckLevel, CheckReport};

use crate::running::live::with_clients;
use crate::scene::clean::check;
use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u16_at};

/// `cold`: nobody writes to it. `work`: everybody does. Each with an index of each kind.
const TABLES: &str = "create table cold(id int, p point)
insert into cold select i, point(i % 100, i % 37) from generate_series(1, 9000) i
insert into cold select null, null from generate_series(1, 50) i
create index cold_hash on cold using hash(id)
create index cold_gist on cold using gist(p)
create index cold_spgist on cold using spgist(p)
insert into cold select i, point(i % 90, i % 31) from generate_series(9001, 12000) i
delete from cold where id % 7 = 0
vacuum cold
delete from cold where id % 11 = 0
create table work(id int, p point)
create index work_hash on work using hash(id)
create index work_gist on work using gist(p)
create index work_spgist on work using spgist(p)
";

/// New rows, rows that go, updates that move rows, and transactions that end in nothing.
const WORK: &str = "\\set id random(1, 5000)
begin;
insert into work select :id + i, point((:id + i) % 89, i) from generate_series(1, 20) i;
delete from work where id between :id + 3 and :id + 12 and :id % 3 = 0;
update work set p = point(:id % 7, :id % 5) where id = :id + 15;
end;
begin;
insert into work select -:id, point(:id, :id) from generate_series(1, 10) i;
rollback;
";

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

#[test]
fn entries_of_a_server_at_work_are_matched_where_rows_and_index_stood_still() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(TABLES);
    cluster.start("-c wal_level=replica -c bgwriter_delay=10");
    cluster.sql(&["checkpoint"]);
    let script = cluster.data().with_file_name("work.sql");
    std::fs::write(&script, WORK).unwrap();
    // It ends by itself when the server does.
    let arguments = ["-n", "-c", "3", "-T", "600", "-f", script.to_str().unwrap(), "postgres"];
    let mut work = cluster.client("pgbench", &arguments).spawn().unwrap();
    for round in 0..4 {
        cluster.sql(&["vacuum work", if round % 2 == 0 { "checkpoint" } else { "select 1" }]);
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "round {round}: {:#?}", report.findings);
        assert!(report.accounting.is_balanced() && report.exit_code() == 0, "{:?}", report.accounting);
        assert!(report.counters.entry_count > 3 * 9000, "the quiet table: {:?}", report.counters);
    }
    let indexes = ["cold_hash", "cold_gist", "cold_spgist"].map(|name| (name, cluster.path_of_running(name)));
    let table = cluster.path_of_running("cold");
    let mut editor = Editor::new(&cluster.data());
    editor.block(&table, 20, |page| page.fill(0));
    let zeroed = check(&cluster, CheckLevel::Full, 2);
    editor.undo();
    let mut faults = Vec::new();
    for (name, index) in indexes {
        let block = full_leaf(&editor.read(&index), name == "cold_spgist");
        editor.sealed(&index, block, |page| (5..30).for_each(|number| put_u32(page, pointer(number), 0)));
        let report = check(&cluster, CheckLevel::Full, 2);
        // In SP-GiST the block shows by itself that tuples are gone: the rows are counted there.
        let wanted = if name == "cold_spgist" { "pg-spgist-tuple" } else { "pg-row-without-entry" };
        if !rules(&report).contains(&wanted) || report.objects[0].affected.row_count == 0 {
            faults.push(format!("{name}: {:?}, {:?}", rules(&report), report.not_checked));
        }
        editor.undo();
        let in_zeroed = zeroed.findings.iter().filter(|finding| finding.rule == "pg-entry-without-row");
        if in_zeroed.filter(|finding| finding.expected.contains(name)).count() != 1 {
            faults.push(format!("{name}, table block zeroed: {:#?}", zeroed.findings));
        }
    }
    let hash = cluster.path_of_running("cold_hash");
    for (what, damage, wanted) in HASH_CASES {
        damage(&mut editor, &hash);
        let report = check(&cluster, CheckLevel::Full, 2);
        if !rules(&report).contains(wanted) {
            faults.push(format!("{what}: {:?}, {:?}", rules(&report), report.not_checked));
        }
        editor.undo();
    }
    work.kill().unwrap();
    work.wait().unwrap();
    cluster.stop("immediate");
    let crashed = check(&cluster, CheckLevel::Full, 2);
    cluster.run_all("select count(*) from work\n");
    let replayed = check(&cluster, CheckLevel::Full, 2);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (what, report) in [("after the crash", crashed), ("after replay", replayed)] {
        assert!(report.findings.is_empty(), "{what}: {:#?}", report.findings);
    }
}

/// Damage of a hash index: what is done, and a rule that must be among the findings.
type HashCase = (&'static str, fn(&mut Editor, &Path), &'static str);

const HASH_CASES: &[HashCase] = &[
    (
        "first page of a bucket with another number",
        |e, index| {
            let block = full_leaf(&e.read(index), false);
            e.sealed(index, block, |p| p[8184] ^= 1)
        },
        "pg-hash-page",
    ),
    (
        "first page of a bucket zeroed",
        |e, index| {
            let block = full_leaf(&e.read(index), false);
            e.block(index, block, |p| p.fill(0))
        },
        "pg-hash-page",
    ),
    (
        "bit of a page that is not there cleared",
        |e, index| {
            let block = e.read(index).chunks(BLOCK).position(|p| u16_at(p, 8188) == 4).unwrap();
            e.sealed(index, block, |p| p[24 + 4000] = 0)
        },
        "pg-hash-bitmap",
    ),
    ("masks in the meta page changed", |e, index| e.sealed(index, 0, |p| p[24 + 28] ^= 4), "pg-hash-meta"),
    (
        "two entries with each other's rows",
        |e, index| {
            let block = full_leaf(&e.read(index), false);
            e.sealed(index, block, |p| {
                let (first, last) = (tuple(p, 1), tuple(p, (u16_at(p, 12) - 24) / 4));
                (0..6).for_each(|byte| p.swap(first + byte, last + byte));
            })
        },
        "pg-entry-differs",
    ),
];

/// A block whose entries name rows, with many of them.
fn full_leaf(bytes: &[u8], is_sp: bool) -> usize {
    let is_leaf = |block: &[u8]| {
        let special = u16_at(block, 16);
        let flags = u16_at(block, if is_sp { special } else { special + 12 });
        // Leaf of SP-GiST: 4; bucket of a hash index: 2; leaf of GiST: 1.
        (if is_sp { flags == 4 } else { matches!(flags & 3, 1 | 2) }) && u16_at(block, 12) > 24 + 4 * 40
    };
    bytes.chunks(BLOCK).skip(1).position(is_leaf).unwrap() + 1
}
