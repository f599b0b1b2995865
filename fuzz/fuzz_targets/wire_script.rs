//! Any bytes as what a PostgreSQL server answers to the statements of scripts.
#![no_main]

use fathom_fuzz::targets::wire_script;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wire_script(bytes));
