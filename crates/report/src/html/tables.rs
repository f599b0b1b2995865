//! The sections of the other outputs as markup: the same grids, so that no number differs between two outputs.

use askama::Template;

use super::chart::escape;
use super::definitions::Definitions;
use crate::layout::{Align, Block, Grid, Section};

/// Headers of first columns whose cells are words of docs/lab/metrics.md.
const DEFINED: [&str; 4] = ["metric", "gate", "sampler", "failed gate"];

#[derive(Template)]
#[template(path = "grid.html")]
struct GridTemplate {
    headers: Vec<(String, &'static str)>,
    rows: Vec<Vec<(String, &'static str)>>,
    key_columns: usize,
}

/// A table that scrolls sideways where the screen is narrow.
pub(crate) fn grid(grid: &Grid, definitions: &Definitions) -> String {
    let class = |column: usize| match grid.columns[column].1 {
        Align::Left => "l",
        Align::Right => "r",
        Align::Wrapped => "w",
    };
    let headers = grid.columns.iter().enumerate();
    let headers = headers.map(|(column, (name, _))| (definitions.header(name), class(column))).collect();
    let names_metrics = grid.columns.first().is_some_and(|(name, _)| DEFINED.contains(&name.as_str()));
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate();
        let cell = |(column, words): (usize, &String)| {
            let words_shown =
                if column == 0 && names_metrics { definitions.header(words) } else { escape(words) };
            (words_shown, cell_class(class(column), words))
        };
        cells.map(cell).collect()
    };
    let template =
        GridTemplate { headers, rows: grid.rows.iter().map(row).collect(), key_columns: grid.key_columns };
    template.render().expect("a template without conditions of its own renders")
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
pub(crate) fn blocks(section: &Section, definitions: &Definitions) -> String {
    let one = |block: &Block| match block {
        Block::Paragraph(sentences) => format!("<p>{}</p>", escape(sentences)),
        Block::Items(items) => {
            let items: Vec<String> = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
            format!("<ul class=\"items\">{}</ul>", items.concat())
        }
        Block::Grid(table) => grid(table, definitions),
    };
    section.blocks.iter().map(one).collect()
}

/// A section under a heading of its own.
pub(crate) fn titled(section: &Section, definitions: &Definitions) -> String {
    format!("<h3>{}</h3>{}", definitions.header(&section.title), blocks(section, definitions))
}

/// A section that opens on demand.
pub(crate) fn folded(id: &str, section: &Section, definitions: &Definitions, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    format!(
        "<details id=\"{id}\"{open}><summary>{}</summary>{}</details>",
        escape(&section.title),
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
        let html = grid(&table, &Definitions::load());
        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("&lt;img") && html.contains(">12</td>") && html.contains("good"));
        assert!(html.contains("href=\"#def-"));
    }
}
