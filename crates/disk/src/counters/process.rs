//! What one process has read, written and computed, from `/proc/PID/io` and `/proc/PID/stat` (proc(5)).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{CountersError, malformed, read, ticks_to_ns};

/// The I/O of a process since it began, its ended threads included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Bytes that system calls returned, from the page cache too.
    pub rchar: u64,
    /// Bytes given to system calls, whether they reached a device or not.
    pub wchar: u64,
    /// Read system calls.
    pub syscr: u64,
    /// Write system calls.
    pub syscw: u64,
    /// Bytes fetched from a device.
    pub read_bytes: u64,
    /// Bytes that made a page dirty or went to a device directly; counted when the page becomes dirty.
    pub write_bytes: u64,
    /// Bytes made dirty by this process that were dropped before they were written (a file was truncated).
    pub cancelled_write_bytes: u64,
}

/// The processor time of a process since it began, in steps of one clock tick (10 ms).
///
/// The times of children are added only once the parent has waited for them: of a server with a process per session
/// the main process carries the time of the sessions that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCpu {
    /// In its own code, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel, in nanoseconds.
    pub system_ns: u64,
    /// In the own code of children that it has waited for, in nanoseconds.
    pub children_user_ns: u64,
    /// In the kernel for children that it has waited for, in nanoseconds.
    pub children_system_ns: u64,
}

impl ProcessCpu {
    /// User and system time together, in nanoseconds, without children.
    pub fn total_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// User and system time together, in nanoseconds, with the children that were waited for.
    pub fn total_with_children_ns(&self) -> u64 {
        self.total_ns().saturating_add(self.children_user_ns).saturating_add(self.children_system_ns)
    }
}

/// Reads the I/O counters of process `pid`.
///
/// # Errors
/// When the process has ended or belongs to another user, or the file does not have the fields.
pub fn process_io(pid: u32) -> Result<ProcessIo, CountersError> {
    let path = PathBuf::from(format!("/proc/{pid}/io"));
    parse_io(&read(&path)?, &path)
}

/// Reads the I/O counters of the thread that calls.
///
/// # Errors
/// As [`process_io`].
pub fn thread_io() -> Result<ProcessIo, CountersError> {
    let path = Path::new("/proc/thread-self/io");
    parse_io(&read(path)?, path)
}

/// Reads the processor time of process `pid`.
///
/// # Errors
/// When the process has ended, or the file does not have the fields.
pub fn process_cpu(pid: u32) -> Result<ProcessCpu, CountersError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    parse_stat(&read(&path)?, rustix::param::clock_ticks_per_second(), &path)
}

/// Reads the processor time of a process from the content of its `/proc/PID/stat`, for callers that keep it open.
///
/// # Errors
/// When the text does not have the fields.
pub fn parse_process_cpu(text: &str) -> Result<ProcessCpu, CountersError> {
    parse_stat(text, rustix::param::clock_ticks_per_second(), Path::new("/proc/PID/stat"))
}

fn parse_io(text: &str, path: &Path) -> Result<ProcessIo, CountersError> {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.trim().parse::<u64>().ok()).ok_or_else(|| malformed(path, name))
    };
    Ok(ProcessIo {
        rchar: field("rchar")?,
        wchar: field("wchar")?,
        syscr: field("syscr")?,
        syscw: field("syscw")?,
        read_bytes: field("read_bytes")?,
        write_bytes: field("write_bytes")?,
        cancelled_write_bytes: field("cancelled_write_bytes")?,
    })
}

fn parse_stat(text: &str, ticks_per_second: u64, path: &Path) -> Result<ProcessCpu, CountersError> {
    // The name of the program, field 2, may hold spaces and parentheses: only the last one closes it.
    let (_, after_name) = text.rsplit_once(')').ok_or_else(|| malformed(path, "the name of the program"))?;
    let mut fields = after_name.split_ascii_whitespace();
    let mut time = |index: usize, name: &str| {
        let ticks = fields.nth(index).and_then(|field| field.parse::<i64>().ok());
        let ticks = ticks.and_then(|ticks| u64::try_from(ticks).ok()).ok_or_else(|| malformed(path, name))?;
        Ok(ticks_to_ns(ticks, ticks_per_second))
    };
    // utime is field 14, the twelfth after the name; stime, cutime and cstime follow.
    Ok(ProcessCpu {
        user_ns: time(11, "utime")?,
        system_ns: time(0, "stime")?,
        children_user_ns: time(0, "cutime")?,
        children_system_ns: time(0, "cstime")?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const STAT: &str = "42 (odd ) (name) S 1 42 42 0 -1 4194560 100 200 3 4 250 125 1000 7 20 0 1 0 99";
    const IO: &str = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";

    #[test]
    fn processor_time_comes_in_nanoseconds() {
        let cpu = parse_stat(STAT, 100, Path::new("stat")).unwrap();
        assert_eq!((cpu.user_ns, cpu.system_ns), (2_500_000_000, 1_250_000_000));
        assert_eq!(cpu.total_ns(), 3_750_000_000);
        assert_eq!(cpu.total_with_children_ns(), 13_820_000_000);
    }

    #[test]
    fn io_counters_are_found_by_name() {
        let io = parse_io(IO, Path::new("io")).unwrap();
        let expected = ProcessIo {
            rchar: 10,
            wchar: 20,
            syscr: 3,
            syscw: 4,
            read_bytes: 4096,
            write_bytes: 8192,
            cancelled_write_bytes: 1,
        };
        assert_eq!(io, expected);
    }

    #[test]
    fn text_cut_anywhere_is_an_error_with_the_field_or_a_value() {
        for end in 0..STAT.len() {
            if let Err(error) = parse_stat(&STAT[..end], 100, Path::new("stat")) {
                assert!(error.to_string().starts_with("could not find "), "{error}");
            }
        }
        for end in 0..IO.len() {
            let _any = parse_io(&IO[..end], Path::new("io"));
        }
        let error = parse_io("rchar: ten\n", Path::new("/proc/1/io")).unwrap_err();
        assert!(error.to_string().starts_with("could not find rchar in \"/proc/1/io\""));
        assert!(parse_stat(&String::from_utf8_lossy(b"1 (\xff) S \xff"), 0, Path::new("stat")).is_err());
    }

    #[test]
    fn this_process_shows_its_own_work() {
        let before = process_io(std::process::id()).unwrap();
        std::fs::read("/proc/self/stat").unwrap();
        let after = process_io(std::process::id()).unwrap();
        assert!(after.rchar > before.rchar && after.syscr > before.syscr);
        process_cpu(std::process::id()).unwrap();
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(process_cpu(pid).unwrap_err().is_gone());
    }
}
