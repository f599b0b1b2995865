//! Pages of data files are counted alike on every major version that counts them.

use lab::engine::{Layout, Target};
use lab::work::{Amount, Work};

use crate::support::{managed, run, scratch, servers, work};

const PAGE_BYTES: f64 = 8192.0;

#[test]
fn pages_and_bytes_of_data_files_agree_on_every_major() {
    for server in servers().into_iter().filter(|server| server.major >= 16) {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        // One page a row, written in batches: the server extends the table by several pages at once.
        let work = Work { amount: Amount::Rows(400), batch_size: 100, ..work() };
        let outcome = run(&mut target, &work);
        let value = |name: &str| outcome.difference(name);
        for (pages, bytes, calls) in [
            ("data_reads", "data_read_bytes", "data_read_calls"),
            ("data_writes", "data_written_bytes", "data_write_calls"),
            ("data_extends", "data_extended_bytes", "data_extend_calls"),
        ] {
            let (Some(page_count), Some(byte_count)) = (value(pages), value(bytes)) else {
                let names: Vec<&str> =
                    outcome.after.cumulative.iter().map(|metric| metric.name.as_str()).collect();
                panic!("{}: no {pages} or {bytes} among {names:?}", server.version);
            };
            assert_eq!(page_count * PAGE_BYTES, byte_count, "{}: {pages}", server.version);
            match value(calls) {
                Some(call_count) => {
                    assert!(server.major >= 18 && call_count <= page_count, "{}: {calls}", server.version);
                }
                None => assert!(server.major < 18, "{}: {calls}", server.version),
            }
        }
        // The table has a page for each row, and the maps and its index some more.
        let extended = value("data_extends").unwrap();
        assert!((400.0..600.0).contains(&extended), "{}: {extended}", server.version);
        target.stop(false).unwrap();
    }
}
