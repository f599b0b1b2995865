//! Arguments of `fathom serve`.

use clap::Args;

use super::results::ResultsArguments;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Address and port to listen on; one other than loopback needs a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8474")]
    pub(crate) listen: String,
    /// Token that browsers must send, at least 16 characters; prefer FATHOM_TOKEN, which the process list does not show
    #[arg(long, value_name = "TOKEN", env = "FATHOM_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Host name that requests may use in addition to the address; repeat for several
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
}
