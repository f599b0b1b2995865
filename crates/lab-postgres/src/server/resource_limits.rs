//! A smaller machine for the server: fewer processors, less memory.
//!
//! Processors by CPU affinity, which new processes of the server inherit. Memory by a control group of its own, whose
//! limit covers the page cache of the files that the server reads: without it a large memory hides the device.

use std::fs;
use std::path::{Path, PathBuf};

use lab::engine::TargetError;
use lab::engine::managed_directory::unique_id;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Processors that a set can name.
const PROCESSORS_MAX: usize = CpuSet::MAX_CPU;

/// Processors that this process may use, and so give away.
pub(crate) fn processors_allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..PROCESSORS_MAX).filter(|&processor| set.is_set(processor)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Keeps a server on the first `count` processors of ours, its processes that run already too.
pub(crate) fn keep_on_processors(process_id: u32, count: u32) -> Result<(), TargetError> {
    let allowed = processors_allowed();
    let Some(chosen) = allowed.get(..count as usize) else {
        return Err(TargetError::refused(
            format!("cannot bind the server to {count} CPUs: only {} are available", allowed.len()),
            "leave out that level of server_cores",
        ));
    };
    let mut set = CpuSet::new();
    chosen.iter().for_each(|&processor| set.set(processor));
    for process in family(process_id) {
        let moved = sched_setaffinity(Pid::from_raw(process as i32), &set);
        // A child may have ended since it was listed; the server itself must obey.
        if let (Err(error), true) = (moved, process == process_id) {
            return Err(TargetError::engine(format!("could not bind the server to {count} CPUs"), error));
        }
    }
    Ok(())
}

/// The largest number of processors that any process of the server may run on, as the kernel says; `None` when it
/// cannot be read.
pub(crate) fn processors_in_force(process_id: u32) -> Option<u64> {
    let counts = family(process_id).into_iter().filter_map(|process| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
        Some(
            mask.chars()
                .filter_map(|digit| digit.to_digit(16))
                .map(|digit| u64::from(digit.count_ones()))
                .sum(),
        )
    });
    counts.max()
}

/// The server's first process and its children.
fn family(process_id: u32) -> Vec<u32> {
    let children =
        fs::read_to_string(format!("/proc/{process_id}/task/{process_id}/children")).unwrap_or_default();
    std::iter::once(process_id)
        .chain(children.split_whitespace().filter_map(|child| child.parse().ok()))
        .collect()
}

/// A control group with a limit of memory, made and removed by fathom.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    directory: PathBuf,
    limit_file: &'static str,
    limit_bytes: u64,
}

impl MemoryGroup {
    /// Makes a group below our own and puts a process into it, whose later children follow.
    ///
    /// # Errors
    /// No controller of memory is mounted, or it is not ours to divide.
    pub(crate) fn create(process_id: u32, limit_mib: u64) -> Result<Self, TargetError> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut reasons = Vec::new();
        for (parent, limit_file) in parents(&groups) {
            let group = Self {
                directory: parent.join(format!("fathom-{}", unique_id())),
                limit_file,
                limit_bytes: limit_mib << 20,
            };
            match group.fill(process_id) {
                Ok(()) => return Ok(group),
                Err(error) => reasons.push(format!("\"{}\": {error}", parent.display())),
            }
        }
        if reasons.is_empty() {
            reasons.push("no control group of memory is mounted".to_owned());
        }
        Err(TargetError::refused(
            format!("cannot limit the memory of the server: {}", reasons.join("; ")),
            "leave out memory_limit_mib, or start fathom in a control group that it may divide",
        ))
    }

    fn fill(&self, process_id: u32) -> std::io::Result<()> {
        fs::create_dir(&self.directory)?;
        fs::write(self.directory.join(self.limit_file), self.limit_bytes.to_string())?;
        for process in family(process_id) {
            let moved = fs::write(self.directory.join("cgroup.procs"), process.to_string());
            if process == process_id {
                moved?;
            }
        }
        Ok(())
    }

    /// The limit as the kernel has it now, in bytes.
    pub(crate) fn limit_in_force(&self) -> Option<u64> {
        fs::read_to_string(self.directory.join(self.limit_file)).ok()?.trim().parse().ok()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Empty once the server is gone. One that is not stays: nothing else may be removed with it.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Groups of our own in which another one may be made, with the name of the limit: version 2 with the controller handed
/// down, then version 1.
fn parents(groups: &str) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let inner = Path::new(path.trim_start_matches('/'));
        if controllers.is_empty() {
            let own = Path::new("/sys/fs/cgroup").join(inner);
            let hands_down = |directory: &Path| {
                fs::read_to_string(directory.join("cgroup.subtree_control"))
                    .is_ok_and(|text| text.split_whitespace().any(|controller| controller == "memory"))
            };
            let candidates = own.ancestors().take(2).map(Path::to_path_buf).collect::<Vec<_>>();
            found.extend(candidates.into_iter().filter(|one| hands_down(one)).map(|one| (one, "memory.max")));
        } else if controllers.split(',').any(|controller| controller == "memory") {
            // Inside a container the path may be that of the host.
            let root = Path::new("/sys/fs/cgroup/memory");
            let place = [root.join(inner), root.to_path_buf()].into_iter().find(|place| place.is_dir());
            found.extend(place.map(|place| (place, "memory.limit_in_bytes")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_its_own_family_and_has_as_many_processors_as_the_kernel_says() {
        let own = std::process::id();
        assert_eq!(family(own).first(), Some(&own));
        assert_eq!(processors_in_force(own), Some(processors_allowed().len() as u64));
    }

    #[test]
    fn lines_that_name_no_controller_of_memory_give_no_parent() {
        assert!(parents("3:cpuset:/\nodd\n:::\n").is_empty());
    }
}
