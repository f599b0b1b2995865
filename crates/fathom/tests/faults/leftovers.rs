//! Mounts of an earlier run that was killed: the program behind them is gone, and nothing below them can be read.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use skips::{Capability, skip};

/// The beginning of the names of all directories that these tests mount.
pub(crate) const PREFIX: &str = "fathom-faults-";

/// EVIDENCE: Linux fs/fuse/dev.c: ENOTCONN once the program that served a mount has ended
const ENOTCONN: i32 = 107;

/// Unmounts and removes what is left, once in a run.
pub(crate) fn remove() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        for place in dead(&mounts) {
            eprintln!("{}: left by an earlier run that was killed; unmounted", place.display());
            unmount(&place);
            // Not empty when it could not be unmounted.
            let _ = std::fs::remove_dir(&place);
        }
    });
}

/// Our mounts whose program has ended; those of a run beside this one answer.
fn dead(mounts: &str) -> Vec<PathBuf> {
    // EVIDENCE: proc_pid_mountinfo(5): the fifth field is the mount point, the type follows a single hyphen
    let places = mounts.lines().filter(|line| line.contains(" - fuse"));
    let places = places.filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let is_ours = |place: &PathBuf| {
        place.parent() == Some(Path::new("/tmp"))
            && place.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    let is_dead =
        |place: &PathBuf| std::fs::metadata(place).is_err_and(|error| error.raw_os_error() == Some(ENOTCONN));
    places.filter(|place| is_ours(place) && is_dead(place)).collect()
}

fn unmount(place: &Path) {
    for words in [&["umount", "-l"][..], &["fusermount3", "-u", "-z"]] {
        let done = Command::new(words[0]).args(&words[1..]).arg(place).output();
        if done.is_ok_and(|output| output.status.success()) {
            return;
        }
    }
}

#[test]
fn a_mount_whose_run_was_killed_is_removed_by_the_next_one() {
    // The test program itself, as a run that is killed while it has something mounted.
    if std::env::var_os(HOLDS).is_some() {
        return hold();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "leftovers::a_mount_whose_run_was_killed_is_removed_by_the_next_one",
            "--nocapture",
        ])
        .env(HOLDS, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let place = lines.map_while(Result::ok).find_map(|line| Some(line.split_once("HOLDS ")?.1.to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    let Some(place) = place else { return skip(Capability::Fuse, "FUSE cannot be mounted") };
    let place = PathBuf::from(place);
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert_eq!(dead(&mounts()).iter().filter(|dead| **dead == place).count(), 1, "{}", mounts());
    unmount(&place);
    assert!(!mounts().contains(place.to_str().unwrap()));
    std::fs::remove_dir(&place).unwrap();
}

/// Set in a run that mounts something and waits for its end.
const HOLDS: &str = "FATHOM_FAULTS_HOLDS";

fn hold() {
    let backing = tempfile::tempdir().unwrap();
    let Ok(mount) = crate::mount::Mount::new(backing.path(), Vec::new()) else { return };
    println!("\nHOLDS {}", mount.path().display());
    loop {
        std::thread::park();
    }
}
