//! All trees of a database, and what must match.

use formats::sqlite::KeyColumn;
use results::check::NotChecked;

use crate::catalog::scratch::Evaluation;
use crate::plan::value::OwnedValue;

/// All trees of a database and the pairs of trees that must match.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    pub(crate) trees: Vec<TreePlan>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) not_checked: Vec<NotChecked>,
    /// Indexes that a table's definition needs and sqlite_schema does not have.
    pub(crate) missing: Vec<String>,
}

/// An index and its table.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) table_tree: usize,
    pub(crate) index_tree: usize,
    /// Whether the last field of an entry is the rowid of its row.
    pub(crate) has_rowid: bool,
    /// The fields of an entry that are matched, when others come from expressions that are not computed; all without.
    pub(crate) fields: Option<Vec<usize>>,
    /// Whether a condition or a value of the entries is computed from the row.
    pub(crate) is_computed: bool,
    /// Whether rows and entries that differ may both be right, by another version or build of SQLite.
    pub(crate) may_be_in_doubt: bool,
    /// The fields of an entry that are computed; the others tell which row it belongs to.
    pub(crate) computed_fields: Vec<usize>,
}

/// One tree and what is known about its records.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreePlan {
    /// `table t` or `index i`.
    pub(crate) name: String,
    pub(crate) root: u32,
    /// Whether rowids are the keys; `None` when the definition does not tell.
    pub(crate) is_table: Option<bool>,
    pub(crate) order: Option<Order>,
    pub(crate) rows: Option<Rows>,
    /// The pair whose index this is, and the fields of an entry.
    pub(crate) entries: Option<usize>,
    pub(crate) field_count: Option<usize>,
}

/// The order of the entries of an index or of a table without rowids.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) columns: Vec<KeyColumn>,
    /// Columns at the front that no two entries share; 0 for none.
    pub(crate) unique_columns: usize,
}

/// The rows of a table: tests on their values, and what goes to which index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// Columns in the order in which a record stores them.
    pub(crate) columns: Vec<StoredColumn>,
    pub(crate) feeds: Vec<Feed>,
    /// The column that is another name of the rowid.
    pub(crate) rowid_name: Option<String>,
    /// Whether a column has a test at all.
    pub(crate) has_tests: bool,
    /// What SQLite computes for each row.
    pub(crate) evaluation: Option<Evaluation>,
}

#[derive(Debug, Clone)]
pub(crate) struct StoredColumn {
    pub(crate) name: String,
    pub(crate) is_not_null: bool,
    /// Classes that a value may have.
    pub(crate) classes: u8,
    /// Whether a text that is a number is refused.
    pub(crate) refuses_numeric_text: bool,
    /// What a row that ends before this column has.
    pub(crate) default: OwnedValue,
}

/// What a row contributes to an index.
#[derive(Debug, Clone)]
pub(crate) struct Feed {
    pub(crate) pair: usize,
    pub(crate) parts: Vec<Part>,
    /// The result that tells whether the row has an entry at all; every row has one without.
    pub(crate) condition: Option<usize>,
    /// Why it is not known whether a row has an entry, when only the application can compute that.
    pub(crate) unknown: Option<String>,
}

/// One field of an index entry, seen from the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Rowid,
    Field(usize),
    /// A result of the table's evaluation.
    Computed(usize),
}
