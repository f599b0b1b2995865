//! The sections of the outcome of a study, one by one; [`crate::outcome::sections`] says where each is shown.

use results::model::{Level, Scale};

use super::comparisons::{definition, heads_of_change};
use super::levels::{level_cells, level_columns};
use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{ABSENT, Decimals, counted_from_one, factor, p_value, percent};
use crate::quantity::Quantity;
use crate::safety;
use crate::summary::{CellSummary, Change, ExpectationState, FailedGate, Matrix, StudySummary};
use crate::tables::or_dash;
use crate::waits_text;

/// The result in sentences.
pub(crate) fn verdict(summary: &StudySummary) -> Section {
    Section::new("Verdict", vec![Block::Paragraph(summary.verdict.join(" "))]).named(SectionId::Verdict)
}

pub(crate) fn head(summary: &StudySummary) -> Section {
    let scale = match summary.scale {
        Scale::Full => "full scale",
        Scale::Miniature => "miniature",
    };
    let counts = summary.counts;
    let mut runs = if counts.counting > counts.planned {
        format!("Runs: {} counted, {} planned", counts.counting, counts.planned)
    } else {
        format!("Runs: {} of {} {} runs count", counts.counting, counts.planned, summary.origin_word())
    };
    for (count, word) in [
        (counts.invalid, "invalid"),
        (counts.interrupted, "interrupted"),
        (counts.running, "running"),
        (counts.suspect, "suspect"),
        (counts.superseded, "superseded"),
    ] {
        if count > 0 {
            runs.push_str(&format!("; {count} {word}"));
        }
    }
    let mut blocks = vec![Block::Paragraph(format!("{} on {}, {scale}", summary.experiment, summary.engine))];
    if !summary.question.is_empty() {
        blocks.push(Block::Paragraph(format!("Question: {}", summary.question)));
    }
    blocks.push(Block::Paragraph(runs));
    Section::new(summary.heading(), blocks)
}

/// What the values hold for, and what speaks against them: before any of them.
pub(crate) fn conditions(summary: &StudySummary) -> Vec<Section> {
    let conditions = &summary.conditions;
    let section = |title: &str, lines: &[String]| {
        (!lines.is_empty()).then(|| Section::new(title, vec![Block::Items(lines.to_vec())]))
    };
    let parts = [section("Environment", &conditions.environment), section("Cautions", &conditions.cautions)];
    parts.into_iter().flatten().collect()
}

/// Why each configuration took as long as it did.
pub(crate) fn waits(summary: &StudySummary) -> Vec<Section> {
    summary.waits.iter().flat_map(|cell| waits_text::cell_sections(&cell.label, &cell.tables)).collect()
}

pub(crate) fn reasons(summary: &StudySummary) -> Option<Section> {
    let items: Vec<Block> =
        summary.reasons.iter().map(|reason| Block::Paragraph(reason.paragraph())).collect();
    (!items.is_empty()).then(|| Section::new("Reasons", items))
}

pub(crate) fn invalid_runs(summary: &StudySummary) -> Option<Section> {
    if summary.invalid_runs.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("run".to_owned(), Align::Right)]).with([
        ("configuration", Align::Left),
        ("block", Align::Right),
        ("clients", Align::Left),
        ("failed gate", Align::Left),
        ("found", Align::Wrapped),
        ("repeated by", Align::Right),
    ]);
    for run in &summary.invalid_runs {
        let mut head = [
            run.run_id.to_string(),
            run.cell.clone(),
            counted_from_one(run.key.block_index),
            clients_text(&run.clients),
            or_dash(run.superseded_by, |run_id| format!("run {run_id}")),
        ];
        let found = |gate: &FailedGate| format!("{}; expected: {}", gate.found, gate.expected);
        let mut gates: Vec<_> =
            run.failed_gates.iter().map(|gate| (gate.gate.clone(), found(gate))).collect();
        if gates.is_empty() {
            gates.push(("none stored".to_owned(), ABSENT.to_owned()));
        }
        for (gate, found) in gates {
            // The run is named once, beside its first failed gate.
            let [run_id, cell, block, clients, repeated_by] = std::mem::take(&mut head);
            grid.push(vec![run_id, cell, block, clients, gate, found, repeated_by]);
        }
    }
    let title = "Invalid runs (kept, excluded from means)";
    Some(Section::new(title, vec![Block::Grid(grid)]))
}

