//! Any bytes as a page, header, log or record of SQLite. The last byte selects page size and reserved bytes.
#![no_main]

use formats::sqlite::{Geometry, exercise};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let choice = bytes.last().copied().unwrap_or(0);
    let page_size_bytes = 512 << (choice & 7);
    let usable_bytes = page_size_bytes - u32::from(choice >> 3);
    exercise(bytes, Geometry { page_size_bytes, usable_bytes, auto_vacuum: choice & 8 != 0 });
});
