//! SQL of one's own, and the SQL of what is shipped.

mod scripts;
mod sql;
