//! The record of a study: versions, machine, storage, settings, cautions, order of runs.

use results::model::RunState;

use crate::layout::{Align, Block, Grid, Section, SectionId};
use crate::number::{ABSENT, Decimals, counted_from_one};
use crate::summary::{Fact, RunLine, StudySummary};
use crate::tables::moment;

/// Most distinct values that a fact shows; more are counted.
const VALUES_MAX: usize = 4;

/// Lays out the record.
pub(crate) fn record_sections(summary: &StudySummary) -> Vec<Section> {
    let record = &summary.record;
    let fixed: Vec<String> = summary.fixed.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let mut study = vec![
        format!(
            "fathom {}, study {}, created {}",
            record.fathom_version,
            summary.study_key,
            moment(&record.created_at)
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
        sections.push(Section::new("Warnings", vec![Block::Items(lines)]).named(SectionId::Warnings));
    }
    sections.push(Section::new("Study", vec![Block::Items(study)]).named(SectionId::Study));
    sections.extend(storage(&record.layout));
    for (title, facts) in
        [("Machine", &record.machine), ("Engine", &record.engine), ("Non-default settings", &record.settings)]
    {
        if !facts.is_empty() {
            sections.push(Section::new(title, vec![Block::Items(facts.iter().map(fact_line).collect())]));
        }
    }
    sections.extend(runs(&record.runs, summary.work()));
    sections
}

/// The record without the cautions, where they stand before the values already.
pub(crate) fn rest_of_record(summary: &StudySummary) -> Vec<Section> {
    let mut sections = record_sections(summary);
    sections.retain(|section| section.id != SectionId::Warnings);
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

/// One row per role; every other fact about its device is in the JSON form of the summary.
///
/// Facts of another shape than the laboratory writes are listed as they are.
fn storage(facts: &[Fact]) -> Option<Section> {
    const PART: &str = ".storage.";
    let title = "Storage, per role";
    let mut roles: Vec<&str> = Vec::new();
    for fact in facts {
        let role = fact.name.split_once(PART).map(|(role, _)| role);
        roles.extend(role.filter(|role| !roles.contains(role)));
    }
    if roles.is_empty() {
        let lines: Vec<String> = facts.iter().map(fact_line).collect();
        return (!lines.is_empty())
            .then(|| Section::new(title, vec![Block::Items(lines)]).named(SectionId::Storage));
    }
    let mut grid = Grid::named_by([("role".to_owned(), Align::Left)]).with([
        ("device", Align::Left),
        ("scheduler", Align::Left),
        ("file system", Align::Left),
        ("mount options", Align::Wrapped),
        ("directory", Align::Wrapped),
    ]);
    for role in roles {
        let value = |begin: &str, end: &str| {
            let begin = format!("{role}{PART}{begin}");
            let is_meant = |fact: &&Fact| fact.name.starts_with(&begin) && fact.name.ends_with(end);
            let mut values: Vec<&str> = Vec::new();
            for value in facts.iter().filter(is_meant).flat_map(|fact| &fact.values) {
                if !values.contains(&value.as_str()) {
                    values.push(value);
                }
            }
            if values.is_empty() { ABSENT.to_owned() } else { values.join(" | ") }
        };
        grid.push(vec![
            role.to_owned(),
            value("mount.source", ""),
            value("block_devices.", ".scheduler"),
            value("mount.file_system", ""),
            value("mount.mount_options", ""),
            value("directory", ""),
        ]);
    }
    Some(Section::new(title, vec![Block::Grid(grid)]).named(SectionId::Storage))
}

fn runs(lines: &[RunLine], work: &str) -> Option<Section> {
    if lines.is_empty() {
        return None;
    }
    let decimals = Decimals::for_values(lines.iter().filter_map(|line| line.elapsed_s));
    type Column<'a> = (&'a str, Align, &'a dyn Fn(&RunLine) -> String);
    let columns: [Column<'_>; 9] = [
        ("run", Align::Right, &|line| line.run_id.to_string()),
        ("block", Align::Right, &|line| counted_from_one(line.key.block_index)),
        ("configuration", Align::Left, &|line| line.label.clone()),
        ("state", Align::Left, &state_words),
        (work, Align::Right, &|line| line.rows.to_string()),
        ("errors", Align::Right, &|line| line.errors.to_string()),
        ("elapsed s", Align::Right, &|line| decimals.write_or_dash(line.elapsed_s)),
        ("first client s", Align::Right, &|line| decimals.write_or_dash(line.first_client_s)),
        ("last client s", Align::Right, &|line| decimals.write_or_dash(line.last_client_s)),
    ];
    let mut grid = Grid::named_by([]).with(columns.iter().map(|(name, align, _)| (*name, *align)));
    grid.key_columns = 1;
    for line in lines {
        grid.push(columns.iter().map(|(_, _, cell)| cell(line)).collect());
    }
    // Empty where the files of an imported study do not say it.
    let of = |line: Option<&RunLine>| match line.map(|line| line.started_at.as_str()) {
        Some("") => "at a time that is not known".to_owned(),
        Some(at) => moment(at),
        None => "-".to_owned(),
    };
    let (first, last) = (of(lines.first()), of(lines.last()));
    let note = format!("First run started {first}, last run started {last}.");
    Some(Section::new("Runs in order of execution", vec![Block::Grid(grid), Block::Paragraph(note)]))
}

fn state_words(line: &RunLine) -> String {
    let state = match line.state {
        RunState::Running => "running",
        RunState::Valid if line.is_imported => "imported",
        RunState::Valid => "valid",
        RunState::Invalid => "invalid",
        RunState::Interrupted => "interrupted",
    };
    let suspect = if line.suspect.is_some() { ", suspect" } else { "" };
    let superseded = line.superseded_by.map_or_else(String::new, |run_id| format!(", see run {run_id}"));
    format!("{state}{suspect}{superseded}")
}
