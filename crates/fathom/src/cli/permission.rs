//! Commands of a spec run only when the user allowed it: a spec may come from anywhere.

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
    if stdin().is_terminal() && stderr().is_terminal() {
        say("the spec runs these commands on this machine:");
        lines.iter().for_each(|line| say(&format!("  {line}")));
        say("run them? [y/N]");
        let mut answer = String::new();
        if stdin().lock().read_line(&mut answer).is_ok()
            && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
        {
            return Ok(());
        }
    }
    let count = if commands.len() == 1 { "a command" } else { "commands" };
    bail!(
        "the spec runs {count} on this machine, which is not allowed: {}\nhint: read what it does, then add --allow-commands",
        lines.join("; ")
    )
}
