//! Bytes of a file, as many as there are.

use std::io;

use disk::input::File;

/// Reads up to the end of the file; returns the number of bytes.
pub(super) fn read_up_to(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}
