//! `fathom completions` and `fathom man`: made from the argument definitions.

use clap::CommandFactory;

use crate::arguments::Arguments;
use crate::cli::terminal::write_out;
use crate::exit_status::ExitStatus;

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitStatus> {
    // Into memory first: the generator panics when its writer fails, as a pipe does whose reader went away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fathom", &mut script);
    write_out(&script)?;
    Ok(ExitStatus::Clean)
}

/// Prints the manual page, all commands in one.
pub(crate) fn page() -> anyhow::Result<ExitStatus> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        if subcommand.get_name() != "help" {
            clap_mangen::Man::new(subcommand.clone()).render(&mut page)?;
        }
    }
    write_out(&page)?;
    Ok(ExitStatus::Clean)
}
