//! Any bytes as the files of a small data directory of PostgreSQL, checked and measured.
#![no_main]

use fathom_fuzz::targets::postgres_cluster;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| postgres_cluster(bytes));
