//! Any text as a script in pgbench's language.
#![no_main]

use fathom_fuzz::targets::script_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| script_text(bytes));
