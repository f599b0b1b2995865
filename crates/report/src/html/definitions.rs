//! What the words in headers mean, from docs/metrics.md: shown on hover, and as footnotes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::chart::escape;

const METRICS: &str = include_str!("../../../../docs/metrics.md");

/// Headers of our tables that are called otherwise in the document.
const ALIASES: [(&str, &str); 24] = [
    ("95 % interval", "interval"),
    ("95 % interval of the mean", "interval"),
    ("% time reduction", "time_reduction_percent"),
    ("% vs previous", "time_reduction_percent"),
    ("speed-up", "speed_up"),
    ("speed-up vs previous", "speed_up"),
    ("p", "p_adjusted"),
    ("wait type", "wait_s"),
    ("Rows per second", "rows_per_s"),
    ("Elapsed time in seconds", "elapsed_s"),
    ("elapsed s", "elapsed_s"),
    ("first client s", "first_client_s"),
    ("last client s", "last_client_s"),
    ("block", "block_index"),
    ("run", "run_id"),
    ("client", "client_index"),
    ("start ms", "start_s"),
    ("end s", "end_s"),
    ("p50", "service time"),
    ("p99", "service time"),
    ("p50 ms", "service time"),
    ("p99 ms", "service time"),
    ("best configuration", "best_per_level"),
    ("at once", "at_once"),
];

/// One entry of the document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// Place in the list of footnotes, from 1.
    pub(crate) number: usize,
    /// The words that it defines.
    pub(crate) names: Vec<String>,
    /// Its text without markup, paragraphs and points as they stand.
    pub(crate) text: String,
}

/// All entries, and which of them a page used.
#[derive(Debug)]
pub(crate) struct Definitions {
    entries: Vec<Definition>,
    by_name: BTreeMap<String, usize>,
    used: RefCell<BTreeSet<usize>>,
}

impl Definitions {
    /// Reads the document.
    pub(crate) fn load() -> Self {
        let mut entries: Vec<Definition> = Vec::new();
        let mut is_open = false;
        for line in METRICS.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                let names = heading.split(',').map(|name| name.replace('`', "").trim().to_owned()).collect();
                entries.push(Definition { number: entries.len() + 1, names, text: String::new() });
                is_open = true;
            } else if line.starts_with('#') {
                is_open = false;
            } else if let (true, Some(entry)) = (is_open, entries.last_mut()) {
                add_line(&mut entry.text, line);
            }
        }
        let names = entries
            .iter()
            .enumerate()
            .flat_map(|(index, entry)| entry.names.iter().map(move |name| (name.clone(), index)));
        let by_name = names.collect();
        Self { entries, by_name, used: RefCell::default() }
    }

    /// Knows nothing: for tables whose words mean something else there, such as the latencies of transfers.
    pub(crate) fn none() -> Self {
        Self { entries: Vec::new(), by_name: BTreeMap::new(), used: RefCell::default() }
    }

    /// The entry of a header, without noting that it was used: the header itself, what stands before its unit in
    /// brackets, and what stands before the dot that names a device.
    pub(crate) fn find(&self, header: &str) -> Option<&Definition> {
        let alias = |name: &str| ALIASES.iter().find(|(from, _)| *from == name).map(|(_, to)| *to);
        let stem = header.split([' ', '.']).next().unwrap_or(header);
        let candidates = [alias(header), Some(header), Some(stem)];
        let index = candidates.into_iter().flatten().find_map(|name| self.by_name.get(name))?;
        Some(&self.entries[*index])
    }

    /// A header as markup, with its definition on hover and a way to the footnote where it has one.
    pub(crate) fn header(&self, header: &str) -> String {
        let Some(entry) = self.find(header) else { return escape(header) };
        self.used.borrow_mut().insert(entry.number - 1);
        format!(
            "<a class=\"def\" href=\"#def-{}\" title=\"{}\">{}</a>",
            entry.number,
            escape(&entry.text),
            escape(header)
        )
    }

    /// The entries that headers were asked for, by number.
    pub(crate) fn used(&self) -> Vec<&Definition> {
        self.used.borrow().iter().map(|index| &self.entries[*index]).collect()
    }
}

/// Joins wrapped lines; points begin on a line of their own.
fn add_line(text: &mut String, line: &str) {
    let words = line.trim().replace('`', "");
    if words.is_empty() {
        return;
    }
    if let Some(point) = words.strip_prefix("- ") {
        text.push_str("\n- ");
        text.push_str(point);
    } else {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&words);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_header_finds_its_entry_by_itself_by_its_stem_and_by_another_name() {
        let definitions = Definitions::load();
        for (header, name) in [
            ("log_bytes [bytes]", "log_bytes"),
            ("device_write_bytes.vda [bytes]", "device_write_bytes"),
            ("95 % interval", "interval"),
            ("wait_s", "wait_s"),
        ] {
            assert!(definitions.find(header).unwrap().names.contains(&name.to_owned()), "{header}");
        }
        assert_eq!(definitions.find("no such thing"), None);
        assert!(definitions.used().is_empty());
        assert!(definitions.header("log_bytes [bytes]").contains("href=\"#def-"));
        assert_eq!(definitions.used().len(), 1);
    }

    #[test]
    fn every_other_name_leads_to_an_entry() {
        let definitions = Definitions::load();
        for (from, to) in ALIASES {
            assert!(definitions.by_name.contains_key(to), "{from} leads to {to}, which the document lacks");
        }
    }

    #[test]
    fn an_entry_has_unit_and_source_on_lines_of_their_own() {
        let definitions = Definitions::load();
        let entry = definitions.find("elapsed_s").unwrap();
        assert!(entry.text.starts_with("Time from the release of the start barrier"), "{}", entry.text);
        assert!(entry.text.contains("\n- unit: s; source:"));
    }
}
