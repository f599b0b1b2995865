//! The same tables as Markdown, for issues and notes.

use results::model::StoredRun;

use crate::comparison::{self, ComparisonSummary, StudiesSummary};
use crate::history::{self, History};
use crate::layout::{Align, Block, Grid, Section};
use crate::outcome::{Destination, sections};
use crate::plain::plain_markdown;
use crate::summary::StudySummary;
use crate::tables::{rest_of_record, run_sections};

/// Writes the whole study: outcome and record.
pub fn study(summary: &StudySummary) -> String {
    let mut shown = sections(summary, Destination::Full);
    shown.extend(rest_of_record(summary));
    render(&shown)
}

/// Writes one run, as [`crate::text::run_detail`].
pub fn run_detail(stored: &StoredRun, belongs_to: &str) -> String {
    render(&run_sections(stored, belongs_to))
}

/// Writes a comparison, as [`crate::text::comparison`].
pub fn comparison(summary: &ComparisonSummary) -> String {
    render(&comparison::sections(summary))
}

/// Writes several studies as one table, as [`crate::text::Form::studies`].
pub fn studies(summary: &StudiesSummary) -> String {
    render(&comparison::studies_sections(summary))
}

/// Writes the history of one figure, as [`crate::text::history`].
pub fn history(history: &History) -> String {
    render(&history::sections(history))
}

fn render(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.blocks.is_empty()) {
        text.push_str(&format!("## {}\n\n", plain_markdown(&section.title)));
        for block in &section.blocks {
            match block {
                Block::Paragraph(sentences) => {
                    let words: Vec<String> = sentences.split(' ').map(plain_markdown).collect();
                    text.push_str(&words.join(" "));
                    text.push('\n');
                }
                Block::Items(items) => {
                    items.iter().for_each(|item| text.push_str(&format!("- {}\n", plain_markdown(item))));
                }
                Block::Grid(grid) => text.push_str(&table(grid)),
            }
            text.push('\n');
        }
    }
    text
}

fn table(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(grid.columns.iter().map(|(name, _)| plain_markdown(name)).collect());
    let rule = |align: Align| if align == Align::Right { "--:" } else { "---" }.to_owned();
    text.push_str(&line(grid.columns.iter().map(|(_, align)| rule(*align)).collect()));
    for row in &grid.rows {
        text.push_str(&line(row.iter().map(|cell| plain_markdown(cell)).collect()));
    }
    text
}
