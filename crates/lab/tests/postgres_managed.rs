//! Managed PostgreSQL against real servers of every major that is installed.
#![allow(clippy::unwrap_used)]

mod postgres_support;

use std::path::PathBuf;

use lab::target::{Layout, Target};
use lab::work::{Amount, KeyOrder, LoopSide, Work};
use postgres_support::{managed, ours_in, run, scratch, servers, work};

#[test]
fn populate_has_one_row_per_page_from_both_loops_and_the_last_batch_is_cut() {
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        for loop_side in [LoopSide::Client, LoopSide::Server] {
            for key in [KeyOrder::Sequential, KeyOrder::Random] {
                // 47 rows over two clients are 24 and 23: batches of 10, 10, 4 and 10, 10, 3.
                let work = Work { loop_side, key, amount: Amount::Rows(47), ..work() };
                let outcome = run(&mut target, &work);
                let context = format!("{} {loop_side:?} {key:?}", server.version);
                assert_eq!(outcome.aftermath.rows, Some(47), "{context}");
                assert_eq!(outcome.aftermath.table_pages, Some(47), "{context}");
                assert_eq!(outcome.aftermath.rows_per_page, Some(1), "{context}");
                assert_eq!(outcome.transactions, 6, "{context}");
                let log_bytes = outcome.difference("log_bytes").unwrap();
                assert!(
                    log_bytes >= outcome.aftermath.payload_bytes.unwrap() as f64,
                    "{context}: {log_bytes}"
                );
                target.clean().unwrap();
            }
        }
        target.stop(false).unwrap();
        assert_eq!(ours_in(scratch.path()), Vec::<PathBuf>::new());
    }
}
