//! `fathom completions` and `fathom man`: made from the argument definitions.

use std::io::stdout;

use clap::CommandFactory;

use crate::Verdict;
use crate::arguments::Arguments;

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Verdict> {
    clap_complete::generate(shell, &mut Arguments::command(), "fathom", &mut stdout());
    Ok(Verdict::Clean)
}

/// Prints the manual page, all commands in one.
pub(crate) fn page() -> anyhow::Result<Verdict> {
    let mut command = Arguments::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut stdout())?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        if subcommand.get_name() != "help" {
            clap_mangen::Man::new(subcommand.clone()).render(&mut stdout())?;
        }
    }
    Ok(Verdict::Clean)
}
