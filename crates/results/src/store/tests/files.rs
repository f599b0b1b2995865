//! Files of older and newer versions, of others, and what a crash leaves.

use super::*;

#[test]
fn an_older_file_is_read_as_it_is_and_brought_up_to_date_by_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(RESULTS_FILE);
    let mut old = file_of_version(directory.path(), 1);
    let id = old.begin_study(&study("old")).unwrap();
    drop(old);
    let before = fs::read(&path).unwrap();

    let reader = Store::open_read_only(directory.path()).unwrap();
    assert_eq!(reader.study(id).unwrap(), study("old"));
    assert_eq!(reader.io_tables().unwrap(), []);
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), before);

    let mut writer = Store::open_or_create(directory.path()).unwrap();
    assert_eq!(open::version(&writer.connection).unwrap(), SCHEMA_VERSION);
    assert_eq!(writer.study(id).unwrap(), study("old"));
    writer.add_io_table(&crate::io::IoTable::default()).unwrap();
    drop(writer);
    assert_eq!(Store::open_or_create(directory.path()).unwrap().io_tables().unwrap().len(), 1);
}

#[test]
fn what_a_study_compares_is_that_of_the_newest_call_and_older_ones_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let id = store.begin_study(&study("same")).unwrap();
    assert_eq!(store.study(id).unwrap().design, Design::default());
    let of = |metric: &str, against: &str| Design {
        metric: Some(metric.to_owned()),
        against: vec![against.to_owned()],
        ..Design::default()
    };
    for design in
        [of("raw_iops", "previous"), of("raw_iops", "previous"), of("response_time_p99_ms", "reference")]
    {
        let again = Study { design: design.clone(), ..study("same") };
        assert_eq!(store.begin_study(&again).unwrap(), id);
        assert_eq!(store.study(id).unwrap().design, design);
    }
    let count: i64 = store.connection.query_row("SELECT count(*) FROM design", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
    let other = store.begin_study(&study("other")).unwrap();
    assert_eq!(store.study(other).unwrap().design, Design::default());
}

#[test]
fn a_newer_version_is_refused_and_left_alone() {
    let (directory, store, _) = store();
    store.connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(store);
    let path = directory.path().join(RESULTS_FILE);
    let before = fs::read(&path).unwrap();
    let message = format!(
        "results file \"{}\" has version {}, this fathom reads up to {SCHEMA_VERSION}\nhint: use a newer fathom",
        path.display(),
        SCHEMA_VERSION + 1
    );
    assert_eq!(Store::open_or_create(directory.path()).unwrap_err().to_string(), message);
    assert_eq!(Store::open_read_only(directory.path()).unwrap_err().to_string(), message);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let other_application = {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA application_id = 252006674; CREATE TABLE t (x);").unwrap();
        drop(connection);
        fs::read(path).unwrap()
    };
    let mut no_application = other_application.clone();
    no_application[68..72].fill(0);
    for (content, reason) in [
        (b"".to_vec(), "it is empty"),
        (b"id,elapsed\n1,2\n".to_vec(), "does not begin as a SQLite file"),
        (vec![0xA5; 8192], "does not begin as a SQLite file"),
        (other_application, "another application (id 0x0f055112)"),
        (no_application, "another application"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(RESULTS_FILE);
        fs::write(&path, &content).unwrap();
        for error in [
            Store::open_or_create(directory.path()).unwrap_err(),
            Store::open_read_only(directory.path()).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::NotAResultsFile { .. }), "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_file_with_our_header_and_nothing_behind_it_is_an_error() {
    let (directory, store, _) = store();
    drop(store);
    let path = directory.path().join(RESULTS_FILE);
    let mut content = fs::read(&path).unwrap();
    content.truncate(4096);
    content[100..].fill(0xFF);
    fs::write(&path, &content).unwrap();
    assert!(Store::open_or_create(directory.path()).and_then(|store| store.studies()).is_err());
}

#[test]
fn nothing_to_read_and_nowhere_to_write_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let error = Store::open_read_only(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::NoResults { .. }), "{error}");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open_or_create(&file.join("below")).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
}

#[test]
fn what_a_crash_left_of_a_new_file_is_cleaned_up() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("results.db.new"), b"half a file").unwrap();
    fs::write(directory.path().join("results.db.new-journal"), b"half a journal").unwrap();
    let store = Store::open_or_create(directory.path()).unwrap();
    assert_eq!(store.studies().unwrap(), []);
    assert!(!directory.path().join("results.db.new").exists());
    assert!(!directory.path().join("results.db.new-journal").exists());
}
