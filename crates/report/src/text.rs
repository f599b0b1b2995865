//! Tables and words for a terminal: at most 100 columns unless the terminal's width is given, no colour, nothing that a
//! terminal would obey.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, Width};
use results::io::IoTable;
use results::model::StoredRun;
use results::observations::Observations;
use results::structure::StructureReport;

use crate::comparison::{self, ComparisonSummary, StudiesSummary};
use crate::history::{self, History};
use crate::layout::{Align, Block, Grid, Section};
use crate::outcome::{Destination, sections};
use crate::plain::plain;
use crate::structure;
use crate::summary::StudySummary;
use crate::tables::{record_sections, rest_of_record, run_sections};
use crate::waits_text;

/// Columns of the output where no width is given, unless a single word is longer.
pub const WIDTH: usize = 100;

/// Narrower than this no table is readable.
const WIDTH_MIN: usize = 40;

/// Sentences of wider lines are hard to read; no table of ours needs more.
const WIDTH_MAX: usize = 240;

/// Spaces between two columns of a table.
const GAP: usize = 2;

/// Room that a column of sentences asks for; it gets more when there is.
const WRAPPED_WIDTH: usize = 24;

/// Writes text whose lines have at most so many columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    columns: usize,
}

impl Default for Form {
    fn default() -> Self {
        Self { columns: WIDTH }
    }
}

impl Form {
    /// For a terminal of this width: at least 40 columns, at most 240.
    pub fn of_width(columns: usize) -> Self {
        Self { columns: columns.clamp(WIDTH_MIN, WIDTH_MAX) }
    }

    /// Writes the whole study: outcome and record.
    pub fn study(self, summary: &StudySummary) -> String {
        let mut shown = sections(summary, Destination::Full);
        shown.extend(rest_of_record(summary));
        self.render(&shown)
    }

    /// Writes the end of a run on a terminal: tables of the outcome, the verdict last.
    pub fn brief(self, summary: &StudySummary) -> String {
        self.render(&sections(summary, Destination::Brief))
    }

    /// Writes one run: gates, clients, metrics. Latencies appear when it was read with its histograms.
    ///
    /// `belongs_to` names the run's study and configuration, which the run itself does not hold.
    pub fn run_detail(self, stored: &StoredRun, belongs_to: &str) -> String {
        self.render(&run_sections(stored, belongs_to))
    }

    /// Writes a comparison: what changed, the verdict, the pairs, the waits side by side.
    pub fn comparison(self, summary: &ComparisonSummary) -> String {
        self.render(&comparison::sections(summary))
    }

    /// Writes several studies as one table: the verdict, means and factors by study, the best cases.
    pub fn studies(self, summary: &StudiesSummary) -> String {
        self.render(&comparison::studies_sections(summary))
    }

    /// Writes the history of one figure: changes first, then a table with bars per series.
    pub fn history(self, history: &History) -> String {
        self.render(&history::sections(history))
    }

    /// Writes what one interval of a live look saw: wait tables, waiting tasks, and how they were had.
    pub fn waits(self, observations: &Observations) -> String {
        self.render(&waits_text::live_sections(observations))
    }

    /// Writes levels, objects and strip maps of a database's tables and indexes.
    pub fn structure(self, report: &StructureReport) -> String {
        self.render(&structure::sections(report))
    }

    /// Writes the tables of a baseline: as [`crate::io_table::text`] where they fit, else cut into narrower ones.
    pub fn io(self, table: &IoTable) -> String {
        let text = crate::io_table::text(table);
        let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if width <= self.columns {
            return text;
        }
        format!(
            "{}\n{}",
            wrapped(&plain(&table.title), "", self.columns),
            self.render(&crate::io_table::sections(table))
        )
    }

    fn render(self, sections: &[Section]) -> String {
        let columns = self.columns;
        let mut text = String::new();
        for section in sections.iter().filter(|section| !section.blocks.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            if !section.title.is_empty() {
                let title = wrapped(&plain(&section.title), "", columns);
                text.push_str(&title);
                let underline = title.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                text.push_str(&"=".repeat(underline));
                text.push('\n');
            }
            for (index, block) in section.blocks.iter().enumerate() {
                let is_after_grid = index > 0 && matches!(section.blocks[index - 1], Block::Grid(_));
                if is_after_grid {
                    text.push('\n');
                }
                match block {
                    Block::Paragraph(sentences) => {
                        text.push_str(&wrapped(&paragraph(sentences), "", columns))
                    }
                    Block::Items(items) => {
                        items.iter().for_each(|item| text.push_str(&wrapped(&plain(item), "  ", columns)))
                    }
                    Block::Grid(grid) => text.push_str(&grids(grid, columns)),
                }
            }
        }
        text
    }
}

