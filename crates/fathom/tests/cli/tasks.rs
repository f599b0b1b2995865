//! Experiments on files as a whole, and what runs leave: structure and arithmetic, never speed.

use lab_postgres::{ServerBinaries, find_servers};
use results::store::Store;
use skips::{Capability, skip};

use crate::bench::Bench;

/// The engines of this machine.
fn targets() -> Vec<&'static str> {
    let postgres = (!find_servers(&[]).is_empty()).then_some("postgres");
    if postgres.is_none() {
        skip(Capability::Postgres, "not tested on PostgreSQL: no server binaries");
    }
    std::iter::once("sqlite").chain(postgres).collect()
}

fn run(bench: &Bench, experiment: &str, target: &str, settings: &[&str]) -> String {
    let experiment = bench.lenient(experiment);
    let mut words =
        vec!["run", &experiment, "--mini", "--repetitions", "1", "--ceilings", "never", "-t", target];
    settings.iter().for_each(|setting| words.extend(["--set", setting]));
    bench.expect(0, &words).0
}

/// Value of a metric in each run, in the order of the store.
fn values(bench: &Bench, metric: &str) -> Vec<f64> {
    let store = Store::open_read_only(&bench.results()).unwrap();
    let study = store.latest_study().unwrap().unwrap();
    let runs = store.runs(study.id).unwrap();
    runs.iter().filter_map(|stored| stored.run.metric(metric)).collect()
}

#[test]
fn the_identities_of_the_published_table_hold_on_every_level_of_every_storage() {
    for target in targets() {
        let bench = Bench::new();
        let out = run(&bench, "fragmentation-report", target, &["table_rows=14000", "workers=1"]);
        assert!(out.contains("held") && !out.contains("did not hold"), "{out}");
        assert!(out.contains("Key metrics") && out.contains("key_tree_fill_pct"), "{out}");
        assert_eq!(values(&bench, "structure_broken_identities"), [0.0; 3]);
        let store = Store::open_read_only(&bench.results()).unwrap();
        assert_eq!(store.structures().unwrap().iter().filter(|one| one.run_id.is_some()).count(), 3);
    }
}

#[test]
fn the_structure_of_a_filled_table_is_stored_beside_its_run() {
    for target in targets() {
        let bench = Bench::new();
        run(&bench, "guid-populate", target, &["rows_total=7000", "batch_size=1000", "durability=none"]);
        let fragmentation = values(&bench, "key_tree_fragmentation_pct");
        assert_eq!(fragmentation.len(), 3, "{target}: {fragmentation:?}");
        assert!(fragmentation.iter().any(|percent| *percent > 90.0), "{target}: {fragmentation:?}");
        assert!(fragmentation.iter().any(|percent| *percent < 20.0), "{target}: {fragmentation:?}");
    }
}

#[test]
fn every_cell_of_a_check_sees_all_bytes_and_batches_are_as_large_as_asked() {
    for target in targets() {
        let bench = Bench::new();
        run(&bench, "check-vs-raw-read", target, &["table_rows=3000", "objects=3", "workers=2"]);
        let (claims, bytes) = (values(&bench, "check_claims"), values(&bench, "task_read_bytes"));
        assert_eq!((claims.len(), bytes.len()), (4, 4));
        assert_eq!(values(&bench, "check_claim_wait_s").len(), 4);
        let per_claim = values(&bench, "check_bytes_per_claim");
        for ((claims, bytes), mean) in claims.iter().zip(&bytes).zip(&per_claim) {
            assert!((claims * mean - bytes).abs() < 1.0, "{target}: {bytes} over {claims} is not {mean}");
        }
        assert!(per_claim.iter().all(|mean| *mean <= 64.0 * 8192.0), "{target}: {per_claim:?}");
        assert!(per_claim.iter().any(|mean| *mean <= 8192.0), "{target}: {per_claim:?}");
        let most = claims.iter().copied().fold(0.0, f64::max);
        let least = claims.iter().copied().fold(f64::INFINITY, f64::min);
        // PostgreSQL has a file per table: batches end with their file.
        assert!(if target == "sqlite" { most >= 20.0 * least } else { most > least }, "{claims:?}");
    }
}

#[test]
fn a_backup_in_streams_comes_back_whole() {
    for target in targets() {
        let bench = Bench::new();
        run(&bench, "backup-restore-parallelism", target, &["table_rows=3000", "streams=1,3"]);
        assert_eq!(values(&bench, "restore_s").len(), 2);
        assert!(!bench.results().join("work").exists(), "streams and copies stay behind");
    }
}

