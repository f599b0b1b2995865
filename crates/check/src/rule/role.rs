//! What a rule says about causes: how close to the cause it is, which object it calls into question, and what it counts.

use results::object::Affected;

/// How close to the cause a broken rule is; causes come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// The database as a whole: control file, file header, catalog.
    Database,
    /// A file that is missing, truncated or of another kind.
    File,
    /// A page as a whole: checksum, header, address.
    Page,
    /// What stands in a page: a record, a tuple, an entry.
    Record,
    /// Two pages of the same object that do not agree.
    Link,
    /// Two objects that do not agree: rows with index entries, a map with what it maps.
    Comparison,
}

/// Which object a finding calls into question. What is rebuilt from such an object would keep the damage, or lose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suspect {
    /// Everything in the database or cluster.
    Database,
    /// The object that the finding names.
    Object,
    /// The object from which the named one is built: rows are missing in the table of the index.
    Source,
    /// Nothing from which something is built.
    Nothing,
}

/// What one finding of a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A row.
    Row,
    /// An index entry.
    Entry,
    /// Anything else: rows and entries are counted only where the engine knows how many there are.
    Other,
}

impl Unit {
    /// What one finding affects.
    #[must_use]
    pub fn affected(self) -> Affected {
        match self {
            Self::Row => Affected { row_count: 1, entry_count: 0 },
            Self::Entry => Affected { row_count: 0, entry_count: 1 },
            Self::Other => Affected::default(),
        }
    }
}

/// The role of a rule among causes and consequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Role {
    /// How close to the cause.
    pub rank: Rank,
    /// What it calls into question.
    pub suspect: Suspect,
    /// What its findings count.
    pub unit: Unit,
}

impl Role {
    /// The role of most rules: about the bytes of a page of the object that they name.
    pub const RECORD: Self = Self::new(Rank::Record, Suspect::Object, Unit::Other);

    /// The role with these three.
    #[must_use]
    pub const fn new(rank: Rank, suspect: Suspect, unit: Unit) -> Self {
        Self { rank, suspect, unit }
    }

    /// Whether a page with such a finding is damaged itself: its own bytes break the rule. Others are affected.
    #[must_use]
    pub fn breaks_own_bytes(self) -> bool {
        matches!(self.rank, Rank::Page | Rank::Record)
    }
}
