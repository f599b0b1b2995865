//! Relations of a database, as the catalogs describe them.

pub(crate) mod agreement;
pub(crate) mod key_forms;
pub(crate) mod kinds;
pub(crate) mod order;
pub(crate) mod reader;
pub(crate) mod rows;

use std::collections::HashSet;

use formats::postgres::attribute::Attribute;
use formats::postgres::catalog::Column;
use formats::postgres::{Damage, Oid, Xid};
use results::check::NotChecked;

use crate::catalog::kinds::{Equality, KeyForm, KeyOrder, SummaryKind};

/// What kind of storage a relation's main fork has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Storage {
    /// Rows.
    Heap,
    /// One row of a sequence.
    Sequence,
    /// A B-tree.
    Btree,
    /// A hash index.
    Hash,
    /// A `GiST` index.
    Gist,
    /// A GIN index.
    Gin,
    /// An SP-GiST index.
    SpGist,
    /// A BRIN index.
    Brin,
    /// A table or index of an unknown access method.
    Other,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexColumn {
    /// Column of the table, from 1; 0 for an expression.
    pub(crate) table_column: i16,
    /// How to step over it in an index tuple.
    pub(crate) attribute: Attribute,
    /// How its values are ordered, if that is known here; always `None` for columns that are only included.
    pub(crate) order: Option<KeyOrder>,
    /// What is known of the equality of its values, where their order is not known.
    pub(crate) equality: Equality,
    /// BRIN: what is kept of its values in a range; `None` for others and for operator classes that are not known here.
    pub(crate) summary: Option<SummaryKind>,
    /// What a `GiST` or SP-GiST index keeps of its values, if that is known here.
    pub(crate) form: Option<KeyForm>,
    /// Whether each inner block of a `GiST` index has a box that has all below in it.
    pub(crate) is_box: bool,
    /// Whether it is part of the key.
    pub(crate) is_key: bool,
    /// Whether equal texts of its collation have equal bytes, as far as is known.
    pub(crate) is_deterministic: bool,
    /// Whether the table's value is a `name` that the index keeps as a string.
    pub(crate) name_as_string: bool,
    /// Descending.
    pub(crate) descending: bool,
    /// Nulls stand first.
    pub(crate) nulls_first: bool,
}

/// What `pg_index` says of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// The table.
    pub(crate) table: Oid,
    /// Columns in order, key columns first.
    pub(crate) columns: Vec<IndexColumn>,
    /// The index of the primary key.
    pub(crate) primary: bool,
    /// No two rows may have the same key.
    pub(crate) unique: bool,
    /// Null equals null, for uniqueness.
    pub(crate) nulls_not_distinct: bool,
    /// Complete, and kept up to date.
    pub(crate) usable: bool,
    /// Only rows that match a condition have entries.
    pub(crate) partial: bool,
    /// Whether some column is an expression.
    pub(crate) has_expressions: bool,
}

/// A relation that has files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Object id.
    pub(crate) id: Oid,
    /// `database.schema.relation`.
    pub(crate) name: String,
    /// Database; 0 for shared relations.
    pub(crate) database: Oid,
    /// Tablespace as in the directory: 0 for `base`, 1664 for `global`.
    pub(crate) tablespace: Oid,
    /// File number.
    pub(crate) file_number: Oid,
    /// Storage.
    pub(crate) storage: Storage,
    /// Name of the access method; `?` if it is not known.
    pub(crate) method: String,
    /// Whether it is an index.
    pub(crate) is_index: bool,
    /// `p` permanent, `u` unlogged, `t` temporary.
    pub(crate) persistence: u8,
    /// No older transaction id stands unfrozen in it; 0 where that is not kept.
    pub(crate) frozen_xid: Xid,
    /// No older multixact stands in it.
    pub(crate) min_multi: u32,
    /// Its TOAST table; 0 for none.
    pub(crate) toast: Oid,
    /// Whether it is a TOAST table itself.
    pub(crate) is_toast: bool,
    /// Columns from number 1 on; empty if they could not be read.
    pub(crate) columns: Vec<Column>,
    /// For indexes.
    pub(crate) index: Option<Index>,
}

/// What the catalogs say, and what was wrong while reading them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogs {
    /// Relations with files.
    pub(crate) relations: Vec<Relation>,
    /// Databases that there are for everyone.
    pub(crate) databases: HashSet<Oid>,
    /// Directories of databases that pg_database does not name.
    pub(crate) unnamed: Vec<std::path::PathBuf>,
    /// The oldest transaction and the oldest multixact that some table may name.
    pub(crate) oldest: Option<(Xid, u32)>,
    /// What the databases have that no level verifies.
    pub(crate) out_of_scope: Vec<NotChecked>,
    /// Damage of map files, with the path.
    pub(crate) map_damage: Vec<(std::path::PathBuf, Damage)>,
    /// Databases whose catalogs could not be read, with the reason.
    pub(crate) unreadable: Vec<(Oid, String)>,
}
