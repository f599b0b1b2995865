//! Any bytes as a PostgreSQL page, tuple, map, log page or control file.
#![no_main]

use formats::postgres::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise(bytes));
