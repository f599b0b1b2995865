//! Any bytes as a PostgreSQL page, tuple, map, WAL page or control file.
#![no_main]

use fathom_fuzz::targets::postgres_page;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| postgres_page(bytes));
