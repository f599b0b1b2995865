//! Faults in the files of SQL Server.

use std::path::{Path, PathBuf};

use crate::matrix::{Database, Kind, run};

/// The directory with real files, beside the checkout or below `$FATHOM_SHARED`.
fn file(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FATHOM_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let path = shared.join("data/sqlserver").join(name);
    if !path.exists() {
        eprintln!("skipped: \"{}\" is absent", path.display());
        return None;
    }
    Some(path)
}

fn run_on(name: &str, kind: &'static str, page_bytes: u64) {
    let Some(path) = file(name) else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(path, place.path().join(name)).unwrap();
    let kinds = vec![Kind { name: kind, path: name.into(), page_bytes, byte: 200, is_protected: false }];
    let directory = place.path().to_path_buf();
    run(&Database { engine: "sqlserver", directory, targets: vec![name.into()], kinds }, |_, _, _| true);
}

#[test]
fn a_data_file_is_judged_by_what_can_be_read_twice() {
    run_on("pubs-2008-checksum.mdf", "data file", 8192);
}

#[test]
fn a_backup_is_judged_by_what_can_be_read_twice() {
    run_on("pubs-2012-checksum.bak", "backup", 8192);
}