/// Names the clients at fault; many are counted.
fn clients_text(clients: &[u32]) -> String {
    const NAMED_MAX: usize = 8;
    let named: Vec<String> = clients.iter().take(NAMED_MAX).map(u32::to_string).collect();
    match (clients.len(), clients.len().saturating_sub(NAMED_MAX)) {
        (0, _) => "-".to_owned(),
        (_, 0) => named.join(", "),
        (_, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// The quantity in words with its unit and name: "p99 response time in ms (response_time_p99_ms)".
fn titled(quantity: Quantity) -> String {
    let words = quantity.words();
    let mut letters = words.chars();
    let words: String = match words.split(' ').next() {
        // A percentile is written as it is: p99.
        Some(first) if first.contains(|letter: char| letter.is_ascii_digit()) => words.to_owned(),
        _ => letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect(),
    };
    format!("{words}{} ({})", in_unit(quantity), quantity.name())
}

/// ` in ms`; empty where there is no unit.
fn in_unit(quantity: Quantity) -> String {
    if quantity.unit().is_empty() { String::new() } else { format!(" in {}", quantity.unit()) }
}

fn means_title(summary: &StudySummary) -> String {
    match summary.quantity.name() {
        "elapsed_s" => "Elapsed time in seconds, mean".to_owned(),
        "rows_per_s" => "Rows per second, mean (runs are bound by time)".to_owned(),
        "transactions_per_s" => "Transactions per second, mean".to_owned(),
        _ => format!("{}, mean", titled(summary.quantity)),
    }
}

pub(crate) fn means(summary: &StudySummary) -> Section {
    let title = match summary.quantity.name() {
        "elapsed_s" => "Elapsed time in seconds".to_owned(),
        "rows_per_s" => "Rows per second (runs are bound by time, so the rate is compared)".to_owned(),
        "transactions_per_s" => "Transactions per second".to_owned(),
        _ => titled(summary.quantity),
    };
    let mut grid = level_columns(summary).with([
        ("n", Align::Right),
        ("mean", Align::Right),
        ("median", Align::Right),
        ("min", Align::Right),
        ("max", Align::Right),
        ("sd", Align::Right),
        ("95 % interval of the mean", Align::Right),
        (summary.work(), Align::Right),
    ]);
    let decimals = decimals(summary);
    for cell in &summary.cells {
        let mut row = level_cells(&cell.levels);
        match cell.estimate {
            None => row.extend(["0", "-", "-", "-", "-", "-", "-", "-"].map(str::to_owned)),
            Some(estimate) => row.extend([
                estimate.n.to_string(),
                decimals.write(estimate.mean),
                decimals.write(estimate.median),
                decimals.write(estimate.min),
                decimals.write(estimate.max),
                decimals.write_or_dash(estimate.sd),
                or_dash(estimate.interval, |interval| {
                    format!("{} to {}", decimals.write(interval.low), decimals.write(interval.high))
                }),
                or_dash(
                    cell.rows,
                    |(min, max)| if min == max { min.to_string() } else { format!("{min} to {max}") },
                ),
            ]),
        }
        grid.push(row);
    }
    Section::new(title, vec![Block::Grid(grid)])
}

fn decimals(summary: &StudySummary) -> Decimals {
    Decimals::for_values(summary.cells.iter().filter_map(|cell| cell.estimate).map(|estimate| estimate.mean))
}

pub(crate) fn changes(summary: &StudySummary) -> Option<Section> {
    let reference = &summary.cells[summary.reference_index?];
    let is_plain = summary.comparisons.iter().all(|contrast| contrast.asked == "reference");
    if summary.cells.len() < 2 || !is_plain {
        return None;
    }
    let (percent_head, factor_head) = heads_of_change(summary);
    // Words have no order: the level before one tells nothing.
    let ordered =
        summary.factors.last().filter(|factor| factor.levels.iter().all(|level| level.as_number().is_some()));
    let factor_before = format!("{factor_head} vs previous");
    let mut heads = vec![
        (percent_head, Align::Right),
        (factor_head, Align::Right),
        ("95 % interval", Align::Right),
        ("p", Align::Right),
        ("verdict", Align::Left),
    ];
    if ordered.is_some() {
        heads.extend([("% vs previous", Align::Right), (factor_before.as_str(), Align::Right)]);
    }
    let mut grid = level_columns(summary).with(heads.iter().copied());
    for cell in &summary.cells {
        let mut row = level_cells(&cell.levels);
        row.extend(change_cells(summary, cell).into_iter().take(heads.len()));
        grid.push(row);
    }
    let previous = ordered.map_or_else(String::new, |factor| {
        format!(" Previous: compared with the previous level of {}, other factors unchanged.", factor.name)
    });
    let note = format!(
        "{} Its interval is for all comparisons of this table together. p is from a permutation test, corrected for all of \
         them; the chance of one false \"better\" or \"worse\" among them is at most {}.{previous}",
        definition(summary),
        summary.chance()
    );
    let title = format!("Against the reference {}", reference.label);
    Some(Section::new(title, vec![Block::Grid(grid), Block::Paragraph(note)]))
}

fn change_cells(summary: &StudySummary, cell: &CellSummary) -> Vec<String> {
    let quantity = summary.quantity;
    let percent_of = |change: Change| match quantity.is_speed() {
        true => percent(change.time_reduction_percent),
        false => percent(100.0 * (quantity.ratio_of(change.speed_up) - 1.0)),
    };
    let speed_up = |change: Change| factor(quantity.shown_factor(change.speed_up));
    let comparison = cell.comparison;
    let verdict = match (cell.is_reference, comparison) {
        (true, _) => "reference".to_owned(),
        (false, Some(comparison)) => comparison.words(),
        (false, None) => "not compared".to_owned(),
    };
    vec![
        or_dash(cell.vs_reference, percent_of),
        or_dash(cell.vs_reference, speed_up),
        or_dash(comparison.and_then(|comparison| comparison.speed_up_interval), |interval| {
            let ends = [interval.low, interval.high].map(|end| quantity.shown_factor(end));
            format!("{} to {}", factor(ends[0].min(ends[1])), factor(ends[0].max(ends[1])))
        }),
        or_dash(comparison.and_then(|comparison| comparison.p_adjusted), |p| {
            let text = p_value(p);
            text.strip_prefix("p = ").or(text.strip_prefix("p ")).unwrap_or(&text).to_owned()
        }),
        verdict.to_owned(),
        or_dash(cell.vs_previous, percent_of),
        or_dash(cell.vs_previous, speed_up),
    ]
}

/// The means of each pair of the last two factors.
pub(crate) fn mean_matrices(summary: &StudySummary) -> Vec<Section> {
    Vec::from_iter(matrices(summary, &summary.means, &means_title(summary), false))
}

/// The gain over the first level of the last factor.
pub(crate) fn improvement_matrices(summary: &StudySummary) -> Vec<Section> {
    let title = match summary.quantity.is_speed() {
        true => "Improvement factor: time at the first level of the columns over the time at each".to_owned(),
        false => format!(
            "Improvement factor of {} against the first level of the columns",
            summary.quantity.words()
        ),
    };
    Vec::from_iter(matrices(summary, &summary.improvement_factors, &title, true))
}

fn matrices(summary: &StudySummary, matrices: &[Matrix], title: &str, are_factors: bool) -> Option<Section> {
    let decimals = decimals(summary);
    let mut blocks = Vec::new();
    for matrix in matrices {
        if !matrix.others.0.is_empty() {
            let others: Vec<String> =
                matrix.others.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
            blocks.push(Block::Paragraph(others.join(" ")));
        }
        let header = |level: &Level| format!("{}={level}", matrix.column_factor.name);
        let columns: Vec<String> = matrix.column_factor.levels.iter().map(header).collect();
        let mut grid = Grid::named_by([(matrix.row_factor.name.clone(), Align::Right)])
            .with(columns.iter().map(|column| (column.as_str(), Align::Right)));
        for (level, values) in matrix.row_factor.levels.iter().zip(&matrix.values) {
            let cells = values.iter().map(|value| {
                if are_factors { or_dash(*value, factor) } else { decimals.write_or_dash(*value) }
            });
            grid.push(std::iter::once(level.to_string()).chain(cells).collect());
        }
        blocks.push(Block::Grid(grid));
    }
    (!blocks.is_empty()).then(|| Section::new(title, blocks))
}

pub(crate) fn best_per_level(summary: &StudySummary) -> Option<Section> {
    if summary.best_per_level.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("factor".to_owned(), Align::Left), ("level".to_owned(), Align::Right)])
        .with([("best configuration", Align::Left), ("mean", Align::Right), ("n", Align::Right)]);
    let decimals = decimals(summary);
    for best in &summary.best_per_level {
        grid.push(vec![
            best.factor.clone(),
            best.level.to_string(),
            best.label.clone(),
            decimals.write(best.mean),
            best.n.to_string(),
        ]);
    }
    let unit = in_unit(summary.quantity);
    let title = format!("Best per level, by mean {}{unit}", summary.quantity.words());
    let note = "Selected by mean, not by a test: the best of several noisy means is biased upward.";
    let best = summary.best_per_level.iter();
    let best = best.filter_map(|best| summary.cells.iter().find(|cell| cell.cell_index == best.cell_index));
    let risk = safety::of_best(summary, best.map(|cell| &cell.levels));
    let note = std::iter::once(note.to_owned()).chain(risk).collect::<Vec<_>>().join(" ");
    Some(Section::new(title, vec![Block::Grid(grid), Block::Paragraph(note)]))
}

pub(crate) fn expectations(summary: &StudySummary) -> Option<Section> {
    if summary.expectations.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("outcome".to_owned(), Align::Left)])
        .with([("expected", Align::Wrapped), ("found", Align::Wrapped)]);
    let mut outcomes: Vec<_> = summary.expectations.iter().collect();
    outcomes.sort_by_key(|outcome| outcome.state != ExpectationState::NotHeld);
    for outcome in outcomes {
        grid.push(vec![outcome.state.words().to_owned(), outcome.claim.clone(), outcome.detail.clone()]);
    }
    Some(Section::new("Expected results", vec![Block::Grid(grid)]))
}
