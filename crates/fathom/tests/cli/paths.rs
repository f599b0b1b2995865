//! Paths are bytes: directories and files whose names are not UTF-8, in every command that takes one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Output;

use lab_postgres::find_servers;
use skips::{Capability, skip};

use crate::bench::{Bench, text};

/// `café` in ISO 8859-1, and a byte that no encoding of text has.
const NAME: &[u8] = b"caf\xe9 \xff";

fn odd(bench: &Bench) -> PathBuf {
    let directory = bench.path().join(OsStr::from_bytes(NAME));
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// Runs and expects this exit status; standard output and standard error.
fn expect(bench: &Bench, status: i32, words: &[&OsStr]) -> (String, String) {
    let Output { status: found, stdout, stderr } = bench.command(&[]).args(words).output().unwrap();
    let (out, err) = (text(&stdout), text(&stderr));
    assert_eq!(found.code(), Some(status), "{words:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn a_study_on_sqlite_runs_in_directories_whose_names_are_not_utf8() {
    let bench = Bench::new();
    let odd = odd(&bench);
    let results = odd.join("results");
    let words = ["run", "quick.toml", "--anyway", "--repetitions", "1", "--results"].map(OsStr::new);
    let output = bench.command(&[]).args(words).arg(&results).arg("--data").arg(&odd).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("results:"), "{}", text(&output.stderr));
    // The same command finds its study again, which it could not if two such directories were one.
    let again = bench.command(&[]).args(words).arg(&results).arg("--data").arg(&odd).output().unwrap();
    assert!(text(&again.stderr).contains("of them already completed"), "{}", text(&again.stderr));
}

#[test]
fn a_cluster_of_postgresql_lives_in_a_directory_whose_name_is_not_utf8() {
    if find_servers(&[]).is_empty() {
        return skip(Capability::Postgres, "no PostgreSQL server binaries");
    }
    let bench = Bench::new();
    let odd = odd(&bench);
    let words = ["run", "quick.toml", "-t", "postgres", "--anyway", "--repetitions", "1", "--keep", "--data"]
        .map(OsStr::new);
    let output = bench.command(&[]).args(words).arg(&odd).output().unwrap();
    assert!(text(&output.stdout).contains("results:"), "{}", text(&output.stderr));
    let kept: Vec<_> = std::fs::read_dir(&odd).unwrap().map(|entry| entry.unwrap().path()).collect();
    let data = kept.iter().map(|path| path.join("data")).find(|data| data.is_dir()).unwrap();
    let no_store = OsStr::new("--no-store");
    let (out, _) = expect(&bench, 0, &[OsStr::new("check"), data.as_os_str(), no_store]);
    assert!(out.contains("no damage found"), "{out}");
    expect(&bench, 0, &[OsStr::new("structure"), data.as_os_str(), no_store]);
}

#[test]
fn files_whose_names_are_not_utf8_are_grown_checked_measured_decoded_and_damaged() {
    let bench = Bench::new();
    let odd = odd(&bench);
    let database = odd.join(OsStr::from_bytes(b"\xfe.db"));
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let run = |status: i32, words: Vec<OsString>| {
        let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
        expect(&bench, status, &words)
    };
    run(0, [words(&["expand", "sample"]), vec![database.clone().into()], words(&["--size", "1MB"])].concat());
    assert!(database.is_file());
    let grown = odd.join(OsStr::from_bytes(b"\xfd.db"));
    run(
        0,
        [words(&["expand"]), vec![database.clone().into(), grown.clone().into()], words(&["--size", "3MB"])]
            .concat(),
    );
    let (out, _) = run(0, vec!["check".into(), grown.clone().into()]);
    assert!(out.contains("no damage found"), "{out}");
    run(0, vec!["structure".into(), grown.clone().into()]);
    let mut page = grown.clone().into_os_string();
    page.push(":1");
    let (out, _) = run(0, vec!["decode".into(), page]);
    assert!(out.contains("file"), "{out}");
    let damaged = odd.join(OsStr::from_bytes(b"\xfc.db"));
    let copy = [
        words(&["corrupt"]),
        vec![grown.into()],
        words(&["--class", "magic", "--copy-to"]),
        vec![damaged.clone().into()],
    ];
    run(0, copy.concat());
    run(1, vec!["check".into(), damaged.into()]);
}
