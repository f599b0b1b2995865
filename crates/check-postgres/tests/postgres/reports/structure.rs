//! How tables and indexes lie on their blocks: the published shape at 1/1000 of its size, beside pgstattuple and
//! pgstatindex, in all modes, live, and around damage.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;

use check::progress::Silent;
use check::structure::Options;
use check_postgres::{structure_cluster, structure_file};
use results::structure::{ObjectStructure, StructureMode, StructureReport};
use skips::{Capability, skip};
use stats::identities::{IndexLevel, level_records};
use stats::pages::pages_for_rows;

use crate::scene::server::{Cluster, servers};

/// The published rows: a random key of 16 bytes and 1024 bytes beside it, seven to a page.
const ROWS: u64 = 50_000;

/// As many where their number proves nothing: the tree still has two levels.
const FEW: u64 = 7_000;

/// Statements that store the rows twice, in the order of their keys and in none.
fn shape(rows: u64) -> String {
    format!(
        "\
create table random_keys (id uuid not null, pad char(1024) not null)
create table ordered_keys (id uuid not null, pad char(1024) not null)
alter table random_keys alter pad set storage plain
alter table ordered_keys alter pad set storage plain
create unique index random_pk on random_keys (id)
create unique index ordered_pk on ordered_keys (id)
insert into random_keys select md5(i::text)::uuid, 'x' from generate_series(1, {rows}) i
insert into ordered_keys select id, pad from random_keys order by id
"
    )
}

fn measured(data: &Path, options: &Options) -> StructureReport {
    structure_cluster(data, options, &mut Silent).unwrap()
}

fn object<'r>(report: &'r StructureReport, name: &str) -> &'r ObjectStructure {
    let is_named = |object: &&ObjectStructure| {
        object.index.as_deref().unwrap_or(&object.table) == name
            || object.table.ends_with(&format!(".{name}"))
    };
    let indexes = report.objects.iter().filter(|object| object.index.as_deref() == Some(name));
    indexes.chain(report.objects.iter().filter(|object| object.index.is_none())).find(is_named).unwrap()
}

/// The value of a column in the output of single-user mode.
fn value(output: &str, column: &str) -> f64 {
    let line = output.lines().find(|line| line.contains(&format!(": {column} = "))).unwrap();
    line.split('"').nth(1).unwrap().parse().unwrap()
}

fn assert_identities(object: &ObjectStructure) {
    let name = object.index.as_ref().unwrap_or(&object.table);
    assert_eq!(object.levels.len(), object.index_depth as usize, "{name}");
    let level_of = |level: &results::structure::LevelStructure| IndexLevel {
        page_count: level.page_count,
        fragment_count: level.fragment_count,
        record_count: level.record_count.unwrap(),
        record_bytes_mean: level.avg_record_size_bytes.unwrap(),
    };
    for pair in object.levels.windows(2) {
        let outcome = level_records(&level_of(&pair[1]), &level_of(&pair[0]));
        assert!(outcome.is_consistent(), "{name} level {}: {outcome:?}", pair[1].index_level);
    }
    for level in &object.levels {
        assert_eq!(level.avg_fragment_size_pages, level_of(level).fragment_pages_mean(), "{name}");
        let successors = level.page_count - 1;
        assert_eq!(level.successor_count, successors, "{name}");
        let share =
            if successors == 0 { 0.0 } else { 100.0 * (level.fragment_count - 1) as f64 / successors as f64 };
        assert!((level.avg_fragmentation_pct - share).abs() < 1e-9, "{name}");
        // Records and their line pointers are a part of what is used; the rest is padding and the high key.
        let used = level.room_bytes.unwrap() - level.free_bytes.unwrap();
        let records = level.record_count.unwrap() as f64 * (level.avg_record_size_bytes.unwrap() + 4.0);
        assert!(records <= used as f64 + 0.5 && used as f64 <= 1.6 * records + 100.0, "{name}");
        assert_eq!(level.looked_at_count, level.page_count, "{name}");
    }
    assert_eq!(object.levels.last().unwrap().page_count, 1, "{name} has one root");
}

