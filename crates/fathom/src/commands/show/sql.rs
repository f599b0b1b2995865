//! `fathom show --sql`: what a run of an experiment executes, as SQL with comments.

use lab::engine::{Driver, SqlPart};
use lab::own;
use lab::spec::{Experiment, Request, Resolved};
use results::model::{Cell, Factor, Scale};
use results::wording::{counted, thousands};

use crate::arguments::{ShowArguments, settings};
use crate::cli::terminal::print_document;
use crate::exit_status::ExitStatus;
use crate::targets;

/// Cells that are compared with the first one, so that a large matrix is printed at once.
const CELLS_MAX: usize = 10_000;

pub(super) fn run(experiment: &Experiment, arguments: &ShowArguments) -> anyhow::Result<ExitStatus> {
    let driver = targets::driver(&arguments.target)?;
    let scale = if arguments.mini { Scale::Miniature } else { experiment.scales()[0] };
    let request = Request {
        overrides: settings(&arguments.set)?,
        server_is_foreign: driver.engine.has_url(&arguments.target),
        ..Request::plain(scale, driver.engine)
    };
    let resolved = experiment.resolve(&request).map_err(|error| anyhow::anyhow!("{error}"))?;
    print_document(&document(&resolved, driver)?)?;
    Ok(ExitStatus::Clean)
}

/// The SQL of the first cell, after what it is and which factors change it.
fn document(resolved: &Resolved, driver: &Driver) -> anyhow::Result<String> {
    let cells = resolved.cells();
    let Some(first) = cells.first() else { anyhow::bail!("{} has no configuration", resolved.name) };
    let parts = parts(resolved, first, driver)?;
    let mut text = String::new();
    let count = counted(cells.len() as u64, "configuration");
    comment(&mut text, &format!("{} on {}: {count}", resolved.name, resolved.engine));
    if parts.is_empty() {
        comment(&mut text, "executes no SQL");
        return Ok(text);
    }
    if cells.len() > 1 {
        comment(&mut text, &format!("here: {}", first.label()));
    }
    for factor in &resolved.factors {
        let levels: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
        let line = match changes(resolved, &cells, factor, &parts, driver)? {
            true => {
                format!("{} changes it ({}): see --set {}=VALUE", factor.name, levels.join(", "), factor.name)
            }
            false => format!("{} does not change it ({})", factor.name, levels.join(", ")),
        };
        comment(&mut text, &line);
    }
    for part in &parts {
        text.push('\n');
        comment(&mut text, &part.title);
        part.notes.iter().for_each(|note| comment(&mut text, &format!("  {note}")));
        for statement in &part.statements {
            text.push_str(&statement.text);
            if statement.times > 1 {
                text.push_str(&format!("  -- {} times", thousands(statement.times)));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// Does a level of this factor alone change what the first cell executes?
fn changes(
    resolved: &Resolved,
    cells: &[Cell],
    factor: &Factor,
    parts_of_first: &[SqlPart],
    driver: &Driver,
) -> anyhow::Result<bool> {
    let first = &cells[0];
    let differs_in_it_alone = |cell: &&Cell| {
        let mut pairs = cell.levels.iter().zip(&first.levels);
        pairs.all(|((name, level), (_, other))| name == &factor.name || level == other)
    };
    for cell in cells.iter().filter(differs_in_it_alone).take(CELLS_MAX) {
        if parts(resolved, cell, driver)? != parts_of_first {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parts(resolved: &Resolved, cell: &Cell, driver: &Driver) -> anyhow::Result<Vec<SqlPart>> {
    let work = resolved.work(cell, 1);
    let mut parts = (driver.sql)(&work);
    if let Some(own) = &work.own {
        parts.extend(own::sql_parts(own, driver.engine.id, &work)?);
    }
    parts.retain(|part| !part.is_empty());
    Ok(parts)
}

/// Adds lines that SQL leaves out.
fn comment(text: &mut String, words: &str) {
    for line in words.lines() {
        text.push_str("-- ");
        text.push_str(line);
        text.push('\n');
    }
}
