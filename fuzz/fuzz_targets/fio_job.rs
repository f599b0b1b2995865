//! Any text as a job file of fio.
#![no_main]

use fathom_fuzz::targets::fio_job;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fio_job(bytes));
