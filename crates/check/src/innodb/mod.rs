//! InnoDB tablespaces: what a page is. They are not checked yet.

pub mod decode;
mod engine;

pub use engine::ENGINE;
