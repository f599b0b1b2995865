//! Child processes that end with fathom, however it ends.
//!
//! The kernel sends a signal to a child when the thread that started it ends. A process sets this for itself between fork
//! and exec, so another program does it and then becomes the one that was meant: `setpriv` (util-linux) where it is
//! installed, else fathom itself ([`become_program`]). Where neither can, children are started as they are; what they
//! leave behind is in a directory with a name of its own, and the next start removes it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Variable in which fathom keeps arguments with a password as they were typed; no child gets it.
const TYPED_ARGUMENTS: &str = "FATHOM_ARGUMENTS";

/// The first argument of a fathom that becomes another program; behind it the process id of the parent and the signal.
const RELAY: &str = "end-with-parent";

/// The program that runs, whatever its name is by now.
const OURSELVES: &str = "/proc/self/exe";

/// Whether the program that runs begins with [`become_program`].
static IS_RELAY: AtomicBool = AtomicBool::new(false);

/// What the child gets when the thread that started it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastSignal {
    /// SIGINT: a server shuts down cleanly.
    Interrupt,
    /// SIGKILL: for what would tidy up at any other signal, perhaps in a place that has a new owner by then.
    Kill,
}

/// A command that runs `program` and ends when the thread that spawns it ends.
///
/// The thread must live as long as the child is wanted.
pub fn command(program: impl AsRef<OsStr>, last_signal: LastSignal) -> Command {
    let name = match last_signal {
        LastSignal::Interrupt => "INT",
        LastSignal::Kill => "KILL",
    };
    let mut command = match setpriv() {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", name, "--"]).arg(program);
            command
        }
        None if is_relay() => {
            let mut command = Command::new(OURSELVES);
            command.arg(RELAY).arg(std::process::id().to_string()).arg(name).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.env_remove(TYPED_ARGUMENTS);
    command
}

/// Do children end with fathom on this machine?
pub fn end_with_us() -> bool {
    setpriv().is_some() || is_relay()
}

/// Becomes the program in the arguments, if they are those of a child without `setpriv`; such a child returns with the
/// error only. Other arguments are left alone, and [`command`] may start the running program from then on. To be
/// called before anything else that `main` does.
pub fn become_program(arguments: impl Iterator<Item = OsString>) -> Option<io::Error> {
    let words: Vec<OsString> = arguments.skip(1).collect();
    let [relay, parent, signal, program, rest @ ..] = words.as_slice() else {
        IS_RELAY.store(true, Ordering::Relaxed);
        return None;
    };
    if relay != RELAY {
        IS_RELAY.store(true, Ordering::Relaxed);
        return None;
    }
    let signal = if signal == "INT" { Signal::INT } else { Signal::KILL };
    if let Err(error) = set_parent_process_death_signal(Some(signal)) {
        return Some(error.into());
    }
    // One that ended before the line above sends no signal any more.
    let parent = parent.to_str().and_then(|parent| Pid::from_raw(parent.parse().ok()?));
    if parent.is_none() || getppid() != parent {
        return Some(io::Error::other("the process that started it has ended"));
    }
    let error = Command::new(program).args(rest).exec();
    Some(io::Error::new(error.kind(), format!("could not start \"{}\": {error}", program.to_string_lossy())))
}

/// Can the running program be started as a relay, also by the user that a server runs as?
fn is_relay() -> bool {
    let is_for_all =
        || std::fs::metadata(OURSELVES).is_ok_and(|metadata| metadata.permissions().mode() & 0o005 == 0o005);
    IS_RELAY.load(Ordering::Relaxed) && (!rustix::process::geteuid().is_root() || is_for_all())
}

/// A `setpriv` in `PATH` that knows `--pdeathsig` (that of busybox does not). Looked for once.
fn setpriv() -> Option<&'static PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find_setpriv).as_ref()
}

fn find_setpriv() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("setpriv"))
        .find(|candidate| candidate.is_absolute() && candidate.is_file())?;
    let works = Command::new(&found)
        .args(["--pdeathsig", "INT", "--"])
        .arg(&found)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    works.then_some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        if !end_with_us() {
            return skips::skip(skips::Capability::Setpriv, "setpriv is not installed");
        }
        // A shell without job control starts what it puts in the background with SIGINT ignored, and so would `cat` be.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        let is_interrupt_ignored = u64::from_str_radix(ignored, 16).unwrap() & (1 << (2 - 1)) != 0;
        let signals = [(LastSignal::Interrupt, 2), (LastSignal::Kill, 9)];
        for (last_signal, number) in signals.into_iter().skip(usize::from(is_interrupt_ignored)) {
            let start = move || command("cat", last_signal).stdin(Stdio::piped()).spawn().unwrap();
            let starter = std::thread::spawn(move || {
                let child = start();
                let name = format!("/proc/{}/comm", child.id());
                while std::fs::read_to_string(&name).unwrap() != "cat\n" {
                    std::thread::yield_now();
                }
                child
            });
            // `cat` waits for its input, which this process holds open.
            let mut child = starter.join().unwrap();
            let input = child.stdin.take();
            assert_eq!(child.wait().unwrap().signal(), Some(number));
            drop(input);
        }
    }

    #[test]
    fn a_program_is_found_in_path_and_its_status_comes_through() {
        let output = command("sh", LastSignal::Kill).args(["-c", "echo said; exit 3"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), b"said\n".as_slice()));
    }
}
