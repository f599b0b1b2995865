//! The inventory of a real server: one row, with its settings and the machine that it runs on.

use crate::support::{managed, oldest_and_newest, scratch, work};
use lab::engine::{Layout, Target};
use lab::inventory::inventory;

#[test]
fn a_server_tells_its_parallelism_and_durability() {
    for server in oldest_and_newest() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        target.prepare(&work()).unwrap();
        let url = format!(
            "postgresql:///postgres?host={}&port={}&user=fathom",
            target.cluster().socket_directory().display(),
            target.cluster().port()
        );
        let rows = inventory(&[&lab_postgres::DRIVER], &[url]);
        let row = &rows[0];
        assert_eq!(row.problem, None, "{}", server.version);
        assert!(row.version.as_ref().unwrap().contains(&server.version), "{row:?}");
        assert_eq!((row.workers_per_query, row.workers_total), (Some(2), Some(8)), "{}", server.version);
        let processors = std::thread::available_parallelism().unwrap().get() as u64;
        assert!(row.cores.unwrap() >= processors && row.numa_nodes.unwrap() >= 1, "{row:?}");
        // The work of these tests asks for no durability.
        let durability = row.durability.as_ref().unwrap();
        assert!(
            durability.starts_with("fsync=off synchronous_commit=off full_page_writes=off "),
            "{durability}"
        );
        target.stop(false).unwrap();
    }
}

#[test]
fn a_server_that_cannot_be_reached_has_a_row_with_the_reason_and_no_password() {
    let urls = ["postgresql://karl:geheim@127.0.0.1:1/x".to_owned(), "geheim://".to_owned()];
    let rows = inventory(&[&lab_postgres::DRIVER], &urls);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].server, "127.0.0.1:1/x");
    for row in &rows {
        let problem = row.problem.as_deref().unwrap();
        assert!(
            problem.split("; ").any(|part| part.starts_with("hint: ")) && !problem.contains('\n'),
            "{problem}"
        );
    }
    for row in &rows {
        let output = row.cells().join(" ");
        assert!(!output.contains("geheim") && !format!("{row:?}").contains("geheim"), "{output}");
    }
}