/// Writes the whole study: outcome and record.
pub fn study(summary: &StudySummary) -> String {
    Form::default().study(summary)
}

/// Writes the outcome: invalid runs first, verdict, tables, expectations, corrections.
pub fn results(summary: &StudySummary) -> String {
    Form::default().render(&sections(summary, Destination::Full))
}

/// Writes the end of a run: tables of the outcome, the verdict last.
pub fn brief(summary: &StudySummary) -> String {
    Form::default().brief(summary)
}

/// Writes the record: warnings, versions, machine, storage, settings, order of runs.
pub fn record(summary: &StudySummary) -> String {
    Form::default().render(&record_sections(summary))
}

/// Writes one run, as [`Form::run_detail`].
pub fn run_detail(stored: &StoredRun, belongs_to: &str) -> String {
    Form::default().run_detail(stored, belongs_to)
}

/// Writes a comparison, as [`Form::comparison`].
pub fn comparison(summary: &ComparisonSummary) -> String {
    Form::default().comparison(summary)
}

/// Writes the history of one figure, as [`Form::history`].
pub fn history(history: &History) -> String {
    Form::default().history(history)
}

/// Writes what one interval of a live look saw, as [`Form::waits`].
pub fn waits(observations: &Observations) -> String {
    Form::default().waits(observations)
}

/// Writes tables and indexes of a database, as [`Form::structure`].
pub fn structure(report: &StructureReport) -> String {
    Form::default().structure(report)
}

/// A paragraph is ours and may be longer than what `plain` lets through of a single text from outside.
fn paragraph(sentences: &str) -> String {
    sentences.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

/// Breaks at spaces so that lines have at most so many columns; continued lines are indented.
fn wrapped(text: &str, indent: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > columns {
            lines.push('\n');
            lines.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

/// Writes a grid, cut into several when its columns do not fit side by side.
fn grids(grid: &Grid, width: usize) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|cell| plain(cell)).collect::<Vec<_>>();
    let header: Vec<String> = grid.columns.iter().map(|(name, _)| plain(name)).collect();
    let rows: Vec<Vec<String>> = grid.rows.iter().map(cells).collect();
    let parts = parts(grid, &header, &rows, width);
    let tables: Vec<String> =
        parts.iter().map(|columns| table(grid, columns, &header, &rows, width)).collect();
    tables.join("\n")
}

/// Column numbers of each part: the key columns, then as many others as fit.
fn parts(grid: &Grid, header: &[String], rows: &[Vec<String>], columns: usize) -> Vec<Vec<usize>> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let widest = cells.chain([longest_word(&header[column])]).max().unwrap_or(0);
        let is_wrapped = grid.columns[column].1 == Align::Wrapped;
        GAP + if is_wrapped { widest.min(WRAPPED_WIDTH) } else { widest }
    };
    let keys: Vec<usize> = (0..grid.key_columns).collect();
    let keys_width: usize = keys.iter().map(|&column| width(column)).sum();
    let mut parts = Vec::new();
    let mut part = keys.clone();
    let mut part_width = keys_width;
    for column in grid.key_columns..grid.columns.len() {
        if part_width + width(column) > columns + GAP && part.len() > keys.len() {
            parts.push(std::mem::replace(&mut part, keys.clone()));
            part_width = keys_width;
        }
        part_width += width(column);
        part.push(column);
    }
    parts.push(part);
    parts
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0)
}

fn table(grid: &Grid, columns: &[usize], header: &[String], rows: &[Vec<String>], width: usize) -> String {
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '-');
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let aligned = |column: usize, text: &str| {
        let is_right = grid.columns[column].1 == Align::Right;
        Cell::new(text).set_alignment(if is_right { CellAlignment::Right } else { CellAlignment::Left })
    };
    table.set_header(columns.iter().map(|&column| aligned(column, &header[column])));
    for row in rows {
        table.add_row(columns.iter().map(|&column| aligned(column, &row[column])));
    }
    for (place, &column) in columns.iter().enumerate() {
        let is_first = place == 0;
        let Some(view) = table.column_mut(place) else { continue };
        view.set_padding((if is_first { 0 } else { 1 }, 1));
        // Numbers and words keep their line; a header of several words may take several.
        if grid.columns[column].1 != Align::Wrapped {
            let cells = rows.iter().map(|row| row[column].chars().count());
            let content = cells.chain([longest_word(&header[column])]).max().unwrap_or(0);
            let padding = if is_first { 1 } else { 2 };
            let content_width = u16::try_from((content + padding).min(width)).unwrap_or(u16::MAX);
            view.set_constraint(ColumnConstraint::Absolute(Width::Fixed(content_width)));
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}
