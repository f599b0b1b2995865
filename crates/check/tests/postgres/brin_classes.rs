//! The classes of damage of BRIN indexes, made at literal offsets in the tables of one scene.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::edit::{BLOCK, Editor, pointer, put_u32, tuple, u32_at};
use crate::server::Cluster;

/// A table with BRIN indexes to damage, and a block of one as it was before the last changes.
pub(crate) struct Scene {
    /// Index on `(k, t)` with one block per range: block 1 is the range map, block 2 has the first tuples.
    s_k: PathBuf,
    /// Block 2 of it before rows were updated.
    old_tuples: Vec<u8>,
}

/// `s`: forty rows in each of about 150 blocks, `k` ascending; `t` null in one row of a hundred.
const BEFORE: &str = "create table s(id int, k int, t text, filler text)
insert into s select i, i, case when i % 100 <> 5 then 'text ' || lpad(i::text, 5, '0') end, repeat('f', 150) from generate_series(1, 6000) i
create index s_k on s using brin(k, t) with (pages_per_range = 1)
vacuum s
checkpoint
";
const AFTER: &str = "insert into s select 6001, 700000, 'zzz', null
delete from s where id between 41 and 80
vacuum s
insert into s select i, 900000 + i, 'zzzz ' || i, repeat('f', 150) from generate_series(1, 40) i
";

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(BEFORE);
    let s_k = cluster.path_of("s_k");
    let old_tuples = std::fs::read(cluster.data().join(&s_k)).unwrap()[2 * BLOCK..3 * BLOCK].to_vec();
    cluster.run_all(AFTER);
    Scene { s_k, old_tuples }
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
];
