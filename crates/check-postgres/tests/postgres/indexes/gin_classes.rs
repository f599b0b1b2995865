//! The classes of damage of GIN indexes, made at literal offsets in the tables of one scene.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::Cluster;

/// Tables with GIN indexes to damage, and a block of one as it was before the last changes.
pub(crate) struct Scene {
    k: PathBuf,
    /// Index on `a`: key 1 has a posting tree, three thousand others a few rows each.
    k_a: PathBuf,
    /// Index with a list of pending entries of some blocks.
    l_a: PathBuf,
    /// The second leaf of the key tree before rows were added.
    old_leaf: Vec<u8>,
}

const BEFORE: &str = "create table k(id int, a int[])
create index k_a on k using gin(a) with (fastupdate = off)
insert into k select i, array[1, 1000 + i % 3000] from generate_series(1, 20000) i
create table l(id int, a int[])
create index l_a on l using gin(a)
insert into l select i, array[i, i + 1] from generate_series(1, 1500) i
";

const AFTER: &str = "insert into k select 20000 + i, array[1000 + i] from generate_series(1, 2900) i\n";

/// Flags of blocks.
const LEAF: usize = 2;
const POSTING_LEAF: usize = 0x83;
const POSTING_INNER: usize = 1;
const LIST: usize = 0x30;

/// Numbers of the blocks with such flags, in the order of the file.
fn blocks(bytes: &[u8], flags: usize) -> Vec<usize> {
    let pages = bytes.chunks(BLOCK).enumerate();
    pages.filter(|(_, page)| u16_at(page, 8190) == flags).map(|(number, _)| number).collect()
}

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(BEFORE);
    let (k, k_a, l_a) = (cluster.path_of("k"), cluster.path_of("k_a"), cluster.path_of("l_a"));
    let bytes = std::fs::read(cluster.data().join(&k_a)).unwrap();
    let leaf = blocks(&bytes, LEAF)[1];
    cluster.run_all(AFTER);
    Scene { k, k_a, l_a, old_leaf: bytes[leaf * BLOCK..(leaf + 1) * BLOCK].to_vec() }
}

/// Changes a block of the index on `k` that is found by flags and number among those.
fn change(e: &mut Editor, s: &Scene, flags: usize, number: usize, edit: impl FnOnce(&mut [u8])) {
    let block = blocks(&e.read(&s.k_a), flags)[number];
    e.sealed(&s.k_a, block, edit);
}

/// The tuple of the first entry of a leaf that has a list of so many row pointers at least.
fn entry_with(page: &[u8], rows: usize) -> usize {
    let count = (u16_at(page, 12) - 24) / 4;
    (1..=count).map(|item| tuple(page, item)).find(|at| (rows..2000).contains(&u16_at(page, at + 4))).unwrap()
}

