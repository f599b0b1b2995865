//! What the words in headers mean, from docs/lab/metrics.md, docs/check/structure.md and docs/check/columns.md: shown on hover, and as
//! footnotes. The same word may mean something else in another kind of table, so each kind has its own entries.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::markup::{Markup, markup};

const METRICS: &str = include_str!("../../../../docs/lab/metrics.md");
const STRUCTURE: &str = include_str!("../../../../docs/check/structure.md");
const CHECKS: &str = include_str!("../../../../docs/check/columns.md");

/// The part of docs/lab/metrics.md that the tables of baselines have for themselves.
const BASELINE_PART: &str = "## The I/O baseline";

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Those of runs, cells and studies.
    Runs,
    /// Those of `fathom io`.
    Baselines,
    /// Those of `fathom structure`.
    Structures,
    /// Those of `fathom check`.
    Checks,
}

/// Headers of our tables that are called otherwise in the document.
const ALIASES: [(&str, &str); 28] = [
    ("95 % interval", "interval"),
    ("95 % interval of the mean", "interval"),
    ("% time reduction", "time_reduction_percent"),
    ("% vs previous", "time_reduction_percent"),
    ("speed-up", "speed_up"),
    ("speed-up vs previous", "speed_up"),
    ("p", "p_adjusted"),
    ("wait type", "wait_s"),
    ("Rows per second", "rows_per_s"),
    ("Transactions per second", "transactions_per_s"),
    ("trans./s", "transactions_per_s"),
    ("% within limit", "within_limit_percent"),
    ("failed, by kind", "failures"),
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

/// The same for the tables of `fathom structure`.
const STRUCTURE_ALIASES: [(&str, &str); 19] = [
    ("Table", "table"),
    ("Index id", "index_id"),
    ("Index", "index"),
    ("Kind", "kind"),
    ("Depth", "index_depth"),
    ("Level", "index_level"),
    ("Frag- ment %", "avg_fragmentation_pct"),
    ("Frag- ments", "fragment_count"),
    ("Pages/ fragm.", "avg_fragment_size_pages"),
    ("Pages", "page_count"),
    ("Space used %", "avg_page_space_used_pct"),
    ("Records", "record_count"),
    ("Min bytes", "min_record_size_bytes"),
    ("Max bytes", "max_record_size_bytes"),
    ("Avg bytes", "avg_record_size_bytes"),
    ("Back %", "backward_pct"),
    ("Overflow", "overflow_page_count"),
    ("Free", "free_page_count"),
    ("Unused", "unused_page_count"),
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
    tables: Tables,
}

/// The words of one kind of table; all kinds share the entries and the note of which of them a page used.
#[derive(Debug)]
pub(crate) struct Definitions {
    entries: Rc<[Definition]>,
    tables: Tables,
    by_name: BTreeMap<String, usize>,
    used: Rc<RefCell<BTreeSet<usize>>>,
}

impl Definitions {
    /// Reads the documents; the words are those of runs.
    pub(crate) fn load() -> Self {
        let mut entries: Vec<Definition> = Vec::new();
        for (document, tables) in
            [(METRICS, Tables::Runs), (STRUCTURE, Tables::Structures), (CHECKS, Tables::Checks)]
        {
            add_document(&mut entries, document, tables);
        }
        Self::with(entries.into(), Tables::Runs, Rc::default())
    }

    /// The words of another kind of table.
    pub(crate) fn of(&self, tables: Tables) -> Self {
        Self::with(Rc::clone(&self.entries), tables, Rc::clone(&self.used))
    }

    fn with(entries: Rc<[Definition]>, tables: Tables, used: Rc<RefCell<BTreeSet<usize>>>) -> Self {
        let mut by_name = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.tables == tables) {
            by_name.extend(entry.names.iter().map(|name| (name.clone(), index)));
        }
        Self { entries, tables, by_name, used }
    }

    /// The entry of a header, without noting that it was used: the header itself, what stands before its unit in
    /// brackets, and what stands before the dot that names a device.
    pub(crate) fn find(&self, header: &str) -> Option<&Definition> {
        let aliases: &[(&str, &str)] = match self.tables {
            Tables::Runs => &ALIASES,
            Tables::Structures => &STRUCTURE_ALIASES,
            Tables::Baselines | Tables::Checks => &[],
        };
        let alias = aliases.iter().find(|(from, _)| *from == header).map(|(_, to)| *to);
        let stem = (self.tables == Tables::Runs).then(|| header.split([' ', '.']).next().unwrap_or(header));
        let candidates = [alias, Some(header), stem];
        let index = candidates.into_iter().flatten().find_map(|name| self.by_name.get(name))?;
        Some(&self.entries[*index])
    }

    /// A header as markup, with its definition on hover and a way to the footnote where it has one.
    pub(crate) fn header(&self, header: &str) -> Markup {
        let Some(entry) = self.find(header) else { return markup!("{}", header) };
        self.used.borrow_mut().insert(entry.number - 1);
        markup!("<a class=\"def\" href=\"#def-{}\" title=\"{}\">{}</a>", entry.number, entry.text, header)
    }

    /// The entries that headers were asked for, by number.
    pub(crate) fn used(&self) -> Vec<&Definition> {
        self.used.borrow().iter().map(|index| &self.entries[*index]).collect()
    }
}

