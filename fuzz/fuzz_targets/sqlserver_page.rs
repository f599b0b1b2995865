//! Any bytes as a page, record, map or backup block of SQL Server.
#![no_main]

use fathom_fuzz::targets::sqlserver_page;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sqlserver_page(bytes));
