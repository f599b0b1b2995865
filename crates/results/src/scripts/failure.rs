//! Why statements fail.

use serde::{Deserialize, Serialize};

/// Why a statement failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The engine could not serialize the transaction; the same transaction may succeed when it is tried again.
    Serialization,
    /// The engine ended a deadlock with this transaction.
    Deadlock,
    /// A lock was not available in time, or the database was busy.
    Locked,
    /// A constraint does not allow the row: unique, foreign key, check, not null.
    Constraint,
    /// The statement did not do what its `-- expect:` clause says.
    Unexpected,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Serialization, Self::Deadlock, Self::Locked, Self::Constraint, Self::Unexpected, Self::Other];

    /// The word in results: `serialization`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Serialization => "serialization",
            Self::Deadlock => "deadlock",
            Self::Locked => "locked",
            Self::Constraint => "constraint",
            Self::Unexpected => "unexpected",
            Self::Other => "other",
        }
    }

    /// May the same transaction succeed when it is tried again?
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Serialization | Self::Deadlock | Self::Locked)
    }
}
