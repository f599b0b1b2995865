//! What is asked of the user before it happens: commands of a spec, which may come from anywhere, and long studies.

use std::io::{BufRead, IsTerminal, stderr, stdin};

use anyhow::bail;
use lab::spec::SpecCommand;
use report::plain::one_line;
use results::redaction::redacted;

use super::terminal::say;

/// One line per command, for people: without escapes, without passwords.
pub(crate) fn lines(commands: &[SpecCommand]) -> Vec<String> {
    commands.iter().map(|command| redacted(&one_line(&command.to_string())).into_owned()).collect()
}

/// Refuses commands that were not allowed; on a terminal it shows them and asks.
pub(crate) fn require(commands: &[SpecCommand], is_allowed: bool) -> anyhow::Result<()> {
    if commands.is_empty() || is_allowed {
        return Ok(());
    }
    let lines = lines(commands);
    if is_interactive() {
        say("the spec runs these commands on this machine:");
        lines.iter().for_each(|line| say(&format!("  {line}")));
        if is_confirmed("run them?") {
            return Ok(());
        }
    }
    let count = if commands.len() == 1 { "a command" } else { "commands" };
    bail!(
        "the spec runs {count} on this machine, which is not allowed: {}\nhint: read what it does, then add --allow-commands",
        lines.join("; ")
    )
}

/// Can the user be asked?
pub(crate) fn is_interactive() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks a question and waits for the answer; anything but yes is no.
pub(crate) fn is_confirmed(question: &str) -> bool {
    say(&format!("{question} [y/N]"));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).is_ok()
        && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
