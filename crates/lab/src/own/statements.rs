//! What a connection does for scripts; each engine implements it.

use std::fmt::Debug;

use results::scripts::FailureKind;
use script::{Program, Statement, Variables};

/// A statement that is to be executed.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// All scripts of the plan.
    pub program: &'a Program,
    /// Index of the script.
    pub script: usize,
    /// Index of the command in it; (script, command) names a prepared statement.
    pub command: usize,
    /// The statement.
    pub statement: &'a Statement,
    /// Values of the variables now.
    pub variables: &'a Variables,
    /// Are the rows wanted, not only their number? True with `\gset` and `\aset`, and for rows that become metrics.
    pub wants_rows: bool,
}

/// What came back. The caller clears it and uses it again, so that a statement allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Rows returned by the last result, or changed by it where it returns none.
    pub rows: u64,
    /// All results where rows are wanted, else empty.
    pub results: Vec<ResultSet>,
}

/// One result of a statement with its rows as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Rows; NULL is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementError {
    /// Reason, for the decision to try again and for the counts.
    pub kind: FailureKind,
    /// The engine's words, with its error code where it has one.
    pub text: String,
    /// Character of the statement's text at which the engine points, counted from 1.
    pub position: Option<u32>,
    /// Is the connection gone? Then its client ends, whatever the script says.
    pub is_lost: bool,
}

/// A connection that executes the statements of scripts.
pub trait Statements: Debug {
    /// Executes a statement with the protocol of the program and writes what came back into `answer`, which is empty
    /// before. Inside a pipeline the statement is sent and nothing is waited for. Statements are prepared on their
    /// first execution where the protocol says so.
    fn execute(
        &mut self,
        at: At<'_>,
        answer: &mut Answer,
    ) -> impl Future<Output = Result<(), StatementError>>;

    /// From here on statements are sent without waiting for their results.
    /// An engine without a wire executes each at once, as outside of a pipeline: that is what the defaults do.
    fn start_pipeline(&mut self) -> Result<(), StatementError> {
        Ok(())
    }

    /// Sends a synchronization point.
    fn sync_pipeline(&mut self) -> impl Future<Output = Result<(), StatementError>> {
        std::future::ready(Ok(()))
    }

    /// Waits for all results; the first error of the pipeline is returned when all were read.
    fn end_pipeline(&mut self) -> impl Future<Output = Result<(), StatementError>> {
        std::future::ready(Ok(()))
    }

    /// Script and command of the statement whose error the pipeline returned last, where the engine knows it: its failure
    /// is counted.
    fn failed_in_pipeline(&self) -> Option<(usize, usize)> {
        None
    }

    /// Leaves a pipeline and any open transaction after a failure, so that the next transaction begins outside of both.
    fn roll_back(&mut self) -> impl Future<Output = Result<(), StatementError>>;

    /// Is a transaction open? Asked when a script has ended: one that leaves a transaction open is an error.
    fn is_in_transaction(&self) -> bool;
}
