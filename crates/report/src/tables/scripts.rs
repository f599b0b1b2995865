//! What scripts did: a row per script, a row per statement, and each statement over the configurations.

use results::scripts::FailureCount;

use crate::layout::{Align, Block, Grid, Section};
use crate::number::{ABSENT, Decimals, factor, percent};
use crate::summary::{CellScriptsSummary, ScriptSummary, StatementSummary, StudySummary, Times};
use crate::tables::or_dash;

/// Characters of a statement in a table of text; the exports have all of it.
pub(crate) const TEXT_CHARS: usize = 36;

/// Characters of a statement on a page.
pub(crate) const PAGE_CHARS: usize = 60;

/// Words that stand for those that differ between configurations.
const DIFFERING: &str = "..";

/// Configurations up to which the end of a run shows the statements of each.
const BRIEF_CELLS_MAX: usize = 1;

/// All tables of a study.
pub(crate) fn sections(summary: &StudySummary) -> Vec<Section> {
    let cells = &summary.scripts;
    let mut sections = Vec::from_iter(scripts(cells));
    sections.extend(failures(cells));
    sections.extend(over_configurations(cells, TEXT_CHARS));
    sections.extend(statements(cells));
    sections
}

/// What the end of a run has room for: the statements of one configuration, or over all of them.
pub(crate) fn brief(summary: &StudySummary) -> Vec<Section> {
    let cells = &summary.scripts;
    let mut sections = Vec::from_iter(scripts(cells));
    sections.extend(failures(cells));
    match cells.len() <= BRIEF_CELLS_MAX {
        true => sections.extend(statements(cells)),
        false => sections.extend(over_configurations(cells, TEXT_CHARS)),
    }
    sections
}

/// Is a column that names the configuration worth its room?
fn names_cells(cells: &[CellScriptsSummary]) -> bool {
    cells.len() > 1 || cells.iter().any(|cell| cell.label != "all" && !cell.label.is_empty())
}

type Count = fn(&ScriptSummary) -> u64;

/// A row per script and configuration.
pub(crate) fn scripts(cells: &[CellScriptsSummary]) -> Option<Section> {
    let has_cells = names_cells(cells);
    let all = || cells.iter().flat_map(|cell| cell.scripts.iter().map(move |script| (cell, script)));
    // Columns that say zero everywhere would only push the others off the line; a sentence says it.
    let counts: [(&str, Count); 2] =
        [("failed", |script| script.failed), ("retried", |script| script.retried)];
    let (shown, zero): (Vec<_>, Vec<_>) =
        counts.iter().partition(|(_, count)| all().any(|(_, script)| count(script) > 0));
    let keys = has_cells.then(|| ("configuration".to_owned(), Align::Left));
    let mut grid = Grid::named_by(keys.into_iter().chain([("script".to_owned(), Align::Left)]))
        .with([("weight", Align::Right), ("share %", Align::Right), ("trans./s", Align::Right)])
        .with(shown.iter().map(|(name, _)| (*name, Align::Right)))
        .with(["mean", "p50", "p95", "p99", "max"].map(|name| (name, Align::Right)));
    let rates = all().filter_map(|(_, script)| script.transactions_per_s).collect::<Vec<_>>();
    let rates = Decimals::for_column(rates);
    for (cell, script) in all() {
        let mut row: Vec<String> = has_cells.then(|| cell.label.clone()).into_iter().collect();
        row.extend([
            named(&script.file),
            script.weight.to_string(),
            or_dash(script.share_percent, percent),
            rates.write_or_dash(script.transactions_per_s),
        ]);
        row.extend(shown.iter().map(|(_, count)| count(script).to_string()));
        row.extend(times(script.latency.as_ref(), |at| {
            [at.mean_ms, at.p50_ms, at.p95_ms, at.p99_ms, at.max_ms]
        }));
        grid.push(row);
    }
    let title = "Scripts, latency of their transactions in milliseconds";
    let note = match zero.iter().map(|(name, _)| *name).collect::<Vec<_>>().as_slice() {
        [] => None,
        ["retried"] => Some("No transaction was retried.".to_owned()),
        [_] => Some("No transaction failed.".to_owned()),
        _ => Some("No transaction failed, and none was retried.".to_owned()),
    };
    let is_shown = !grid.rows.is_empty();
    let blocks = std::iter::once(Block::Grid(grid)).chain(note.map(Block::Paragraph));
    is_shown.then(|| Section::new(title, blocks.collect()))
}

