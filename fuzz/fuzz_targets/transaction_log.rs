//! Any bytes as a stored log of transactions.
#![no_main]

use fathom_fuzz::targets::transaction_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| transaction_log(bytes));
