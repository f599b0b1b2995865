//! Any bytes as results.db, opened and read.
#![no_main]

use fathom_fuzz::targets::results_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| results_file(bytes));
