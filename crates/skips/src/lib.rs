//! Tests that cannot run on this machine: printed, counted, and refused where they are required.
//!
//! A test that returns early passes, and the test harness hides what it printed. [`skip`] writes to standard error past
//! the harness and adds a line to the file that `FATHOM_SKIPS` names: `make test` prints their number at its end. Where
//! `FATHOM_REQUIRE` lists the capability, the test fails instead.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::Write;
use std::panic::Location;

/// Environment variable with the file to which each skip adds a line: capability, test and reason, separated by tabs.
pub const COUNTED_IN: &str = "FATHOM_SKIPS";

/// Environment variable with the names of capabilities, separated by commas, for want of which no test may be skipped.
pub const REQUIRED: &str = "FATHOM_REQUIRE";

/// What some tests need and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Programs of another origin that make archives: gzip, zstd, lz4.
    Compressors,
    /// A browser.
    Chromium,
    /// File systems in user space: `/dev/fuse`, and root or `fusermount3`.
    Fuse,
    /// The right to mount something in a namespace of one's own.
    Mount,
    /// Server binaries of PostgreSQL 14 or later.
    Postgres,
    /// Extensions that come in a package of their own: pgstattuple, pg_walinspect, amcheck.
    PostgresContrib,
    /// A second major of PostgreSQL, or a certain one.
    PostgresMajors,
    /// Programs beside the server: psql, pgbench, pg_basebackup, pg_waldump, pg_resetwal.
    PostgresTools,
    /// A Python interpreter with its SQLite.
    Python,
    /// A machine on which other programs leave CPUs and disk alone.
    Quiet,
    /// A file system in memory at `/dev/shm`.
    Shm,
    /// The rights of root.
    Root,
    /// The program `script`, which makes a terminal.
    Script,
    /// The program `setpriv`.
    Setpriv,
    /// Files and tables that may not be copied into the repository: the folder `shared` beside it.
    Shared,
    /// The program `strace`, and the right to trace.
    Strace,
}

impl Capability {
    /// Every capability, in the order of their names.
    pub const ALL: [Self; 16] = [
        Self::Chromium,
        Self::Compressors,
        Self::Fuse,
        Self::Mount,
        Self::Postgres,
        Self::PostgresContrib,
        Self::PostgresMajors,
        Self::PostgresTools,
        Self::Python,
        Self::Quiet,
        Self::Root,
        Self::Script,
        Self::Setpriv,
        Self::Shared,
        Self::Shm,
        Self::Strace,
    ];

    /// The word that `FATHOM_REQUIRE` and the summary use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Compressors => "compressors",
            Self::Fuse => "fuse",
            Self::Mount => "mount",
            Self::Postgres => "postgres",
            Self::PostgresContrib => "postgres-contrib",
            Self::PostgresMajors => "postgres-majors",
            Self::PostgresTools => "postgres-tools",
            Self::Python => "python",
            Self::Quiet => "quiet",
            Self::Root => "root",
            Self::Script => "script",
            Self::Setpriv => "setpriv",
            Self::Shared => "shared",
            Self::Shm => "shm",
            Self::Strace => "strace",
        }
    }
}

/// Says that the calling test, or a part of it, is not run, and why. The caller then returns.
///
/// # Panics
///
/// When `FATHOM_REQUIRE` lists the capability, or a word that is none.
#[track_caller]
pub fn skip(capability: Capability, reason: impl Display) {
    let line = line(capability, &test_name(Location::caller()), &reason.to_string());
    let required = std::env::var(REQUIRED).unwrap_or_default();
    if let Some(refusal) = refusal(&required, capability, &reason.to_string()) {
        panic!("{refusal}");
    }
    // Past the harness, which keeps what `eprintln!` writes to itself until a test fails.
    let _ = writeln!(std::io::stderr(), "skipped: {}", line.replace('\t', ": "));
    if let Some(path) = std::env::var_os(COUNTED_IN).filter(|path| !path.is_empty()) {
        // One write per line: test programs may run at the same time. One that runs as another user may not write.
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())) {
            let _ = writeln!(std::io::stderr(), "could not count a skip in {path:?}: {error}");
        }
    }
}

