//! pgbench and a server for it, on a socket in a directory of its own.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use skips::{Capability, skip};

use crate::support::{DEFINITIONS, SEED};

/// A running server; stopped and removed with the last test.
pub(crate) struct Oracle {
    place: tempfile::TempDir,
    bin: PathBuf,
    user: Option<(u32, u32)>,
}

/// Where Debian has pgbench. Older ones have other random values.
const MAJORS: [u32; 4] = [15, 16, 17, 18];

/// A server refuses to run as root.
fn server_user() -> Option<(u32, u32)> {
    let id = |flag: &str, user: &[&str]| {
        let output = Command::new("id").arg(flag).args(user).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<u32>().ok()
    };
    if id("-u", &[]) != Some(0) {
        return None;
    }
    ["postgres", "nobody"].into_iter().find_map(|user| Some((id("-u", &[user])?, id("-g", &[user])?)))
}

impl Oracle {
    fn start() -> Option<Oracle> {
        let bin = MAJORS
            .into_iter()
            .map(|major| PathBuf::from(format!("/usr/lib/postgresql/{major}/bin")))
            .find(|bin| bin.join("pgbench").exists() && bin.join("initdb").exists())?;
        let place = tempfile::Builder::new().prefix("fathom-script-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let user = server_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(place.path(), Some(uid), Some(gid)).unwrap();
        }
        let oracle = Oracle { place, bin, user };
        let path = oracle.place.path().to_str().unwrap();
        oracle.tool(&["initdb", "-D", "data", "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C"]);
        let settings = format!("-c listen_addresses='' -c unix_socket_directories='{path}' -c fsync=off");
        oracle.tool(&["pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "600", "-o", &settings, "start"]);
        Some(oracle)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.current_dir(self.place.path()).env_remove("PGBENCH_RANDOM_SEED");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn tool(&self, words: &[&str]) {
        // A server that pg_ctl starts keeps the output open: it must not be a pipe.
        let status =
            self.command(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.unwrap().success(), "{words:?}");
    }

    /// What pgbench writes to standard error for one transaction of each client, without its own first lines.
    pub(crate) fn run(&self, script: &str, options: &[&str]) -> Vec<String> {
        let file = tempfile::Builder::new().suffix(".sql").tempfile_in(self.place.path()).unwrap();
        std::fs::write(file.path(), script).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut command = self.command("pgbench");
        command.arg("-h").arg(self.place.path()).args(["-U", "postgres", "-n", "-t", "1", "postgres"]);
        command.arg(format!("--random-seed={SEED}")).arg("-f").arg(file.path());
        // The last definition of a name counts.
        command.args(DEFINITIONS.map(|definition| format!("-D{definition}"))).args(options);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let lines = String::from_utf8(output.stderr).unwrap();
        let lines = lines.lines().filter(|line| !line.contains("setting random seed"));
        lines.map(|line| line.replace(&format!("{}:", file.path().display()), "")).collect()
    }

    /// The values of `debug` in a script, or `error: ` and the first message.
    pub(crate) fn values(&self, script: &str, options: &[&str]) -> Vec<String> {
        let mut values = Vec::new();
        for line in self.run(script, options) {
            if let Some((_, value)) = line.strip_prefix("debug").and_then(|line| line.split_once("): ")) {
                values.push(value.to_owned());
            } else if let Some(message) = ["error: ", "fatal: "]
                .into_iter()
                .find_map(|word| line.strip_prefix("pgbench: ")?.strip_prefix(word))
            {
                let line_number =
                    message.find(": ").filter(|at| message[..*at].bytes().all(|b| b.is_ascii_digit()));
                let message = line_number.map_or(message, |at| &message[at + 2..]);
                return vec![format!("error: {message}")];
            }
        }
        values
    }

    /// The statements that pgbench sends.
    pub(crate) fn statements(&self, script: &str, options: &[&str]) -> Vec<String> {
        let output = self.run(script, &[options, &["--debug"]].concat()).join("\n");
        let sent = output.split("pgbench: client 0 sending ").skip(1);
        sent.map(|rest| rest.split("\npgbench: ").next().unwrap().trim_end().to_owned()).collect()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.tool(&["pg_ctl", "-D", "data", "-m", "immediate", "-w", "-t", "600", "stop"]);
    }
}

/// Runs a test with pgbench, or skips it. The server is started once for tests that run at the same time.
pub(crate) fn with_pgbench(test: impl FnOnce(&Oracle)) {
    static SHARED: OnceLock<Mutex<std::sync::Weak<Oracle>>> = OnceLock::new();
    let shared = {
        let mut place = SHARED.get_or_init(Mutex::default).lock().unwrap_or_else(|error| error.into_inner());
        match place.upgrade() {
            Some(oracle) => Some(oracle),
            None => Oracle::start().map(|oracle| {
                let oracle = std::sync::Arc::new(oracle);
                *place = std::sync::Arc::downgrade(&oracle);
                oracle
            }),
        }
    };
    match shared {
        Some(oracle) => test(&oracle),
        None => {
            skip(Capability::PostgresTools, "no pgbench of PostgreSQL 15 or later below /usr/lib/postgresql")
        }
    }
}
