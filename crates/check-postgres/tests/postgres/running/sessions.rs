//! Files of sessions: temporary tables, while the session lives and after a crash.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use results::check::CheckLevel;

use crate::running::live::with_clients;
use crate::scene::clean::check;
use crate::scene::server::Cluster;

/// Files named `t<session>_<number>` below a directory.
fn temporary_files(cluster: &Cluster) -> usize {
    let is_temporary = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix('t').and_then(|rest| rest.split_once('_')).is_some_and(|(session, _)| {
            !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let databases = std::fs::read_dir(cluster.data().join("base")).unwrap().flatten();
    let files = databases.flat_map(|database| std::fs::read_dir(database.path()).unwrap().flatten());
    files.filter(|file| is_temporary(&file.path())).count()
}

#[test]
fn temporary_tables_are_told_and_silent_while_their_session_lives_and_after_a_crash() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 3000)\n");
    cluster.start("-c wal_level=replica -c temp_buffers=100");
    let mut session = cluster
        .client("psql", &["-d", "postgres", "-XAtq"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = session.stdin.take().unwrap();
    // More than the session's own buffers hold, so that blocks reach the files; an index, TOAST, rows that are dead.
    input
        .write_all(
            b"create temp table own(id int primary key, v text);
insert into own select i, repeat('t', 300) from generate_series(1, 20000) i;
insert into own select 0, string_agg(md5(i::text), '') from generate_series(1, 4000) i;
delete from own where id % 3 = 0;
vacuum own;
checkpoint;
select 'done';
",
        )
        .unwrap();
    let mut answer = String::new();
    BufReader::new(session.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer.trim(), "done");
    let files = temporary_files(&cluster);
    let live = check(&cluster, CheckLevel::Full, 2);
    // The server and its session are gone at once.
    cluster.stop("immediate");
    drop(input);
    session.wait().unwrap();
    let crashed = check(&cluster, CheckLevel::Full, 2);
    cluster.run_all("select count(*) from t\n");
    let left_over = temporary_files(&cluster);
    let replayed = check(&cluster, CheckLevel::Full, 2);
    assert!(files >= 3 && left_over >= 3, "{files} files of temporary tables, then {left_over}");
    for (what, report) in [("live", live), ("crashed", crashed), ("replayed", replayed)] {
        assert!(report.findings.is_empty(), "{what}: {:#?}", report.findings);
        assert!(
            report.accounting.is_balanced() && report.exit_code() == 0,
            "{what}: {:?}",
            report.accounting
        );
        let skipped = report.accounting.skipped.iter().find(|skipped| skipped.why.contains("temporary"));
        assert!(skipped.is_some_and(|skipped| skipped.page_count > 100), "{what}: {:?}", report.accounting);
    }
}
