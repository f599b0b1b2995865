//! fathom: arguments in, work done, exit status out.
//!
//! Standard output is the result, standard error is the talk. Exit status 0: done. 1: done, but some
//! run was invalid, some page is damaged or a regression was shown. 2: could not finish.

#![forbid(unsafe_code)]

mod arguments;
mod cli;
mod commands;
mod engines;
mod exit_status;
mod expectations;
mod scripts;
mod targets;
mod tasks;

use std::process::ExitCode;

use clap::Parser;
use results::redaction::redacted;

use arguments::{Arguments, Command};
use cli::{process_title, stopping, terminal};

/// Status of what a closed pipe ends, as shells report it (128 and the number of SIGPIPE). Not 0: what was not written
/// may have been a finding.
const CLOSED_PIPE: u8 = 141;

/// Status of a child that could not become its program, as shells report it.
const CANNOT_START: u8 = 127;

fn main() -> ExitCode {
    if let Some(error) = lab::child::become_program(std::env::args_os()) {
        terminal::say(&format!("error: {error}"));
        return ExitCode::from(CANNOT_START);
    }
    let words = process_title::arguments();
    let arguments = Arguments::try_parse_from(words).unwrap_or_else(|error| refuse(&error));
    terminal::start_log(arguments.verbose);
    stopping::survive_limits();
    let done = match arguments.command {
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::List(arguments) => commands::list::run(&arguments),
        Command::Show(arguments) => commands::show::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::History(arguments) => commands::history::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Mark(arguments) => commands::mark::run(&arguments),
        Command::Io(arguments) => commands::io::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Structure(arguments) => commands::structure::run(&arguments),
        Command::Decode(arguments) => commands::decode::run(&arguments),
        Command::Expand(arguments) => commands::expand::run(&arguments),
        Command::Corrupt(arguments) => commands::corrupt::run(&arguments),
        Command::Waits(arguments) => commands::waits::run(&arguments),
        Command::Inventory(arguments) => commands::inventory::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::page(),
    };
    match done {
        Ok(status) => status.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            terminal::say(&format!("error: {}", terminal::told(&error)));
            ExitCode::from(2)
        }
    }
}

/// Prints why the arguments were refused, or the help that they asked for, and ends. What is quoted loses its password.
fn refuse(error: &clap::Error) -> ! {
    // Help and version are our own text, examples of addresses included; nothing in them was typed.
    let text = error.to_string();
    if !error.use_stderr() || redacted(&text) == text {
        error.exit();
    }
    terminal::say(text.trim_end());
    std::process::exit(error.exit_code());
}

/// Did the reader of our output (`head`, a pager) go away? That is its right.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
