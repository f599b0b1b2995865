//! Databases for workloads of the user's own: an empty one, copies of loaded ones, connections for scripts.

use std::sync::Arc;

use super::{DynConnector, TargetError};
use crate::own::Plan;

/// A target that can run workloads of the user's own. Between `prepare` and `clean` there is one database of the run;
/// loaded ones are kept aside under names, until `stop`, so that many runs begin from one load.
///
/// Order for each run: `prepare`; then `restore` where the content is kept, else `make_empty`, schema and load over
/// [`connector`](Self::connector) and [`loader`](Self::loader), `keep`, `restore`.
pub trait OwnDatabases {
    /// Makes the database of the run, empty; one that is there is dropped.
    ///
    /// # Errors
    /// The engine refuses it.
    fn make_empty(&mut self) -> Result<(), TargetError>;

    /// Is there a kept database of this name?
    ///
    /// # Errors
    /// The engine does not answer.
    fn is_kept(&mut self, name: &str) -> Result<bool, TargetError>;

    /// Keeps the database of the run under `name`, a word of letters and digits. All connections to it are closed.
    /// What makes later copies cheap and equal is done here: statistics, visibility maps, a checkpoint.
    ///
    /// # Errors
    /// Disk full, or the engine refuses it.
    fn keep(&mut self, name: &str) -> Result<(), TargetError>;

    /// Makes the database of the run a copy of the kept one.
    ///
    /// # Errors
    /// As `keep`.
    fn restore(&mut self, name: &str) -> Result<(), TargetError>;

    /// How clients connect to the database of the run; each of their transactions is one script of `plan`.
    fn connector(&self, plan: Arc<Plan>) -> Arc<dyn DynConnector>;

    /// Has the engine parse every statement of a plan in the database of the run, which has the schema, and executes
    /// none. What cannot be parsed without executing what comes before it (a table that the script makes, a combined
    /// statement) is left out.
    ///
    /// # Errors
    /// The first statement that the engine refuses, with file, line and column ([`Plan::place_of`]).
    fn parse_all(&mut self, plan: &Plan) -> Result<(), TargetError>;

    /// Ends the statements that clients of [`connector`](Self::connector) are executing; may be called again and again. An
    /// engine that cannot lets them end by themselves.
    ///
    /// # Errors
    /// The engine does not answer.
    fn interrupt(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// A connection to the database of the run that takes rows in bulk; may be used on another thread.
    ///
    /// # Errors
    /// The engine refuses the connection.
    fn loader(&self) -> Result<Box<dyn BulkLoad>, TargetError>;
}

/// Takes rows in bulk: COPY, or one prepared INSERT in long transactions.
pub trait BulkLoad: Send {
    /// Begins to load a table; `columns` is empty for all of its columns.
    ///
    /// # Errors
    /// There is no such table or column, in the engine's words.
    fn begin(&mut self, table: &str, columns: &[String]) -> Result<(), TargetError>;

    /// Adds one row; NULL is `None`.
    ///
    /// # Errors
    /// The engine refuses a row, perhaps an earlier one.
    fn row(&mut self, values: &[Option<&str>]) -> Result<(), TargetError>;

    /// Commits; returns the rows that the engine counted.
    ///
    /// # Errors
    /// The engine refuses a row.
    fn end(&mut self) -> Result<u64, TargetError>;
}
