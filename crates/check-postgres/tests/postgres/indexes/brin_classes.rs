//! The classes of damage of BRIN indexes, made at literal offsets in the tables of one scene.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u32_at};
use crate::scene::server::Cluster;

/// A table with BRIN indexes to damage, and a block of one as it was before the last changes.
pub(crate) struct Scene {
    /// Index on `(k, t)` with one block per range: block 1 is the range map, block 2 has the first tuples.
    s_k: PathBuf,
    /// Block 2 of it before rows were updated.
    old_tuples: Vec<u8>,
    /// The table.
    s: PathBuf,
    /// Index on `(id)`, whose tuples keep their size, and its block 2 as it was.
    s_id: PathBuf,
    old_fixed: Vec<u8>,
    /// Indexes with several ranges on `(k)` and a filter on `(id)`, of one block per range.
    s_multi: PathBuf,
    s_bloom: PathBuf,
}

/// `s`: forty rows in each of about 150 blocks, `k` ascending; `t` null in one row of a hundred.
const BEFORE: &str = "create table s(id int, k int, t text, filler text)
insert into s select i, i, case when i % 100 <> 5 then 'text ' || lpad(i::text, 5, '0') end, repeat('f', 150) from generate_series(1, 6000) i
create index s_k on s using brin(k, t) with (pages_per_range = 1)
create index s_id on s using brin(id) with (pages_per_range = 1)
create index s_multi on s using brin(k int4_minmax_multi_ops) with (pages_per_range = 1)
create index s_bloom on s using brin(id int4_bloom_ops) with (pages_per_range = 1)
vacuum s
checkpoint
";
const AFTER: &str = "insert into s select 6001, 700000, 'zzz', null
delete from s where id between 41 and 80
vacuum s
insert into s select i, 900000 + i, 'zzzz ' || i, repeat('f', 150) from generate_series(1, 40) i
vacuum s
";

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(BEFORE);
    let names = ["s", "s_k", "s_id", "s_multi", "s_bloom"];
    let [s, s_k, s_id, s_multi, s_bloom] = names.map(|name| cluster.path_of(name));
    let block_2 =
        |file: &PathBuf| std::fs::read(cluster.data().join(file)).unwrap()[2 * BLOCK..3 * BLOCK].to_vec();
    let old_tuples = block_2(&s_k);
    cluster.run_all(AFTER);
    let old_fixed = block_2(&s_id);
    // The summary of the range that the new version of the row goes to is changed in place.
    cluster.run_all("update s set id = 500000 where id = 300\n");
    Scene { s, s_k, old_tuples, s_id, old_fixed, s_multi, s_bloom }
}

/// Offset of an entry of the range map in its block.
fn entry(number: usize) -> usize {
    24 + number * 6
}

