//! Tables as far as copying their rows needs to know them.

/// What values a column has, as far as shifting asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Whole numbers of 64 bits.
    Integer,
    /// Text of any length.
    Text,
    /// Sixteen bytes with a type of their own.
    Uuid,
    /// Bytes.
    Bytes,
    /// Anything that is not shifted.
    Other,
}

/// A column that may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Own columns and those that they refer to, by their positions.
    pub(crate) columns: Vec<(usize, usize)>,
    /// The table referred to, by its position.
    pub(crate) table: usize,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// As it is written in a statement, quoted.
    pub(crate) name: String,
    /// Columns that may be written, in order.
    pub(crate) columns: Vec<Column>,
    /// Sets of columns whose values are unique together: the primary key first.
    pub(crate) keys: Vec<Vec<usize>>,
    pub(crate) references: Vec<Reference>,
    /// Columns that identify a row of the source, as they are written in a statement: a key, or the number of the row.
    pub(crate) identity: Vec<String>,
}
