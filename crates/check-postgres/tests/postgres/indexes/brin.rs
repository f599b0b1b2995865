//! BRIN indexes: silent after random histories in every major, and each class of damage is found.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found};
use crate::damage::random::Random;
use crate::indexes::brin_classes::{CLASSES, scene};
use crate::running::live::with_clients;
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{Editor, put_u32, tuple, u32_at};
use crate::scene::server::{Cluster, servers};

/// A table of one row per block or fewer bytes, with indexes of every operator class and odd sizes of ranges.
const TABLES: &str = include_str!("brin_tables.sql");

/// Statements that insert, change, remove, summarise and forget, in an order that the seed tells.
fn history(seed: u64, steps: usize) -> String {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
    let mut text = String::new();
    let mut next = 1;
    for _ in 0..steps {
        let (a, b) = (random.below(4000), random.below(4000));
        let index = ["b_one", "b_four", "b_multi", "b_bloom", "b_inclusion", "b_partial", "b_default"]
            [random.below(7) as usize];
        match random.below(14) {
            0..=3 => {
                let (count, width) = (random.below(120) + 1, [10, 900, 3500, 6000][random.below(4) as usize]);
                let last = next + count;
                let nulls = [0, 1, 3, 50][random.below(4) as usize];
                let value = |value: &str| {
                    if nulls == 0 { value.to_owned() } else { format!("case when i % {nulls} <> 0 then {value} end") }
                };
                let values = ["(i * 7919) % 1000003", "md5(i::text)", "(i * 1.5 - 1000)::numeric", "timestamp '2020-01-01' + (i || ' min')::interval",
                    "md5(i::text)::uuid", "sin(i) * 1e6", "decode(md5(i::text), 'hex')", "('c' || i % 50)::char(8)", "i::oid", "('n' || i)::name",
                    "int4range(i, i + 5)", "('10.0.' || i % 200 || '.1')::inet"].map(value).join(", ");
                writeln!(text, "insert into b select i, {values}, repeat('w', {width}) from generate_series({next}, {last}) i").unwrap();
                next = last + 1;
            }
            4 => writeln!(text, "update b set k = k + {a}, t = t || 'x', n = -n where id % 17 = {}", a % 17).unwrap(),
            5 => writeln!(text, "update b set wide = repeat('y', {}) where id % 13 = {}", a % 5000, b % 13).unwrap(),
            6 => writeln!(text, "delete from b where id between {} and {}", a.min(b), a.min(b) + 60).unwrap(),
            7 => writeln!(text, "delete from b where id > {}\nvacuum (truncate) b", next.saturating_sub(a % 200)).unwrap(),
            8 => writeln!(text, "vacuum b").unwrap(),
            9 => writeln!(text, "select brin_summarize_new_values('{index}')").unwrap(),
            10 => writeln!(text, "select brin_desummarize_range('{index}', {})", a % 300).unwrap(),
            11 => writeln!(text, "select brin_summarize_range('{index}', {})", a % 300).unwrap(),
            12 => writeln!(text, "begin\ninsert into b(id, k, t, ts) select i, -i, 'aborted', '1999-01-01' from generate_series(1, 90) i\nrollback").unwrap(),
            _ => writeln!(text, "begin\nupdate b set k = null, ts = null where id % 19 = {}\nsavepoint s\ndelete from b where id % 5 = 0\nrollback to s\ncommit", a % 19).unwrap(),
        }
    }
    text
}

/// So many rows of a block each that the range map needs a second block, whose place tuples had.
const EXTENSION: &str = "create table e(k int, wide text)
alter table e alter wide set storage plain
insert into e select i, repeat('w', 5000) from generate_series(1, 900) i
create index e_k on e using brin(k) with (pages_per_range = 1)
insert into e select i, repeat('w', 5000) from generate_series(901, 1500) i
vacuum e
update e set k = -k where k % 3 = 0
vacuum e
";

/// Ranges without rows, of a table that was empty, cut, and has grown again; and an index without any range.
const EDGES: &str = include_str!("brin_edges.sql");

#[test]
fn brin_indexes_are_silent_after_random_histories_in_every_major() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        let output = cluster.run(&format!("{TABLES}{}{EDGES}", history(u64::from(major), 40)));
        // Pages behind the table's end cannot be summarised, which is an error in some majors.
        let unwanted = output.lines().find(|line| line.contains("ERROR:") && !line.contains("out of range"));
        assert_eq!(unwanted, None, "PostgreSQL {major}");
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        if major != 18 {
            continue;
        }
        cluster.run(&history(100 + u64::from(major), 40));
        assert_silent(&cluster, &format!("PostgreSQL {major}, more of it"));
    }
}

