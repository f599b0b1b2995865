//! The sections of the other outputs as markup: the same grids, so that no number differs between two outputs.

use super::definitions::Definitions;
use super::markup::{Markup, markup};
use crate::layout::{Align, Block, Grid, Section};

/// Headers of first columns whose cells are words of docs/lab/metrics.md.
const DEFINED: [&str; 4] = ["metric", "gate", "sampler", "failed gate"];

/// A table that scrolls sideways where the screen is narrow.
pub(crate) fn grid(grid: &Grid, definitions: &Definitions) -> Markup {
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
        cell(cell_class(class(column), words), &shown)
    };
    let rows = grid.rows.iter().map(|cells| row(cells.iter().enumerate().map(cell_of).collect()));
    table(Some(grid.key_columns), &headers, &rows.collect())
}

/// A table, whose first so many columns stay in view.
pub(crate) fn table(key_columns: Option<usize>, headers: &Markup, rows: &Markup) -> Markup {
    let class = key_columns.map_or_else(Markup::default, |count| markup!(" class=\"k{}\"", count));
    markup!(
        "<div class=\"scroll\" tabindex=\"0\"><table{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        class,
        headers,
        rows
    )
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