/// The test program and the test; where the harness has not given the thread its name, the place of the call.
fn test_name(place: &Location<'_>) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // cargo adds a hyphen and a hash.
    let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _)| name);
    match std::thread::current().name() {
        Some(test) if test != "main" => format!("{program} {test}"),
        _ => format!("{program} {}:{}", place.file(), place.line()),
    }
}

/// Three fields, each on one line and without tabs.
fn line(capability: Capability, test: &str, reason: &str) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}\t{}\t{}", capability.name(), words(test), words(reason))
}

/// Why the test must fail, where it must.
fn refusal(required: &str, capability: Capability, reason: &str) -> Option<String> {
    let mut words = required.split(',').map(str::trim).filter(|word| !word.is_empty());
    if let Some(unknown) =
        words.clone().find(|word| Capability::ALL.iter().all(|capability| capability.name() != *word))
    {
        let known = Capability::ALL.map(Capability::name).join(", ");
        return Some(format!("{REQUIRED} lists \"{unknown}\", which is no capability; there are: {known}"));
    }
    words.any(|word| word == capability.name()).then(|| {
        format!("{REQUIRED} lists \"{}\", and this test cannot run without: {reason}", capability.name())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::process::Command;

    use super::*;

    #[test]
    fn a_capability_that_is_required_is_refused_with_what_is_missing_and_others_are_not() {
        let refused = |required| refusal(required, Capability::Chromium, "no Chromium in PATH");
        assert_eq!(refused(""), None);
        assert_eq!(refused("postgres, fuse,"), None);
        let text = refused("postgres, chromium").unwrap();
        assert!(text.contains("\"chromium\"") && text.ends_with("no Chromium in PATH"), "{text}");
    }

    #[test]
    fn a_required_word_that_is_no_capability_is_refused() {
        let text = refusal("postgres,crhomium", Capability::Fuse, "no /dev/fuse").unwrap();
        assert!(text.contains("\"crhomium\"") && text.contains("chromium, compressors"), "{text}");
    }

    #[test]
    fn names_are_distinct_and_in_order() {
        let names = Capability::ALL.map(Capability::name);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
    }

    /// Set for the copies of this test that skip.
    const SKIPS: &str = "FATHOM_TEST_SKIPS";

    #[test]
    fn a_skip_reaches_standard_error_past_the_harness_and_the_file() {
        if std::env::var_os(SKIPS).is_some() {
            return skip(Capability::Root, "one\ttwo\nthree");
        }
        let path = std::env::temp_dir().join(format!("fathom-skips-{}", std::process::id()));
        let run = |required| {
            let test = "tests::a_skip_reaches_standard_error_past_the_harness_and_the_file";
            let mut command = Command::new(std::env::current_exe().unwrap());
            // More than one thread: the harness then gives each test a thread with its name.
            command.args(["--exact", test, "--test-threads=2"]).env(SKIPS, "1");
            command.env(COUNTED_IN, &path).env(REQUIRED, required).output().unwrap()
        };
        let (first, second) = (run("postgres"), run(""));
        let counted = std::fs::read_to_string(&path).unwrap();
        let refused = run("chromium,root");
        let unchanged = std::fs::read_to_string(&path).unwrap() == counted;
        std::fs::remove_file(&path).unwrap();
        assert!(first.status.success() && second.status.success());
        let lines: Vec<Vec<&str>> = counted.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), 2, "{counted}");
        assert_eq!((lines[0][0], lines[0][2]), ("root", "one two three"));
        assert!(lines[0][1].starts_with("skips "), "{counted}");
        let said = String::from_utf8(first.stderr).unwrap();
        assert!(said.contains("skipped: root: skips ") && said.contains(": one two three\n"), "{said}");
        assert!(!refused.status.success() && unchanged, "a required test is no skip");
    }
}
