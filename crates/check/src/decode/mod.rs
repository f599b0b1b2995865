//! What a page is: by its number alone, and by its bytes.
//!
//! Numbers are pure arithmetic over the formats: the same answer with and without a file. With a file, one page is read
//! (and what leads to it where that is short: the free list of SQLite), and described in a few facts.

mod decoded;
mod file;

pub use decoded::{Decoded, offset_text};
pub use file::page_bytes;
pub use file::{DecodeError, file};
