//! Any bytes as a page of InnoDB, and its arithmetic under any page number and size.
#![no_main]

use formats::innodb::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise(bytes));
