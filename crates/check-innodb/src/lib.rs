//! InnoDB tablespaces: what a page is. They are not checked yet.

#![forbid(unsafe_code)]

pub mod decode;
mod engine;

pub use crate::engine::ENGINE;
