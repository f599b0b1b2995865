//! The classes of damage, made at literal offsets in the tables of one scene.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use crate::scene::edit::{BLOCK, Editor, pointer, put_u32, tuple, u16_at, u32_at};
use crate::scene::server::Cluster;

/// A cluster with tables to damage, and blocks of it as they were before the last changes.
pub(crate) struct Scene {
    pub(crate) v: PathBuf,
    v_pkey: PathBuf,
    v_k: PathBuf,
    w: PathBuf,
    w_toast: PathBuf,
    z_toast: PathBuf,
    h: PathBuf,
    vm: PathBuf,
    /// Block 3 of `v` before its rows were updated.
    pub(crate) old_heap: Vec<u8>,
    /// Block 1 of `v_k` before entries were added.
    old_leaf: Vec<u8>,
}

/// `v`: rows of about 100 bytes with two indexes, frozen but for the blocks that were updated. `w`: values in TOAST.
/// `z`: packed values in TOAST. `h`: half of its rows updated in place.
const BEFORE: &str = "create table v(id int primary key, k int not null, t text)
insert into v select i, (i * 7) % 5003, repeat('x', 60) || i from generate_series(1, 5000) i
create index v_k on v(k)
create table w(id int primary key, big text)
alter table w alter big set storage external
insert into w select i, repeat('b', 5000) from generate_series(1, 60) i
create table z(id int primary key, packed text)
insert into z select i, (select string_agg(md5((i * 1000 + j)::text) || repeat('a', 40), '') from generate_series(1, 200) j) from generate_series(1, 60) i
create table h(id int primary key, n int) with (fillfactor = 50)
insert into h select i, 0 from generate_series(1, 300) i
vacuum (freeze) v
";
const AFTER: &str = "update v set k = k + 100000 where ctid >= '(3,1)' and ctid < '(4,1)'
update v set k = 1 where id = 4000
update h set n = 1 where id % 2 = 0
";

pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(BEFORE);
    let path = |name: &str| cluster.path_of(name);
    let (v, v_k) = (path("v"), path("v_k"));
    let block = |file: &PathBuf, number: usize| {
        std::fs::read(cluster.data().join(file)).unwrap()[number * BLOCK..(number + 1) * BLOCK].to_vec()
    };
    let (old_heap, old_leaf) = (block(&v, 3), block(&v_k, 1));
    cluster.run_all(AFTER);
    let toast = |table: &str| {
        let query = format!("select reltoastrelid::regclass as r from pg_class where relname = '{table}'\n");
        let output = cluster.run_all(&query);
        path(output.split("r = \"").nth(1).unwrap().split('"').next().unwrap())
    };
    let vm = PathBuf::from(format!("{}_vm", v.display()));
    Scene {
        v_pkey: path("v_pkey"),
        w: path("w"),
        w_toast: toast("w"),
        z_toast: toast("z"),
        h: path("h"),
        v,
        v_k,
        vm,
        old_heap,
        old_leaf,
    }
}

pub(crate) type Damage = fn(&mut Editor, &Scene);

