//! Memory that a device can write to: aligned, on huge pages where the kernel has them, and faulted in once.
//!
//! On a virtual machine fresh memory alone can cost two thirds of the rate of a scan, because each first touch of a
//! page goes to the hypervisor. So buffers are made once, touched, and used again.

// The mapping is raw memory. This module turns it into slices and frees it; nothing else is unsafe here.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Every buffer begins at a multiple of this: the largest alignment that direct I/O needs on devices with blocks of
/// 512 or 4096 bytes, and the size of a page of memory.
pub const BUFFER_ALIGNMENT_BYTES: usize = 4096;

/// The size of a huge page on x86-64 and on arm64 with pages of 4 KiB. Elsewhere the alignment costs address space
/// only.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The most bytes of one buffer: what io_uring registers in one piece.
pub const BUFFER_BYTES_MAX: usize = 1 << 30;

/// Zeroed memory that begins at a multiple of [`BUFFER_ALIGNMENT_BYTES`] and stays where it is.
#[derive(Debug)]
pub struct AlignedBuffer {
    mapping: NonNull<c_void>,
    mapping_bytes: usize,
    start: NonNull<u8>,
    length_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and has no tie to a thread.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access is reading, and faulting in, which changes nothing.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Makes a buffer of `length_bytes`, all zero and already in memory.
    ///
    /// From 2 MiB on it begins at a huge page and asks for huge pages; whether it gets them is the kernel's choice.
    ///
    /// # Errors
    /// When the length is 0 or above [`BUFFER_BYTES_MAX`], and when there is no memory.
    pub fn new(length_bytes: usize) -> io::Result<Self> {
        Self::with(length_bytes, length_bytes >= HUGE_PAGE_BYTES)
    }

    /// Makes a buffer like [`AlignedBuffer::new`] that begins at a huge page and asks for huge pages whatever its
    /// length: for memory that is cut into the buffers of many transfers. Takes a whole number of huge pages where
    /// the kernel gives them.
    ///
    /// A transfer whose memory is one piece takes one entry in the list of the device instead of one for each page:
    /// worth an eighth of the rate of 8 KiB reads on a virtual disk.
    ///
    /// # Errors
    /// As [`AlignedBuffer::new`].
    pub fn on_huge_pages(length_bytes: usize) -> io::Result<Self> {
        Self::with(length_bytes, true)
    }

    /// Makes a buffer like [`AlignedBuffer::on_huge_pages`] that is in memory only as far as [`AlignedBuffer::fault_in`]
    /// brings it there; the rest comes when it is touched.
    ///
    /// # Errors
    /// As [`AlignedBuffer::new`].
    pub(crate) fn reserve_on_huge_pages(length_bytes: usize) -> io::Result<Self> {
        Self::reserve(length_bytes, true)
    }

    fn with(length_bytes: usize, is_huge: bool) -> io::Result<Self> {
        let buffer = Self::reserve(length_bytes, is_huge)?;
        // Only what was asked for: where there is no huge page the rest of one would be memory for nothing.
        buffer.fault_in(0..length_bytes)?;
        Ok(buffer)
    }

