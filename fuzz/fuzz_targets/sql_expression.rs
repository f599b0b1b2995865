//! Any text as a definition and as an expression of SQLite, without a database.
#![no_main]

use fathom_fuzz::targets::sql_expression;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sql_expression(bytes));
