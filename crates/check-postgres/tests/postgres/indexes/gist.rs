//! GiST indexes: silent after any history, and each damage of the tree is found.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found, count_of};
use crate::scene::clean::{assert_history_is_silent, assert_silent};
use crate::scene::edit::{BLOCK, Editor, tuple, u16_at, u32_at};
use crate::scene::server::{Cluster, servers};

/// One statement per line: splits, mass deletes with VACUUM, builds of each kind, nulls, aborted transactions.
const HISTORY: &str = include_str!("gist.sql");

#[test]
fn gist_indexes_of_any_history_are_silent_in_every_major() {
    let before_crash = "insert into gp select i, point(i % 97, i % 89), repeat('c', 300) from generate_series(30001, 32000) i\ndelete from gb where c <@ '<(50,50),30>'\nvacuum gb\n";
    assert_history_is_silent(HISTORY, 40_000, before_crash, "select count(*) from gp\n", |_, _| {});
}

/// An index with three levels.
pub(crate) struct GistScene {
    index: PathBuf,
    /// An inner block below the root, and two leaves that it names.
    inner: usize,
    leaves: [usize; 2],
    /// The first of the leaves as it was before rows were added.
    old_leaf: Vec<u8>,
}

const BEFORE: &str = "create table gv(id int, p point, pad text)
insert into gv select i, point((i * 7919) % 10007, (i * 6007) % 9973), 'x' from generate_series(1, 30000) i
create index gv_gist on gv using gist(p) with (buffering = on, fillfactor = 80)
vacuum (freeze) gv
";

const FLAGS: usize = 8188;
const IS_LEAF: usize = 1;

/// The child that an entry of an inner block names.
fn child_of(block: &[u8], item: usize) -> usize {
    let at = tuple(block, item);
    u16_at(block, at) << 16 | u16_at(block, at + 2)
}

fn put_child(block: &mut [u8], item: usize, child: usize) {
    let at = tuple(block, item);
    block[at + 2..at + 4].copy_from_slice(&(child as u16).to_le_bytes());
}

pub(crate) fn scene(cluster: &Cluster) -> GistScene {
    cluster.run_all(BEFORE);
    let index = cluster.path_of("gv_gist");
    let read = || std::fs::read(cluster.data().join(&index)).unwrap();
    let block = |bytes: &[u8], number: usize| bytes[number * BLOCK..(number + 1) * BLOCK].to_vec();
    let bytes = read();
    let inner = child_of(&block(&bytes, 0), 1);
    let parent = block(&bytes, inner);
    assert_eq!((u16_at(&block(&bytes, 0), FLAGS) & IS_LEAF, u16_at(&parent, FLAGS) & IS_LEAF), (0, 0));
    let leaves = [child_of(&parent, 1), child_of(&parent, 2)];
    let old_leaf = block(&bytes, leaves[0]);
    assert!(u16_at(&old_leaf, 14) - u16_at(&old_leaf, 12) > 600, "no room in the leaf");
    // Rows at the places of rows that the leaf has: they go there.
    let first = tuple(&old_leaf, 1);
    let [x, y] =
        [8, 16].map(|at| f64::from_le_bytes(old_leaf[first + at..first + at + 8].try_into().unwrap()));
    cluster
        .run_all(&format!("insert into gv select -i, point({x}, {y}), 'y' from generate_series(1, 3) i\n"));
    let now = read();
    assert_ne!(block(&now, leaves[0]), old_leaf, "rows were added to another leaf");
    GistScene { index, inner, leaves, old_leaf }
}

