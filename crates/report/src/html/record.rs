//! The record: inventory, settings, layout, versions, seed, order, clients, gates, corrections, and the raw data.

use results::model::{GateOutcome, StoredRun};

use super::definitions::Definitions;
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::export;
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{ABSENT, counted_from_one};
use crate::tables::{corrections, record_sections};

/// Sections of the record that are open from the start: the others are long.
const OPEN: [SectionId; 3] = [SectionId::Warnings, SectionId::Study, SectionId::Storage];

/// Rows of the clients' table; all are in the raw data.
const CLIENTS_MAX: usize = 400;

/// A raw data file of more bytes is left to `fathom export`.
const CSV_BYTES_MAX: usize = 400_000;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let mut html = downloads(page);
    if let Some(section) = corrections::corrections(summary) {
        html.push(&tables::titled(&section, definitions));
    }
    for (index, section) in record_sections(summary).iter().enumerate() {
        let is_open = OPEN.contains(&section.id);
        html.push(&tables::folded(&format!("record-{index}"), section, definitions, is_open));
    }
    html.push(&tables::folded("gates", &gates(page.runs), definitions, false));
    html.push(&tables::folded("clients", &clients(page.runs), definitions, false));
    if !page.results.study.spec_toml.is_empty() {
        html.push(&markup!(
            "<details id=\"spec\"><summary>Spec of the experiment (TOML)</summary><pre>{}</pre></details>",
            preformatted(&page.results.study.spec_toml)
        ));
    }
    html
}

/// Lines stay lines; everything else is made harmless.
fn preformatted(text: &str) -> Markup {
    text.lines().map(|line| markup!("{}\n", line)).collect()
}

/// Links that hold the files themselves: they work without scripts and without a network.
fn downloads(page: &Page<'_>) -> Markup {
    let link = |name: &str, format: &str, what: &str, csv: &str| {
        if csv.len() > CSV_BYTES_MAX {
            return markup!(
                "<li>{}: too large for this page; <code>fathom export --format {}</code> writes it</li>",
                what,
                format
            );
        }
        markup!(
            "<li><a class=\"download\" download=\"{0}\" href=\"data:text/csv;charset=utf-8,{1}\">{0}</a> {2}</li>",
            name,
            Markup::trusted(percent_encoded(csv)),
            what
        )
    };
    let runs = link("runs.csv", "csv", "one row per run, of any status", &export::runs_csv(page.results));
    let clients =
        link("clients.csv", "clients-csv", "one row per client of each run", &export::clients_csv(page.runs));
    let has_scripts = page.runs.iter().any(|stored| !stored.run.scripts.is_empty());
    let scripts = has_scripts.then(|| {
        let csv = export::scripts_csv(page.results, page.runs);
        link("scripts.csv", "scripts-csv", "one row per script and statement of each run", &csv)
    });
    markup!(
        "<h3>Raw data</h3><ul class=\"downloads\">{}{}{}<li class=\"scripted\" id=\"series-download\"></li></ul>",
        runs,
        clients,
        scripts.unwrap_or_default()
    )
}

