//! What a server needs beside rows: sequences, init forks, visibility maps by themselves, members of locks; a control file
//! that is older than the data; and a server whose checkpoints do not record which transactions were active.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use results::check::{CheckLevel, CheckReport};

use crate::running::live::with_clients;
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor, put_u32, u16_at};
use crate::scene::server::{Cluster, servers};

const OBJECTS: &str = "create sequence s
select nextval('s')
create table t(id int primary key, v text)
insert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i
create unlogged table u(id int primary key, v text)
insert into u select i, repeat('u', i % 90) from generate_series(1, 300) i
create table e(id int primary key)
create table bare(id int, v text)
insert into bare select i, repeat('b', 80) from generate_series(1, 3000) i
vacuum freeze
create table locked(id int, n int)
insert into locked select i, 0 from generate_series(1, 300) i
do $$ declare k int; begin for i in 1..300 loop select id into k from locked where id = i for key share; begin select id into k from locked where id = i for share; exception when others then null; end; end loop; end $$
";

pub(crate) struct Scene {
    s: PathBuf,
    u: PathBuf,
    u_pkey: PathBuf,
    t: PathBuf,
    e_pkey: PathBuf,
    bare: PathBuf,
}

impl Scene {
    fn new(cluster: &Cluster) -> Scene {
        let [s, u, u_pkey, t, e_pkey, bare] =
            ["s", "u", "u_pkey", "t", "e_pkey", "bare"].map(|name| cluster.path_of(name));
        Scene { s, u, u_pkey, t, e_pkey, bare }
    }
}

/// Makes the objects in a cluster that is stopped.
pub(crate) fn scene(cluster: &Cluster) -> Scene {
    cluster.run_all(OBJECTS);
    Scene::new(cluster)
}

fn fork(path: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}_{name}", path.display()))
}

pub(crate) type Case = (&'static str, fn(&mut Editor, &Scene), &'static str);

pub(crate) const CASES: &[Case] = &[
    (
        "magic number of a sequence",
        |e, s| e.sealed(&s.s, 0, |p| put_u32(p, BLOCK - 8, 0x1718)),
        "pg-sequence",
    ),
    (
        "tuple of a sequence missing",
        |e, s| e.sealed(&s.s, 0, |p| p[12..14].copy_from_slice(&24u16.to_le_bytes())),
        "pg-sequence",
    ),
    ("file of a sequence of 0 bytes", |e, s| e.file(&s.s, Vec::clear), "pg-sequence"),
    ("block of a sequence zeroed", |e, s| e.file(&s.s, |bytes| bytes.fill(0)), "pg-sequence"),
    ("file of an index of an empty table of 0 bytes", |e, s| e.file(&s.e_pkey, Vec::clear), "pg-btree-meta"),
    (
        "metapage of an index of an empty table zeroed",
        |e, s| e.file(&s.e_pkey, |bytes| bytes[..BLOCK].fill(0)),
        "pg-btree-meta",
    ),
    (
        "rows in the init fork of an unlogged table",
        |e, s| {
            let rows = e.read(&s.u);
            e.file(&fork(&s.u, "init"), |bytes| *bytes = rows[..BLOCK].to_vec());
        },
        "pg-init-fork",
    ),
    (
        "init fork of an unlogged index of 0 bytes",
        |e, s| e.file(&fork(&s.u_pkey, "init"), Vec::clear),
        "pg-init-fork",
    ),
    (
        "init fork of an unlogged index zeroed",
        |e, s| e.file(&fork(&s.u_pkey, "init"), |bytes| bytes.fill(0)),
        "pg-init-fork",
    ),
    (
        "init fork of an unlogged index that names a root",
        |e, s| e.sealed(&fork(&s.u_pkey, "init"), 0, |p| put_u32(p, 32, 1)),
        "pg-btree-meta",
    ),
    (
        "init fork of an unlogged index with the magic number of another",
        |e, s| e.sealed(&fork(&s.u_pkey, "init"), 0, |p| put_u32(p, 24, 0x1717)),
        "pg-btree-meta",
    ),
    ("init fork of a permanent table", |e, s| e.add(&fork(&s.t, "init"), &[]), "pg-init-fork"),
    ("init fork of an unlogged table missing", |e, s| e.remove(&fork(&s.u, "init")), "pg-init-fork"),
    ("init fork of an unlogged index missing", |e, s| e.remove(&fork(&s.u_pkey, "init")), "pg-init-fork"),
    (
        "frozen bit without the visible bit",
        |e, s| e.sealed(&fork(&s.t, "vm"), 0, |p| p[24 + 1] &= 0b1111_1011),
        "pg-visibility-map",
    ),
    (
        "pg_multixact/offsets zeroed under rows that are locked only",
        |e, _| e.file(Path::new("pg_multixact/offsets/0000"), |bytes| bytes.fill(0)),
        "pg-transaction-end",
    ),
];

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

