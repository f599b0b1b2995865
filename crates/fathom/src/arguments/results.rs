//! Where results are.

use std::path::PathBuf;

use clap::Args;

/// Where results are.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultsArguments {
    /// Results directory (one SQLite file holds everything)
    #[arg(long, value_name = "DIR", default_value = "fathom-results", env = "FATHOM_RESULTS")]
    pub(crate) results: PathBuf,
}
