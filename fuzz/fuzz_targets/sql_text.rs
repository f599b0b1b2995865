//! Any text as the definition of a table or an index, which the check of a SQLite database reads.
#![no_main]

use fathom_fuzz::targets::sql_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sql_text(bytes));
