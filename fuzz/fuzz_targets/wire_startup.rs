//! Any bytes as what a PostgreSQL server says while a connection starts: authentication, parameters, errors.
#![no_main]

use fathom_fuzz::targets::wire_startup;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| wire_startup(bytes));