#[test]
fn rows_of_the_published_shape_lie_as_published_and_as_pgstattuple_says() {
    let servers = servers();
    let newest = servers.last().map(|(major, _)| *major);
    for (major, bin) in servers {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        let rows = if Some(major) == newest { ROWS } else { FEW };
        cluster.run_all(&shape(rows));
        let report = measured(&cluster.data(), &Options { worker_count: 2, ..Options::default() });
        assert_eq!(report.exit_code(), 0, "{:?}", report.unfinished);
        assert_published_shape(&report, rows, &format!("PostgreSQL {major}"));
        if cluster.run("create extension pgstattuple\n").contains("ERROR:") {
            skip(Capability::PostgresContrib, format!("PostgreSQL {major} has no pgstattuple"));
            continue;
        }
        // Entries that a vacuum takes out leave deleted and emptied blocks behind.
        cluster.run_all("delete from ordered_keys where id < '40000000-0000-0000-0000-000000000000'\nvacuum ordered_keys\n");
        let report = measured(&cluster.data(), &Options::default());
        assert_like_pgstattuple(&cluster, &report, major);
    }
}

fn assert_published_shape(report: &StructureReport, rows: u64, server: &str) {
    let is_ours = |object: &&ObjectStructure| object.table.contains(".public.");
    assert_eq!(report.objects.iter().filter(is_ours).count(), 4, "{server}");
    for name in ["random_keys", "ordered_keys"] {
        let heap = object(report, name);
        let level = &heap.levels[0];
        assert_eq!((heap.index_id, heap.index_depth), (0, 1));
        assert_eq!(level.record_count, Some(rows));
        assert_eq!(Some(level.page_count), pages_for_rows(rows, 7), "{server} {name}");
        assert_eq!(level.page_count, if rows == ROWS { 7143 } else { 1000 });
        assert_eq!(level.min_record_size_bytes, level.max_record_size_bytes);
        assert_eq!((level.avg_fragmentation_pct, level.forwarded_record_count), (0.0, None));
    }
    let (random, ordered) = (object(report, "random_pk"), object(report, "ordered_pk"));
    assert_eq!((random.index_id, random.table.as_str()), (2, "postgres.public.random_keys"));
    [random, ordered].into_iter().for_each(assert_identities);
    let (random, ordered) = (&random.levels[0], &ordered.levels[0]);
    assert_eq!((random.record_count, ordered.record_count), (Some(rows), Some(rows)));
    if rows < ROWS {
        return;
    }
    assert!(random.avg_fragmentation_pct > 90.0, "{random:?}");
    assert!(ordered.avg_fragmentation_pct < 20.0, "{ordered:?}");
    let fill = random.avg_page_space_used_pct.unwrap();
    assert!((60.0..=80.0).contains(&fill), "{fill}");
    assert!(ordered.avg_page_space_used_pct.unwrap() > 85.0);
}

