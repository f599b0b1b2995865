//! Arguments of `fathom serve`.

use clap::Args;

use super::ResultsArguments;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Address and port to listen on; one that other machines reach needs a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8474")]
    pub(crate) listen: String,
    /// Token that readers must show, at least 16 characters; better given as FATHOM_TOKEN than seen by all
    #[arg(long, value_name = "TOKEN", env = "FATHOM_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Name by which browsers may ask for this server, beside its address; repeat it for several
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
}
