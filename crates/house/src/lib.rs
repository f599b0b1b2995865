//! The house rules of this repository, as tests: see `tests/`. The library itself is empty.
//!
//! A rule that a machine is able to check is checked here and not in a review.

#![forbid(unsafe_code)]
