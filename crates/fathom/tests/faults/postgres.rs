//! Faults in the files of PostgreSQL.

use std::path::PathBuf;

use crate::fault::Fault;
use crate::matrix::{Database, Kind, run};
use crate::server::{Cluster, servers};

const ROWS: &str = "create table t(id int primary key, a text, pad text)
insert into t select i, md5(i::text), repeat('x', 60) from generate_series(1, 4000) i
create index t_a on t(a)
create table long(x text)
alter table long alter column x set storage external
insert into long select repeat(md5(i::text), 200) from generate_series(1, 20) i
vacuum freeze
checkpoint
";

fn kind(name: &'static str, path: impl Into<PathBuf>) -> Kind {
    Kind { name, path: path.into(), page_bytes: 8192, byte: 100, is_protected: true }
}

/// One kind of file by its path, with bytes that no checksum covers.
fn plain(name: &'static str, path: impl Into<PathBuf>) -> Kind {
    Kind { page_bytes: 64, byte: 2, is_protected: false, ..kind(name, path) }
}

#[test]
fn a_stopped_cluster_is_judged_by_what_can_be_read_twice() {
    let Some((major, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
    cluster.run_all(ROWS);
    let heap = cluster.path_of("t");
    let toast = cluster
        .run_all("select pg_relation_filepath(reltoastrelid) as p from pg_class where relname = 'long'\n");
    let toast = toast
        .lines()
        .find(|line| line.contains("p = \"base/"))
        .unwrap()
        .split('"')
        .nth(1)
        .unwrap()
        .to_owned();
    let base = heap.parent().unwrap().to_path_buf();
    let fork = |suffix: &str| PathBuf::from(format!("{}_{suffix}", heap.display()));
    let data = cluster.data();
    let wal = std::fs::read_dir(data.join("pg_wal")).unwrap().flatten().map(|entry| entry.file_name());
    let wal = wal.filter(|name| name.len() == 24).max().unwrap();
    let kinds = vec![
        kind("heap", heap.clone()),
        kind("index", cluster.path_of("t_a")),
        kind("toast", toast),
        kind("free space map", fork("fsm")),
        kind("visibility map", fork("vm")),
        kind("catalog pg_class", cluster.path_of("pg_class")),
        kind("catalog pg_attribute", cluster.path_of("pg_attribute")),
        Kind { page_bytes: 8192, is_protected: false, ..plain("pg_control", "global/pg_control") },
        plain("relation map", base.join("pg_filenode.map")),
        plain("pg_xact", "pg_xact/0000"),
        plain("pg_multixact", "pg_multixact/offsets/0000"),
        plain("PG_VERSION", "PG_VERSION"),
        Kind { page_bytes: 8192, is_protected: false, ..kind("WAL", PathBuf::from("pg_wal").join(wal)) },
    ];
    run(&Database { engine: "postgres", directory: data, targets: Vec::new(), kinds }, is_wanted);
}

/// All faults in the middle of a heap; in other files those that meet what is particular about them: a check of a cluster takes long.
fn is_wanted(kind: &Kind, position: &str, fault: &Fault) -> bool {
    if std::env::var_os("FATHOM_FAULTS").is_some() {
        return true;
    }
    if kind.name == "heap" {
        return position == "middle" || position == "file";
    }
    match fault {
        Fault::EachReading => position != "middle",
        Fault::ReadError { errno: 5, times: u64::MAX } | Fault::FirstOnly => position == "first",
        Fault::OpenError { errno: 13, from: 0 } | Fault::OpenError { errno: 24, from: 2 } => true,
        Fault::Removed { .. } => matches!(kind.name, "index" | "catalog pg_class" | "pg_control" | "pg_xact"),
        _ => false,
    }
}
