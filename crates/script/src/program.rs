//! The scripts of a run with their common variables.

use crate::builtin::Builtin;
use crate::command::Script;
use crate::dialect::{Dialect, Protocol};
use crate::error::ScriptError;
use crate::names::{Names, Slot};
use crate::options::{OptionError, parse_definition};
use crate::parse;

/// The scripts of a run, their variables, and the definitions of variables.
#[derive(Clone, Debug)]
pub struct Program {
    dialect: Dialect,
    protocol: Protocol,
    names: Names,
    scripts: Vec<Script>,
    definitions: Vec<(Slot, String)>,
}

impl Program {
    /// Starts a program without scripts. It knows `scale`, `client_id`, `random_seed` and `default_seed`.
    pub fn new(dialect: Dialect, protocol: Protocol) -> Self {
        let mut names = Names::default();
        for name in ["scale", "client_id", "random_seed", "default_seed"] {
            names.intern(name);
        }
        Self { dialect, protocol, names, scripts: Vec::new(), definitions: Vec::new() }
    }

    /// Parses a script and adds it; returns its index. `file` is the name for messages; no file is opened.
    ///
    /// Cost: one pass over the text, which may have 16 MiB.
    pub fn add(&mut self, file: &str, bytes: &[u8]) -> Result<usize, ScriptError> {
        let script = parse::parse(file, bytes, &self.dialect, self.protocol, &mut self.names)?;
        self.scripts.push(script);
        Ok(self.scripts.len() - 1)
    }

    /// Adds a built-in script.
    pub fn add_builtin(&mut self, builtin: &Builtin) -> Result<usize, ScriptError> {
        self.add(builtin.description, builtin.script.as_bytes())
    }

    /// Defines a variable of all clients by `name=value`; the last definition of a name counts.
    pub fn define(&mut self, definition: &str) -> Result<(), OptionError> {
        let (name, value) = parse_definition(definition)?;
        let slot = self.names.intern(name);
        self.definitions.retain(|(defined, _)| *defined != slot);
        self.definitions.push((slot, value.to_owned()));
        Ok(())
    }

    /// Returns the scripts in the order in which they were added.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// Returns the names of all variables.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the protocol that the scripts were parsed for.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(crate) fn definitions(&self) -> &[(Slot, String)] {
        &self.definitions
    }
}
