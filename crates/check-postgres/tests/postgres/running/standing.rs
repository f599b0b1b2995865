//! What is concluded from a cluster depends on how it was left: running, in a backup, with catalogs or without.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use check::options::Options;
use check::progress::Silent;
use check_postgres::{check_cluster, check_file};
use results::check::{CheckLevel, Confidence};

use crate::scene::clean::check;
use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::{Cluster, servers};

const TABLE: &str = "create table t(id int primary key, v text)
insert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i
";

fn newest() -> Option<Cluster> {
    let (_, bin) = servers().pop()?;
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(TABLE);
    Some(cluster)
}

#[test]
fn a_running_server_is_told_and_its_blocks_are_tested_one_by_one() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let data = cluster.data();
    let place = data.parent().unwrap().to_str().unwrap();
    let settings = format!("-c listen_addresses='' -c unix_socket_directories='{place}'");
    let log = format!("{place}/log");
    let directory = data.to_str().unwrap();
    assert_eq!(
        cluster.tool("pg_ctl", &["-D", directory, "-l", &log, "-w", "-t", "600", "-o", &settings, "start"]),
        Some(0)
    );
    let clean = check(&cluster, CheckLevel::Full, 2);
    // The server has not read this block: what stands in the file is what is found.
    Editor::new(&data).block(&path, 4, |page| page[5000] ^= 1);
    let damaged = check(&cluster, CheckLevel::Full, 2);
    assert_eq!(
        cluster.tool("pg_ctl", &["-D", directory, "-m", "immediate", "-w", "-t", "600", "stop"]),
        Some(0)
    );
    assert!(clean.facts.contains(&("state".to_owned(), "running".to_owned())), "{:?}", clean.facts);
    assert!(clean.findings.is_empty(), "{:#?}", clean.findings);
    // What changed since the checkpoint is listed, if anything did.
    let has_gap = clean.not_checked.iter().any(|gap| gap.why.starts_with("a server is running"));
    assert_eq!(has_gap, !clean.coverage.is_complete(), "{:?} {:?}", clean.coverage, clean.not_checked);
    let sums = damaged.findings.iter().filter(|finding| finding.rule == "pg-page-checksum");
    assert_eq!(sums.map(|finding| finding.page).collect::<Vec<_>>(), vec![Some(4)]);
}

#[test]
fn an_index_that_reached_its_file_before_its_table_did_has_no_duplicates() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let map = format!("{}_fsm", path.display());
    let of_table = [path.as_path(), Path::new(&map), Path::new("global/pg_control")];
    cluster.crash_after("checkpoint\n");
    let older = of_table.map(|name| std::fs::read(cluster.data().join(name)).unwrap());
    cluster.crash_after("update t set v = v || 'x' where id % 3 = 0\ncheckpoint\n");
    let mut editor = Editor::new(&cluster.data());
    for (name, older) in of_table.into_iter().zip(older) {
        editor.file(name, |bytes| *bytes = older);
    }
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.facts.contains(&("state".to_owned(), "not shut down".to_owned())), "{:?}", report.facts);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn an_index_that_was_built_anew_and_is_known_in_memory_only_misses_no_rows() {
    let Some(cluster) = newest() else { return };
    cluster.crash_after("checkpoint\nreindex table t\n");
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn in_a_backup_only_blocks_that_replay_will_not_replace_are_damaged() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let mut editor = Editor::new(&cluster.data());
    editor.block(&path, 4, |page| page[5000] ^= 1);
    for (start, confidence) in [("0/0", None), ("FFFF/0", Some(Confidence::Certain))] {
        let start_of = format!("START WAL LOCATION: {start} (file 000000010000000000000001)\n");
        let label = format!("{start_of}CHECKPOINT LOCATION: {start}\n");
        std::fs::write(cluster.data().join("backup_label"), label).unwrap();
        let report = check(&cluster, CheckLevel::Full, 1);
        let found = report.findings.iter().find(|finding| finding.rule == "pg-page-checksum");
        assert_eq!(found.map(|found| found.confidence), confidence, "backup from {start}");
        let is_skipped =
            report.accounting.skipped.iter().any(|part| part.why.contains("recovery replaces it"));
        assert_eq!(is_skipped, confidence.is_none(), "{:?}", report.accounting);
        assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    }
}

#[test]
fn a_backup_that_a_server_was_started_on_and_shut_down_is_an_ordinary_cluster() {
    let Some(cluster) = newest() else { return };
    // Every pg_control has this CRC-32C, because it ends with a CRC of its own and zeros.
    let manifest = "{ \"Files\": [\n{ \"Path\": \"backup_label\", \"Size\": 225 },\n\
        { \"Path\": \"global/pg_control\", \"Size\": 8192, \"Checksum-Algorithm\": \"CRC32C\", \"Checksum\": \"43872087\" }\n],\n\
        \"WAL-Ranges\": [\n{ \"Timeline\": 1, \"Start-LSN\": \"0/1000028\", \"End-LSN\": \"0/1000100\" }\n] }";
    std::fs::write(cluster.data().join("backup_manifest"), manifest).unwrap();
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    cluster.crash_after("create table later(id int)\ncheckpoint\n");
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn without_catalogs_every_block_is_still_tested() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let mut editor = Editor::new(&cluster.data());
    editor.file(&path.with_file_name("pg_filenode.map"), |bytes| bytes.fill(0));
    editor.block(&path, 4, |page| page[5000] ^= 1);
    let report = check(&cluster, CheckLevel::Full, 1);
    let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
    assert_eq!(rules, ["pg-page-checksum", "pg-relation-map"]);
    assert!(report.accounting.is_balanced() && report.accounting.is_complete());
}