fn faults(cluster: &Cluster, scene: &Scene, what: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (class, damage, wanted) in CASES {
        let mut editor = Editor::new(&cluster.data());
        damage(&mut editor, scene);
        let report = check(cluster, CheckLevel::Full, 2);
        editor.undo();
        if !rules(&report).contains(wanted) || report.exit_code() != 1 {
            faults.push(format!("{what}, {class}: wanted {wanted}, found {:#?}", report.findings));
        }
    }
    faults
}

#[test]
fn what_no_row_shows_is_found_stopped_running_and_after_a_crash() {
    let all = servers();
    for (major, bin) in [all.first(), all.last()].into_iter().flatten() {
        let cluster = Cluster::new(bin, if *major < 18 { &["-k"] } else { &[] });
        cluster.run_all(OBJECTS);
        let scene = Scene::new(&cluster);
        assert_silent(&cluster, "before any damage");
        let found = faults(&cluster, &scene, &format!("PostgreSQL {major}, stopped"));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(OBJECTS);
    let scene = Scene::new(&cluster);
    cluster.start("-c wal_level=replica");
    cluster.sql(&["checkpoint"]);
    let clean = check(&cluster, CheckLevel::Full, 2);
    let mut found = faults(&cluster, &scene, "running");
    cluster.sql(&["insert into t values (9999, 'x')", "select nextval('s')"]);
    cluster.stop("immediate");
    found.extend(faults(&cluster, &scene, "crashed"));
    assert!(clean.findings.is_empty(), "{:#?}", clean.findings);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// An unlogged table with an index of each access method, and a sequence that is unlogged in 15 and later.
const UNLOGGED: &str = "create unlogged table u(id int generated always as identity primary key, h int, p point, q point, a int[], b int)
insert into u(h, p, q, a, b) select i, point(i, i), point(i, -i), array[i], i from generate_series(1, 3000) i
create index u_hash on u using hash(h)
create index u_gist on u using gist(p)
create index u_spgist on u using spgist(q)
create index u_gin on u using gin(a)
create index u_brin on u using brin(b)
";

#[test]
fn init_forks_of_all_access_methods_are_silent_and_found_when_empty_or_zeroed() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(UNLOGGED);
        assert_silent(&cluster, &format!("PostgreSQL {major}, before any damage"));
        let mut faults = Vec::new();
        for name in ["u_pkey", "u_hash", "u_gist", "u_spgist", "u_gin", "u_brin", "u_id_seq"] {
            let file = fork(&cluster.path_of(name), "init");
            if !cluster.data().join(&file).exists() {
                assert!(name == "u_id_seq" && major < 15, "PostgreSQL {major}: {name}");
                continue;
            }
            let changes: [fn(&mut Vec<u8>); 3] =
                [Vec::clear, |bytes| bytes.fill(0), |bytes| bytes.extend([0; BLOCK])];
            for (number, change) in changes.into_iter().enumerate() {
                let mut editor = Editor::new(&cluster.data());
                editor.file(&file, change);
                let report = check(&cluster, CheckLevel::Full, 2);
                editor.undo();
                if !rules(&report).contains(&"pg-init-fork") {
                    faults.push(format!("PostgreSQL {major}, {name}, {number}: {:#?}", report.findings));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

#[test]
fn a_control_file_that_is_older_than_the_data_is_one_finding_and_no_row_is_to_be_killed() {
    let Some((major, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
    cluster.run_all("create table t(id int primary key, v text)\ncreate table t2(id int primary key)\n");
    let control = std::fs::read(cluster.data().join("global/pg_control")).unwrap();
    let insert = |id: u32| format!("insert into t(id) values ({id})\ninsert into t2 values ({id})\n");
    cluster.run_all(&(1..=100).map(insert).collect::<String>());
    assert_silent(&cluster, "before any damage");
    Editor::new(&cluster.data()).file(Path::new("global/pg_control"), |bytes| *bytes = control);
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(!rules(&report).contains(&"pg-xmin-bounds"), "{:#?}", report.findings);
    let found: Vec<_> = report.findings.iter().filter(|finding| finding.rule == "pg-next-xid").collect();
    assert_eq!(found.len(), 1, "{:#?}", report.findings);
    assert!(found[0].found.starts_with("200 rows of "), "{found:#?}");
    assert!(found[0].next_step.starts_with("do not start the server"), "{found:#?}");
    let kills = |step: &str| step.contains("pg_surgery") || step.contains("REINDEX");
    assert!(!report.findings.iter().any(|finding| kills(&finding.next_step)), "{:#?}", report.findings);
}

#[test]
fn where_rows_are_lost_no_advice_makes_the_map_agree_with_the_loss() {
    let Some((major, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
    cluster.run_all(OBJECTS);
    let scene = Scene::new(&cluster);
    let damages: [fn(&mut Editor, &Path); 2] = [
        |e, path| e.file(path, |bytes| bytes.truncate(bytes.len() - 2 * BLOCK)),
        |e, path| e.block(path, 3, |page| page.fill(0)),
    ];
    for damage in damages {
        let mut editor = Editor::new(&cluster.data());
        assert!(u16_at(&editor.read(&scene.bare)[3 * BLOCK..], 12) > 24);
        damage(&mut editor, &scene.bare);
        let report = check(&cluster, CheckLevel::Full, 2);
        editor.undo();
        assert_eq!(rules(&report), ["pg-visibility-map"], "{:#?}", report.findings);
        let step = &report.findings[0].next_step;
        assert!(step.starts_with("restore the block") && step.contains("do not run VACUUM"), "{step}");
        assert!(report.findings[0].found.contains("lost"), "{:#?}", report.findings);
    }
}

#[test]
fn rows_are_compared_although_the_checkpoint_does_not_record_the_oldest_active_transaction() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(OBJECTS);
    let path = cluster.path_of("t");
    cluster.start("-c wal_level=minimal -c max_wal_senders=0");
    cluster.sql(&[
        "create table w(id int primary key, v text)",
        "insert into w select i, 'w' from generate_series(1, 500) i",
        "checkpoint",
    ]);
    cluster.sql(&["update w set v = 'x' where id = 8"]);
    let clean = check(&cluster, CheckLevel::Full, 2);
    let mut editor = Editor::new(&cluster.data());
    editor.block(&path, 4, |page| page.fill(0));
    let damaged = check(&cluster, CheckLevel::Full, 2);
    editor.undo();
    cluster.stop("immediate");
    let crashed = check(&cluster, CheckLevel::Full, 2);
    assert!(clean.findings.is_empty(), "{:#?}", clean.findings);
    assert!(clean.counters.row_count > 3000, "{:?} {:#?}", clean.counters, clean.not_checked);
    assert!(rules(&damaged).contains(&"pg-entry-without-row"), "{:#?}", damaged.findings);
    assert!(crashed.findings.is_empty() && crashed.counters.row_count > 3000, "{crashed:#?}");
}

#[test]
fn the_reason_why_rows_are_not_compared_names_the_cause() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(OBJECTS);
    cluster.start("-c wal_level=minimal -c max_wal_senders=0");
    cluster.sql(&["insert into t values (9999, 'x')", "checkpoint", "insert into t values (9998, 'x')"]);
    // Without its WAL nothing says which transactions were active.
    let wal = cluster.data().join("pg_wal");
    let aside = cluster.data().with_file_name("aside");
    std::fs::rename(&wal, &aside).unwrap();
    std::fs::create_dir(&wal).unwrap();
    let report = check(&cluster, CheckLevel::Full, 2);
    std::fs::remove_dir(&wal).unwrap();
    std::fs::rename(&aside, &wal).unwrap();
    cluster.stop("immediate");
    let whys: Vec<&str> = report.not_checked.iter().map(|gap| gap.why.as_str()).collect();
    assert!(whys.iter().any(|why| why.contains("wal_level=minimal")), "{whys:#?}");
    assert!(rules(&report).contains(&"pg-checkpoint-record"), "{:#?}", report.findings);
}
