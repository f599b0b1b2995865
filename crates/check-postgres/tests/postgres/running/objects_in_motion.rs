//! Databases, tablespaces, tables and indexes are created, rewritten and dropped while a check runs and while a base backup
//! is taken: nothing is reported.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::CheckLevel;
use skips::{Capability, skip};

use crate::scene::server::{Cluster, servers};

/// Checks of the running cluster, and backups, for each major.
const ROUNDS: usize = 3;
/// Repetitions of a client's statements: more than the rounds take.
const REPETITIONS: usize = 5_000;

const DATABASES: &str = "create database d1;
drop database d1;
create database d2 tablespace beside;
alter database d2 set tablespace pg_default;
drop database d2;
";
const STRATEGIES: &str = "create database d3 strategy wal_log;
drop database d3;
create database d4 strategy file_copy;
alter database d4 set tablespace beside;
drop database d4 with (force);
";
const TABLESPACES: &str = "create tablespace brief location '%SPACE%';
create table in_brief(id int primary key, v text) tablespace brief;
insert into in_brief select i, 'v' || i from generate_series(1, 2000) i;
alter table in_brief set tablespace pg_default;
drop table in_brief;
drop tablespace brief;
";
const RELATIONS: &str =
    "insert into w select i, i, 'w' || i from generate_series(1, 500) i on conflict do nothing;
reindex table w;
update w set n = n + 1 where id % 3 = 0;
vacuum full w;
create unlogged table u(id int generated always as identity primary key, v text);
insert into u(v) select 'u' from generate_series(1, 500);
create index on u(v);
alter table u set logged;
alter table w alter n type bigint;
create index concurrently w_n on w(n);
reindex index concurrently w_n;
checkpoint;
truncate w restart identity;
drop table u;
drop index w_n;
alter table w alter n type int;
create sequence s2;
select nextval('s2');
alter sequence s2 restart;
drop sequence s2;
create temporary table t2 as select 1 as id;
drop table t2;
vacuum;
";

fn client(cluster: &Cluster, psql: &str, name: &str, statements: &str) -> Child {
    let script = cluster.data().with_file_name(format!("{name}.sql"));
    fs::write(&script, statements.repeat(REPETITIONS)).unwrap();
    let arguments = ["-d", "postgres", "-q", "-f", script.to_str().unwrap()];
    cluster.client(psql, &arguments).spawn().unwrap()
}

/// What is wrong with the check of a path: something is found, or it cannot be read.
fn fault(what: &str, path: &Path) -> Option<String> {
    let options = Options { level: CheckLevel::Full, worker_count: 2, ..Options::default() };
    let report = match check_cluster(path, &options, &mut Silent) {
        Ok(report) => report,
        Err(error) => return Some(format!("{what}: {error}")),
    };
    let is_silent = report.findings.is_empty() && report.exit_code() == 0;
    (!is_silent).then(|| format!("{what}: {:#?} {:?}", report.findings, report.unfinished))
}

fn faults_under_load(major: u32, bin: &Path, psql: &str, pg_basebackup: &str) -> Vec<String> {
    let cluster = Cluster::new(bin, if major < 18 { &["-k"] } else { &[] });
    let directory = |name: &str| {
        let path = cluster.data().with_file_name(name);
        assert!(cluster.command("/bin/mkdir").arg(&path).status().unwrap().success());
        path
    };
    let (beside, brief) = (directory("beside"), directory("brief"));
    cluster.start("-c wal_level=replica -c autovacuum=on -c autovacuum_naptime=1 -c checkpoint_timeout=30");
    let space = format!("create tablespace beside location '{}'", beside.display());
    let statements = [
        space.as_str(),
        "create database template1 template postgres is_template true",
        "create table w(id int generated always as identity primary key, n int, v text)",
        "create table still(id int primary key, v text)",
        "insert into still select i, 'v' || i from generate_series(1, 5000) i",
        "checkpoint",
    ];
    let all: Vec<&str> = ["-d", "postgres", "-v", "ON_ERROR_STOP=1", "-q"]
        .into_iter()
        .chain(statements.iter().flat_map(|statement| ["-c", *statement]))
        .collect();
    assert!(cluster.client(psql, &all).status().unwrap().success());
    let databases = if major < 15 { DATABASES.to_owned() } else { format!("{DATABASES}{STRATEGIES}") };
    let tablespaces = TABLESPACES.replace("%SPACE%", brief.to_str().unwrap());
    let mut clients = [("databases", databases.as_str()), ("spaces", &tablespaces), ("relations", RELATIONS)]
        .map(|(name, statements)| client(&cluster, psql, name, statements));
    let mut faults = Vec::new();
    for round in 0..ROUNDS {
        faults.extend(fault(&format!("PostgreSQL {major}, running, round {round}"), &cluster.data()));
        for wal in ["none", "stream"] {
            let backup = cluster.data().with_file_name("backup");
            let arguments = ["-D", backup.to_str().unwrap(), "-Ft", "-X", wal, "-c", "fast", "--no-sync"];
            let mut command = cluster.client(pg_basebackup, &arguments);
            // It fails where a tablespace is dropped meanwhile, and refuses servers of a later major.
            if command.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
                let what = format!("PostgreSQL {major}, backup -X {wal}, round {round}");
                faults.extend(fault(&what, &backup));
            }
            let _ = fs::remove_dir_all(&backup);
        }
    }
    for client in &mut clients {
        let _ = client.kill();
        let _ = client.wait();
    }
    cluster.stop("immediate");
    faults.extend(fault(&format!("PostgreSQL {major}, after a crash"), &cluster.data()));
    cluster.start("");
    cluster.stop("fast");
    faults.extend(fault(&format!("PostgreSQL {major}, stopped"), &cluster.data()));
    faults
}

#[test]
fn objects_that_come_and_go_are_silent_in_running_clusters_backups_and_after_a_crash() {
    let find = |name: &str| {
        let found = servers().into_iter().rev().find(|(_, bin)| bin.join(name).exists());
        found.map(|(_, bin)| bin.join(name).to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (psql, pg_basebackup) = (find("psql"), find("pg_basebackup"));
    if psql.is_empty() {
        return skip(Capability::PostgresTools, "no PostgreSQL package with psql");
    }
    let mut faults = Vec::new();
    for (major, bin) in servers() {
        faults.extend(faults_under_load(major, &bin, &psql, &pg_basebackup));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
