//! Clusters made by the installed servers, as an unprivileged user.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skips::{Capability, skip};

/// Directories with server binaries, one for each major, ascending.
pub(crate) fn servers() -> Vec<(u32, PathBuf)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let parents = [
        "/usr/lib/postgresql".to_owned(),
        "/var/cache/fathom/pg".to_owned(),
        format!("{home}/.cache/fathom/pg"),
    ];
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in parents.iter().filter_map(|parent| std::fs::read_dir(parent).ok()).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bin = entry.path().join("bin");
        if let Some(major) = name.split('.').next().and_then(|major| major.parse().ok())
            && (14..=18).contains(&major)
            && bin.join("initdb").exists()
        {
            found.push((major, bin));
        }
    }
    found.sort();
    found.dedup_by_key(|(major, _)| *major);
    if found.is_empty() {
        let remedy = "install postgresql, or run scripts/fetch-postgres.sh";
        skip(Capability::Postgres, format!("no PostgreSQL server binaries ({remedy})"));
    }
    found
}

/// A cluster that a test made; removed at the end.
pub(crate) struct Cluster {
    place: tempfile::TempDir,
    bin: PathBuf,
}

impl Cluster {
    /// Makes a cluster with one database, `postgres`.
    pub(crate) fn new(bin: &Path, initdb: &[&str]) -> Cluster {
        let place = tempfile::Builder::new().prefix("fathom-check-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        own(place.path());
        let cluster = Cluster { place, bin: bin.to_path_buf() };
        let data = cluster.data();
        let mut command = cluster.command("initdb");
        command.arg("-D").arg(&data).args([
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]);
        let output = command.args(initdb).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut settings =
            std::fs::OpenOptions::new().append(true).open(data.join("postgresql.conf")).unwrap();
        settings
            .write_all(b"fsync = off\nmax_prepared_transactions = 5\nautovacuum = off\nmax_wal_size = 4GB\n")
            .unwrap();
        // Two thirds of a new cluster are templates: without them each check takes a third of the time.
        cluster.run_all(
            "update pg_database set datistemplate = false\ndrop database template0\ndrop database template1\n",
        );
        cluster
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// A copy of the cluster, owned by the server's user.
    pub(crate) fn copied(&self) -> Cluster {
        let place = tempfile::Builder::new().prefix("fathom-check-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        own(place.path());
        let copy = Cluster { place, bin: self.bin.clone() };
        let status = Command::new("cp").arg("-a").arg(self.data()).arg(copy.data()).status().unwrap();
        assert!(status.success());
        copy
    }

    /// Runs a program of the server's package on the data directory; gives its exit status.
    pub(crate) fn tool(&self, name: &str, arguments: &[&str]) -> Option<i32> {
        self.command(name)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .code()
    }

    pub(crate) fn command(&self, name: &str) -> Command {
        self.plain_command(&self.bin.join(name).to_string_lossy())
    }

    /// Any program, as the server's user.
    pub(crate) fn plain_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.place.path());
        if let Some((uid, gid)) = server_user() {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Runs statements, one per line, and shuts the cluster down. Gives what was printed. Errors of single
    /// statements are wanted in some tests and are left in the output.
    pub(crate) fn run(&self, statements: &str) -> String {
        let mut child = self
            .command("postgres")
            .args(["--single", "-F", "-O", "-D"])
            .arg(self.data())
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let text = statements.to_owned();
        let writer = std::thread::spawn(move || {
            // A server that ended early is seen by its output.
            let _ = input.write_all(text.as_bytes());
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned() + &errors
    }

    /// Runs statements that must all succeed.
    pub(crate) fn run_all(&self, statements: &str) -> String {
        let output = self.run(statements);
        assert!(!output.contains("ERROR:"), "{output}");
        output
    }

    /// The path of a relation's first file, relative to the data directory.
    pub(crate) fn path_of(&self, relation: &str) -> PathBuf {
        let output = self.run_all(&format!("select pg_relation_filepath('{relation}') as p\n"));
        let line = output.lines().find(|line| line.contains("p = \"base/")).unwrap();
        PathBuf::from(line.split('"').nth(1).unwrap())
    }

    /// The same from the running server.
    pub(crate) fn path_of_running(&self, relation: &str) -> PathBuf {
        let query = format!("select pg_relation_filepath('{relation}')");
        let arguments = ["-d", "postgres", "-Atc", &query];
        let output = self.client("psql", &arguments).stdout(Stdio::piped()).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    }

    /// Whether the package has a program.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.bin.join(name).exists()
    }

    /// Starts the server; it listens on a socket beside the data directory only.
    pub(crate) fn start(&self, settings: &str) {
        let log = || std::fs::read_to_string(self.place.path().join("log")).unwrap_or_default();
        assert!(self.starts(settings), "{}", log());
    }

    /// As [`Cluster::start`]; whether the server starts.
    pub(crate) fn starts(&self, settings: &str) -> bool {
        let place = self.place.path().to_str().unwrap();
        // A checkpoint by the clock would meet what a test has taken away from a running server.
        let settings = format!(
            "-c listen_addresses='' -c unix_socket_directories='{place}' -c checkpoint_timeout=1h {settings}"
        );
        let (data, log) = (self.data(), format!("{place}/log"));
        let data = data.to_str().unwrap();
        self.tool("pg_ctl", &["-D", data, "-l", &log, "-w", "-t", "600", "-o", &settings, "start"]) == Some(0)
    }

    /// Stops the server: in order, or as a crash would.
    pub(crate) fn stop(&self, mode: &str) {
        let data = self.data();
        assert_eq!(
            self.tool("pg_ctl", &["-D", data.to_str().unwrap(), "-m", mode, "-w", "-t", "600", "stop"]),
            Some(0)
        );
    }

    /// A client of the running server, with arguments that say what it does.
    pub(crate) fn client(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(name);
        command.args(["-h", self.place.path().to_str().unwrap(), "-U", "postgres"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        command
    }

    /// Runs statements in the running server, each in its own transaction.
    pub(crate) fn sql(&self, statements: &[&str]) {
        let arguments: Vec<&str> = statements.iter().flat_map(|statement| ["-c", statement]).collect();
        let all = [&["-d", "postgres", "-v", "ON_ERROR_STOP=1", "-q"][..], &arguments].concat();
        assert!(self.client("psql", &all).status().unwrap().success(), "{statements:?}");
    }

    /// Kills the server in the middle of its work: what is in memory is lost, the log is there.
    pub(crate) fn crash_after(&self, statements: &str) {
        // SIGKILL by the backend to itself: the statement runs `kill` on its parent's shell, which is the server.
        let text = format!("{statements}copy (select 1) to program 'kill -9 $PPID'\n");
        let mut child = self
            .command("postgres")
            .args(["--single", "-F", "-D"])
            .arg(self.data())
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(!child.wait().unwrap().success(), "the server should have been killed");
        let _ = std::fs::remove_file(self.data().join("postmaster.pid"));
    }
}

/// User and group for servers, which refuse to run as root: `postgres`, else `nobody`; `None` as another user.
fn server_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}

fn own(path: &Path) {
    if let Some((uid, gid)) = server_user() {
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
    }
}
