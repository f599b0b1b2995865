//! Bytes to typed page views, per engine.
//!
//! A leaf: no I/O, no threads, no clock, no panics, no `unsafe`. Whatever the bytes are, a view is made and says
//! what it saw; what cannot be true comes back beside it as damage, with the position, what the format requires
//! and what stands there. Nothing here is an error: a page that is wrong is a result.
//!
//! Each engine keeps its own words (SQLite: page; PostgreSQL: block), its own damage type and its own module:
//!
//! | module | reads |
//! |---|---|
//! | [`sqlite`] | database files and write-ahead logs, format 3 |
//! | [`postgres`] | relation files, control file, maps and tuples, majors 14 to 18 |
//! | [`innodb`] | fixed places of a tablespace, and the header of a page |
//! | [`sqlserver`] | data files and backups, internal versions 655 to 706 |

#![forbid(unsafe_code)]

pub mod innodb;
pub mod postgres;
pub mod sqlite;
pub mod sqlserver;
