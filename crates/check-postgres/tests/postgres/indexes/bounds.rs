//! Bounds of B-tree blocks against their first keys: silent after random histories in every major, and broken ones named
//! whatever waits in memory or in files.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::CheckReport;

use crate::damage::classes;
use crate::damage::random::Random;
use crate::scene::clean::assert_silent;
use crate::scene::edit::{BLOCK, Editor, put_u32, tuple, u16_at};
use crate::scene::server::{Cluster, servers};

/// Keys of many types and orders, few and many equal ones, and wide ones, whose trees have several levels.
const TABLES: &str = "create table b(id int, k int, d int, t text, n numeric, u uuid, f float8, w text) with (autovacuum_enabled = off)
create unique index b_id on b(id)
create index b_descending on b(k desc nulls last, t collate \"C\")
create index b_nulls_first on b(k nulls first, n desc)
create index b_equal on b(d)
create index b_equal_plain on b(d) with (deduplicate_items = off)
create index b_include on b(d, k) include (t, id)
create index b_text on b(t collate \"C\")
create index b_numeric on b(n desc, id)
create index b_uuid on b(u)
create index b_float on b(f nulls first, d desc nulls first)
create index b_wide on b(w collate \"C\")
create index b_partial on b(k) where d > 3
";

fn history(seed: u64, steps: usize) -> String {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
    let mut text = String::new();
    let mut next = 1;
    for _ in 0..steps {
        let (a, b) = (random.below(3000), random.below(3000));
        match random.below(9) {
            0..=3 => {
                let last = next + random.below(500) + 1;
                writeln!(text, "insert into b select i, case when i % 11 <> 0 then (i * 7919) % 10007 end, i % 7, case when i % 13 <> 0 then md5(i::text) end, (i * 37 % 1009 - 500) / 8.0, md5('u' || i)::uuid, case when i % 5 <> 0 then sin(i) end, case when i % 4 = 0 then (select string_agg(md5(i || 'w' || j), '') from generate_series(1, 40) j) end from generate_series({next}, {last}) i").unwrap();
                next = last + 1;
            }
            4 => writeln!(text, "update b set k = k + {a}, d = d + 1, u = md5('v' || id)::uuid where id % 17 = {}", b % 17).unwrap(),
            5 => writeln!(text, "delete from b where k between {} and {}", a, a + b).unwrap(),
            6 => writeln!(text, "delete from b where id between {} and {}\nvacuum b", a, a + b % 900).unwrap(),
            7 => writeln!(text, "begin\ninsert into b(id, k, d, t) select -i, i, 3, 'aborted' || i from generate_series(1, 300) i\nrollback").unwrap(),
            _ => writeln!(text, "vacuum b").unwrap(),
        }
    }
    text
}

/// With so little memory that sides of seams wait in files.
fn checked_in_little_memory(cluster: &Cluster) -> CheckReport {
    let options =
        Options { worker_count: 3, memory_bytes_max: 100 << 10, page_batch: Some(3), ..Options::default() };
    check_cluster(&cluster.data(), &options, &mut Silent).unwrap()
}

#[test]
fn bounds_of_blocks_are_silent_after_random_histories_in_every_major() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(&format!("{TABLES}{}", history(u64::from(major), 24)));
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        let report = checked_in_little_memory(&cluster);
        assert!(report.findings.is_empty(), "PostgreSQL {major}: {:#?}", report.findings);
        assert!(report.counters.temporary_bytes > 0, "{:?}", report.counters);
        cluster.run_all("delete from b where id % 9 < 7\nvacuum b\nreindex index b_wide\n");
        assert_silent(&cluster, &format!("PostgreSQL {major}, mostly deleted"));
    }
}

#[test]
fn a_first_key_below_the_bound_is_the_only_finding_and_names_its_block() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        classes::scene(&cluster);
        cluster.run_all(&format!("{TABLES}{}", history(3, 20)));
        let (v, v_k) = (cluster.path_of("v"), cluster.path_of("v_k"));
        let mut editor = Editor::new(&cluster.data());
        let leaf = editor.read(&v_k)[2 * BLOCK..3 * BLOCK].to_vec();
        let entry = tuple(&leaf, 2);
        let (block, item) = (u16_at(&leaf, entry + 2), u16_at(&leaf, entry + 4));
        editor.sealed(&v_k, 2, |page| put_u32(page, entry + 8, 2));
        editor.sealed(&v, block, |page| {
            let row = tuple(page, item);
            put_u32(page, row + 28, 2);
        });
        for report in [
            crate::scene::clean::check(&cluster, results::check::CheckLevel::Full, 1),
            checked_in_little_memory(&cluster),
        ] {
            assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
            let finding = &report.findings[0];
            assert_eq!((finding.rule.as_str(), finding.page), ("pg-btree-order", Some(2)), "{finding:#?}");
            assert!(finding.expected.contains("the high key of block 1"), "{finding:#?}");
        }
    }
}
