//! Faults in the files of SQL Server.

use std::path::{Path, PathBuf};

use skips::{Capability, skip};

use crate::cells::{Database, Kind};
use crate::matrix::run;

#[path = "../../../check-sqlserver/tests/sqlserver/large.rs"]
#[allow(dead_code)]
mod large;
#[path = "../../../check-sqlserver/tests/sqlserver/made.rs"]
#[allow(dead_code)]
mod made;

/// A real file, beside the checkout or below `$FATHOM_SHARED`.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FATHOM_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let path = shared.join("data/sqlserver").join(name);
    if !path.exists() {
        skip(Capability::Shared, format!("faults in files of SQL Server: \"{}\" is absent", path.display()));
        return None;
    }
    Some(path)
}

fn run_on(engine: &'static str, directory: &Path, files: &[(&'static str, &str)], clean_code: i32) {
    let names: Vec<PathBuf> = files.iter().map(|(_, name)| PathBuf::from(name)).collect();
    let kin: Vec<String> = files.iter().map(|(_, name)| (*name).to_owned()).collect();
    let kind = |(kind, name): &(&'static str, &str)| Kind {
        byte: 200,
        kin: kin.clone(),
        ..Kind::new(kind, *name, 8192)
    };
    run(&Database {
        engine,
        directory: directory.to_path_buf(),
        older: None,
        targets: names,
        kinds: files.iter().map(kind).collect(),
        clean_code,
        stride: 1,
    });
}

fn run_on_copy(engine: &'static str, kind: &'static str, name: &str, clean_code: i32) {
    let Some(path) = file(name) else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(path, place.path().join(name)).unwrap();
    run_on(engine, place.path(), &[(kind, name)], clean_code);
}

/// Needs no file beside the repository.
#[test]
fn a_made_data_file_is_judged_by_what_can_be_read_twice() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("made.mdf"), made::database(made::Protection::Checksum)).unwrap();
    run_on("sqlserver made", place.path(), &[("data file", "made.mdf")], 0);
}

#[test]
fn a_data_file_is_judged_by_what_can_be_read_twice() {
    run_on_copy("sqlserver checksum", "data file", "pubs-2008-checksum.mdf", 0);
}

#[test]
fn a_data_file_with_torn_page_detection_is_judged_likewise() {
    run_on_copy("sqlserver torn bits", "data file", "northwnd-2000-torn.mdf", 0);
}

#[test]
fn the_files_of_a_database_are_judged_together() {
    let Some(base) = file("northwnd-2008-checksum.mdf") else { return };
    let place = tempfile::tempdir().unwrap();
    large::write_two(&base, &place.path().join("a.mdf"), &place.path().join("b.ndf"), 400).unwrap();
    let files = [("primary data file", "a.mdf"), ("secondary data file", "b.ndf")];
    run_on("sqlserver two files", place.path(), &files, 0);
}

#[test]
fn a_backup_is_judged_by_what_can_be_read_twice() {
    run_on_copy("sqlserver backup", "backup", "pubs-2012-checksum.bak", 0);
}

#[test]
fn a_compressed_backup_is_refused_and_not_judged() {
    run_on_copy("sqlserver compressed backup", "backup", "tsqlv4-compressed.bak", 2);
}
