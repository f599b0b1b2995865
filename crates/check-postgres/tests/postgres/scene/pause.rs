//! A running server whose processes do nothing for a while: what a test takes away from its files meanwhile, none misses.
//!
//! The background writer logs a snapshot of transactions 15 s after the last one (`LOG_SNAPSHOT_INTERVAL_MS`, not a setting),
//! and the WAL writer panics where the segment is gone.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use crate::scene::server::Cluster;

impl Cluster {
    /// Does something while all processes of the server are stopped; they exist, as those of any running server.
    pub(crate) fn paused<T>(&self, work: impl FnOnce() -> T) -> T {
        let pid_file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let postmaster: u32 = pid_file.lines().next().unwrap().parse().unwrap();
        signal("STOP", &[postmaster]);
        // It starts no further ones now.
        let children = children(postmaster);
        signal("STOP", &children);
        let pause = Pause([children, vec![postmaster]].concat());
        let done = work();
        drop(pause);
        done
    }
}

/// Goes on when it is dropped, also by a test that failed: a stopped server could not be shut down.
struct Pause(Vec<u32>);

impl Drop for Pause {
    fn drop(&mut self) {
        signal("CONT", &self.0);
    }
}

fn signal(name: &str, processes: &[u32]) {
    let arguments = processes.iter().map(u32::to_string);
    // One that ended meanwhile needs no signal.
    let _ = Command::new("kill").arg(format!("-{name}")).args(arguments).status().unwrap();
}

/// Processes with this parent.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let parent_of = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name of the program stands in parentheses and may hold spaces; state and parent follow.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    numbers.filter(|process| parent_of(process) == Some(parent)).collect()
}
