//! What sqlite_schema says about one object.

use crate::catalog::ObjectKind;

/// What sqlite_schema says about one object, after its row was compared with the definition in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaRow {
    pub(crate) is_table: bool,
    pub(crate) kind: ObjectKind,
    pub(crate) name: String,
    pub(crate) table_name: String,
    /// 0 for what has no b-tree of its own, and for a root page that cannot be one.
    pub(crate) root: u32,
    pub(crate) definition: Option<String>,
    /// Where the row stands.
    pub(crate) page: u32,
    pub(crate) slot: usize,
}
