//! Pages and tuples of indexes, by access method.

pub mod brin;
pub mod brin_summary;
pub mod btree;
pub mod gin;
pub mod gist;
pub mod hash;
pub mod index_pages;
pub mod spgist;
