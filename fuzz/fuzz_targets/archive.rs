//! Any bytes as a tar file, compressed or not, checked as a base backup.
#![no_main]

use fathom_fuzz::targets::archive;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| archive(bytes));
