//! GIN indexes: silent when clean, whatever was done with them; damage named where it was made.
#![allow(clippy::unwrap_used)]

use results::check::CheckLevel;

use crate::damage::one::{Wanted, assert_each_is_found};
use crate::indexes::gin_classes::{CLASSES, scene};
use crate::running::live::with_clients;
use crate::scene::clean::{assert_silent, check};
use crate::scene::server::{Cluster, servers};

/// One statement per line: all kinds of keys, nulls, pending lists, deleted rows, aborted ones, VACUUM.
const EVERYTHING: &str = include_str!("gin.sql");
/// Posting trees of several levels whose blocks VACUUM deletes, and which grow again.
const TREES: &str = "create table p(id int, a int[])
create index p_a on p using gin(a) with (fastupdate = off)
insert into p select i, array[1, i % 2] from generate_series(1, 60000) i
delete from p where id between 10000 and 50000
vacuum p
insert into p select i, array[1, 5] from generate_series(60001, 70000) i
delete from p where id > 65000
vacuum p
insert into p select i, array[2] from generate_series(70001, 90000) i
";

#[test]
fn gin_indexes_with_everything_in_them_are_silent_in_every_major() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(&format!("{EVERYTHING}{TREES}"));
        assert_silent(&cluster, &format!("PostgreSQL {major}"));
        if major == 18 {
            cluster
                .run_all("select gin_clean_pending_list('g_a'), gin_clean_pending_list('g_v')\nvacuum g\n");
            assert_silent(&cluster, "pending lists cleaned");
        }
    }
}

#[test]
fn each_class_of_damage_in_a_gin_index_is_found() {
    assert_each_is_found(CLASSES, scene, CheckLevel::Full, Wanted::Any, |_, _| true);
}

/// Checks while the server works.
const ROUNDS: usize = 4;
/// Rows come, change and go; some transactions give up.
const WORK: &str = "\\set id random(1, 3000)
begin;
insert into m(id, a, v) values (:id, array[:id, :id % 7, 1], to_tsvector('simple', 'w' || :id || ' all')) on conflict (id) do update set a = m.a || (:id % 50), v = to_tsvector('simple', 'changed ' || :id);
delete from m where id = 3001 - :id and :id % 3 = 0;
end;
begin;
update m set a = array[0] where id = :id;
rollback;
";

#[test]
fn gin_indexes_of_a_server_under_heavy_writes_are_silent() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all("create table quiet(id int, a int[])\ninsert into quiet select i, array[i % 9, i] from generate_series(1, 3000) i\ncreate index quiet_a on quiet using gin(a)\ncreate table m(id int primary key, a int[], v tsvector)\ncreate index m_a on m using gin(a) with (gin_pending_list_limit = 64)\ncreate index m_v on m using gin(v) with (fastupdate = off)\n");
    cluster.start("-c shared_buffers=512kB -c autovacuum=on -c autovacuum_naptime=1 -c bgwriter_delay=10 -c checkpoint_timeout=30");
    cluster.sql(&["checkpoint"]);
    let script = cluster.data().with_file_name("gin-work.sql");
    std::fs::write(&script, WORK).unwrap();
    // It ends by itself when the server does.
    let arguments = ["-n", "-c", "4", "-T", "600", "-f", script.to_str().unwrap(), "postgres"];
    let mut work = cluster.client("pgbench", &arguments).spawn().unwrap();
    let mut reports = Vec::new();
    for round in 0..ROUNDS {
        cluster.sql(&[
            if round % 2 == 0 { "vacuum m" } else { "select gin_clean_pending_list('m_a')" },
            "checkpoint",
        ]);
        reports.push(check(&cluster, CheckLevel::Full, 2));
    }
    work.kill().unwrap();
    work.wait().unwrap();
    cluster.stop("immediate");
    reports.push(check(&cluster, CheckLevel::Full, 2));
    cluster.run_all("select count(*) from m\n");
    for report in &reports {
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        assert!(report.accounting.is_balanced() && report.exit_code() == 0, "{:?}", report.accounting);
        assert!(
            report.counters.entry_count >= 3000,
            "the quiet table was not compared: {:?}",
            report.counters
        );
    }
    assert_silent(&cluster, "after replay");
}