fn put_u16(page: &mut [u8], at: usize, value: usize) {
    page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

pub(crate) type Damage = fn(&mut Editor, &Scene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, Damage, &[&str])] = &[
    (
        "GIN: wrong right link of a leaf",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let next = u32_at(p, 8184);
                put_u32(p, 8184, next + 1)
            })
        },
        &["pg-gin-siblings"],
    ),
    (
        "GIN: right link wiped",
        |e, s| change(e, s, LEAF, 2, |p| put_u32(p, 8184, u32::MAX)),
        &["pg-gin-siblings"],
    ),
    (
        "GIN: wrong child in the root of the key tree",
        |e, s| {
            e.sealed(&s.k_a, 1, |p| {
                let (from, to) = (tuple(p, 3), tuple(p, 5));
                p.copy_within(from..from + 4, to)
            })
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: wrong separator in the root of the key tree",
        |e, s| {
            e.sealed(&s.k_a, 1, |p| {
                let at = tuple(p, 3);
                p[at + 8] ^= 1
            })
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: zeroed leaf of the key tree",
        |e, s| {
            let block = blocks(&e.read(&s.k_a), LEAF)[3];
            e.block(&s.k_a, block, |p| p.fill(0));
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: zeroed leaf of a posting tree",
        |e, s| {
            let block = blocks(&e.read(&s.k_a), POSTING_LEAF)[1];
            e.block(&s.k_a, block, |p| p.fill(0));
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: posting tree of another key",
        |e, s| {
            let bytes = e.read(&s.k_a);
            let other = blocks(&bytes, POSTING_LEAF)[1];
            for block in blocks(&bytes, LEAF) {
                let page = &bytes[block * BLOCK..(block + 1) * BLOCK];
                let count = (u16_at(page, 12) - 24) / 4;
                let tree =
                    (1..=count).map(|item| tuple(page, item)).find(|at| u16_at(page, at + 4) == 0xFFFF);
                if let Some(at) = tree {
                    e.sealed(&s.k_a, block, |p| put_u16(p, at + 2, other));
                    return;
                }
            }
            panic!("no posting tree");
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: wrong bound in an inner block of a posting tree",
        |e, s| change(e, s, POSTING_INNER, 0, |p| p[32 + 8] ^= 1),
        &["pg-gin-tree"],
    ),
    (
        "GIN: fewer children in an inner block of a posting tree",
        |e, s| {
            change(e, s, POSTING_INNER, 0, |p| {
                let count = u16_at(p, 8188) - 1;
                put_u16(p, 8188, count);
                put_u16(p, 12, 32 + 10 * count);
            })
        },
        &["pg-gin-tree"],
    ),
    (
        "GIN: number of children against the end of the data",
        |e, s| {
            change(e, s, POSTING_INNER, 0, |p| {
                let count = u16_at(p, 8188) - 1;
                put_u16(p, 8188, count);
            })
        },
        &["pg-gin-page"],
    ),
    (
        "GIN: TIDs above the right bound of the block",
        |e, s| change(e, s, POSTING_LEAF, 0, |p| put_u16(p, 26, 3)),
        &["pg-gin-posting"],
    ),
    (
        "GIN: compressed TIDs of a posting tree overwritten",
        // A difference of nothing: the same row pointer again.
        |e, s| change(e, s, POSTING_LEAF, 1, |p| p[40] = 0),
        &["pg-gin-posting"],
    ),
    (
        "GIN: number of TIDs of an entry",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let at = entry_with(p, 2);
                p[at + 4] += 1
            })
        },
        &["pg-gin-posting"],
    ),
    (
        "GIN: offset of the TIDs in an entry",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let at = entry_with(p, 2);
                put_u16(p, at + 2, 4000)
            })
        },
        &["pg-gin-entry"],
    ),
    (
        "GIN: TID past the end of the table",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let at = entry_with(p, 1);
                let list = at + u16_at(p, at + 2);
                p[list + 1] = 0x40
            })
        },
        &["pg-index-tid"],
    ),
    ("GIN: flags of a leaf", |e, s| change(e, s, LEAF, 2, |p| p[8190] = 9), &["pg-gin-page"]),
    (
        "GIN: a leaf that says it was deleted",
        |e, s| change(e, s, LEAF, 2, |p| p[8190] |= 4),
        &["pg-gin-tree"],
    ),
    ("GIN: version in the meta page", |e, s| e.sealed(&s.k_a, 0, |p| p[72] = 9), &["pg-gin-meta"]),
    (
        "GIN: pending list truncated in the middle",
        |e, s| {
            let block = blocks(&e.read(&s.l_a), LIST)[2];
            e.sealed(&s.l_a, block, |p| put_u32(p, 8184, u32::MAX));
        },
        &["pg-gin-pending"],
    ),
    (
        "GIN: head of the list of pending entries",
        |e, s| e.sealed(&s.l_a, 0, |p| p.copy_within(28..32, 24)),
        &["pg-gin-meta"],
    ),
    (
        "GIN: stale meta page (lost write), pending entries forgotten",
        |e, s| {
            e.sealed(&s.l_a, 0, |p| {
                let head = u32_at(p, 24);
                put_u32(p, 28, head);
                put_u32(p, 36, 1);
                put_u32(p, 40, 100);
            })
        },
        &["pg-gin-pending"],
    ),
    (
        "GIN: stale leaf of the key tree (lost write)",
        |e, s| change(e, s, LEAF, 1, |p| p.copy_from_slice(&s.old_leaf)),
        &["pg-row-without-entry"],
    ),
    (
        "GIN: zeroed block of the table, no other index",
        |e, s| e.block(&s.k, 20, |p| p.fill(0)),
        &["pg-entry-without-row"],
    ),
    (
        "GIN: entry of a row that never was",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let at = entry_with(p, 1);
                let list = at + u16_at(p, at + 2);
                put_u16(p, list + 4, 250)
            })
        },
        &["pg-entry-without-row"],
    ),
    (
        "GIN: pending entry of another row",
        |e, s| {
            let block = blocks(&e.read(&s.l_a), LIST)[2];
            e.sealed(&s.l_a, block, |p| {
                let at = tuple(p, 5);
                put_u16(p, at + 4, 250)
            });
        },
        &["pg-entry-without-row"],
    ),
    (
        "GIN: keys out of order in a leaf",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let (one, other) = (u32_at(p, pointer(5)), u32_at(p, pointer(20)));
                put_u32(p, pointer(5), other);
                put_u32(p, pointer(20), one);
            })
        },
        &["pg-gin-order"],
    ),
    (
        "GIN: bit flip in a key, checksum valid",
        |e, s| {
            change(e, s, LEAF, 2, |p| {
                let at = tuple(p, 10);
                p[at + 9] ^= 1
            })
        },
        &["pg-gin-order"],
    ),
];
