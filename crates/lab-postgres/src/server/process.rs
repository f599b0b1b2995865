//! The server's process: our own child, known by its process id, ended by signals to that id alone.
//!
//! It must not outlive fathom: the kernel sends it SIGINT (a fast shutdown) when the thread that started it ends, see
//! [`lab::child`]. So the thread that calls [`ServerProcess::spawn`] must live as long as the server is wanted. It
//! runs in its own process group, so that Ctrl-C on the terminal ends fathom first, in order.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lab::child::{self, LastSignal};
use lab::engine::TargetError;
use rustix::process::{Pid, Signal, kill_process};

use crate::server::user::ServerUser;

/// Time for a fast shutdown, which writes every dirty page.
const FAST_STOP_TIME_MAX: Duration = Duration::from_secs(120);

/// Time for an immediate shutdown, which writes nothing.
const IMMEDIATE_STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// Pause between two polls of a process that is ending.
const POLL_PERIOD: Duration = Duration::from_millis(2);

/// Lines of a log or of a tool's output that an error quotes.
const QUOTED_LINES: usize = 6;

/// A running server.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
}

/// What to start.
pub(crate) struct Start<'a> {
    /// Directory of the binaries.
    pub(crate) bin_dir: &'a Path,
    /// Who it runs as, when not as the caller.
    pub(crate) user: Option<&'a ServerUser>,
    /// Data directory.
    pub(crate) data: &'a Path,
    /// File that takes what it prints.
    pub(crate) log: &'a Path,
    /// Settings, given as `-c name=value`; the last of a name wins.
    pub(crate) settings: &'a [(String, String)],
}

impl ServerProcess {
    /// Starts a server; it is not ready yet.
    pub(crate) fn spawn(start: &Start<'_>) -> Result<Self, TargetError> {
        let log = OpenOptions::new().create(true).append(true).open(start.log).map_err(|source| {
            TargetError::Io { action: "open the log of the server", path: start.log.to_path_buf(), source }
        })?;
        let errors = log.try_clone().map_err(|source| TargetError::Io {
            action: "open the log of the server",
            path: start.log.to_path_buf(),
            source,
        })?;
        let postgres = start.bin_dir.join("postgres");
        let mut command = child::command(&postgres, LastSignal::Interrupt);
        command.arg("-D").arg(start.data);
        for (name, value) in start.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        prepare(&mut command, start.user, start.data);
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let child =
            command.spawn().map_err(|source| TargetError::Io { action: "start", path: postgres, source })?;
        Ok(Self { child })
    }

    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it: a fast shutdown, after a bound an immediate one, at last by force. Returns when it is gone.
    pub(crate) fn stop(mut self) {
        for (signal, time_max) in [
            (Signal::INT, FAST_STOP_TIME_MAX),
            (Signal::QUIT, IMMEDIATE_STOP_TIME_MAX),
            (Signal::KILL, IMMEDIATE_STOP_TIME_MAX),
        ] {
            // The child is not waited for before it ended, so its id cannot have passed to another process.
            let _ = kill_process(Pid::from_child(&self.child), signal);
            let deadline = Instant::now() + time_max;
            while Instant::now() < deadline {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(POLL_PERIOD);
            }
        }
    }
}

/// Runs a tool of the server to its end.
///
/// # Errors
/// It could not be started, or ended with an error: its last lines are quoted.
pub(crate) fn run_tool(
    bin_dir: &Path,
    tool: &'static str,
    arguments: &[&std::ffi::OsStr],
    user: Option<&ServerUser>,
    directory: &Path,
) -> Result<(), TargetError> {
    let path = bin_dir.join(tool);
    // `initdb` removes its directory when it is told to end by any other signal.
    let mut command = child::command(&path, LastSignal::Kill);
    command.args(arguments).stdin(Stdio::null());
    prepare(&mut command, user, directory);
    let output = command.output().map_err(|source| TargetError::Io { action: "start", path, source })?;
    if output.status.success() {
        return Ok(());
    }
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(TargetError::engine(
        format!("could not run {tool} in \"{}\"", directory.display()),
        format!("{} ({})", last_lines(&text), output.status),
    ))
}

/// The last lines of a text, joined so that they fit into a message.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let start = lines.len().saturating_sub(QUOTED_LINES);
    lines.get(start..).unwrap_or_default().join("; ")
}

/// User, working directory and environment of a child: no `PG...` variable of the caller reaches the server.
fn prepare(command: &mut Command, user: Option<&ServerUser>, directory: &Path) {
    if let Some(user) = user {
        user.apply(command);
    }
    command.current_dir(directory).env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_quoted() {
        let text = (0..20).map(|line| format!("line {line}\n\n")).collect::<String>();
        assert_eq!(last_lines(&text), "line 14; line 15; line 16; line 17; line 18; line 19");
        assert_eq!(last_lines(""), "");
    }
}
