//! Passwords: in no output, no log, no record, no page and no list of processes.

use std::process::Command;

use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::find_servers;
use skips::{Capability, skip};

use crate::bench::{Bench, signal, state, text, until_met, wait_for};

const PASSWORD: &str = "hidden-word";

/// Ways to write a target with a password, right and wrong. Those that are right lead to a port where nobody listens.
const SPELLINGS: [&str; 22] = [
    "postgres://u:hidden-word@127.0.0.1:1/d",
    "postgresql://u:hidden-word@127.0.0.1:1/d?sslmode=disable",
    "POSTGRES://u:hidden-word@127.0.0.1:1/d",
    "postgres:/u:hidden-word@127.0.0.1:1",
    "postgres:u:hidden-word@127.0.0.1:1",
    "postgres:///u:hidden-word@127.0.0.1:1",
    "postgres://u:a/hidden-word@127.0.0.1:1/d",
    "postgres://u:a?hidden-word@127.0.0.1:1/d",
    "postgres://u:a@hidden-word@127.0.0.1:1/d",
    "postgres://u:a hidden-word@127.0.0.1:1/d",
    "postgres://127.0.0.1:hidden-word/d",
    "postgres://127.0.0.1:1/d?password=hidden-word",
    "postgres://127.0.0.1:1/d?sslmode=disable&password=hidden-word&user=u",
    "postgres://127.0.0.1:1/d?pass%77ord=hidden-word",
    "postgres://u:hidden-word@a,b/d",
    "postgres://u:hidden-word@[::1/d",
    "host=127.0.0.1 port=1 user=u password=hidden-word",
    "host=127.0.0.1 port=1 password = 'a hidden-word'",
    "password='hidden-word",
    "u:hidden-word@127.0.0.1:1/d",
    "mysql://u:hidden-word@127.0.0.1:1/d",
    "127.0.0.1:1:d:u:hidden-word",
];

/// Every command that takes a target, and some that do not and quote what they were given.
fn commands(target: &str) -> Vec<Vec<&str>> {
    let mut commands = vec![
        vec!["run", "quick.toml", "-t", target],
        vec!["run", "quick.toml", "-t", target, "--dry-run"],
        vec!["check", target],
        vec!["check", target, "--json"],
        vec!["structure", target],
        vec!["decode", target, "--page", "1"],
        vec!["waits", target, "--once", "--interval", "1s"],
        vec!["inventory", target],
        vec!["inventory", target, "--json"],
        vec!["inventory", target, "--format", "csv"],
        vec!["expand", target, "copy", "--size", "1MB"],
        vec!["expand", "sample", target, "--size", "1MB"],
        vec!["corrupt", target, "copy", "--class", "magic"],
    ];
    // A word too many, and an option that does not exist, as the parser of the arguments quotes them.
    commands.push(vec!["waits", "x", target]);
    commands.push(vec!["waits", "--no-such-option", target]);
    commands.push(vec!["run", target]);
    commands
}

fn expect_hidden(what: &str, bytes: &[u8]) {
    let text = text(bytes);
    assert!(!text.contains(PASSWORD), "{what}:\n{text}");
}

#[test]
fn no_command_prints_or_stores_the_password_of_a_target_however_it_is_spelled() {
    let bench = Bench::new();
    for target in SPELLINGS {
        for words in commands(target) {
            let mut command = bench.command(&words);
            let output = command.env("PGPASSWORD", PASSWORD).env("PGCONNECT_TIMEOUT", "2").output().unwrap();
            let what = format!("{words:?}");
            expect_hidden(&what, &output.stdout);
            expect_hidden(&what, &output.stderr);
        }
        let names: Vec<_> =
            std::fs::read_dir(bench.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().contains(PASSWORD)), "{names:?}");
        let found =
            Command::new("grep").args(["-r", PASSWORD, "."]).current_dir(bench.path()).output().unwrap();
        assert!(found.stdout.is_empty(), "{target}: {}", text(&found.stdout));
    }
}

#[test]
fn secrets_of_a_server_reach_no_output_no_record_and_no_page() {
    let Some(server) = find_servers(&[]).into_iter().next() else {
        return skip(Capability::Postgres, "no PostgreSQL server binaries");
    };
    let bench = Bench::new();
    let base = tempfile::Builder::new().prefix("fathom-test-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(base.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let options = ClusterOptions { server, base: base.path().to_owned(), elsewhere: Vec::new(), port: None };
    let mut cluster = Cluster::create(&options).unwrap();
    let secrets = [
        ("primary_conninfo", "host=h password=hidden-word"),
        ("restore_command", "fetch --key hidden-word"),
        ("archive_command", "hidden-word %p"),
        ("archive_cleanup_command", "hidden-word"),
        ("recovery_end_command", "hidden-word"),
        ("ssl_passphrase_command", "echo hidden-word"),
        ("cluster_name", "hidden-word"),
        ("fsync", "off"),
    ];
    let settings: Vec<_> = secrets.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    cluster.start(&settings).unwrap();
    let url = format!(
        "postgres:///postgres?host={}&port={}&user=fathom&password={PASSWORD}",
        cluster.socket_directory().display(),
        cluster.port()
    );
    let ran = until_met("the command line of a running program", || {
        let words = ["run", "quick.toml", "-t", &url, "--repetitions", "1", "-v", "--again"];
        let run = bench.start(&words);
        let is_met = wait_for("the password to be hidden from the list of processes", || {
            let line = text(&std::fs::read(format!("/proc/{}/cmdline", run.id())).unwrap());
            let is_hidden = line.contains("quick.toml") && !line.contains(PASSWORD);
            // A process that has ended has no command line.
            (is_hidden || state(&run) == 'Z').then_some(is_hidden)
        });
        let ran = run.wait_with_output().unwrap();
        is_met.then_some(ran)
    });
    assert!(text(&ran.stdout).contains("results:"), "{}", text(&ran.stderr));
    expect_hidden("run", &ran.stdout);
    expect_hidden("run", &ran.stderr);
    for words in [
        &["report"][..],
        &["report", "--json"],
        &["report", "--run", "1"],
        &["report", "--format", "html", "-o", "page.html"],
        &["export", "--format", "jsonl"],
        &["waits", &url, "--once", "--interval", "1s"],
        &["inventory", &url],
        &["check", &url],
        &["check", &url, "--checkpoint"],
    ] {
        let output = bench.run(words);
        expect_hidden(&format!("{words:?}"), &output.stdout);
        expect_hidden(&format!("{words:?}"), &output.stderr);
    }
    let stored = bench.stored();
    let settings = &stored.runs[0].run.settings;
    for (name, value) in secrets {
        let found =
            settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str());
        let shown = if name == "fsync" { value } else { results::settings::NOT_RECORDED };
        assert_eq!(found, Some(shown), "{name}");
    }
    let found = Command::new("grep").args(["-r", PASSWORD, "."]).current_dir(bench.path()).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", text(&found.stdout));
    cluster.remove().unwrap();
}

#[test]
fn a_study_that_is_interrupted_prints_a_command_without_the_password() {
    let bench = Bench::new();
    let url = "postgres://u:hidden-word@127.0.0.1:1/d";
    let child = bench.start(&["run", "quick.toml", "-t", url]);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    expect_hidden("run", &output.stderr);
}
