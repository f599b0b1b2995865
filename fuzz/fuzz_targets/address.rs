//! Any text as a connection string, a service file, a password file and the environment.
#![no_main]

use fathom_fuzz::targets::address;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| address(bytes));
