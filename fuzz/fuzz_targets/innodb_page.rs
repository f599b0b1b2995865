//! Any bytes as a page of InnoDB, and its arithmetic under any page number and size.
#![no_main]

use fathom_fuzz::targets::innodb_page;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| innodb_page(bytes));
