//! The account of a check that came to no page.

use results::check::Accounting;

/// The account of a check that came to no page.
pub(crate) fn unreached(page_count: u64, page_size_bytes: u32) -> Accounting {
    let bytes_expected = page_count * u64::from(page_size_bytes);
    Accounting { page_count, unreached_count: page_count, bytes_expected, ..Accounting::default() }
}