#[test]
fn a_backup_by_the_tool_of_the_server_is_one_stream_and_comes_back_whole_in_several() {
    let has_tool = |server: &ServerBinaries| server.bin_dir.join("pg_basebackup").is_file();
    let (with, without): (Vec<_>, Vec<_>) = find_servers(&[]).into_iter().partition(has_tool);
    if with.is_empty() {
        skip(Capability::PostgresTools, "no server has pg_basebackup beside it");
    }
    for server in with.first().into_iter().chain(without.first()) {
        let bench = Bench::new();
        let bin = server.bin_dir.to_str().unwrap();
        let experiment = bench.lenient("backup-restore-parallelism");
        let mut words = vec!["run", &experiment, "--mini", "--repetitions", "1"];
        words.extend(["--ceilings", "never", "-t", "postgres", "--pg-bin", bin, "-s", "table_rows=2000"]);
        words.extend(["-s", "streams=2", "-s", "backup_method=reader,pg_basebackup"]);
        // Many packages of a server come without the tools of its clients.
        if !has_tool(server) {
            let (_, err) = bench.expect(2, &words);
            assert!(err.contains("pg_basebackup is not beside the server"), "{err}");
            continue;
        }
        let (_, err) = bench.expect(0, &words);
        assert!(err.contains("one stream, whatever is requested"), "{err}");
        assert_eq!(values(&bench, "backup_s").len(), 2);
        assert_eq!(values(&bench, "restore_s").len(), 2);
        assert!(!bench.results().join("work").exists(), "streams and copies stay behind");
    }
}

#[test]
fn look_ups_end_with_their_reads_and_the_text_of_their_plans() {
    let bench = Bench::new();
    let out = run(&bench, "guid-lookup-scan", "sqlite", &["table_rows=7000", "every=140"]);
    let words =
        ["logical_reads", "physical_reads", "read_ahead_reads", "look_up_cpu_ms", "look_up_elapsed_ms"];
    assert!(words.iter().all(|word| out.contains(word)), "{out}");
    assert!(out.contains("Plans\n") && out.contains("SCAN fathom_guid_heap_index_0"), "{out}");
    assert_eq!(values(&bench, "look_up_rows"), [50.0; 3]);
}

#[test]
fn a_cold_machine_is_refused_or_said_in_the_record() {
    let bench = Bench::new();
    let words = ["run", "guid-lookup-scan", "--mini", "--dry-run", "-s", "cache=cold-machine"];
    let run = bench.run(&words);
    let all = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    let may = std::fs::OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches").is_ok();
    assert_eq!(all.contains("cannot be written by this user"), !may, "{all}");
    assert_eq!(run.status.code(), Some(if may { 0 } else { 2 }), "{all}");
}

#[test]
fn the_survey_counts_the_processors_of_this_machine() {
    for target in targets() {
        let bench = Bench::new();
        run(&bench, "maxdop-survey", target, &[]);
        let cores = disk::machine::machine_facts().processors.online.len() as f64;
        assert_eq!(values(&bench, "inventory_cores"), [cores]);
        assert!(values(&bench, "inventory_numa_nodes").iter().all(|nodes| *nodes >= 1.0));
    }
}

#[test]
fn raw_reads_obey_their_own_arithmetic() {
    let bench = Bench::new();
    let settings =
        ["file_mib=4", "read_time=200ms", "transfer_kib=8", "outstanding=1", "random_percent=0,100"];
    run(&bench, "io-baseline", "sqlite", &settings);
    let off = values(&bench, "raw_unit_off_pct");
    assert!(off.len() == 2 && off.iter().all(|percent| *percent < 1.0), "{off:?}");
}

#[test]
fn expand_makes_a_sound_database_and_refuses_to_overwrite_it() {
    let bench = Bench::new();
    let (out, _) = bench.expect(0, &["expand", "sample", "shop.db", "--size", "3M"]);
    assert!(out.contains("order_lines") && out.contains("made \"shop.db\""), "{out}");
    bench.expect(0, &["check", "shop.db"]);
    let (_, err) = bench.expect(2, &["expand", "sample", "shop.db", "--size", "3M"]);
    assert!(err.contains("exists already"), "{err}");
    let (out, _) =
        bench.expect(0, &["expand", "shop.db", "large.db", "--size", "8M", "--files", "2", "--json"]);
    let made: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(made["size_bytes"].as_u64().unwrap() >= 8 << 20);
    for file in ["large.db.1", "large.db.2"] {
        bench.expect(0, &["check", file]);
    }
    let (_, err) = bench.expect(2, &["expand", "mysql://me:secret@host/db", "x", "--size", "1M"]);
    assert!(!err.contains("secret"), "{err}");
}
