//! The sections of the other outputs as markup: the same grids, so that no number differs between two outputs.

use super::definitions::Definitions;
use super::markup::{Markup, markup};
use crate::layout::{Align, Block, Grid, Section};

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
    let headers = grid.columns.iter().enumerate();
    let headers = headers
        .map(|(column, (name, _))| header(class(column), &definitions.header(name)))
        .collect::<Markup>();
    let names_metrics = grid.columns.first().is_some_and(|(name, _)| DEFINED.contains(&name.as_str()));
    let cell_of = |(column, words): (usize, &String)| {
        let is_defined = column == 0 && names_metrics;
        let shown = if is_defined { definitions.header(words) } else { markup!("{}", words) };
        let class = cell_class(class(column), words);
        match is_stacked {
            true => labelled_cell(class, &grid.columns[column].0, &shown),
            false => cell(class, &shown),
        }
    };
    let rows = grid.rows.iter().map(|cells| row(cells.iter().enumerate().map(cell_of).collect()));
    let class = if is_stacked { "stack".to_owned() } else { format!("k{}", grid.key_columns) };
    table(&class, &headers, &rows.collect())
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
        assert!(html.contains("&lt;img") && html.contains(">12</td>") && html.contains("good"));
        assert!(html.contains("href=\"#def-"));
    }
}
