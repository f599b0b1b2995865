//! Any bytes as a page of every engine, described as `fathom decode` does.
#![no_main]

use fathom_fuzz::targets::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| decode(bytes));
