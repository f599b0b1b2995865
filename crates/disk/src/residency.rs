//! How much of a file the page cache holds, and having it given up.
//!
//! Asked with `cachestat` (Linux 6.5), which looks at the file itself, else with `mincore` over a mapping of it, whose
//! answer is true only for files that the caller may write: the kernel calls pages of others resident.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Number of the system call, the same on all architectures.
// EVIDENCE: Linux include/uapi/asm-generic/unistd.h, __NR_cachestat
const CACHESTAT: libc::c_long = 451;

/// Most bytes mapped at once for `mincore`: the answer has a byte per page.
const WINDOW_BYTES: u64 = 1 << 30;

/// Pages of files and how many of them are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Pages of the system's size, the last one perhaps in part.
    pub page_count: u64,
    /// Of these, in the page cache.
    pub resident_count: u64,
}

impl Residency {
    /// Share of the pages in the page cache, 0 to 1; 0 without pages.
    pub fn fraction(&self) -> f64 {
        if self.page_count == 0 { 0.0 } else { self.resident_count as f64 / self.page_count as f64 }
    }
}

/// Asks for a file's share of the page cache. Reads nothing of the file.
///
/// # Errors
/// The file cannot be opened, or neither system call answers.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let file = File::open(path)?;
    let length_bytes = file.metadata()?.len();
    let page_count = length_bytes.div_ceil(page_bytes());
    if page_count == 0 {
        return Ok(Residency::default());
    }
    let resident_count = match cachestat(&file, length_bytes) {
        Ok(count) => count,
        Err(_) => mincore(&file, length_bytes)?,
    };
    // Pages beyond the end may be cached while a file is cut.
    Ok(Residency { page_count, resident_count: resident_count.min(page_count) })
}

/// Brings a file to its device and asks the kernel to give up its pages. Those that somebody has mapped stay.
///
/// # Errors
/// The file cannot be opened or flushed.
pub fn give_up(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // Pages that are not on the device yet cannot be given up.
    rustix::fs::fdatasync(&file)?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

/// The file that empties the page cache of the whole machine, and what the kernel keeps of directories.
// EVIDENCE: Linux Documentation/admin-guide/sysctl/vm.rst, drop_caches
pub const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this process may write to `switch` ([`DROP_CACHES`]). Opens it, and writes nothing.
pub fn may_give_up_all(switch: &Path) -> bool {
    File::options().write(true).open(switch).is_ok()
}

/// Brings everything to the devices, then has the kernel give up the machine's page cache, by way of `switch`
/// ([`DROP_CACHES`]). Everybody on the machine reads from its devices afterwards.
///
/// # Errors
/// `switch` cannot be written: only root may, and not in every container.
pub fn give_up_all(switch: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).open(switch)?;
    // Pages that are not on a device yet are not given up.
    rustix::fs::sync();
    file.write_all(b"3\n")
}

/// Size of a page of memory in bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[repr(C)]
struct Range {
    offset_bytes: u64,
    length_bytes: u64,
}

// EVIDENCE: Linux include/uapi/linux/mman.h, struct cachestat
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn cachestat(file: &File, length_bytes: u64) -> io::Result<u64> {
    let mut range = Range { offset_bytes: 0, length_bytes };
    let mut answer = CacheStat::default();
    // SAFETY: the descriptor is open for the length of the call; both pointers are to live values of the layout that
    // the kernel documents, and it writes to the second one alone.
    let status = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw mut range, &raw mut answer, 0 as libc::c_uint)
    };
    if status == 0 { Ok(answer.cached) } else { Err(io::Error::last_os_error()) }
}

fn mincore(file: &File, length_bytes: u64) -> io::Result<u64> {
    let mut resident_count = 0;
    let mut offset_bytes = 0;
    while offset_bytes < length_bytes {
        let window_bytes = (length_bytes - offset_bytes).min(WINDOW_BYTES);
        resident_count += mincore_window(file, offset_bytes, window_bytes as usize)?;
        offset_bytes += window_bytes;
    }
    Ok(resident_count)
}

fn mincore_window(file: &File, offset_bytes: u64, window_bytes: usize) -> io::Result<u64> {
    let mut flags = vec![0_u8; window_bytes.div_ceil(page_bytes() as usize)];
    // SAFETY: a new mapping without any access, at a place that the kernel chooses; it is never read, only asked about,
    // and unmapped before the function returns. `flags` has a byte for each of its pages.
    unsafe {
        let place = libc::mmap(
            std::ptr::null_mut(),
            window_bytes,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset_bytes as libc::off_t,
        );
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let status = libc::mincore(place, window_bytes, flags.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(place, window_bytes);
        if status != 0 {
            return Err(error);
        }
    }
    Ok(flags.iter().filter(|flag| **flag & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_just_written_is_resident_by_both_ways_to_ask() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let pages = 5;
        file.write_all(&vec![1; (page_bytes() * pages - 7) as usize]).unwrap();
        let seen = residency(file.path()).unwrap();
        assert_eq!(seen, Residency { page_count: pages, resident_count: pages });
        let length_bytes = file.as_file().metadata().unwrap().len();
        assert_eq!(mincore(file.as_file(), length_bytes).unwrap(), pages);
    }

    #[test]
    fn the_machine_s_cache_is_given_up_by_one_word_and_asking_whether_writes_none() {
        let switch = tempfile::NamedTempFile::new().unwrap();
        assert!(may_give_up_all(switch.path()));
        assert_eq!(std::fs::read(switch.path()).unwrap(), b"");
        give_up_all(switch.path()).unwrap();
        assert_eq!(std::fs::read(switch.path()).unwrap(), b"3\n");
        assert!(!may_give_up_all(Path::new("/nonexistent/switch")));
        assert!(give_up_all(Path::new("/nonexistent/switch")).is_err());
    }

    #[test]
    fn an_empty_file_has_no_pages_and_giving_up_what_is_not_there_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(residency(file.path()).unwrap().fraction(), 0.0);
        give_up(file.path()).unwrap();
        assert!(give_up(Path::new("/nonexistent")).is_err());
    }
}
