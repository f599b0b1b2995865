//! Errors of a device under the file of results: the run ends with status 2 and says why, and what was stored is kept.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use results::store::Store;
use skips::{Capability, skip};

use crate::cells::{EIO, ENOSPC};
use crate::writable::{Refused, Writable};

/// A spec whose runs end in a moment.
const QUICK: &str = r#"
name = "quick"
title = "quick"
question = "does it run?"
kind = "own"
repetitions = 300
[factors]
batch_size = [1, 5]
[parameters]
workload = "populate"
connections = 1
rows_total = 20
durability = "none"
"#;

/// A run that went on without its results would take longer than this on any machine.
const PATIENCE: Duration = Duration::from_secs(300);

fn words(mount: &Path, bench: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(["run", "quick.toml", "--ceilings", "never", "--results"]).arg(mount.join("results"));
    command.arg("--data").arg(bench.join("data")).current_dir(bench).env_remove("FATHOM_RESULTS");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The number of a stored run in a line such as `run 17  block 2  ...`.
fn run_of(line: &str) -> Option<i64> {
    line.strip_prefix("run ")?.split_once("  block ")?.0.parse().ok()
}

/// Starts a study; its device begins to refuse once two runs were announced.
fn refuse(refused: Refused, errno: i32) -> Option<()> {
    let context = format!("{refused:?} with error {errno}");
    let (bench, backing) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(bench.path().join("quick.toml"), QUICK).unwrap();
    std::fs::create_dir(bench.path().join("data")).unwrap();
    let mount = match Writable::new(backing.path()) {
        Ok(mount) => mount,
        Err(error) => {
            let reason = format!("errors of the device of the results: FUSE cannot be mounted: {error}");
            skip(Capability::Fuse, reason);
            return None;
        }
    };
    let mut child = words(mount.path(), bench.path()).spawn().unwrap();
    let (mut announced, mut said) = (Vec::new(), String::new());
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        announced.extend(run_of(&line));
        if announced.len() == 2 {
            mount.refuse(Some((refused, errno)));
        }
        said.push_str(&line);
        said.push('\n');
    }
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < PATIENCE, "{context}: {said}");
        std::thread::yield_now();
    }
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{context}: {said}");
    assert!(said.contains("results") && said.contains("are kept"), "{context}: {said}");
    assert!(!said.contains("panicked"), "{context}: {said}");
    assert!(announced.len() >= 2, "{context}: {said}");
    mount.refuse(None);
    drop(mount);
    let store = Store::open_read_only(&backing.path().join("results")).unwrap();
    let study = store.latest_study().unwrap().unwrap();
    let ids: Vec<i64> = store.study_results(study.id).unwrap().runs.iter().map(|run| run.run_id).collect();
    let lost: Vec<_> = announced.iter().filter(|run| !ids.contains(run)).collect();
    assert!(lost.is_empty(), "{context}: announced and lost: {lost:?} of {ids:?}\n{said}");
    Some(())
}

#[test]
fn a_device_that_refuses_to_write_the_results_ends_a_run_and_keeps_what_was_stored() {
    for (refused, errno) in
        [(Refused::Writes, EIO), (Refused::Writes, ENOSPC), (Refused::Syncs, EIO), (Refused::Everything, EIO)]
    {
        if refuse(refused, errno).is_none() {
            return;
        }
    }
}
