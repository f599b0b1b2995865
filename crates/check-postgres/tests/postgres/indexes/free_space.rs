//! Free space maps: silent whatever was done to tables and indexes, and each class of damage is found.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found};
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{Editor, u32_at};
use crate::scene::server::{Cluster, servers};

/// A table and an index with maps to damage.
pub(crate) struct Scene {
    table_map: PathBuf,
    index_map: PathBuf,
}

/// Rows deleted here and there, whole pages of the index free, and a map of more than one page at its lowest level.
const TABLES: &str = "create table f(id int primary key, t text)
insert into f select i, repeat('f', 900) from generate_series(1, 3000) i
delete from f where id % 3 = 0 or id between 1000 and 2500
vacuum f
insert into f select i, repeat('f', i % 700) from generate_series(5001, 5400) i
vacuum (index_cleanup on) f
create table g(id int, t text)
insert into g select i, repeat('g', 3000) from generate_series(1, 8500) i
delete from g where id % 5 = 0
vacuum g
create index g_id on g using brin(id) with (pages_per_range = 1)
create index g_gist on g using gist(int4range(id, id + 1))
create index g_spgist on g using spgist(int4range(id, id + 1))
create index g_gin on g using gin((array[id]))
delete from g where id > 7000
vacuum g
insert into g select i, repeat('g', 100) from generate_series(1, 600) i
begin
insert into g select i, repeat('g', 2000) from generate_series(1, 60) i
rollback
";

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(TABLES);
    let map = |name: &str| PathBuf::from(format!("{}_fsm", cluster.path_of(name).display()));
    Scene { table_map: map("f"), index_map: map("f_pkey") }
}

/// Offset of the nodes of a page, and of its slots.
const NODES: usize = 28;
const SLOTS: usize = NODES + 4095;

pub(crate) type Damage = fn(&mut Editor, &Scene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, Damage, &[&str])] = &[
    (
        "free space map: garbage in the nodes",
        |e, s| {
            e.sealed(&s.table_map, 2, |p| {
                (0..600).for_each(|at| p[NODES + at] = (at * 37 % 251) as u8);
            })
        },
        &["pg-free-space"],
    ),
    (
        "free space map: highest value of a page overwritten",
        |e, s| e.sealed(&s.table_map, 0, |p| p[NODES] ^= 0x40),
        &["pg-free-space"],
    ),
    (
        "free space map: slot overwritten",
        |e, s| e.sealed(&s.table_map, 2, |p| p[SLOTS + 5] = 254),
        &["pg-free-space"],
    ),
    (
        "free space map: slot of a block that no table can have",
        |e, s| {
            e.sealed(&s.table_map, 0, |p| {
                // Slot 300 and all above it.
                let mut node = 4095 + 300;
                while node > 0 {
                    p[NODES + node] = 255;
                    node = (node - 1) / 2;
                }
                p[NODES] = 255
            })
        },
        &["pg-free-space"],
    ),
    (
        "free space map: part of a page free in an index of whole pages",
        |e, s| {
            e.sealed(&s.index_map, 2, |p| {
                assert_eq!(p[NODES], 255, "some page of the index is free");
                p[SLOTS + 3000] = 100;
                let mut node = 4095 + 3000;
                while node > 0 {
                    node = (node - 1) / 2;
                    p[NODES + node] = p[NODES + node].max(100)
                }
            })
        },
        &["pg-free-space"],
    ),
    (
        "free space map: place of the next search impossible",
        |e, s| {
            e.sealed(&s.table_map, 2, |p| {
                assert!(u32_at(p, 24) <= 4069);
                p[26] = 1
            })
        },
        &["pg-free-space"],
    ),
    (
        "free space map: header with line pointers",
        |e, s| e.sealed(&s.table_map, 2, |p| p[12] = 64),
        &["pg-free-space"],
    ),
    (
        "free space map: block of a table in it",
        |e, s| {
            let table = PathBuf::from(s.table_map.to_str().unwrap().trim_end_matches("_fsm"));
            let rows = e.read(&table)[8192..16384].to_vec();
            e.sealed(&s.table_map, 2, |p| p.copy_from_slice(&rows));
        },
        &["pg-free-space"],
    ),
];

#[test]
fn free_space_maps_are_silent_in_every_major_and_after_a_crash() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(TABLES);
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        if !matches!(major, 15 | 18) {
            continue;
        }
        cluster.crash_after("checkpoint\ndelete from g where id % 7 = 0\nvacuum g\ninsert into f select i, repeat('f', 90) from generate_series(6001, 9000) i\ndelete from f where id > 5000\nvacuum (truncate) f\n");
        let report = check(&cluster, CheckLevel::Full, 1);
        assert!(report.findings.is_empty(), "PostgreSQL {major}: {:#?}", report.findings);
        cluster.run_all("insert into f select i, repeat('f', 90) from generate_series(9001, 9500) i\n");
        assert_silent(&cluster, "after replay");
    }
}

#[test]
fn each_class_of_damage_of_free_space_maps_is_found() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Structure, Wanted::Any, |_, _| true);
}
