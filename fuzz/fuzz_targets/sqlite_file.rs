//! Any bytes as a SQLite database with its WAL, checked and measured.
#![no_main]

use fathom_fuzz::targets::sqlite_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sqlite_file(bytes));
