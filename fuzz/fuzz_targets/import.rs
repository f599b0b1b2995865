//! Any bytes as results of another tool.
#![no_main]

use fathom_fuzz::targets::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| import(bytes));
