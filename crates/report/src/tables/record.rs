//! The record of a study: versions, machine, storage, settings, cautions, order of runs.

use results::model::RunState;

use crate::layout::{Align, Block, Grid, Section};
use crate::number::Decimals;
use crate::summary::{Fact, RunLine, StudySummary};
use crate::tables::or_dash;

/// Most distinct values that a fact shows; more are counted.
const VALUES_MAX: usize = 4;

/// Lays out the record.
pub(crate) fn record_sections(summary: &StudySummary) -> Vec<Section> {
    let record = &summary.record;
    let fixed: Vec<String> = summary.fixed.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let mut study = vec![
        format!(
            "fathom {}, study {}, created {}",
            record.fathom_version, summary.study_key, record.created_at
        ),
        format!("seed {}, {} repetitions", record.seed, record.repetitions),
    ];
    if !fixed.is_empty() {
        study.push(format!("fixed: {}", fixed.join(" ")));
    }
    let mut sections = Vec::new();
    if !record.warnings.is_empty() {
        let of = record.ended_run_count;
        let line = |warning: &crate::summary::RunWarning| {
            format!("{}: {} ({} of {of} runs)", warning.code, warning.text, warning.run_count)
        };
        let lines = record.warnings.iter().map(line).collect();
        sections.push(Section::new("Warnings", vec![Block::Items(lines)]));
    }
    sections.push(Section::new("Study", vec![Block::Items(study)]));
    for (title, facts) in [
        ("Machine", &record.machine),
        ("Storage, per role", &record.layout),
        ("Engine", &record.engine),
        ("Settings that differ from the engine's defaults", &record.settings),
    ] {
        if !facts.is_empty() {
            sections.push(Section::new(title, vec![Block::Items(facts.iter().map(fact_line).collect())]));
        }
    }
    sections.extend(runs(&record.runs));
    sections
}

fn fact_line(fact: &Fact) -> String {
    match fact.values.as_slice() {
        [only] => format!("{}: {only}", fact.name),
        values if values.len() <= VALUES_MAX => {
            format!("{}: {} (differs between runs)", fact.name, values.join(" | "))
        }
        values => format!("{}: {} distinct values over the runs", fact.name, values.len()),
    }
}

fn runs(lines: &[RunLine]) -> Option<Section> {
    if lines.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("order".to_owned(), Align::Right), ("run".to_owned(), Align::Right)])
        .with([
            ("block", Align::Right),
            ("configuration", Align::Left),
            ("attempt", Align::Right),
            ("state", Align::Left),
            ("elapsed s", Align::Right),
            ("first client s", Align::Right),
            ("last client s", Align::Right),
            ("rows", Align::Right),
            ("errors", Align::Right),
        ]);
    let decimals = Decimals::for_values(lines.iter().filter_map(|line| line.elapsed_s));
    for line in lines {
        grid.push(vec![
            line.position.to_string(),
            line.run_id.to_string(),
            line.key.block_index.to_string(),
            line.label.clone(),
            line.key.attempt.to_string(),
            state_words(line),
            line.rows.to_string(),
            line.errors.to_string(),
            decimals.write_or_dash(line.elapsed_s),
            decimals.write_or_dash(line.first_client_s),
            decimals.write_or_dash(line.last_client_s),
        ]);
    }
    let first = or_dash(lines.first(), |line| line.started_at.clone());
    let last = or_dash(lines.last(), |line| line.started_at.clone());
    let note = format!("First run started {first}, last run started {last}.");
    Some(Section::new("Runs in the order in which they ran", vec![Block::Grid(grid), Block::Paragraph(note)]))
}

fn state_words(line: &RunLine) -> String {
    let state = match line.state {
        RunState::Running => "running",
        RunState::Valid => "valid",
        RunState::Invalid => "invalid",
        RunState::Interrupted => "interrupted",
    };
    let suspect = if line.suspect.is_some() { ", suspect" } else { "" };
    let superseded = line.superseded_by.map_or_else(String::new, |run_id| format!(", see run {run_id}"));
    format!("{state}{suspect}{superseded}")
}
