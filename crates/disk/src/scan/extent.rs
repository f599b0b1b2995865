//! A stretch of a file, as a scan found it.

use std::io;

/// A stretch of a file, as it was found. Most are one extent long; where something cannot be read, an extent comes in
/// several stretches, in order.
#[derive(Debug)]
pub struct Extent<'a> {
    /// The file, by its position in the list.
    pub file_index: usize,
    /// Where the stretch begins in the file.
    pub offset_bytes: u64,
    /// What is there.
    pub content: Content<'a>,
}

/// What was found in a stretch.
#[derive(Debug)]
pub enum Content<'a> {
    /// The bytes. They are gone after the call.
    Bytes(&'a [u8]),
    /// The device, the file system or the permissions say no, twice.
    Unreadable {
        /// The length of the stretch: of one or more retry units.
        length_bytes: u64,
        /// What the operating system said about the first of them.
        error: &'a io::Error,
    },
    /// The file ends before: it has become shorter since the scan began, or never had the range asked for.
    Missing {
        /// The length of what is not there.
        length_bytes: u64,
    },
}