fn assert_like_pgstattuple(cluster: &Cluster, report: &StructureReport, major: u32) {
    let server = format!("PostgreSQL {major}");
    // Majors before 18 take the bytes of one line pointer off the free space of each block.
    let taken_off_bytes = if major < 18 { 4 } else { 0 };
    for name in ["random_pk", "ordered_pk"] {
        let theirs = cluster.run_all(&format!("select * from pgstatindex('{name}')\n"));
        let ours = object(report, name);
        let leaves = &ours.levels[0];
        assert_eq!(leaves.page_count as f64, value(&theirs, "leaf_pages"), "{server} {name}");
        let inner: u64 = ours.levels[1..].iter().map(|level| level.page_count).sum();
        assert_eq!(inner as f64, value(&theirs, "internal_pages"));
        let free = value(&theirs, "empty_pages") + value(&theirs, "deleted_pages");
        assert_eq!(ours.free_page_count, Some(free as u64), "{server} {name}");
        // Theirs: links to blocks with smaller numbers, by all leaves.
        let backward = 100.0 * leaves.backward_count as f64 / leaves.page_count as f64;
        assert!((backward - value(&theirs, "leaf_fragmentation")).abs() < 0.006, "{theirs}");
        let taken_off =
            100.0 * taken_off_bytes as f64 / (leaves.room_bytes.unwrap() / leaves.page_count) as f64;
        let density = value(&theirs, "avg_leaf_density") - leaves.avg_page_space_used_pct.unwrap();
        assert!((density - taken_off).abs() < 0.006, "{server} {name}: {density}");
    }
    for name in ["random_keys", "ordered_keys"] {
        let theirs = cluster.run_all(&format!("select * from pgstattuple('{name}')\n"));
        let level = &object(report, name).levels[0];
        assert_eq!(level.record_count.unwrap() as f64, value(&theirs, "tuple_count"));
        let bytes = level.record_count.unwrap() as f64 * level.avg_record_size_bytes.unwrap();
        assert_eq!(bytes.round(), value(&theirs, "tuple_len"));
        let free = level.free_bytes.unwrap() - taken_off_bytes * level.page_count;
        assert_eq!(free as f64, value(&theirs, "free_space"), "{server} {name}");
    }
}

#[test]
fn limited_and_sampled_read_few_blocks_and_agree_with_detailed() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &[]);
    cluster.run_all(&shape(FEW));
    let with = |mode| measured(&cluster.data(), &Options { mode, ..Options::default() });
    let detailed = with(StructureMode::Detailed);
    let limited = with(StructureMode::Limited);
    assert!(limited.counters.extra_read_count < 20, "{}", limited.counters.extra_read_count);
    for name in ["random_pk", "ordered_pk"] {
        let (full, brief) = (object(&detailed, name), object(&limited, name));
        assert_eq!(full.strip, brief.strip);
        for (full, brief) in full.levels.iter().zip(&brief.levels) {
            assert_eq!(full.avg_fragmentation_pct, brief.avg_fragmentation_pct, "{name}");
            assert_eq!((full.page_count, full.fragment_count), (brief.page_count, brief.fragment_count));
            let expected = if full.index_level == 0 { None } else { full.record_count };
            assert_eq!(brief.record_count, expected);
        }
    }
    // Small trees and tables are looked at whole.
    let sampled = with(StructureMode::Sampled);
    for name in ["random_pk", "ordered_pk", "random_keys"] {
        assert_eq!(object(&sampled, name).levels, object(&detailed, name).levels, "{name}");
    }
}

#[test]
fn one_table_one_file_and_a_file_apart_from_any_cluster() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &[]);
    cluster.run_all(&shape(FEW));
    cluster.run_all("create table wide (id int primary key, t text)\nalter table wide alter t set storage external\ninsert into wide select i, repeat('long', 2000) from generate_series(1, 50) i\n");
    let all = measured(&cluster.data(), &Options::default());
    let wanted = Options { table: Some("Public.wide".to_owned()), ..Options::default() };
    let report = measured(&cluster.data(), &wanted);
    let names: Vec<&str> = report.objects.iter().filter_map(|object| object.index.as_deref()).collect();
    assert_eq!(names.len(), 2, "its key and that of its long values: {names:?}");
    assert!(report.objects.iter().any(|object| object.notes.iter().any(|note| note.contains("long values"))));
    let absent = Options { table: Some("nothing".to_owned()), ..Options::default() };
    assert!(measured(&cluster.data(), &absent).unfinished.unwrap().contains("\"nothing\""));
    assert!(
        measured(&cluster.data(), &Options { with_system: true, ..Options::default() }).objects.len() > 60
    );

    let path = cluster.data().join(cluster.path_of("random_pk"));
    let in_place = structure_file(&path, &Options::default(), &mut Silent).unwrap();
    assert_eq!(in_place.objects[0].levels, object(&all, "random_pk").levels);
    let elsewhere = tempfile::tempdir().unwrap();
    for (relation, name) in [("random_pk", "random_pk"), ("random_keys", "random_keys")] {
        let copy = elsewhere.path().join(name);
        std::fs::copy(cluster.data().join(cluster.path_of(relation)), &copy).unwrap();
        let apart = structure_file(&copy, &Options::default(), &mut Silent).unwrap();
        assert_eq!(apart.objects[0].levels, object(&all, relation).levels);
    }
    let nonsense = elsewhere.path().join("nonsense");
    std::fs::write(&nonsense, vec![7u8; 20_000]).unwrap();
    assert!(structure_file(&nonsense, &Options::default(), &mut Silent).is_err());
    std::fs::write(&nonsense, b"").unwrap();
    assert!(structure_file(&nonsense, &Options::default(), &mut Silent).is_err());
}