/// Adds the entries of a document: what stands below headings of the third level.
fn add_document(entries: &mut Vec<Definition>, document: &str, tables: Tables) {
    let (mut is_open, mut part) = (false, tables);
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let names = heading.split(',').map(|name| name.replace('`', "").trim().to_owned()).collect();
            let number = entries.len() + 1;
            entries.push(Definition { number, names, text: String::new(), tables: part });
            is_open = true;
        } else if line.starts_with('#') {
            is_open = false;
            part = if line == BASELINE_PART { Tables::Baselines } else { tables };
        } else if let (true, Some(entry)) = (is_open, entries.last_mut()) {
            add_line(&mut entry.text, line);
        }
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
        assert!(definitions.header("log_bytes [bytes]").as_str().contains("href=\"#def-"));
        assert_eq!(definitions.used().len(), 1);
    }

    #[test]
    fn every_other_name_leads_to_an_entry() {
        let definitions = Definitions::load();
        for (from, to) in ALIASES {
            assert!(definitions.by_name.contains_key(to), "{from} leads to {to}, which the document lacks");
        }
        let structures = definitions.of(Tables::Structures);
        for (from, to) in STRUCTURE_ALIASES {
            assert!(structures.by_name.contains_key(to), "{from} leads to {to}, which the document lacks");
        }
    }

    #[test]
    fn a_word_means_what_it_means_in_its_own_kind_of_table() {
        let definitions = Definitions::load();
        let text = |tables, word: &str| definitions.of(tables).find(word).unwrap().text.clone();
        assert!(text(Tables::Baselines, "p99 ms").starts_with("Latency of the transfers"));
        assert_ne!(text(Tables::Runs, "p99 ms"), text(Tables::Baselines, "p99 ms"));
        assert_ne!(text(Tables::Checks, "MiB/s"), text(Tables::Baselines, "MiB/s"));
        assert_eq!(definitions.of(Tables::Checks).find("Records"), None);
        definitions.of(Tables::Structures).header("Back %");
        assert_eq!(definitions.used()[0].names, ["backward_pct"]);
    }

    #[test]
    fn an_entry_has_unit_and_source_on_lines_of_their_own() {
        let definitions = Definitions::load();
        let entry = definitions.find("elapsed_s").unwrap();
        assert!(entry.text.starts_with("Time from the release of the start barrier"), "{}", entry.text);
        assert!(entry.text.contains("\n- unit: s; source:"));
    }
}
