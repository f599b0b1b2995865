//! What `--target` names, before anything is started.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Engine, Layout, Limitation, Target, TargetError};
use crate::work::Work;

/// What belongs to the choice of a target.
#[derive(Clone, Default)]
pub struct TargetOptions {
    /// Address of a server that somebody else runs; `None` for an engine that fathom runs itself.
    pub url: Option<String>,
    /// Directories of server binaries; empty for the newest server that is installed.
    pub server_binaries: Vec<PathBuf>,
    /// Port of a managed server; `None` takes a free one.
    pub port: Option<u16>,
}

impl fmt::Debug for TargetOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        formatter
            .debug_struct("TargetOptions")
            .field("server_binaries", &self.server_binaries)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// The targets that a choice comes to. Its `Debug` form shows no password.
pub trait Provider: fmt::Debug {
    /// The engine.
    fn engine(&self) -> &'static Engine;

    /// Does somebody else run the server?
    fn is_foreign(&self) -> bool {
        false
    }

    /// Does the engine keep its files in directories that fathom made on this machine?
    fn is_local(&self) -> bool {
        !self.is_foreign()
    }

    /// What the engine cannot do or does in its own way, as far as it is known without starting it.
    fn limitations(&self, layout: &Layout, work: &Work) -> Vec<Limitation>;

    /// Names of the servers, in the order of the targets.
    fn servers(&self) -> Vec<String> {
        vec![self.engine().id.to_string()]
    }

    /// What makes two studies on this engine different, without any password.
    fn identity(&self) -> String {
        self.engine().id.to_string()
    }

    /// Starts or connects to the targets. `base` is the directory of managed ones unless the layout names others.
    ///
    /// # Errors
    /// A target cannot be made or reached.
    fn start(&self, layout: &Layout, base: &Path) -> Result<Vec<Box<dyn Target>>, TargetError>;
}
