//! Any bytes as a data file or a backup of SQL Server, checked and measured.
#![no_main]

use fathom_fuzz::targets::sqlserver_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sqlserver_file(bytes));
