//! Reading the memory of another process, in one place and nowhere else. Never writes.
//!
//! Goes through `/proc/PID/mem` and not `process_vm_readv`: the kernel asks for the same rights (same user or
//! CAP_SYS_PTRACE), a span of many values costs one call as well, and no unsafe code is needed, since the kernel copies
//! into a buffer that is ours and refuses addresses that are not mapped. The descriptor belongs to the process that
//! had the number when it was opened: when that one ends nothing can be read any more, also when the number is given
//! to another process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The memory of one process, opened for reading.
#[derive(Debug)]
pub(crate) struct ProcessMemory {
    file: File,
}

impl ProcessMemory {
    /// Opens the memory of a process.
    ///
    /// # Errors
    /// The process has ended (`NotFound`), or belongs to another user (`PermissionDenied`).
    pub(crate) fn open(process_id: u32) -> io::Result<Self> {
        Ok(Self { file: File::open(format!("/proc/{process_id}/mem"))? })
    }

    /// Fills the buffer with what stands at an address. One system call for up to a few pages.
    ///
    /// # Errors
    /// Nothing is mapped there (EIO), or the process has ended (`UnexpectedEof`).
    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, address)
    }

    /// Reads an address-sized value in the byte order of this machine.
    ///
    /// # Errors
    /// As [`ProcessMemory::read`].
    pub(crate) fn read_pointer(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_this_process_holds_is_read_from_its_address() {
        let value = Box::new(0x0123_4567_89ab_cdef_u64);
        let memory = ProcessMemory::open(std::process::id()).unwrap();
        let address = std::ptr::from_ref(value.as_ref()).addr() as u64;
        assert_eq!(memory.read_pointer(address).unwrap(), *value);
    }

    #[test]
    fn an_address_without_memory_is_an_error() {
        let memory = ProcessMemory::open(std::process::id()).unwrap();
        assert!(memory.read_pointer(8).is_err());
        assert!(memory.read_pointer(u64::MAX - 64).is_err());
    }

    #[test]
    fn a_process_that_ended_has_no_memory() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let memory = ProcessMemory::open(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(memory.read_pointer(0x1000).is_err());
        assert_eq!(ProcessMemory::open(child.id()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
