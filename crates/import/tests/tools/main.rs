//! Recorded output of real tools: what is imported is what the tool reports.
#![allow(clippy::unwrap_used)]

mod fio;
mod hdrhistogram;
