//! Tables as far as copying their rows needs to know them.

/// What values a column has, as far as shifting asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
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
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Own columns and those that they refer to, by their positions.
    pub columns: Vec<(usize, usize)>,
    /// The table referred to, by its position.
    pub table: usize,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// As it is written in a statement, quoted.
    pub name: String,
    /// Columns that may be written, in order.
    pub columns: Vec<Column>,
    /// Sets of columns whose values are unique together: the primary key first.
    pub keys: Vec<Vec<usize>>,
    /// Its foreign keys.
    pub references: Vec<Reference>,
    /// Columns that identify a row of the source, as they are written in a statement: a key, or the number of the row.
    pub identity: Vec<String>,
}
