//! Child processes that end with fathom, however it ends.
//!
//! The kernel sends a signal to a child when the thread that started it ends. A process sets this for itself between fork
//! and exec, so `setpriv` (util-linux) does it and then becomes the program. Where it is not installed children are
//! started as they are; what they leave behind is in a directory with a name of its own, and the next start removes it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Variable in which fathom keeps arguments with a password as they were typed; no child gets it.
const TYPED_ARGUMENTS: &str = "FATHOM_ARGUMENTS";

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
    let mut command = match setpriv() {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            let name = match last_signal {
                LastSignal::Interrupt => "INT",
                LastSignal::Kill => "KILL",
            };
            command.args(["--pdeathsig", name, "--"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.env_remove(TYPED_ARGUMENTS);
    command
}

/// Do children end with fathom on this machine?
pub fn end_with_us() -> bool {
    setpriv().is_some()
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
            eprintln!("skipped: setpriv is not installed");
            return;
        }
        for (last_signal, number) in [(LastSignal::Interrupt, 2), (LastSignal::Kill, 9)] {
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
