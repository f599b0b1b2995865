//! SP-GiST indexes: silent after any history, and each damage of the tree is found.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found};
use crate::scene::clean::assert_history_is_silent;
use crate::scene::edit::{BLOCK, Editor, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::Cluster;

/// One statement per line: splits, mass deletes with VACUUM, nulls, equal values, aborted transactions.
const HISTORY: &str = include_str!("spgist.sql");

#[test]
fn sp_gist_indexes_of_any_history_are_silent_in_every_major() {
    let before_crash = "insert into sq select i, point(i % 97, i % 89), 'c' from generate_series(30001, 32000) i\ndelete from st where id % 3 = 0\nvacuum st\ninsert into st select i, md5(md5(i::text)) from generate_series(1, 3000) i\n";
    assert_history_is_silent(
        HISTORY,
        40_000,
        before_crash,
        "select count(*) from sq\nvacuum sq\n",
        |_, _| {},
    );
}

/// An index of text, a radix tree, with inner tuples outside the root and chains of several leaf tuples.
pub(crate) struct SpGistScene {
    index: PathBuf,
    /// An inner block that is no root, and a tuple of it with nodes that lead somewhere.
    inner: usize,
    inner_item: usize,
    /// Offsets in the block of two of these nodes.
    nodes: [usize; 2],
    /// A leaf block, the first tuple of a chain in it, and the next.
    leaf: usize,
    chain: [usize; 2],
    /// The leaf before rows were added.
    old_leaf: Vec<u8>,
    /// An index of points, a quad tree, and a leaf block of it.
    points: PathBuf,
    point_leaf: usize,
}

const BEFORE: &str = "create table sv(id int, v text)
insert into sv select i, md5((i % 2500)::text) || i from generate_series(1, 12000) i
insert into sv select i, null from generate_series(1, 20) i
create index sv_v on sv using spgist(v)
vacuum (freeze) sv
create table sp(p point)
insert into sp select point(i % 100, i % 37) from generate_series(1, 3000) i
create index sp_p on sp using spgist(p)
vacuum (freeze) sp
";

const SPECIAL: usize = 8184;
const IS_LEAF: usize = 4;

/// Number of line pointers of a block.
fn items(block: &[u8]) -> usize {
    (u16_at(block, 12) - 24) / 4
}

/// Whether the tuple that a line pointer leads to is live.
fn is_live(block: &[u8], item: usize) -> bool {
    block[tuple(block, item)] & 3 == 0
}

/// Offsets of the nodes of an inner tuple that lead somewhere.
fn nodes(block: &[u8], item: usize) -> Vec<usize> {
    let at = tuple(block, item);
    let mut node = at + 8 + u16_at(block, at + 2);
    let mut found = Vec::new();
    for _ in 0..u16_at(block, at) >> 3 {
        if u16_at(block, node + 4) > 0 {
            found.push(node);
        }
        node += u16_at(block, node + 6) & 0x1FFF;
    }
    found
}

/// The place of the next tuple in its chain.
fn next(block: &[u8], item: usize) -> usize {
    u16_at(block, tuple(block, item) + 4) & 0x3FFF
}

fn put_next(block: &mut [u8], item: usize, next: usize) {
    let at = tuple(block, item) + 4;
    block[at..at + 2].copy_from_slice(&(next as u16).to_le_bytes());
}

pub(crate) fn scene(cluster: &Cluster) -> SpGistScene {
    cluster.run_all(BEFORE);
    let index = cluster.path_of("sv_v");
    let read = || std::fs::read(cluster.data().join(&index)).unwrap();
    let bytes = read();
    let blocks: Vec<&[u8]> = bytes.chunks(BLOCK).collect();
    let is_inner = |number: &usize| u16_at(blocks[*number], SPECIAL) == 0;
    let wide = |number: usize| {
        let is_wide =
            |item: &usize| is_live(blocks[number], *item) && nodes(blocks[number], *item).len() >= 2;
        (1..=items(blocks[number])).find(is_wide).map(|item| (number, item))
    };
    let (inner, inner_item) = (3..blocks.len()).filter(is_inner).find_map(wide).unwrap();
    let found = nodes(blocks[inner], inner_item);
    let chain_of = |number: usize| {
        let block = blocks[number];
        let lives = || (1..=items(block)).filter(|item| is_live(block, *item));
        let followers: Vec<usize> = lives().map(|item| next(block, item)).collect();
        lives().find(|item| next(block, *item) != 0 && !followers.contains(item))
    };
    let is_roomy = |number: &usize| {
        let block = blocks[*number];
        u16_at(block, SPECIAL) == IS_LEAF
            && u16_at(block, 14) - u16_at(block, 12) > 500
            && chain_of(*number).is_some()
    };
    let leaf = (3..blocks.len()).find(is_roomy).unwrap();
    let first = chain_of(leaf).unwrap();
    let old_leaf = blocks[leaf].to_vec();
    // A row with the value of one that the chain has goes there.
    let at = tuple(&old_leaf, first) + 6;
    let (heap_block, item) = (u16_at(&old_leaf, at + 2), u16_at(&old_leaf, at + 4));
    let chain = [first, next(&old_leaf, first)];
    cluster.run_all(&format!("insert into sv select -1, v from sv where ctid = '({heap_block},{item})'\n"));
    let now = read();
    assert_ne!(now[leaf * BLOCK..(leaf + 1) * BLOCK], old_leaf, "the row was added to another leaf");
    let points = cluster.path_of("sp_p");
    let bytes = std::fs::read(cluster.data().join(&points)).unwrap();
    let mut blocks = bytes.chunks(BLOCK).map(|block| u16_at(block, SPECIAL) == IS_LEAF && items(block) > 9);
    let point_leaf = blocks.position(|is_leaf| is_leaf).unwrap();
    SpGistScene {
        points,
        point_leaf,
        index,
        inner,
        inner_item,
        nodes: [found[0], found[1]],
        leaf,
        chain,
        old_leaf,
    }
}

pub(crate) type SpGistDamage = fn(&mut Editor, &SpGistScene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, SpGistDamage, &[&str])] = &[
    (
        "SP-GiST node that leads to the tuple of another",
        |e, s| {
            e.sealed(&s.index, s.inner, |p| {
                let [one, other] = s.nodes;
                p.copy_within(other..other + 6, one);
            })
        },
        &["pg-spgist-parent"],
    ),
    (
        "SP-GiST node that leads beyond the file",
        |e, s| e.sealed(&s.index, s.inner, |p| p[s.nodes[0]] = 0x40),
        &["pg-spgist-tuple"],
    ),
    (
        "SP-GiST node that leads nowhere",
        |e, s| e.sealed(&s.index, s.inner, |p| p[s.nodes[0] + 4..s.nodes[0] + 6].fill(0)),
        &["pg-spgist-parent"],
    ),
    (
        "SP-GiST inner tuple with a node less",
        |e, s| e.sealed(&s.index, s.inner, |p| p[tuple(p, s.inner_item)] -= 8),
        &["pg-spgist-tuple"],
    ),
    ("SP-GiST leaf block zeroed", |e, s| e.block(&s.index, s.leaf, |p| p.fill(0)), &["pg-spgist-parent"]),
    ("SP-GiST inner block zeroed", |e, s| e.block(&s.index, s.inner, |p| p.fill(0)), &["pg-spgist-parent"]),
    (
        "SP-GiST leaf block stale (lost write)",
        |e, s| e.block(&s.index, s.leaf, |p| p.copy_from_slice(&s.old_leaf)),
        &["pg-row-without-entry"],
    ),
    (
        "SP-GiST chain that goes in a cycle",
        |e, s| e.sealed(&s.index, s.leaf, |p| put_next(p, s.chain[1], s.chain[0])),
        &["pg-spgist-chain"],
    ),
    (
        "SP-GiST chain truncated",
        |e, s| e.sealed(&s.index, s.leaf, |p| put_next(p, s.chain[0], 0)),
        &["pg-spgist-parent"],
    ),
    (
        "SP-GiST chain beyond the block",
        |e, s| e.sealed(&s.index, s.leaf, |p| put_next(p, s.chain[0], 0x2FFF)),
        &["pg-spgist-chain"],
    ),
    (
        "SP-GiST leaf tuple marked as a placeholder",
        |e, s| e.sealed(&s.index, s.leaf, |p| p[tuple(p, s.chain[1])] |= 3),
        &["pg-spgist-chain", "pg-spgist-page"],
    ),
    (
        "SP-GiST placeholders counted wrongly",
        |e, s| e.sealed(&s.index, s.leaf, |p| p[SPECIAL + 4] ^= 1),
        &["pg-spgist-page"],
    ),
    (
        "SP-GiST leaf block moved to the tree of nulls",
        |e, s| e.sealed(&s.index, s.leaf, |p| p[SPECIAL] |= 8),
        &["pg-spgist-parent"],
    ),
    (
        "SP-GiST inner block marked as a leaf",
        |e, s| e.sealed(&s.index, s.inner, |p| p[SPECIAL] |= 4),
        &["pg-spgist-tuple"],
    ),
    (
        "SP-GiST point of a leaf changed",
        |e, s| {
            e.sealed(&s.points, s.point_leaf, |p| {
                let item = (1..=items(p)).find(|item| is_live(p, *item)).unwrap();
                let at = tuple(p, item) + 16;
                p[at + 4] ^= 1;
            })
        },
        &["pg-entry-differs"],
    ),
    (
        "SP-GiST meta page overwritten",
        |e, s| {
            e.sealed(&s.index, 0, |p| {
                let magic = u32_at(p, 24);
                put_u32(p, 24, magic ^ 1);
            })
        },
        &["pg-spgist-page"],
    ),
];

#[test]
fn each_damage_of_an_sp_gist_tree_is_found() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Full, Wanted::All, |_, _| true);
}
