//! What a script is parsed for: an engine and a protocol.

/// The engine that a program is for, and the engines that its blocks may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Commands in blocks of other engines are left out.
    pub engine: String,
    /// Each block names one of these.
    pub engines: Vec<String>,
}

/// How statements and their values reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Values are part of the text.
    Simple,
    /// Values are parameters; each execution is parsed.
    Extended,
    /// Values are parameters; each statement is parsed once.
    Prepared,
}