    fn reserve(length_bytes: usize, is_huge: bool) -> io::Result<Self> {
        if length_bytes == 0 || length_bytes > BUFFER_BYTES_MAX {
            let message = format!("a buffer has 1 to {BUFFER_BYTES_MAX} bytes, not {length_bytes}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let unit_bytes = if is_huge { HUGE_PAGE_BYTES } else { BUFFER_ALIGNMENT_BYTES };
        let used_bytes = length_bytes.next_multiple_of(unit_bytes);
        let mapping_bytes = used_bytes + if is_huge { HUGE_PAGE_BYTES } else { 0 };
        // SAFETY: a new private mapping at an address that the kernel chooses touches no memory of ours.
        let mapping = unsafe {
            rustix::mm::mmap_anonymous(
                ptr::null_mut(),
                mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let padding_bytes = mapping.cast::<u8>().align_offset(unit_bytes);
        assert!(padding_bytes + used_bytes <= mapping_bytes, "the padding was allowed for");
        // SAFETY: the padding lies inside the mapping, as just asserted.
        let start = unsafe { mapping.cast::<u8>().add(padding_bytes) };
        let start = NonNull::new(start).expect("a mapping does not begin at address 0");
        let mapping = NonNull::new(mapping).expect("a mapping does not begin at address 0");
        if is_huge {
            // SAFETY: the range is ours and the advice changes no content. A refusal only costs speed.
            let _refused = unsafe { advise(start.as_ptr(), used_bytes, Advice::LinuxHugepage) };
        }
        Ok(AlignedBuffer { mapping, mapping_bytes, start, length_bytes })
    }

    /// Brings a part into memory; what it contains stays. Others may use the buffer meanwhile.
    ///
    /// # Errors
    /// When there is no memory.
    pub(crate) fn fault_in(&self, part: Range<usize>) -> io::Result<()> {
        assert!(part.start <= part.end && part.end <= self.length_bytes, "the part lies inside");
        let first = part.start - part.start % BUFFER_ALIGNMENT_BYTES;
        let end = part.end.next_multiple_of(BUFFER_ALIGNMENT_BYTES);
        // SAFETY: both lie inside the mapping, which is a whole number of units of the alignment.
        let start = unsafe { self.start.as_ptr().add(first) };
        // SAFETY: the range is ours, and populating for writing keeps its content.
        match unsafe { advise(start, end - first, Advice::LinuxPopulateWrite) } {
            Ok(()) => Ok(()),
            // Linux before 5.14 does not have the advice: touch each page instead.
            Err(rustix::io::Errno::INVAL) => {
                for page in (0..end - first).step_by(BUFFER_ALIGNMENT_BYTES) {
                    // SAFETY: the byte lies inside the mapping. One atomic step that changes nothing keeps what
                    // another thread that faults in the same part may see.
                    let byte = unsafe { AtomicU8::from_ptr(start.add(page)) };
                    byte.fetch_or(0, Ordering::Relaxed);
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The length in bytes, as asked for.
    pub fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// The content.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is valid for `length_bytes`, initialised by the kernel with zeros, and only reachable
        // through `self`, which is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length_bytes) }
    }

    /// The content, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is borrowed for this reference alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length_bytes) }
    }

    /// The address of a part. Makes no slice, so that a device may be writing to any part of the buffer. A user that
    /// lets the kernel write through the address must not hold a slice that overlaps.
    pub(crate) fn part(&self, offset_bytes: usize, length_bytes: usize) -> *mut u8 {
        let end = offset_bytes.checked_add(length_bytes);
        assert!(end.is_some_and(|end| end <= self.length_bytes), "the part lies inside");
        // SAFETY: the part lies inside the mapping, as just asserted.
        unsafe { self.start.as_ptr().add(offset_bytes) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and no slice outlives `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.mapping.as_ptr(), self.mapping_bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}

/// Gives the kernel advice about a part of a mapping. Miri has no advice: under it memory is touched page by page, as
/// on Linux before 5.14.
///
/// # Safety
/// The part belongs to the caller, and the advice keeps its content.
unsafe fn advise(start: *mut u8, length_bytes: usize, advice: Advice) -> rustix::io::Result<()> {
    if cfg!(miri) {
        return Err(rustix::io::Errno::INVAL);
    }
    // SAFETY: as the caller says.
    unsafe { rustix::mm::madvise(start.cast(), length_bytes, advice) }
}

/// Fills `bytes` with content that no file system or device can compress or find twice (xorshift64*, Marsaglia 2003,
/// Vigna 2016). Equal seeds give equal content.
pub fn fill_incompressible(bytes: &mut [u8], seed: u64) {
    // The state must not be 0; the golden ratio spreads neighbouring seeds.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for chunk in bytes.chunks_mut(8) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let word = state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_buffer_is_aligned_zeroed_and_writable_at_both_ends() {
        let lengths = [1, 511, 4096, 4097, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES, HUGE_PAGE_BYTES + 1];
        // Miri looks at 2 MiB for minutes.
        let lengths = lengths.into_iter().filter(|length| !cfg!(miri) || *length < HUGE_PAGE_BYTES / 2);
        let makers = [AlignedBuffer::new, AlignedBuffer::on_huge_pages];
        for (length_bytes, make) in lengths.flat_map(|length| makers.map(|make| (length, make))) {
            let mut buffer = make(length_bytes).unwrap();
            assert_eq!(buffer.as_slice().as_ptr().align_offset(BUFFER_ALIGNMENT_BYTES), 0);
            assert_eq!(buffer.length_bytes(), length_bytes);
            assert!(buffer.as_slice().iter().all(|&byte| byte == 0));
            buffer.as_mut_slice()[0] = 1;
            buffer.as_mut_slice()[length_bytes - 1] = 2;
            assert_eq!(buffer.as_slice()[length_bytes - 1], 2);
        }
    }

    #[test]
    fn no_length_and_too_much_length_are_errors() {
        for length_bytes in [0, BUFFER_BYTES_MAX + 1, usize::MAX] {
            let message = AlignedBuffer::new(length_bytes).unwrap_err().to_string();
            assert!(message.contains(&length_bytes.to_string()), "{message}");
        }
    }

    #[test]
    fn content_depends_on_the_seed_alone_and_has_no_zero_run() {
        let mut contents = [[0u8; 1001]; 3];
        for (content, seed) in contents.iter_mut().zip([1, 1, 2]) {
            fill_incompressible(content, seed);
        }
        assert_eq!(contents[0], contents[1]);
        assert_ne!(contents[0], contents[2]);
        assert!(!contents[0].windows(4).any(|bytes| bytes == [0; 4]));
    }
}