/// Class, what is done, and the rules of which at least one finding must be made.
pub(crate) const CLASSES: &[(&str, Damage, &[&str])] = &[
    ("bit flip in a table, checksums on", |e, s| e.block(&s.v, 5, |p| p[5000] ^= 4), &["pg-page-checksum"]),
    (
        "bit flip in an index, checksums on",
        |e, s| e.block(&s.v_k, 2, |p| p[5000] ^= 4),
        &["pg-page-checksum"],
    ),
    (
        "bit flip in an indexed column, checksum valid",
        |e, s| {
            e.sealed(&s.v, 5, |p| {
                let t = tuple(p, 7);
                p[t + 28] ^= 4
            })
        },
        &["pg-entry-differs"],
    ),
    (
        "bit flip in an index key, checksum valid",
        |e, s| {
            e.sealed(&s.v_k, 2, |p| {
                let t = tuple(p, 9);
                p[t + 8] ^= 1
            })
        },
        &["pg-entry-differs"],
    ),
    (
        "torn block, half of it old",
        |e, s| e.block(&s.v, 3, |p| p[..4096].copy_from_slice(&s.old_heap[..4096])),
        &["pg-page-checksum"],
    ),
    ("zeroed table block", |e, s| e.block(&s.v, 20, |p| p.fill(0)), &["pg-entry-without-row"]),
    (
        "zeroed table block of an unvacuumed table",
        |e, s| e.block(&s.h, 1, |p| p.fill(0)),
        &["pg-entry-without-row"],
    ),
    ("zeroed index block", |e, s| e.block(&s.v_k, 2, |p| p.fill(0)), &["pg-btree-parent"]),
    (
        "stale table block (lost write)",
        |e, s| e.block(&s.v, 3, |p| p.copy_from_slice(&s.old_heap)),
        &["pg-btree-unique"],
    ),
    (
        "stale index block (lost write)",
        |e, s| e.block(&s.v_k, 1, |p| p.copy_from_slice(&s.old_leaf)),
        &["pg-row-without-entry"],
    ),
    (
        "block written to the wrong place of its file",
        |e, s| {
            let other = e.read(&s.v)[6 * BLOCK..7 * BLOCK].to_vec();
            e.block(&s.v, 5, |p| p.copy_from_slice(&other));
        },
        &["pg-page-checksum"],
    ),
    (
        "block of another table, same number",
        |e, s| {
            let other = e.read(&s.w)[..BLOCK].to_vec();
            e.block(&s.v, 0, |p| p.copy_from_slice(&other));
        },
        &["pg-entry-without-row", "pg-tuple-attribute"],
    ),
    (
        "block of an index in a table, same number",
        |e, s| {
            let other = e.read(&s.v_k)[2 * BLOCK..3 * BLOCK].to_vec();
            e.block(&s.v, 2, |p| p.copy_from_slice(&other));
        },
        &["pg-page-special"],
    ),
    (
        "table file truncated by whole blocks",
        |e, s| e.file(&s.v, |b| b.truncate(b.len() - 10 * BLOCK)),
        &["pg-btree-tid"],
    ),
    (
        "table file truncated inside a block",
        |e, s| e.file(&s.v, |b| b.truncate(b.len() - 100)),
        &["pg-partial-block"],
    ),
    (
        "index file cut by whole blocks",
        |e, s| e.file(&s.v_pkey, |b| b.truncate(b.len() - 3 * BLOCK)),
        &["pg-btree-links"],
    ),
    ("table file missing", |e, s| e.remove(&s.v), &["pg-file-missing"]),
    ("index file missing", |e, s| e.remove(&s.v_k), &["pg-file-missing"]),
    (
        "wrong sibling link",
        |e, s| {
            e.sealed(&s.v_pkey, 2, |p| {
                let next = u32_at(p, 8180);
                put_u32(p, 8180, next + 1)
            })
        },
        &["pg-btree-siblings"],
    ),
    (
        "wrong downlink",
        |e, s| {
            let root = u32_at(&e.read(&s.v_k), 32) as usize;
            e.sealed(&s.v_k, root, |p| {
                let t = tuple(p, 3);
                let child = u16_at(p, t + 2) as u16 + 1;
                p[t + 2..t + 4].copy_from_slice(&child.to_le_bytes())
            });
        },
        &["pg-btree-parent"],
    ),
    (
        "wrong separator in a parent",
        |e, s| {
            let root = u32_at(&e.read(&s.v_k), 32) as usize;
            e.sealed(&s.v_k, root, |p| {
                let t = tuple(p, 3);
                p[t + 8] ^= 1
            });
        },
        &["pg-btree-parent"],
    ),
    (
        "keys out of order in a block",
        |e, s| {
            e.sealed(&s.v_k, 2, |p| {
                let (a, b) = (u32_at(p, pointer(10)), u32_at(p, pointer(200)));
                put_u32(p, pointer(10), b);
                put_u32(p, pointer(200), a);
            })
        },
        &["pg-btree-order"],
    ),
    (
        "first key of a B-tree block below the separator that leads there, row and entry agreeing",
        |e, s| {
            // Order in the block, its high key, the row and its other index stay as they were.
            let leaf = e.read(&s.v_k)[2 * BLOCK..3 * BLOCK].to_vec();
            let entry = tuple(&leaf, 2);
            let (block, item) = (u16_at(&leaf, entry + 2), u16_at(&leaf, entry + 4));
            e.sealed(&s.v_k, 2, |p| put_u32(p, entry + 8, 2));
            e.sealed(&s.v, block, |p| {
                let t = tuple(p, item);
                put_u32(p, t + 28, 2)
            });
        },
        &["pg-btree-order"],
    ),
    (
        "index entry missing",
        |e, s| {
            e.sealed(&s.v_k, 2, |p| {
                // The last line pointer goes; its tuple stays behind as unused space.
                let lower = u16_at(p, 12) as u16 - 4;
                p[12..14].copy_from_slice(&lower.to_le_bytes());
            })
        },
        &["pg-row-without-entry"],
    ),
    (
        "index entry of a row that never was",
        |e, s| {
            e.sealed(&s.v_k, 2, |p| {
                let t = tuple(p, 9);
                p[t + 4] = 250
            })
        },
        &["pg-entry-without-row"],
    ),
    (
        "line pointer wiped",
        |e, s| e.sealed(&s.v, 12, |p| put_u32(p, pointer(4), 0)),
        &["pg-entry-without-row"],
    ),
    (
        "two rows with one unique key, rows and entries agreeing",
        |e, s| {
            // Rows 1 and 2 of block 0 have ids 1 and 2; so do the first two entries of the leftmost leaf.
            e.sealed(&s.v, 0, |p| {
                let t = tuple(p, 2);
                put_u32(p, t + 24, 1)
            });
            e.sealed(&s.v_pkey, 1, |p| {
                let t = tuple(p, 3);
                put_u32(p, t + 8, 1)
            });
        },
        &["pg-btree-unique"],
    ),
    (
        "two rows with one unique key, entries in neighbouring leaves",
        |e, s| {
            // The first entry of the second leaf, below its high key, and its row get the key before theirs.
            let leaf = e.read(&s.v_pkey)[2 * BLOCK..3 * BLOCK].to_vec();
            let entry = tuple(&leaf, 2);
            let (block, item) = (u16_at(&leaf, entry + 2), u16_at(&leaf, entry + 4));
            let key = u32_at(&leaf, entry + 8) - 1;
            e.sealed(&s.v_pkey, 2, |p| put_u32(p, entry + 8, key));
            e.sealed(&s.v, block, |p| {
                let t = tuple(p, item);
                put_u32(p, t + 24, key)
            });
        },
        &["pg-btree-unique"],
    ),
    ("TOAST piece wiped", |e, s| e.sealed(&s.w_toast, 2, |p| put_u32(p, pointer(2), 0)), &["pg-toast-chunk"]),
    (
        "TOAST piece with another number",
        |e, s| {
            e.sealed(&s.w_toast, 2, |p| {
                let t = tuple(p, 2);
                p[t + 28] ^= 8
            })
        },
        &["pg-toast-chunk"],
    ),
    (
        "TOAST pointer with another size",
        |e, s| {
            e.sealed(&s.w, 0, |p| {
                let t = tuple(p, 2);
                p[t + 24 + 4 + 6 + 1] ^= 64
            })
        },
        &["pg-toast-pointer", "pg-toast-chunk"],
    ),
    (
        "compressed value in TOAST overwritten",
        |e, s| {
            // Row, number and piece, then size and method: the first control byte says that eight matches follow.
            e.sealed(&s.z_toast, 0, |p| {
                let t = tuple(p, 1);
                p[t + 40] = 0xFF
            })
        },
        &["pg-value-compression"],
    ),
    (
        "compressed value in TOAST with another size",
        |e, s| {
            e.sealed(&s.z_toast, 0, |p| {
                let t = tuple(p, 1);
                p[t + 36] ^= 1
            })
        },
        &["pg-value-compression"],
    ),
    (
        "misaligned line pointer",
        |e, s| {
            e.sealed(&s.v, 12, |p| {
                let raw = u32_at(p, pointer(4));
                put_u32(p, pointer(4), raw + 1)
            })
        },
        &["pg-item-bounds"],
    ),
    (
        "line pointer beyond the block",
        |e, s| e.sealed(&s.v, 12, |p| put_u32(p, pointer(4), 0x7FF8 | 1 << 15 | 100 << 17)),
        &["pg-item-bounds"],
    ),
    (
        "two line pointers of one row",
        |e, s| {
            e.sealed(&s.v, 12, |p| {
                let raw = u32_at(p, pointer(4));
                put_u32(p, pointer(5), raw)
            })
        },
        &["pg-item-overlap"],
    ),
    (
        "inserting transaction of the future",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let t = tuple(p, 3);
                put_u32(p, t, 900_000_000)
            })
        },
        &["pg-xmin-bounds"],
    ),
    (
        "deleting transaction of the future",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let t = tuple(p, 3);
                put_u32(p, t + 4, 900_000_000);
                p[t + 20] = 0;
                p[t + 21] = 1;
            })
        },
        &["pg-xmax-bounds"],
    ),
    (
        "hint against pg_xact",
        |e, s| {
            e.sealed(&s.h, 0, |p| {
                let t = tuple(p, 3);
                p[t + 21] = 0x0A
            })
        },
        &["pg-commit-hint"],
    ),
    (
        "impossible length of a value",
        |e, s| {
            e.sealed(&s.v, 12, |p| {
                let t = tuple(p, 4);
                p[t + 32] = 0xFF
            })
        },
        &["pg-tuple-attribute"],
    ),
    (
        "impossible tuple header",
        |e, s| {
            e.sealed(&s.v, 12, |p| {
                let t = tuple(p, 4);
                p[t + 22] = 40
            })
        },
        &["pg-tuple-header"],
    ),
    (
        "null where none is allowed",
        |e, s| {
            e.sealed(&s.v, 12, |p| {
                // The row gets a null bitmap without `k`: what was `k` and the text are read as the text would be.
                let t = tuple(p, 4);
                p[t + 20] |= 1;
                p[t + 23] = 0b101;
            })
        },
        &["pg-not-null", "pg-tuple-attribute"],
    ),
    (
        "all-visible bit of a block that is not",
        |e, s| e.sealed(&s.vm, 0, |p| p[24] |= 0b0100_0000),
        &["pg-visibility-map"],
    ),
    (
        "all-visible flag and bit with a deleted row",
        |e, s| {
            e.sealed(&s.vm, 0, |p| p[24] |= 0b0100_0000);
            e.sealed(&s.v, 3, |p| p[10] |= 4);
        },
        &["pg-visibility-map"],
    ),
    ("LSN in the future", |e, s| e.sealed(&s.v, 12, |p| p[3] = 0x7F), &["pg-page-lsn"]),
    (
        "garbage with a position of the future",
        |e, s| {
            e.block(&s.v, 12, |p| {
                p[3] = 0x7F;
                p[5000..5400].fill(0xA7)
            })
        },
        &["pg-page-checksum"],
    ),
    ("page header overwritten", |e, s| e.sealed(&s.v, 12, |p| p[12..18].fill(0xFF)), &["pg-page-bounds"]),
    ("page version overwritten", |e, s| e.sealed(&s.v, 12, |p| p[18] = 9), &["pg-page-version"]),
    ("header wiped, rows left", |e, s| e.block(&s.v, 12, |p| p[..24].fill(0)), &["pg-page-new-not-zero"]),
    ("B-tree meta page overwritten", |e, s| e.sealed(&s.v_k, 0, |p| p[24] ^= 1), &["pg-btree-meta"]),
    ("B-tree root in the meta page wrong", |e, s| e.sealed(&s.v_k, 0, |p| p[32] ^= 1), &["pg-btree-parent"]),
    ("B-tree level wrong", |e, s| e.sealed(&s.v_k, 2, |p| p[8184] = 1), &["pg-btree-links"]),
    (
        "control file damaged",
        |e, _| e.file(&PathBuf::from("global/pg_control"), |b| b[100] ^= 1),
        &["pg-control-file"],
    ),
    (
        "map of file numbers damaged",
        |e, s| {
            let map = s.v.with_file_name("pg_filenode.map");
            e.file(&map, |b| b[400] ^= 1);
        },
        &["pg-relation-map"],
    ),
];
