//! The sections of the other outputs as markup: the same grids, so that no number differs between two outputs.

use super::definitions::Definitions;
use super::markup::{Markup, markup};
use crate::layout::{Align, Block, Grid, Section};
use crate::number::{Unit, exact, grouped};

/// Headers of first columns whose cells are words of docs/lab/metrics.md.
const DEFINED: [&str; 4] = ["metric", "gate", "sampler", "failed gate"];

/// Columns with sentences among them that a narrow screen shows side by side; the rows of wider tables become blocks there.
const COLUMNS_SIDE_BY_SIDE_MAX: usize = 2;

/// A table that scrolls sideways where the screen is narrow, or becomes blocks there.
pub(crate) fn grid(grid: &Grid, definitions: &Definitions) -> Markup {
    let sentences = grid.columns.iter().filter(|(_, align)| *align == Align::Wrapped).count();
    let is_stacked = sentences > 1 && grid.columns.len() > COLUMNS_SIDE_BY_SIDE_MAX;
    let class = |column: usize| match grid.columns[column].1 {
        Align::Left => "l",
        Align::Right => "r",
        Align::Wrapped => "w",
    };
    let is_level = |column: usize| grid.names_levels && column < grid.key_columns;
    let units: Vec<Option<InUnit>> = (0..grid.columns.len()).map(|column| InUnit::of(grid, column)).collect();
    let headers = grid.columns.iter().zip(&units).enumerate();
    let headers = headers
        .map(|(column, ((name, _), unit))| {
            let name = unit.as_ref().map_or_else(|| name.clone(), |unit| unit.header.clone());
            match is_level(column) {
                true => header(class(column), &markup!("{}", name)),
                false => header(class(column), &definitions.header(&name)),
            }
        })
        .collect::<Markup>();
    let names_metrics =
        !is_level(0) && grid.columns.first().is_some_and(|(name, _)| DEFINED.contains(&name.as_str()));
    let cell_of = |(column, words): (usize, &String)| {
        let is_defined = column == 0 && names_metrics;
        let in_unit = units[column].as_ref().and_then(|unit| unit.shown(words));
        let shown = match in_unit {
            Some(shown) => shown,
            None if is_defined => definitions.header(words),
            None => markup!("{}", words),
        };
        let class = if is_level(column) { class(column) } else { cell_class(class(column), words) };
        match is_stacked {
            true => labelled_cell(class, &grid.columns[column].0, &shown),
            false => cell(class, &shown),
        }
    };
    let rows = grid.rows.iter().map(|cells| row(cells.iter().enumerate().map(cell_of).collect()));
    let class = if is_stacked { "stack".to_owned() } else { format!("k{}", grid.key_columns) };
    table(&class, &headers, &rows.collect())
}

/// A column of sizes or counts, written for people: `log_bytes [bytes]` in MiB, `log_flushes [1]` without a unit.
struct InUnit {
    header: String,
    stored: String,
    unit: Unit,
}

impl InUnit {
    /// The unit of a column whose header names one in brackets; `None` for others, and for times, whose columns have one
    /// precision.
    fn of(grid: &Grid, column: usize) -> Option<Self> {
        let (name, stored) = grid.columns[column].0.strip_suffix(']')?.rsplit_once(" [")?;
        let is_written = stored == "1" || stored.starts_with("bytes");
        let values = grid.rows.iter().filter_map(|row| row[column].parse::<f64>().ok());
        let unit = Unit::of(stored, is_written.then_some(values)?);
        Some(Self { header: unit.titled(name), stored: stored.to_owned(), unit })
    }

    /// A cell, with the value as it is stored on hover; `None` for what is no number.
    fn shown(&self, words: &str) -> Option<Markup> {
        let value: f64 = words.parse().ok().filter(|value: &f64| value.is_finite())?;
        let text = grouped(self.unit.value(value));
        Some(markup!("<span title=\"{}\">{}</span>", exact(value, &self.stored), text))
    }
}

/// A table that scrolls sideways; of class `k1` its first column stays in view, of class `stack` its rows become blocks on a
/// narrow screen.
pub(crate) fn table(class: &str, headers: &Markup, rows: &Markup) -> Markup {
    markup!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{}\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        class,
        headers,
        rows
    )
}

