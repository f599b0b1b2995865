//! A server that is stopped (SIGSTOP) sends nothing and keeps its connections open: every command ends and says what it waited for.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use skips::{Capability, skip};

use crate::server::{Cluster, servers};

/// The longest limit of one question is 30 s, and a run asks several; a machine may be busy beside.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Commands that talk to a server, with what goes behind its URL.
const COMMANDS: [(&[&str], &[&str]); 5] = [
    (&["inventory"], &[]),
    (&["waits", "--once"], &[]),
    (&["run", "a-a", "--mini", "--ceilings", "never", "--target"], &[]),
    (&["check", "--no-store"], &[]),
    (&["structure", "--no-store"], &[]),
];

/// Every process of the server, so that a connection that exists is as silent as a new one.
fn signal_all(data: &Path, name: &str) {
    let first = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let first = first.lines().next().unwrap().to_owned();
    let children =
        std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
    let ids = std::iter::once(first.as_str()).chain(children.split_whitespace());
    // A process may have ended meanwhile.
    let _ = Command::new("kill").arg(format!("-{name}")).args(ids).stderr(Stdio::null()).status();
}

/// A stopped server goes on at the end of the test, so that it can be shut down.
struct Stopped<'a>(&'a Cluster);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        signal_all(&self.0.data(), "CONT");
        self.0.stop("immediate");
    }
}

fn begin(url: &str, place: &Path, (before, after): (&[&str], &[&str])) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(before).arg(url).args(after).current_dir(place);
    command.env_remove("PGCONNECT_TIMEOUT").env_remove("FATHOM_RESULTS").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a command; complains when it does not come, or is not said.
fn complaint(name: &str, mut child: std::process::Child) -> Option<String> {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > TIME_MAX {
            child.kill().unwrap();
            child.wait().unwrap();
            return Some(format!("{name}: still waits after {TIME_MAX:?}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let is_said = said.contains(" s") && (said.contains("answer") || said.contains("connect"));
    let is_good = output.status.code() == Some(2) && is_said && !said.contains("panicked");
    (!is_good).then(|| format!("{name}: {:?}: {said}", output.status.code()))
}

fn all(url: &str, place: &Path, moment: &str) -> Vec<(String, std::process::Child)> {
    let begun = COMMANDS.iter().map(|words| {
        let name = format!("{}, begun {moment}", words.0.join(" "));
        let directory = place.join(&name);
        std::fs::create_dir(&directory).unwrap();
        (name, begin(url, &directory, *words))
    });
    begun.collect()
}

#[test]
fn no_command_waits_for_ever_for_a_server_that_was_stopped() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &[]);
    cluster.start("");
    let place = tempfile::tempdir().unwrap();
    let socket = cluster.data().parent().unwrap().to_str().unwrap().replace('/', "%2F");
    let url = format!("postgres://postgres@{socket}/postgres");
    // One that goes on until it is ended: it says what it waits for, again and again.
    let mut lasting = begin(&url, place.path(), (&["waits", "--interval", "1s"], &[]));
    let mut shown = BufReader::new(lasting.stdout.take().unwrap()).lines();
    assert!(shown.next().unwrap().is_ok());
    let during = all(&url, place.path(), "before");
    signal_all(&cluster.data(), "STOP");
    let stopped = Stopped(&cluster);
    let mut complaints = Vec::new();
    for (name, child) in all(&url, place.path(), "behind") {
        complaints.extend(complaint(&name, child));
    }
    // Those that were done already may have ended with any status.
    for (name, child) in during {
        let is_hung =
            |complaint: &String| complaint.contains("still waits") || complaint.contains("panicked");
        complaints.extend(complaint(&name, child).filter(is_hung));
    }
    let mut said = BufReader::new(lasting.stderr.take().unwrap()).lines().map_while(Result::ok);
    let reason = said.find(|line| line.contains("connect") || line.contains("answer"));
    lasting.kill().unwrap();
    lasting.wait().unwrap();
    drop(stopped);
    assert!(reason.is_some_and(|reason| reason.contains(" s")), "waits says nothing");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// A study that works for as long as the test runs.
const LONG: &str = r#"
name = "long"
title = "long"
question = "does it end?"
kind = "own"
repetitions = 1
[parameters]
workload = "populate"
connections = 2
rows_total = 100000000
durability = "none"
"#;

#[test]
fn a_run_ends_when_its_server_was_stopped_while_clients_worked() {
    let Some((_, bin)) = servers().into_iter().rev().find(|(_, bin)| bin.join("psql").exists()) else {
        return skip(Capability::PostgresTools, "no major has psql");
    };
    let cluster = Cluster::new(&bin, &[]);
    // Databases are made from it; clusters of these tests have none.
    cluster.run_all("create database template1 template postgres\n");
    cluster.start("-c checkpoint_timeout=1h");
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("long.toml"), LONG).unwrap();
    let socket = cluster.data().parent().unwrap().to_str().unwrap().replace('/', "%2F");
    let url = format!("postgres://postgres@{socket}/postgres");
    let mut child = begin(
        &url,
        place.path(),
        (&["run", "long.toml", "--ignore-space", "--ceilings", "never", "--target"], &[]),
    );
    // Clients that insert have transactions that are counted.
    let busy =
        "select count(*) from pg_stat_activity where query ilike 'insert%' and pid <> pg_backend_pid()";
    let began = Instant::now();
    loop {
        let arguments = ["-d", "postgres", "-Atc", busy];
        let output = cluster.client("psql", &arguments).stdout(Stdio::piped()).output().unwrap();
        if String::from_utf8_lossy(&output.stdout).trim() == "2" {
            break;
        }
        if child.try_wait().unwrap().is_some() || began.elapsed() > TIME_MAX {
            panic!("no client worked: {:?}", complaint("run", child));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    signal_all(&cluster.data(), "STOP");
    let stopped = Stopped(&cluster);
    let complaint = complaint("run, while clients work", child);
    drop(stopped);
    assert!(complaint.is_none(), "{}", complaint.unwrap_or_default());
}
