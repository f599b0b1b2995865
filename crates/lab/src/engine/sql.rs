//! The SQL of a run, for readers: what an engine executes, in order, with how often.

/// A statement, and how often it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlStatement {
    /// Its text with its semicolon; backslash commands of scripts, which have none, are statements here, too.
    pub text: String,
    /// Executions in a row; at least 1.
    pub times: u64,
}

/// The statements of one step of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlPart {
    /// Step, and when or by whom it is executed: `schema, before each run`.
    pub title: String,
    /// What the statements do not say, a line each: settings of the server, what a parameter holds.
    pub notes: Vec<String>,
    /// In the order of their execution.
    pub statements: Vec<SqlStatement>,
}

impl SqlPart {
    /// A step whose statements (without semicolons) are executed once each.
    pub fn new(title: impl Into<String>, statements: impl IntoIterator<Item = String>) -> Self {
        let once = |text| SqlStatement { text: format!("{text};"), times: 1 };
        Self {
            title: title.into(),
            notes: Vec::new(),
            statements: statements.into_iter().map(once).collect(),
        }
    }

    /// Adds a statement (without its semicolon) that is executed so often in a row.
    pub fn repeated(mut self, text: impl AsRef<str>, times: u64) -> Self {
        self.statements.push(SqlStatement { text: format!("{};", text.as_ref()), times });
        self
    }

    /// Adds a line about the statements.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says nothing and executes nothing?
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.statements.is_empty()
    }
}