/// A row per script or statement with failures; `None` when nothing failed.
pub(crate) fn failures(cells: &[CellScriptsSummary]) -> Option<Section> {
    let has_cells = names_cells(cells);
    let keys = has_cells.then(|| ("configuration".to_owned(), Align::Left));
    let mut grid = Grid::named_by(keys.into_iter().chain([("place".to_owned(), Align::Left)]))
        .with([("failed, by kind", Align::Left), ("first failure", Align::Wrapped)]);
    let mut push = |cell: &CellScriptsSummary, place: String, kinds: &[FailureCount], first: &str| {
        if kinds.iter().any(|failure| failure.count > 0) {
            let mut row: Vec<String> = has_cells.then(|| cell.label.clone()).into_iter().collect();
            // The engine's words may begin with the place already.
            let first = first.strip_prefix(&format!("{place}: ")).unwrap_or(first).to_owned();
            row.extend([place, by_kind(kinds), first]);
            grid.push(row);
        }
    };
    for cell in cells {
        for script in &cell.scripts {
            push(cell, named(&script.file), &script.failures, "");
            for statement in &script.statements {
                let first = statement.first_failure.as_deref().unwrap_or(ABSENT);
                push(cell, place_of(script, statement), &statement.failures, first);
            }
        }
    }
    let note = "A place without a line: transactions that failed in the end. One that succeeded when it was tried again did \
                not fail; its statements did.";
    let blocks = |grid| vec![Block::Grid(grid), Block::Paragraph(note.to_owned())];
    (!grid.rows.is_empty()).then(|| Section::new("Failures of scripts and statements", blocks(grid)))
}

/// The statements of one configuration for a page, a table per script; `None` of scripts without statements.
pub(crate) fn of_cell(cell: &CellScriptsSummary) -> Option<Section> {
    let title = format!("Statements of {}, latency in milliseconds", cell.label);
    let blocks = tables(cell, "", PAGE_CHARS);
    (!blocks.is_empty()).then(|| Section::new(title, blocks))
}

/// A table per script, named by its file and by `of_cell`.
fn tables(cell: &CellScriptsSummary, of_cell: &str, chars: usize) -> Vec<Block> {
    let scripts = cell.scripts.iter().filter(|script| !script.statements.is_empty());
    let blocks = scripts.flat_map(|script| {
        [
            Block::Paragraph(format!("{}{of_cell}:", named(&script.file))),
            Block::Grid(of_script(script, chars)),
        ]
    });
    blocks.collect()
}

/// A table per script and configuration, a row per statement.
pub(crate) fn statements(cells: &[CellScriptsSummary]) -> Option<Section> {
    let has_cells = names_cells(cells);
    let mut blocks = Vec::new();
    for cell in cells {
        let of_cell = if has_cells { format!(", {}", cell.label) } else { String::new() };
        blocks.extend(tables(cell, &of_cell, TEXT_CHARS));
    }
    let note =
        "% of time: of the time of the script's transactions. In a pipeline the latency is that of sending.";
    if !blocks.is_empty() {
        blocks.push(Block::Paragraph(note.to_owned()));
    }
    let title = "Statements, latency in milliseconds";
    (!blocks.is_empty()).then(|| Section::new(title, blocks))
}

fn of_script(script: &ScriptSummary, chars: usize) -> Grid {
    let mut grid = Grid::named_by([("line".to_owned(), Align::Right), ("statement".to_owned(), Align::Left)])
        .with([
            ("executions", Align::Right),
            ("mean", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
            ("% of time", Align::Right),
            ("failed", Align::Right),
        ]);
    for statement in &script.statements {
        let mut row = vec![
            statement.line.to_string(),
            shortened(&one_line(&statement.text), chars),
            statement.executions.to_string(),
        ];
        row.extend(times(statement.latency.as_ref(), |at| [at.mean_ms, at.p50_ms, at.p99_ms, at.max_ms]));
        row.push(or_dash(statement.time_percent, percent));
        row.push(statement.failed.to_string());
        grid.push(row);
    }
    grid
}

/// Median and p99 of each statement in each configuration, so that a reader sees which statement a level slows down. `None`
/// of a single configuration.
pub(crate) fn over_configurations(cells: &[CellScriptsSummary], chars: usize) -> Option<Section> {
    if cells.len() < 2 {
        return None;
    }
    let places = places(cells);
    let labels: Vec<&str> = cells.iter().map(|cell| cell.label.as_str()).collect();
    let columns = labels.iter().map(|label| (*label, Align::Right));
    let keys = [("place".to_owned(), Align::Left), ("statement".to_owned(), Align::Left)];
    let mut grid = Grid::named_by(keys).with([("largest / smallest", Align::Right)]).with(columns);
    for place in &places {
        let of_cells: Vec<Option<&StatementSummary>> = cells.iter().map(|cell| place.find(cell)).collect();
        let latencies: Vec<Option<&Times>> = of_cells
            .iter()
            .map(|statement| statement.and_then(|statement| statement.latency.as_ref()))
            .collect();
        let texts: Vec<String> =
            of_cells.iter().flatten().map(|statement| one_line(&statement.text)).collect();
        let medians = latencies.iter().flatten().map(|at| at.p50_ms);
        let mut row = vec![place.words.clone(), shortened(&common(&texts), chars), spread(medians)];
        row.extend(latencies.iter().map(|at| {
            or_dash(*at, |at| format!("{} / {}", milliseconds(at.p50_ms), milliseconds(at.p99_ms)))
        }));
        grid.push(row);
    }
    let note = "Largest / smallest: of the medians. No verdict rests on this table.";
    let blocks = |grid| vec![Block::Grid(grid), Block::Paragraph(note.to_owned())];
    let title = "Statements by configuration: median / p99 in milliseconds";
    (!grid.rows.is_empty()).then(|| Section::new(title, blocks(grid)))
}

/// Largest over smallest of at least two values.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    if values.len() < 2 || low <= 0.0 { ABSENT.to_owned() } else { factor(high / low) }
}

