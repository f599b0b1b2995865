//! Both ways of reading the log, on the same stretch of it.
#![allow(clippy::unwrap_used)]

use skips::{Capability, skip};

use super::*;
use crate::server::cluster::{Cluster, ClusterOptions};
use crate::server::discovery::find_servers;

/// A running server with a table and some transactions in its log, and the stretch that holds them.
fn filled(cluster: &mut Cluster) -> (Control, Counters, Counters) {
    cluster.start(&[]).unwrap();
    let mut control = Control::connect(&cluster.login("postgres", "fathom-control")).unwrap();
    control.query("CREATE TABLE t (id int PRIMARY KEY, payload text)").unwrap();
    let counters = |control: &mut Control| {
        let position = control.probe("SELECT (pg_current_wal_insert_lsn() - '0/0')::text").unwrap();
        let metric = Metric::new("log_bytes", position.parse().unwrap(), "bytes", "");
        Counters { cumulative: vec![metric] }
    };
    let before = counters(&mut control);
    // Long ones, so that records run over pages and into the next.
    for id in 0..40 {
        let sql = format!(
            "INSERT INTO t SELECT {id} * 10 + n, repeat('x', 1700) FROM generate_series(1, 1 + {id} % 7) n"
        );
        control.query(&sql).unwrap();
    }
    control.query("SELECT pg_switch_wal()").unwrap();
    control.query("INSERT INTO t VALUES (-1, 'after the switch')").unwrap();
    let after = counters(&mut control);
    (control, before, after)
}

fn work() -> Work {
    Work { connections: 1, durability: Durability::Full, ..Work::example() }
}

#[test]
fn without_the_extension_the_program_beside_the_server_says_the_same() {
    let servers = find_servers(&[]);
    let Some(server) = servers.iter().find(|server| dump::find(server, &[]).is_ok()) else {
        return skip(Capability::PostgresTools, "no server with a pg_waldump beside it");
    };
    let scratch = tempfile::Builder::new().prefix("fathom-test-").tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), open).unwrap();
    let mut cluster = Cluster::create(&ClusterOptions {
        server: server.clone(),
        base: scratch.path().to_path_buf(),
        elsewhere: Vec::new(),
        port: None,
    })
    .unwrap();
    let (mut control, before, after) = filled(&mut cluster);
    let files = LogFiles { directory: cluster.data().join("pg_wal"), server: server.clone() };
    let bare = |records: LogRecords| -> Vec<(String, f64)> {
        records.metrics.into_iter().map(|metric| (metric.name, metric.value)).collect()
    };

    // A function of the same name keeps the extension out, as if it were not installed.
    let in_the_way =
        "CREATE FUNCTION pg_get_wal_record_info(in_lsn pg_lsn) RETURNS int LANGUAGE sql AS 'SELECT 1'";
    control.query(in_the_way).unwrap();
    let dumped = of_run(&mut control, &work(), &before, &after, Ok(&files));
    assert_eq!(dumped.warning, None);
    assert!(dumped.metrics.iter().all(|metric| metric.source == "pg_waldump"));
    let value = |name: &str| dumped.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert_eq!(value("log_records.Transaction/COMMIT"), 41.0);
    assert!(value("log_records.Heap/INSERT") >= 100.0);

    let without_files = of_run(&mut control, &work(), &before, &after, Err("its files are not ours"));
    assert_eq!(without_files.metrics, Vec::new());
    let text = without_files.warning.unwrap().text;
    assert!(text.contains("pg_walinspect: ") && text.ends_with("; its files are not ours"), "{text}");

    control.query("DROP FUNCTION pg_get_wal_record_info(pg_lsn)").unwrap();
    let inspected = of_run(&mut control, &work(), &before, &after, Ok(&files));
    if inspected.metrics.iter().all(|metric| metric.source == "pg_walinspect") {
        assert_eq!(bare(dumped), bare(inspected));
    } else {
        let reason = format!("PostgreSQL {} has no pg_walinspect", server.version);
        skip(Capability::PostgresContrib, reason);
    }
    control.close();
    cluster.remove().unwrap();
}

#[test]
fn a_position_is_written_in_two_halves() {
    assert_eq!(lsn((1_u64 << 32) + 255), "1/FF");
}