#[test]
fn a_range_map_that_outgrew_its_block_is_silent_before_and_after_a_crash() {
    for (major, bin) in servers().into_iter().rev().take(2) {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(EXTENSION);
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        let map = std::fs::read(cluster.data().join(cluster.path_of("e_k"))).unwrap();
        assert_eq!(map[36..40], 2u32.to_le_bytes(), "the range map has two blocks");
        cluster.crash_after("checkpoint\ninsert into e select i, repeat('w', 5000) from generate_series(1501, 1600) i\nselect brin_summarize_new_values('e_k')\nupdate e set k = 1000000 + k where k % 5 = 0\n");
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "PostgreSQL {major}: {:#?}", report.findings);
        cluster.run_all("vacuum e\n");
        assert_silent(&cluster, "after replay");
    }
}

#[test]
fn summaries_of_an_index_whose_columns_are_not_known_are_there_all_the_same() {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run_all("create table c(k int)\ninsert into c select generate_series(1, 3000)\ncreate index c_k on c using brin(k) with (pages_per_range = 1)\ndelete from pg_attribute where attrelid = 'c_k'::regclass\n");
        let report = check(&cluster, CheckLevel::Full, 2);
        let others: Vec<_> =
            report.findings.iter().filter(|finding| finding.rule != "pg-catalog-agreement").collect();
        assert!(others.is_empty(), "PostgreSQL {major}: {others:#?}");
        assert!(!report.findings.is_empty(), "PostgreSQL {major}: the lost columns are not reported");
    }
}

#[test]
fn each_class_of_damage_of_brin_indexes_is_found() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Full, Wanted::Any, |_, _| true);
}

const WORK: &str = "\\set id random(1, 20000)
begin;
insert into b(id, k, t, n, ts, u, f, wide) values (:id, :id * 3, md5(:id::text), :id / 7.0, timestamp '2020-01-01' + :id * interval '1 min', md5(:id::text)::uuid, :id / 3.0, repeat('w', :id % 900));
update b set k = k + :id, ts = null where id = :id % 500;
delete from b where id = :id - 1;
end;
";

#[test]
fn a_server_at_work_with_brin_indexes_is_silent_and_so_is_what_its_crash_leaves() {
    let Some(cluster) = with_clients() else { return };
    cluster.run(TABLES);
    // Summarising with minmax-multi loses what is inserted meanwhile, and scans of the index miss the rows: PostgreSQL 15.
    cluster.run_all("drop index b_multi\n");
    cluster.run_all("create table quiet(id int, k int)\ninsert into quiet select i, i from generate_series(1, 20000) i\ncreate index quiet_k on quiet using brin(k) with (pages_per_range = 1)\n");
    // Few buffers, so that blocks reach the files in any order.
    cluster.start("-c autovacuum_naptime=1 -c bgwriter_delay=10 -c shared_buffers=512kB -c fsync=off");
    let script = cluster.data().with_file_name("work.sql");
    std::fs::write(&script, WORK).unwrap();
    let arguments = ["-n", "-c", "3", "-T", "600", "-f", script.to_str().unwrap(), "postgres"];
    let mut work = cluster.client("pgbench", &arguments).spawn().unwrap();
    for round in 0..4 {
        let forget = format!("select brin_desummarize_range('b_one', {round})");
        cluster.sql(&[if round % 2 == 0 { "checkpoint" } else { "vacuum b" }, &forget]);
        cluster.sql(&["select brin_summarize_new_values('b_one'), brin_summarize_new_values('b_bloom')"]);
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "round {round}: {:#?}", report.findings);
    }
    work.kill().unwrap();
    work.wait().unwrap();
    // What stood still is held against its summaries in a cluster at work, too.
    cluster.sql(&["checkpoint"]);
    let index = cluster.path_of_running("quiet_k");
    let mut editor = Editor::new(&cluster.data());
    editor.sealed(&index, 2, |page| {
        let highest = tuple(page, 20) + 12;
        put_u32(page, highest, u32_at(page, highest) - 3);
    });
    let report = check(&cluster, CheckLevel::Full, 2);
    let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
    editor.undo();
    cluster.stop("immediate");
    assert_eq!(rules, ["pg-brin-summary"], "{:#?}", report.findings);
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "after the crash: {:#?}", report.findings);
    cluster.run_all("vacuum b\n");
    assert_silent(&cluster, "after replay");
}
