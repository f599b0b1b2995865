//! Any bytes as what a PostgreSQL server answers to queries.
#![no_main]

use fathom_fuzz::targets::wire_answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wire_answer(bytes));