/// A table of markup whose rows become blocks on a narrow screen, each cell behind the name of its column; columns have a
/// name and a class (`l`, `r`, `w`). Empty cells are left out there.
pub(crate) fn labelled(columns: &[(&str, &str)], rows: impl Iterator<Item = Vec<Markup>>) -> Markup {
    let headers =
        columns.iter().map(|(name, class)| header(class, &markup!("{}", *name))).collect::<Markup>();
    let of_cell = |((name, class), shown): (&(&str, &str), Markup)| labelled_cell(class, name, &shown);
    let rows = rows.map(|cells| row(columns.iter().zip(cells).map(of_cell).collect()));
    table("stack", &headers, &rows.collect())
}

/// A cell with the name of its column, for narrow screens.
fn labelled_cell(class: &str, name: &str, shown: &Markup) -> Markup {
    let shown = if shown.is_empty() { Markup::default() } else { markup!("<div>{}</div>", shown) };
    markup!("<td class=\"{}\" data-h=\"{}\">{}</td>", class, name, shown)
}

/// A header cell.
pub(crate) fn header(class: &str, shown: &Markup) -> Markup {
    markup!("<th class=\"{}\">{}</th>", class, shown)
}

/// A cell.
pub(crate) fn cell(class: &str, shown: &Markup) -> Markup {
    markup!("<td class=\"{}\">{}</td>", class, shown)
}

/// A row of cells.
pub(crate) fn row(cells: Markup) -> Markup {
    markup!("<tr>{}</tr>", cells)
}

/// Verdicts that the eye should find.
fn cell_class(class: &'static str, words: &str) -> &'static str {
    match words {
        "better" | "held" => "l good",
        "worse" | "regression" | "invalid: plan changed" | "did not hold" | "FAILED" => "l bad",
        _ => class,
    }
}

/// The blocks of a section, without its title.
pub(crate) fn blocks(section: &Section, definitions: &Definitions) -> Markup {
    let one = |block: &Block| match block {
        Block::Paragraph(sentences) => markup!("<p>{}</p>", sentences),
        Block::Items(items) => {
            let items = items.iter().map(|item| markup!("<li>{}</li>", item));
            markup!("<ul class=\"items\">{}</ul>", items.collect::<Markup>())
        }
        Block::Grid(table) => grid(table, definitions),
    };
    section.blocks.iter().map(one).collect()
}

/// A section under a heading of its own.
pub(crate) fn titled(section: &Section, definitions: &Definitions) -> Markup {
    markup!("<h3>{}</h3>{}", definitions.header(&section.title), blocks(section, definitions))
}

/// A section that opens on demand.
pub(crate) fn folded(id: &str, section: &Section, definitions: &Definitions, is_open: bool) -> Markup {
    markup!(
        "<details id=\"{}\"{}><summary>{}</summary>{}</details>",
        id,
        if is_open { " open" } else { "" },
        section.title,
        blocks(section, definitions)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_every_cell_and_obeys_none() {
        let mut table = Grid::named_by([("configuration".to_owned(), Align::Left)])
            .with([("log_bytes [bytes]", Align::Right), ("verdict", Align::Left)]);
        table.push(vec!["<img src=x onerror=alert(1)>".to_owned(), "12".to_owned(), "better".to_owned()]);
        let html = grid(&table, &Definitions::load()).into_string();
        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("&lt;img") && html.contains(">12</span></td>") && html.contains("good"));
        assert!(html.contains("href=\"#def-"));
    }

    #[test]
    fn sizes_and_counts_are_written_for_people_with_the_stored_value_on_hover() {
        let columns = [
            ("log_bytes [bytes]", Align::Right),
            ("log_flushes [1]", Align::Right),
            ("mean [s]", Align::Right),
        ];
        let mut table = Grid::named_by([("key".to_owned(), Align::Left)]).with(columns);
        table.push(["random", "5995236.5", "40887", "1.598"].map(str::to_owned).to_vec());
        table.push(["sequential", "-", "203", "1.332"].map(str::to_owned).to_vec());
        let html = grid(&table, &Definitions::load()).into_string();
        assert!(
            html.contains("<span title=\"5995236.5 bytes\">5.718</span>") && html.contains("[MiB]"),
            "{html}"
        );
        assert!(html.contains("<span title=\"40887\">40,887</span>") && !html.contains("[1]"), "{html}");
        assert!(html.contains(">1.598</td>") && html.contains(">-</td>"), "{html}");
    }
}
