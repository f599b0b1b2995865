//! Any bytes as a page of every engine, described as `fathom decode` does.
#![no_main]

use check::decode::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    exercise(bytes);
});