/// A text as the body of a `data:` address.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 4);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9'
            | b'A'..=b'Z'
            | b'a'..=b'z'
            | b'-'
            | b'_'
            | b'.'
            | b','
            | b':'
            | b'='
            | b'/'
            | b'+'
            | b'('
            | b')' => {
                encoded.push(byte as char);
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Every gate with the number of runs that passed it, and what was found where it did not hold.
fn gates(runs: &[StoredRun]) -> Section {
    struct Line<'a> {
        gate: &'a str,
        counts: [usize; 3],
        expected: &'a str,
        words: Vec<String>,
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for stored in runs {
        for gate in &stored.run.gates {
            let known = lines.iter().position(|line| line.gate == gate.gate);
            let index = known.unwrap_or_else(|| {
                lines.push(Line {
                    gate: &gate.gate,
                    counts: [0; 3],
                    expected: &gate.expected,
                    words: Vec::new(),
                });
                lines.len() - 1
            });
            let line = &mut lines[index];
            let place = match gate.outcome {
                GateOutcome::Passed => 0,
                GateOutcome::Failed => 1,
                GateOutcome::NotApplicable => 2,
            };
            line.counts[place] += 1;
            if gate.outcome == GateOutcome::Failed {
                line.words.push(format!("run {}: {}", stored.run_id, gate.found));
            } else if gate.outcome == GateOutcome::NotApplicable && line.words.is_empty() {
                line.words.push(gate.found.clone());
            }
        }
    }
    let mut grid = Grid::named_by([("gate".to_owned(), Align::Left)]).with([
        ("passed", Align::Right),
        ("failed", Align::Right),
        ("not applicable", Align::Right),
        ("expected (first run)", Align::Wrapped),
        ("found where it failed, or why it does not apply", Align::Wrapped),
    ]);
    for line in &lines {
        grid.push(vec![
            line.gate.to_owned(),
            line.counts[0].to_string(),
            line.counts[1].to_string(),
            line.counts[2].to_string(),
            line.expected.to_owned(),
            line.words.join("; "),
        ]);
    }
    Section::new("Validity gates, over all runs", vec![Block::Grid(grid)])
}

fn clients(runs: &[StoredRun]) -> Section {
    // What a row is, only the user of scripts knows.
    let rows = runs.iter().all(|stored| stored.run.scripts.is_empty());
    let mut grid = Grid::named_by([("run".to_owned(), Align::Right), ("client".to_owned(), Align::Right)])
        .with([("block", Align::Right), ("start ms", Align::Right), ("end s", Align::Right)])
        .with(rows.then_some(("rows", Align::Right)))
        .with([
            ("transactions", Align::Right),
            ("errors", Align::Right),
            ("p50 ms", Align::Right),
            ("p99 ms", Align::Right),
            ("error", Align::Wrapped),
        ]);
    let all: usize = runs.iter().map(|stored| stored.run.clients.len()).sum();
    let of_runs =
        runs.iter().flat_map(|stored| stored.run.clients.iter().map(move |client| (stored, client)));
    for (stored, client) in of_runs.take(CLIENTS_MAX) {
        let latency = client.response_time.as_ref().unwrap_or(&client.service_time);
        let at = |quantile: f64| match latency.count() {
            0 => ABSENT.to_owned(),
            _ => format!("{:.3}", latency.quantile_ns(quantile) as f64 / 1e6),
        };
        let scaled = |ns: Option<u64>, unit: f64| {
            ns.map_or(ABSENT.to_owned(), |ns| format!("{:.3}", ns as f64 / unit))
        };
        let mut row = vec![
            stored.run_id.to_string(),
            client.client_index.to_string(),
            counted_from_one(stored.run.key.block_index),
            scaled(client.start_ns, 1e6),
            scaled(client.end_ns, 1e9),
        ];
        row.extend(rows.then(|| client.rows.to_string()));
        row.extend([
            client.transactions.to_string(),
            client.errors.to_string(),
            at(0.5),
            at(0.99),
            client.error.clone().unwrap_or_default(),
        ]);
        grid.push(row);
    }
    let mut blocks = vec![Block::Grid(grid)];
    if all > CLIENTS_MAX {
        blocks.push(Block::Paragraph(format!(
            "The first {CLIENTS_MAX} of {all} clients; clients.csv has all."
        )));
    }
    Section::new("Clients of each run", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_data_survives_its_address() {
        let csv = "a,b\n\"x \"\"y\"\"\",#%é<\n";
        let encoded = percent_encoded(csv);
        assert!(!encoded.contains(['"', '<', '#', '\n', ' ', '\'']), "{encoded}");
        let mut bytes = Vec::new();
        let mut rest = encoded.as_str();
        while let Some(first) = rest.chars().next() {
            let (byte, length) = match first {
                '%' => (u8::from_str_radix(&rest[1..3], 16).unwrap_or(0), 3),
                other => (other as u8, 1),
            };
            bytes.push(byte);
            rest = &rest[length..];
        }
        assert_eq!(String::from_utf8(bytes).as_deref(), Ok(csv));
    }
}
