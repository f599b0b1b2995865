//! Hash indexes: silent after any history, and each damage of buckets, chains, bitmap and meta page is found.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found, count_of};
use crate::scene::clean::assert_history_is_silent;
use crate::scene::edit::{BLOCK, Editor, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::Cluster;

/// One statement per line: splits, long chains, pages freed by VACUUM and used again, builds, aborted transactions.
const HISTORY: &str = include_str!("hash.sql");

#[test]
fn hash_indexes_of_any_history_are_silent_in_every_major() {
    // Splits and freed pages that only the log has.
    let before_crash = "insert into hs select i * 7 from generate_series(1, 8000) i\ndelete from hs where k % 3 = 0\nvacuum hs\ninsert into ht select i, md5(i::text), null, null, null from generate_series(50001, 60000) i\n";
    assert_history_is_silent(HISTORY, 50_000, before_crash, "select count(*) from hs\n", |major, report| {
        let by_pointer: Vec<&str> = report
            .not_checked
            .iter()
            .filter(|gap| gap.what == "hash values")
            .filter_map(|gap| gap.object.as_deref())
            .collect();
        let names = ["hn_j", "hn_q", "hn_t", "hn_v", "hn_x"].map(|name| format!("postgres.public.{name}"));
        assert!(names.iter().all(|name| by_pointer.contains(&name.as_str())), "{by_pointer:?}");
        assert!(!by_pointer.iter().any(|name| name.contains(".hk_")), "PostgreSQL {major}: {by_pointer:?}");
    });
}

/// An index with several buckets, some of which have more than one page, and free pages.
pub(crate) struct HashScene {
    index: PathBuf,
    /// First page of a bucket with at least two overflow pages, and the first of these.
    bucket: usize,
    overflow: usize,
    /// The bitmap page.
    bitmap: usize,
    /// The first page of a bucket as it was before the bucket was split, and where it stands.
    old_bucket: Vec<u8>,
    split: usize,
    /// A page that was in use and is free.
    free: usize,
}

const BEFORE: &str = "create table hv(id int)
insert into hv select i from generate_series(1, 4000) i
create index hv_hash on hv using hash(id)
insert into hv select 7 from generate_series(1, 2500)
insert into hv select 9 from generate_series(1, 2500)
";
const AFTER: &str = "insert into hv select i from generate_series(4001, 7000) i
delete from hv where id = 9
vacuum hv
";

fn kind_of(block: &[u8]) -> usize {
    u16_at(block, 8188) & 15
}

fn next_of(block: &[u8]) -> usize {
    u32_at(block, 8180) as usize
}

pub(crate) fn scene(cluster: &Cluster) -> HashScene {
    cluster.run_all(BEFORE);
    let index = cluster.path_of("hv_hash");
    let read = || std::fs::read(cluster.data().join(&index)).unwrap();
    let old = read();
    cluster.run_all(AFTER);
    let bytes = read();
    let block = |number: usize| &bytes[number * BLOCK..(number + 1) * BLOCK];
    let old_block = |number: usize| &old[number * BLOCK..(number + 1) * BLOCK];
    let all = || 1..bytes.len() / BLOCK;
    let has_more = |number: usize| next_of(block(number)) != u32::MAX as usize;
    let bucket =
        all().find(|b| kind_of(block(*b)) == 2 && has_more(*b) && has_more(next_of(block(*b)))).unwrap();
    // The number of buckets at the last split stands where other pages name the one before.
    let split = (1..old.len() / BLOCK)
        .find(|b| {
            kind_of(old_block(*b)) == 2
                && kind_of(block(*b)) == 2
                && u32_at(old_block(*b), 8176) < u32_at(block(*b), 8176)
        })
        .unwrap();
    HashScene {
        bucket,
        overflow: next_of(block(bucket)),
        bitmap: all().find(|b| kind_of(block(*b)) == 4).unwrap(),
        old_bucket: old_block(split).to_vec(),
        split,
        free: (1..old.len() / BLOCK)
            .find(|b| kind_of(old_block(*b)) == 1 && kind_of(block(*b)) == 0)
            .unwrap(),
        index,
    }
}

pub(crate) type HashDamage = fn(&mut Editor, &HashScene);

/// The hash value of an entry, by its number.
fn put_hash(page: &mut [u8], item: usize, change: impl Fn(u32) -> u32) {
    let at = tuple(page, item) + 8;
    let hash = change(u32_at(page, at));
    put_u32(page, at, hash);
}

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, HashDamage, &[&str])] = &[
    (
        "hash: next page of a bucket is another one",
        |e, s| {
            let beyond = next_of(&e.read(&s.index)[s.overflow * BLOCK..]) as u32;
            e.sealed(&s.index, s.bucket, |p| put_u32(p, 8180, beyond))
        },
        &["pg-hash-chain"],
    ),
    (
        "hash: chain of a bucket truncated",
        |e, s| e.sealed(&s.index, s.bucket, |p| put_u32(p, 8180, u32::MAX)),
        &["pg-hash-chain"],
    ),
    (
        "hash: overflow page of another bucket",
        |e, s| {
            e.sealed(&s.index, s.overflow, |p| {
                let bucket = u32_at(p, 8184);
                put_u32(p, 8184, bucket ^ 1)
            })
        },
        &["pg-hash-bucket"],
    ),
    (
        "hash: first page of a bucket with another number",
        |e, s| {
            e.sealed(&s.index, s.bucket, |p| {
                let bucket = u32_at(p, 8184);
                put_u32(p, 8184, bucket ^ 1)
            })
        },
        &["pg-hash-page"],
    ),
    (
        "hash: stale first page of a bucket (lost write)",
        |e, s| e.block(&s.index, s.split, |p| p.copy_from_slice(&s.old_bucket)),
        &["pg-hash-page"],
    ),
    (
        "hash: first page of a bucket zeroed",
        |e, s| e.block(&s.index, s.bucket, |p| p.fill(0)),
        &["pg-hash-page"],
    ),
    ("hash: overflow page zeroed", |e, s| e.block(&s.index, s.overflow, |p| p.fill(0)), &["pg-hash-page"]),
    (
        "hash: bit of an overflow page in use cleared",
        |e, s| {
            e.sealed(&s.index, s.bitmap, |p| {
                let bit = (1..64).find(|bit| p[24 + bit / 8] >> (bit % 8) & 1 == 1).unwrap();
                p[24 + bit / 8] &= !(1 << (bit % 8))
            })
        },
        &["pg-hash-bitmap"],
    ),
    (
        "hash: bit of an overflow page that is not there cleared",
        |e, s| e.sealed(&s.index, s.bitmap, |p| p[24 + 4000] = 0),
        &["pg-hash-bitmap"],
    ),
    (
        "hash: free overflow page marked as in use",
        |e, s| {
            e.sealed(&s.index, s.free, |p| {
                put_u32(p, 8176, s.overflow as u32);
                put_u32(p, 8184, 0);
                p[8188] = 1
            })
        },
        &["pg-hash-bitmap", "pg-hash-chain"],
    ),
    ("hash: bitmap page zeroed", |e, s| e.block(&s.index, s.bitmap, |p| p.fill(0)), &["pg-hash-page"]),
    (
        "hash: entry with a hash value of another bucket",
        |e, s| e.sealed(&s.index, s.bucket, |p| put_hash(p, 1, |hash| hash ^ 1)),
        &["pg-hash-bucket"],
    ),
    (
        "hash: two entries with each other's rows",
        |e, s| {
            e.sealed(&s.index, s.split, |p| {
                let (first, last) = (tuple(p, 1), tuple(p, (u16_at(p, 12) - 24) / 4));
                (0..6).for_each(|byte| p.swap(first + byte, last + byte));
            })
        },
        &["pg-entry-differs"],
    ),
    (
        "hash: entries of a page out of order",
        |e, s| {
            e.sealed(&s.index, s.split, |p| {
                put_hash(p, 2, |hash| hash | 0xF000_0000);
            })
        },
        &["pg-hash-order"],
    ),
    (
        "hash: places of overflow pages in the meta page changed",
        |e, s| e.sealed(&s.index, 0, |p| p[24 + 52 + 4] += 1),
        &["pg-hash-meta"],
    ),
    (
        "hash: last bucket in the meta page changed",
        |e, s| {
            e.sealed(&s.index, 0, |p| {
                let last = u32_at(p, 48);
                put_u32(p, 48, last - 1)
            })
        },
        &["pg-hash-page"],
    ),
    (
        "hash: masks in the meta page changed",
        |e, s| e.sealed(&s.index, 0, |p| p[24 + 28] ^= 4),
        &["pg-hash-meta"],
    ),
    (
        "hash: place of the bitmap page in the meta page changed",
        |e, s| e.sealed(&s.index, 0, |p| p[24 + 444] ^= 1),
        &["pg-hash-meta"],
    ),
    ("hash: meta page overwritten", |e, s| e.sealed(&s.index, 0, |p| p[24] ^= 1), &["pg-hash-meta"]),
    (
        "hash: file cut by whole blocks",
        |e, s| e.file(&s.index, |b| b.truncate(b.len() - 2 * BLOCK)),
        &["pg-hash-meta"],
    ),
];

#[test]
fn each_damage_of_a_hash_index_is_found_where_it_was_made() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Full, Wanted::All, |_, report| {
        count_of(report, "pg-hash-") <= 6
    });
}