pub(crate) type GistDamage = fn(&mut Editor, &GistScene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, GistDamage, &[&str])] = &[
    (
        "GiST downlink to another block of the index",
        |e, s| e.sealed(&s.index, s.inner, |p| put_child(p, 1, s.leaves[1])),
        &["pg-gist-parent"],
    ),
    (
        "GiST downlink beyond the file",
        |e, s| e.sealed(&s.index, s.inner, |p| put_child(p, 1, 0xFFF0)),
        &["pg-gist-tuple"],
    ),
    (
        "GiST downlink marked invalid",
        |e, s| {
            e.sealed(&s.index, s.inner, |p| {
                let at = tuple(p, 1);
                p[at + 4] = 0xFE
            })
        },
        &["pg-gist-tuple"],
    ),
    (
        "GiST downlink missing",
        |e, s| {
            e.sealed(&s.index, s.inner, |p| {
                let lower = u16_at(p, 12) as u16 - 4;
                p[12..14].copy_from_slice(&lower.to_le_bytes());
            })
        },
        &["pg-gist-parent"],
    ),
    ("GiST leaf zeroed", |e, s| e.block(&s.index, s.leaves[0], |p| p.fill(0)), &["pg-gist-parent"]),
    ("GiST inner block zeroed", |e, s| e.block(&s.index, s.inner, |p| p.fill(0)), &["pg-gist-parent"]),
    (
        "GiST leaf stale (lost write)",
        |e, s| e.block(&s.index, s.leaves[0], |p| p.copy_from_slice(&s.old_leaf)),
        &["pg-row-without-entry"],
    ),
    (
        "GiST leaf with a downlink marked deleted",
        |e, s| e.sealed(&s.index, s.leaves[0], |p| p[FLAGS] |= 2),
        &["pg-gist-parent"],
    ),
    (
        "GiST inner block marked as a leaf",
        |e, s| e.sealed(&s.index, s.inner, |p| p[FLAGS] |= 1),
        &["pg-gist-links"],
    ),
    (
        "GiST leaf marked as an inner block",
        |e, s| e.sealed(&s.index, s.leaves[0], |p| p[FLAGS] &= !1),
        &["pg-gist-links"],
    ),
    (
        "GiST leaf that says that its right sibling has no downlink",
        |e, s| {
            e.sealed(&s.index, s.leaves[0], |p| {
                p[FLAGS] |= 8;
                p[8184..8188].copy_from_slice(&(s.leaves[1] as u32).to_le_bytes());
            })
        },
        &["pg-gist-parent"],
    ),
    (
        "GiST key of a leaf changed",
        |e, s| {
            e.sealed(&s.index, s.leaves[0], |p| {
                // The point is kept as a box whose corners it is.
                let at = tuple(p, 5) + 8;
                p[at + 4] ^= 1;
                p[at + 16 + 4] ^= 1;
            })
        },
        &["pg-entry-differs"],
    ),
    (
        "GiST box of a downlink shrunk",
        |e, s| {
            e.sealed(&s.index, s.inner, |p| {
                let at = tuple(p, 1) + 8;
                p.copy_within(at + 16..at + 24, at);
            })
        },
        &["pg-gist-keys"],
    ),
    (
        "GiST right link beyond the file",
        |e, s| {
            e.sealed(&s.index, s.leaves[0], |p| p[8184..8188].copy_from_slice(&0x00FF_0000u32.to_le_bytes()))
        },
        &["pg-gist-links"],
    ),
];

#[test]
fn each_damage_of_a_gist_tree_is_found_at_level_structure_or_full() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Full, Wanted::All, |class, report| {
        count_of(report, "pg-gist-") <= 3 || class.contains("inner block")
    });
}

#[test]
fn a_split_that_was_cut_off_is_no_damage() {
    for (_, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        let scene = scene(&cluster);
        let mut editor = Editor::new(&cluster.data());
        // The second leaf loses its downlink, and the first says so: the state between the two steps of a split.
        editor.sealed(&scene.index, scene.inner, |page| {
            let last = (u16_at(page, 12) - 24) / 4;
            let pointer = u32_at(page, crate::scene::edit::pointer(last));
            crate::scene::edit::put_u32(page, crate::scene::edit::pointer(2), pointer);
            let lower = u16_at(page, 12) as u16 - 4;
            page[12..14].copy_from_slice(&lower.to_le_bytes());
        });
        editor.sealed(&scene.index, scene.leaves[0], |page| {
            page[FLAGS] |= 8;
            page[8184..8188].copy_from_slice(&(scene.leaves[1] as u32).to_le_bytes());
        });
        assert_silent(&cluster, "a split that was cut off");
    }
}
