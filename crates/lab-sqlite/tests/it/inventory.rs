//! The row of the embedded library.

use lab::inventory::inventory;

#[test]
fn sqlite_has_a_row_with_the_machine_it_runs_on() {
    let rows = inventory(&[&lab_sqlite::DRIVER], &[]);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.engine.as_str(), row.version.as_deref()), ("sqlite", Some(rusqlite::version())));
    assert!(row.cores.unwrap() >= 1 && row.numa_nodes.unwrap() >= 1);
    assert_eq!(row.durability.as_deref(), Some("synchronous=full"));
    assert_eq!(row.problem, None);
}
