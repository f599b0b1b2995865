//! Any bytes as a page, header, WAL frame or record of SQLite.
#![no_main]

use fathom_fuzz::targets::sqlite_page;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sqlite_page(bytes));
