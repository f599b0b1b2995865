//! Any bytes as a page, record, map or backup block of SQL Server.
#![no_main]

use formats::sqlserver::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise(bytes));
