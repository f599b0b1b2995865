//! Any text as the TOML file of an experiment.
#![no_main]

use fathom_fuzz::targets::spec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| spec(bytes));
