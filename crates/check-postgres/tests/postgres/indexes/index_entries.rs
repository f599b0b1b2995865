//! Hash, GiST and SP-GiST indexes: silent when clean, and rows that are gone or have no entry are named.
#![allow(clippy::unwrap_used)]

use results::check::CheckLevel;

use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{Editor, pointer, put_u32, tuple, u16_at};
use crate::scene::server::{Cluster, servers};

/// One table with three indexes; nulls, deleted rows, rows that moved, splits of buckets, and entries removed by VACUUM.
const TABLE: &str = "create table e(id int, p point)
create index e_hash on e using hash(id)
create index e_gist on e using gist(p)
create index e_spgist on e using spgist(p)
insert into e select i, point(i % 100, i % 37) from generate_series(1, 6000) i
insert into e select null, null from generate_series(1, 50) i
delete from e where id % 7 = 0
vacuum e
insert into e select i, point(i % 90, i % 31) from generate_series(7001, 9000) i
update e set p = point(id % 11, 5) where id % 13 = 0
delete from e where id % 17 = 0
";

#[test]
fn entries_of_hash_gist_and_sp_gist_indexes_are_matched_with_rows() {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &[]);
        cluster.run_all(TABLE);
        let report = assert_silent(&cluster, &format!("PostgreSQL {major}"));
        assert!(report.counters.entry_count > 3 * 7000, "{:?}", report.counters);
        let table = cluster.path_of("e");
        let mut editor = Editor::new(&cluster.data());
        editor.block(&table, 20, |page| page.fill(0));
        let report = check(&cluster, CheckLevel::Full, 2);
        let named = |index: &str| {
            let findings = report.findings.iter().filter(|finding| finding.rule == "pg-entry-without-row");
            findings.filter(|finding| finding.expected.contains(index)).count()
        };
        assert_eq!(["e_hash", "e_gist", "e_spgist"].map(named), [1, 1, 1], "{:#?}", report.findings);
        editor.undo();
        for name in ["e_hash", "e_gist", "e_spgist"] {
            damage_one_index(&cluster, name);
        }
        assert_silent(&cluster, "after all damage was undone");
    }
}

/// Wipes a line pointer, and makes an entry name a block beyond the table's end, then takes the mark away.
fn damage_one_index(cluster: &Cluster, name: &str) {
    let index = cluster.path_of(name);
    let is_sp = name == "e_spgist";
    let mut editor = Editor::new(&cluster.data());
    let bytes = editor.read(&index);
    let is_leaf = |block: &&[u8]| {
        let special = u16_at(block, 16);
        let flags = u16_at(block, if is_sp { special } else { special + 12 });
        let wanted = if is_sp { flags == 4 } else { flags & 3 == if name == "e_hash" { 2 } else { 1 } };
        wanted && u16_at(block, 12) > 24 + 4 * 40
    };
    let block = bytes.chunks(crate::scene::edit::BLOCK).position(|block| is_leaf(&block)).unwrap();
    let rules = |editor: &mut Editor, change: &dyn Fn(&mut [u8])| {
        editor.sealed(&index, block, change);
        let report = check(cluster, CheckLevel::Full, 2);
        editor.undo();
        report.rule_counts.iter().map(|count| count.rule.clone()).collect::<Vec<_>>()
    };
    // Deleted rows have entries as well, whose loss is none: several line pointers are wiped.
    let wiped = rules(&mut editor, &|page| (5..30).for_each(|number| put_u32(page, pointer(number), 0)));
    // In SP-GiST the block shows by itself that tuples are gone: the rows are counted there.
    let wanted = if is_sp { "pg-spgist-tuple" } else { "pg-row-without-entry" };
    assert!(wiped.contains(&wanted.to_owned()), "{name}: {wiped:?}");
    let beyond = rules(&mut editor, &|page| {
        (5..30).for_each(|number| {
            let tid = tuple(page, number) + if is_sp { 6 } else { 0 };
            page[tid + 3] = 0x40;
        });
    });
    assert!(beyond.contains(&"pg-index-tid".to_owned()), "{name}: {beyond:?}");
    let unmarked = rules(&mut editor, &|page| page[8190] ^= 4);
    assert!(unmarked.contains(&"pg-index-page".to_owned()), "{name}: {unmarked:?}");
}