pub(crate) type Damage = fn(&mut Editor, &Scene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, Damage, &[&str])] = &[
    (
        "BRIN: entry of the range map names the summary of another range",
        |e, s| {
            e.sealed(&s.s_k, 1, |p| {
                let (other, own) = (entry(30), entry(20));
                p.copy_within(other..other + 6, own);
            })
        },
        &["pg-brin-range"],
    ),
    (
        "BRIN: entry of the range map wiped",
        |e, s| e.sealed(&s.s_k, 1, |p| p[entry(20)..entry(21)].fill(0)),
        &["pg-brin-range"],
    ),
    ("BRIN: range map zeroed", |e, s| e.block(&s.s_k, 1, |p| p.fill(0)), &["pg-brin-page"]),
    ("BRIN: block of summaries zeroed", |e, s| e.block(&s.s_k, 2, |p| p.fill(0)), &["pg-brin-range"]),
    (
        "BRIN: summary says another range",
        |e, s| {
            e.sealed(&s.s_k, 2, |p| {
                let t = tuple(p, 20);
                put_u32(p, t, u32_at(p, t) + 1000)
            })
        },
        &["pg-brin-range"],
    ),
    ("BRIN: summary wiped", |e, s| e.sealed(&s.s_k, 2, |p| put_u32(p, pointer(20), 0)), &["pg-brin-range"]),
    ("BRIN: size of ranges changed", |e, s| e.sealed(&s.s_k, 0, |p| put_u32(p, 32, 2)), &["pg-brin-range"]),
    ("BRIN: meta page overwritten", |e, s| e.sealed(&s.s_k, 0, |p| p[24] ^= 1), &["pg-brin-meta"]),
    (
        "BRIN: length of the range map changed",
        |e, s| e.sealed(&s.s_k, 0, |p| put_u32(p, 36, 0)),
        &["pg-brin-page"],
    ),
    ("BRIN: mark of a block overwritten", |e, s| e.sealed(&s.s_k, 2, |p| p[8190] ^= 4), &["pg-brin-page"]),
    (
        "BRIN: summary's header overwritten",
        |e, s| {
            e.sealed(&s.s_k, 2, |p| {
                let t = tuple(p, 20);
                p[t + 4] ^= 0x10
            })
        },
        &["pg-brin-tuple"],
    ),
    (
        "BRIN: stale block of summaries (lost write)",
        |e, s| e.block(&s.s_k, 2, |p| p.copy_from_slice(&s.old_tuples)),
        &["pg-brin-range", "pg-brin-summary"],
    ),
    (
        "BRIN: highest value of a range lowered",
        |e, s| {
            e.sealed(&s.s_id, 2, |p| {
                // Lowest and highest value follow the header of eight bytes.
                let t = tuple(p, 20);
                put_u32(p, t + 12, u32_at(p, t + 12) - 3)
            })
        },
        &["pg-brin-summary"],
    ),
    (
        "BRIN: lowest value of a range above the highest",
        |e, s| {
            e.sealed(&s.s_id, 2, |p| {
                let t = tuple(p, 20);
                put_u32(p, t + 8, u32_at(p, t + 12) + 3)
            })
        },
        &["pg-brin-tuple"],
    ),
    (
        "BRIN: mark for nulls wiped",
        |e, s| {
            e.sealed(&s.s_k, 2, |p| {
                // Rows 201 to 240, of which 205 has no text. Bits: all null, twice, then some null, twice.
                let t = tuple(p, 6);
                assert_eq!((u32_at(p, t), p[t + 5]), (5, 0b1000));
                p[t + 5] = 0
            })
        },
        &["pg-brin-summary"],
    ),
    (
        "BRIN: range with rows marked as empty",
        |e, s| {
            e.sealed(&s.s_id, 2, |p| {
                let t = tuple(p, 20);
                p[t + 4] = 0x80 | 0x20 | 8;
                p[t + 5] = 1
            })
        },
        &["pg-brin-summary"],
    ),
    (
        "BRIN: stale block of summaries that were changed in place (lost write)",
        |e, s| e.block(&s.s_id, 2, |p| p.copy_from_slice(&s.old_fixed)),
        &["pg-brin-summary"],
    ),
    (
        "BRIN: bit flip in a column that only BRIN has, checksum valid",
        |e, s| {
            e.sealed(&s.s, 50, |p| {
                let t = tuple(p, 7);
                p[t + 30] ^= 4
            })
        },
        &["pg-brin-summary"],
    ),
    (
        "BRIN: one of several ranges changed",
        |e, s| {
            e.sealed(&s.s_multi, 2, |p| {
                // The last value of the summary is the end of a range or a value by itself; a row has it.
                let t = tuple(p, 20);
                let end = t + (u32_at(p, pointer(20)) >> 17) as usize;
                let last = (t + 8..end - 3).rfind(|at| u32_at(p, *at) == 800).unwrap();
                put_u32(p, last, 799)
            })
        },
        &["pg-brin-summary", "pg-brin-tuple"],
    ),
    (
        "BRIN: bits of a filter wiped",
        |e, s| {
            e.sealed(&s.s_bloom, 2, |p| {
                let t = tuple(p, 3);
                let end = t + (u32_at(p, pointer(3)) >> 17) as usize;
                p[end - 20..end].fill(0)
            })
        },
        &["pg-brin-summary", "pg-brin-tuple"],
    ),
];
