//! What a page is: by its number alone, and by its bytes.
//!
//! Numbers are pure arithmetic over the formats: the same answer with and without a file. With a file, one page is read
//! (and what leads to it where that is short: the free list of SQLite), and described in a few facts.

mod exercise;
mod file;
mod innodb;
mod postgres;
mod sqlite;
mod sqlite_owner;
mod sqlserver;

pub use exercise::{exercise, exercise_part};
pub use file::{DecodeError, file};
pub use innodb::place as innodb;
pub use postgres::{Map, place as postgres};
pub use sqlite::place as sqlite;
pub use sqlserver::place as sqlserver;

use formats::sqlite::Geometry;

/// What is known about a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decoded {
    /// `sqlite`, `postgres`, `sqlserver`, `innodb`.
    pub engine: String,
    /// What the page is, in a few words.
    pub title: String,
    /// Name and value, in the order in which they are read.
    pub facts: Vec<(String, String)>,
    /// What is wrong with its bytes, as far as a look at this one page tells.
    pub damage: Vec<String>,
}

impl Decoded {
    fn new(engine: &str, title: impl Into<String>) -> Self {
        Self { engine: engine.to_owned(), title: title.into(), ..Self::default() }
    }

    fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push((name.to_owned(), value.into()));
    }
}

/// The geometry of a SQLite file of usual options; `None` for a page size that cannot be.
#[must_use]
pub fn sqlite_geometry(page_size_bytes: u32, auto_vacuum: bool) -> Option<Geometry> {
    let is_size = page_size_bytes.is_power_of_two() && (512..=65536).contains(&page_size_bytes);
    is_size.then_some(Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum })
}

/// Where a page begins, in words.
fn offset_text(page: u64, page_bytes: u64) -> String {
    let offset = u128::from(page) * u128::from(page_bytes);
    let in_units = |shift: u32| offset as f64 / (1u64 << shift) as f64;
    match offset {
        0..0x10_0000 => format!("{offset} bytes"),
        0x10_0000..0x4000_0000 => format!("{offset} bytes ({:.2} MiB)", in_units(20)),
        _ => format!("{offset} bytes ({:.2} GiB)", in_units(30)),
    }
}
