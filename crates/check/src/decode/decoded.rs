//! What is known about a page.

use results::EngineId;

/// What is known about a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decoded {
    /// The id of the engine.
    pub engine: String,
    /// What the page is, in a few words.
    pub title: String,
    /// Name and value, in the order in which they are read.
    pub facts: Vec<(String, String)>,
    /// What is wrong with its bytes, as far as a look at this one page tells.
    pub damage: Vec<String>,
}

impl Decoded {
    /// A page of an engine, with what it is in a few words.
    pub fn new(engine: EngineId, title: impl Into<String>) -> Self {
        Self { engine: engine.to_string(), title: title.into(), ..Self::default() }
    }

    /// Adds a fact.
    pub fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push((name.to_owned(), value.into()));
    }
}

/// Where a page begins, in words.
#[must_use]
pub fn offset_text(page: u64, page_bytes: u64) -> String {
    let offset = u128::from(page) * u128::from(page_bytes);
    let in_units = |shift: u32| offset as f64 / (1u64 << shift) as f64;
    match offset {
        0..0x10_0000 => format!("{offset} bytes"),
        0x10_0000..0x4000_0000 => format!("{offset} bytes ({:.2} MiB)", in_units(20)),
        _ => format!("{offset} bytes ({:.2} GiB)", in_units(30)),
    }
}