/// A statement that some configurations have: script, line, and which of the statements of that line.
#[derive(PartialEq, Eq)]
struct Place {
    script: usize,
    line: u32,
    of_line: usize,
    words: String,
}

impl Place {
    fn find<'a>(&self, cell: &'a CellScriptsSummary) -> Option<&'a StatementSummary> {
        let script = cell.scripts.get(self.script)?;
        script.statements.iter().filter(|statement| statement.line == self.line).nth(self.of_line)
    }
}

/// Every statement of any configuration, by script and line.
fn places(cells: &[CellScriptsSummary]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for cell in cells {
        for (script, record) in cell.scripts.iter().enumerate() {
            for (index, statement) in record.statements.iter().enumerate() {
                let line = statement.line;
                let before = &record.statements[..index];
                let of_line = before.iter().filter(|other| other.line == line).count();
                let place = Place { script, line, of_line, words: place_of(record, statement) };
                let is_same =
                    |known: &Place| (known.script, known.line, known.of_line) == (script, line, of_line);
                if !places.iter().any(is_same) {
                    places.push(place);
                }
            }
        }
    }
    places.sort_by_key(|place| (place.script, place.line, place.of_line));
    places
}

/// `serialization 3, deadlock 1`.
pub(crate) fn by_kind(failures: &[FailureCount]) -> String {
    let words: Vec<String> =
        failures.iter().map(|failure| format!("{} {}", failure.kind.word(), failure.count)).collect();
    words.join(", ")
}

fn place_of(script: &ScriptSummary, statement: &StatementSummary) -> String {
    format!("{}:{}", named(&script.file), statement.line)
}

/// A script of the command line may have no file.
fn named(file: &str) -> String {
    if file.is_empty() { "(no name)".to_owned() } else { file.to_owned() }
}

/// The numbers of a distribution; dashes without one.
fn times<const N: usize>(latency: Option<&Times>, numbers: fn(&Times) -> [f64; N]) -> [String; N] {
    latency.map_or_else(|| std::array::from_fn(|_| ABSENT.to_owned()), |at| numbers(at).map(milliseconds))
}

fn milliseconds(value: f64) -> String {
    format!("{value:.3}")
}

/// White space of any length becomes one space; the end of the statement is that of the line.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches([';', ' ']).to_owned()
}

fn shortened(line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some(_) => line.chars().take(chars - 3).collect::<String>().trim_end().to_owned() + "...",
        None => line.to_owned(),
    }
}

/// The words that all texts have, with `..` where they differ; the first text where they are of different shape.
fn common(texts: &[String]) -> String {
    let Some((first, others)) = texts.split_first() else { return String::new() };
    let words = |text: &'_ String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut shared = words(first);
    for other in others.iter().map(words) {
        if other.len() != shared.len() {
            return first.clone();
        }
        for (word, other) in shared.iter_mut().zip(other).filter(|(word, other)| *word != other) {
            let alike = word.chars().zip(other.chars()).take_while(|(left, right)| left == right).count();
            *word = word.chars().take(alike).collect::<String>() + DIFFERING;
        }
    }
    shared.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_one_line_and_as_long_as_its_column() {
        let text = "INSERT INTO\n\torders  (id, customer)\nVALUES (:id, :customer) ;";
        assert_eq!(shortened(&one_line(text), 36), "INSERT INTO orders (id, customer)...");
        assert_eq!(shortened("ä".repeat(36).as_str(), 36), "ä".repeat(36));
    }

    #[test]
    fn texts_that_differ_between_configurations_are_shown_by_what_they_share() {
        let texts = |texts: &[&str]| common(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(texts(&["SELECT gen_1()", "SELECT gen_2()", "SELECT gen_2()"]), "SELECT gen_..");
        assert_eq!(texts(&["SELECT 1", "SELECT 1 FOR UPDATE"]), "SELECT 1");
        assert_eq!(texts(&[]), "");
    }
}
