//! Any bytes as a request to `fathom serve`.
#![no_main]

use fathom_fuzz::targets::http_request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| http_request(bytes));
