//! Removes what a crashed fathom left: servers, their directories, their sockets. Only what carries the mark and
//! whose owner is gone; nothing else is looked at.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lab::engine::managed_directory::{ManagedDirectory, leftovers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Kind of our managed directory.
pub(crate) const KIND: &str = "postgres";

/// First characters of the name of every directory for a socket.
pub(crate) const SOCKET_PREFIX: &str = "fathom-pg-";

/// Seconds for a leftover server to shut down cleanly, then at once.
const STOP_SECONDS: [(Signal, i64); 2] = [(Signal::INT, 60), (Signal::QUIT, 10)];

/// Cleans the leftovers found directly in these directories. Returns the main directory of every cluster removed.
/// What cannot be removed is left and logged: it must not stop the work at hand.
pub(crate) fn clean(places: &[&Path]) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for place in places {
        removed.extend(leftovers(place, KIND).into_iter().filter_map(clean_one));
    }
    removed
}

/// Removes the directory of a socket: the socket's files and, when nothing else is in it, the directory.
pub(crate) fn remove_socket_directory(directory: &Path) {
    if !is_named(directory, SOCKET_PREFIX) {
        return;
    }
    if let Ok(entries) = std::fs::read_dir(directory) {
        for entry in entries.filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().starts_with(".s.PGSQL.") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
    let _ = std::fs::remove_dir(directory);
}

/// Handles one marked directory whose owner is gone; returns the cluster's main directory if it was removed.
fn clean_one(left: ManagedDirectory) -> Option<PathBuf> {
    if left.is_main() {
        let directory = left.directory().to_path_buf();
        return clean_cluster(left).then_some(directory);
    }
    if left.is_orphan() {
        // The main directory went first, then the cleaning was cut short.
        remove(left);
        return None;
    }
    // A part of a cluster elsewhere: its main directory decides, and lists this part.
    let main = left.mark().main_directory.clone();
    drop(left);
    let cluster = ManagedDirectory::take_over(&main, KIND).filter(|cluster| !cluster.mark().kept)?;
    clean_cluster(cluster).then_some(main)
}

fn clean_cluster(cluster: ManagedDirectory) -> bool {
    let directory = cluster.directory();
    if !stop_server(&directory.join("data")) {
        tracing::warn!(directory = %directory.display(), "left a crashed run's server alone: it did not stop");
        return false;
    }
    for part in &cluster.mark().parts {
        let part = ManagedDirectory::take_over(part, KIND).filter(|part| part.mark().id == cluster.mark().id);
        part.map(remove);
    }
    if let Some(socket) = &cluster.mark().socket_directory {
        remove_socket_directory(socket);
    }
    remove(cluster)
}

/// Stops the server that runs in this data directory, if one does. True when none runs afterwards.
fn stop_server(data: &Path) -> bool {
    let Some(pid) = std::fs::read_to_string(data.join("postmaster.pid"))
        .ok()
        .and_then(|text| text.lines().next().and_then(|line| line.trim().parse::<i32>().ok()))
        .filter(|&number| number > 1)
        .and_then(Pid::from_raw)
    else {
        return true;
    };
    // The descriptor pins the process: what is verified through /proc is what the signal reaches.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH) => return true,
        Err(_) => return false,
    };
    match works_in(pid, data) {
        Some(true) => {}
        // The id has passed to somebody else: the server is gone.
        Some(false) => return true,
        None => return false,
    }
    for (signal, seconds) in STOP_SECONDS {
        let _ = pidfd_send_signal(&process, signal);
        let mut polled = [PollFd::new(&process, PollFlags::IN)];
        let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
        if poll(&mut polled, Some(&timeout)).is_ok_and(|ready| ready > 0) {
            return true;
        }
    }
    false
}

/// Is this process a PostgreSQL server whose working directory is `data`? `None` when that cannot be told.
fn works_in(pid: Pid, data: &Path) -> Option<bool> {
    let number = pid.as_raw_nonzero();
    match std::fs::read_link(format!("/proc/{number}/exe")) {
        Ok(exe) if !is_named(&exe, "postgres") => return Some(false),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    }
    // Following the link, so that a directory renamed or reached by another path is still recognised.
    let cwd = std::fs::metadata(format!("/proc/{number}/cwd")).ok()?;
    let data = std::fs::metadata(data).ok()?;
    Some(cwd.dev() == data.dev() && cwd.ino() == data.ino())
}

fn remove(left: ManagedDirectory) -> bool {
    let directory = left.directory().to_path_buf();
    match left.remove() {
        Ok(()) => {
            tracing::info!(directory = %directory.display(), "removed what a crashed run left");
            true
        }
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "could not remove what a crashed run left");
            false
        }
    }
}

fn is_named(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}