#[test]
fn a_server_that_runs_gives_the_same_figures_once_it_has_written() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(&shape(FEW));
    let stopped = measured(&cluster.data(), &Options::default());
    let sockets = cluster.data();
    let mut server = cluster
        .command("postgres")
        .arg("-D")
        .arg(cluster.data())
        .args(["-c", "listen_addresses=", "-c", &format!("unix_socket_directories={}", sockets.display())])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid_file = cluster.data().join("postmaster.pid");
    let is_ready = || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.contains("ready"));
    // Bounded by the life of the server.
    while !is_ready() && server.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let running = measured(&cluster.data(), &Options::default());
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(
        running.facts.iter().any(|(_, value)| value.contains("a server is running")),
        "{:?}",
        running.facts
    );
    assert_eq!(running.objects, stopped.objects);
}

#[test]
fn damaged_and_missing_blocks_are_left_out_and_counted() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(&shape(FEW));
    let clean = measured(&cluster.data(), &Options::default());
    let [heap, tree] =
        ["random_keys", "random_pk"].map(|relation| cluster.data().join(cluster.path_of(relation)));
    let open = |path: &Path| std::fs::OpenOptions::new().write(true).open(path).unwrap();
    open(&heap).write_all_at(&[0xff; 100], 500 * 8192 + 4000).unwrap();
    open(&tree).write_all_at(&[0xff; 8192], 20 * 8192).unwrap();
    let report = measured(&cluster.data(), &Options { worker_count: 2, ..Options::default() });
    assert_eq!((report.accounting.damaged_count, report.exit_code()), (2, 1));
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    let damaged = object(&report, "random_keys");
    assert_eq!(damaged.levels[0].record_count, Some(FEW - 7));
    assert_eq!((damaged.levels[0].page_count, damaged.unclear_page_count), (1000, 1));
    let damaged = object(&report, "random_pk");
    assert_eq!(damaged.levels[0].page_count, object(&clean, "random_pk").levels[0].page_count - 1);
    assert!(damaged.notes.iter().any(|note| note.contains("left out")), "{:?}", damaged.notes);
    let limited = measured(&cluster.data(), &Options { mode: StructureMode::Limited, ..Options::default() });
    assert_eq!(object(&limited, "random_keys").levels[0].page_count, 1000);

    open(&heap).set_len(8192 * 100 + 17).unwrap();
    open(&tree).set_len(8192 / 2).unwrap();
    let report = measured(&cluster.data(), &Options::default());
    assert_eq!(object(&report, "random_keys").levels[0].record_count, Some(700));
    assert_eq!(object(&report, "random_pk").levels, []);
    for mode in [StructureMode::Limited, StructureMode::Sampled] {
        let report = measured(&cluster.data(), &Options { mode, ..Options::default() });
        assert_eq!(object(&report, "random_pk").levels, []);
    }
}
