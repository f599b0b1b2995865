//! Removes what a crashed fathom left: servers, their directories, their sockets. Only what carries the mark and
//! whose owner is gone; nothing else is looked at.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::marker::{DIRECTORY_PREFIX, Marker, SOCKET_PREFIX};

/// Seconds for a leftover server to shut down in order, then at once.
const STOP_SECONDS: [(Signal, i64); 2] = [(Signal::INT, 60), (Signal::QUIT, 10)];

/// Cleans the leftovers found directly in these directories. Returns the main directory of every cluster removed.
/// What cannot be removed is left and logged: it must not stop the work at hand.
pub(super) fn clean(places: &[&Path]) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for place in places {
        let Ok(entries) = std::fs::read_dir(place) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            if !is_named(&entry.path(), DIRECTORY_PREFIX)
                || !entry.file_type().is_ok_and(|kind| kind.is_dir())
            {
                continue;
            }
            let Some(marker) = Marker::take_over(&entry.path()) else {
                continue;
            };
            if marker.mark().kept {
                continue;
            }
            removed.extend(clean_one(&entry.path(), marker));
        }
    }
    removed
}

/// Removes the directory of a socket: the socket's files and, when nothing else is in it, the directory.
pub(super) fn remove_socket_directory(directory: &Path) {
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
fn clean_one(directory: &Path, marker: Marker) -> Option<PathBuf> {
    let main = marker.mark().cluster_directory.clone();
    if is_same_file(&main, directory) {
        return clean_cluster(directory, &marker).then(|| directory.to_path_buf());
    }
    if !main.exists() {
        // The main directory went first, then the cleaning was cut short.
        remove(directory);
        return None;
    }
    // A part of a cluster elsewhere: its main directory decides, and lists this part.
    drop(marker);
    if !is_named(&main, DIRECTORY_PREFIX) {
        return None;
    }
    let main_marker = Marker::take_over(&main)?;
    if main_marker.mark().kept {
        return None;
    }
    clean_cluster(&main, &main_marker).then_some(main)
}

fn clean_cluster(directory: &Path, marker: &Marker) -> bool {
    if !stop_server(&directory.join("data")) {
        tracing::warn!(directory = %directory.display(), "left a crashed run's server alone: it did not stop");
        return false;
    }
    for part in &marker.mark().parts {
        let Some(part_marker) = Marker::take_over(part) else {
            continue;
        };
        if is_named(part, DIRECTORY_PREFIX) && part_marker.mark().cluster_id == marker.mark().cluster_id {
            remove(part);
        }
    }
    if let Some(socket) = &marker.mark().socket_directory {
        remove_socket_directory(socket);
    }
    remove(directory)
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

fn remove(directory: &Path) -> bool {
    match std::fs::remove_dir_all(directory) {
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

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}