#[test]
fn a_map_is_missed_only_in_a_database_that_is_neither_created_nor_dropped() {
    let Some(cluster) = newest() else { return };
    let data = cluster.data();
    let maps = |state: &str| -> Vec<String> {
        let report = check(&cluster, CheckLevel::Page, 1);
        assert!(report.facts.contains(&("state".to_owned(), state.to_owned())), "{:?}", report.facts);
        let found = report.findings.into_iter().filter(|finding| finding.rule == "pg-relation-map");
        found.map(|finding| finding.file).collect()
    };
    let lost = cluster.path_of("t").with_file_name("pg_filenode.map");
    cluster.start("");
    std::fs::create_dir(data.join("base/99999")).unwrap();
    assert_eq!(maps("running"), Vec::<String>::new());
    let bytes = std::fs::read(data.join(&lost)).unwrap();
    std::fs::remove_file(data.join(&lost)).unwrap();
    let while_running = maps("running");
    std::fs::write(data.join(&lost), bytes).unwrap();
    assert_eq!(
        cluster.tool("pg_ctl", &["-D", data.to_str().unwrap(), "-m", "immediate", "-w", "-t", "600", "stop"]),
        Some(0)
    );
    std::fs::remove_file(data.join(&lost)).unwrap();
    let lost = lost.to_string_lossy().into_owned();
    assert_eq!(while_running, std::slice::from_ref(&lost));
    let report = check(&cluster, CheckLevel::Page, 1);
    let found = report.findings.iter().filter(|finding| finding.rule == "pg-relation-map");
    assert_eq!(found.map(|finding| finding.file.clone()).collect::<Vec<_>>(), [lost]);
}

#[test]
fn a_database_without_rows_in_a_catalog_is_damage() {
    let Some(cluster) = newest() else { return };
    for catalog in ["pg_class", "pg_attribute", "pg_index"] {
        let path = cluster.path_of(catalog);
        let mut editor = Editor::new(&cluster.data());
        editor.file(&path, |bytes| bytes.fill(0));
        let report = check(&cluster, CheckLevel::Page, 1);
        let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
        assert_eq!(rules, ["pg-catalog"], "{catalog}");
        assert!(report.findings[0].found.starts_with(catalog), "{:?}", report.findings);
        assert!(report.accounting.is_balanced() && report.accounting.is_complete());
        editor.undo();
    }
}

#[test]
fn a_table_of_whose_columns_some_are_lost_is_one_finding_and_its_rows_are_not_compared() {
    let Some(cluster) = newest() else { return };
    cluster.run_all("delete from pg_attribute where attrelid = 't'::regclass and attnum = 2\n");
    let report = check(&cluster, CheckLevel::Full, 2);
    let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
    assert_eq!(rules, ["pg-catalog-agreement"], "{:#?}", report.findings);
    assert_eq!(report.findings[0].found, "1; without column 2");
}

#[test]
fn a_row_of_pg_class_that_is_lost_is_named_by_the_rows_that_are_left() {
    let Some(cluster) = newest() else { return };
    cluster.run_all("select lo_from_bytea(0, 'large')\nselect lo_create(0)\n");
    crate::scene::clean::assert_silent(&cluster, "with large objects");
    cluster.run_all("delete from pg_class where relname = 't'\ndelete from pg_largeobject_metadata\n");
    let report = check(&cluster, CheckLevel::Full, 2);
    let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
    assert_eq!(rules, ["pg-catalog-agreement", "pg-large-object"], "{:#?}", report.findings);
    assert_eq!(report.findings.len(), 2, "{:#?}", report.findings);
    let found = &report.findings[0].found;
    assert!(
        found.contains("pg_attribute (2 columns: id, v)") && found.contains("pg_type (public.t)"),
        "{found}"
    );
}

#[test]
fn without_a_control_file_checksums_are_still_tested() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    let mut editor = Editor::new(&cluster.data());
    editor.block(&path, 4, |page| page[5000] ^= 1);
    editor.remove(Path::new("global/pg_control"));
    let report = check(&cluster, CheckLevel::Full, 1);
    let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
    assert_eq!(rules, ["pg-control-file", "pg-page-checksum"]);
    assert!(report.accounting.is_balanced() && report.accounting.is_complete());
}

#[test]
fn one_file_is_checked_by_itself_and_other_files_are_refused() {
    let Some(cluster) = newest() else { return };
    let path = cluster.path_of("t");
    Editor::new(&cluster.data()).block(&path, 4, |page| page[5000] ^= 1);
    let report = check_file(&cluster.data().join(&path), &Options::default(), &mut Silent).unwrap();
    assert_eq!(report.accounting.bytes_read % BLOCK as u64, 0);
    assert_eq!(report.findings.iter().filter(|finding| finding.rule == "pg-page-checksum").count(), 1);
    assert!(report.findings.iter().all(|finding| Path::new(&finding.file) == path));
    let options = Options::default();
    assert!(check_file(&cluster.data().join("PG_VERSION"), &options, &mut Silent).is_err());
    assert!(check_cluster(cluster.data().parent().unwrap(), &options, &mut Silent).is_err());
}
