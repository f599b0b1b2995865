//! What kind of object a row of sqlite_schema is about.

/// The kinds of objects. A virtual table has the type `table` and no b-tree of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Table,
    VirtualTable,
    Index,
    View,
    Trigger,
}

impl ObjectKind {
    /// The kind that the type column names; a virtual table is not told from a table there.
    pub(crate) fn of_type(word: &str) -> Option<Self> {
        match word {
            "table" => Some(Self::Table),
            "index" => Some(Self::Index),
            "view" => Some(Self::View),
            "trigger" => Some(Self::Trigger),
            _ => None,
        }
    }

    /// What the type column holds.
    // EVIDENCE: sqlite schematab 2, "Interpretation Of The Schema Table": table, index, view or trigger
    pub(crate) fn type_word(self) -> &'static str {
        match self {
            Self::Table | Self::VirtualTable => "table",
            Self::Index => "index",
            Self::View => "view",
            Self::Trigger => "trigger",
        }
    }

    /// The name of the kind in texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::VirtualTable => "virtual table",
            _ => self.type_word(),
        }
    }

    /// Whether the object has a b-tree of its own.
    // EVIDENCE: sqlite schematab 2: rootpage is 0 or NULL for views, triggers and virtual tables
    pub(crate) fn has_tree(self) -> bool {
        matches!(self, Self::Table | Self::Index)
    }
}
