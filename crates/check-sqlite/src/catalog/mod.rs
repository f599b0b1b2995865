//! The rows of sqlite_schema compared with the definitions in them, and what SQLite says to all of them together.
//!
//! ```text
//! INVARIANT  type, name and tbl_name of a row repeat what its sql column says; rootpage is 0 or NULL without a b-tree.
//! ```
//!
//! A row that disagrees is damage, because SQLite refuses the whole database for it. Where the definition still says what
//! the object is, the row is corrected in memory and the object is checked; its pages are never called unused.

pub(crate) mod candidates;
pub(crate) mod definitions;
pub(crate) mod expressions;
pub(crate) mod schema;
pub(crate) mod scratch;

mod definition;
mod kind;
mod row;
mod schema_row;
mod text;
pub(super) mod verdict;

pub use crate::catalog::definition::exercise_definition;
pub(super) use crate::catalog::kind::ObjectKind;
pub(super) use crate::catalog::row::{ResolvedRow, RowDamage, StoredRow, resolve};
