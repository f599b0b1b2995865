//! The script language of pgbench: bytes of a script in, statements with their values out.
//!
//! [`Program`] parses scripts and numbers their variables. A [`Client`] runs a [`Script`] one [`Action`] at a time: it
//! evaluates backslash commands itself and returns at each statement, sleep or change of the pipeline. Values of
//! deterministic functions are those of pgbench to the bit, and so are random values of the same seed and client
//! (pgbench 15 and later). No engine, no file, no clock: docs/lab/script.md has the language and all differences.
#![forbid(unsafe_code)]

mod builtin;
mod clauses;
mod client;
mod command;
mod comment;
mod dialect;
mod error;
mod expression;
mod hash;
mod lines;
mod names;
mod options;
mod parse;
mod program;
mod random;
mod sql;
mod value;
mod variables;

pub use builtin::{BUILTINS, Builtin};
pub use client::{Action, Client, Debug};
pub use command::{Command, Script};
pub use dialect::{Dialect, Protocol};
pub use error::{Failure, ScriptError};
pub use names::{Names, Slot, is_variable_name};
pub use options::{OptionError, parse_definition, parse_weighted};
pub use program::Program;
pub use random::{Chooser, Generator, Seeds};
pub use sql::expect::Expect;
pub use sql::statement::{Statement, Store};
pub use value::Value;
pub use variables::Variables;
