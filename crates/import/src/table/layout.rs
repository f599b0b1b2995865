//! How each column of a table is taken: as the user said, else as its name and its values say.

use std::collections::BTreeSet;

use crate::error::quoted;
use crate::number::{is_missing, is_spoiled, number};
use crate::table::column::{self, ELAPSED, canonical};
use crate::table::{ColumnOptions, Role, Table};
use crate::{Choice, ImportError};

/// A column of numbers whose name says nothing is a factor up to so many values.
const LEVELS_MAX: usize = 20;
/// Share of numbers from which a column whose name says a unit is taken as one of numbers, with a wrong cell in it.
const NUMBERS_MIN: f64 = 0.8;

/// The roles of all columns, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) roles: Vec<Role>,
    /// Columns that another one determines, with its index.
    follows: Vec<(usize, usize)>,
}

impl Layout {
    /// What is said of each column before anything is written.
    pub(crate) fn choices(&self, table: &Table) -> Vec<Choice> {
        let taken_as = |role: &Role| match role {
            Role::Factor => "factor".to_owned(),
            Role::Metric { name, unit } if unit.is_empty() => format!("metric {name}"),
            Role::Metric { name, unit } => format!("metric {name} ({unit})"),
            Role::Elapsed(_) => "metric elapsed_s (s)".to_owned(),
            Role::Label => "label".to_owned(),
            Role::Ignored => "not imported: empty".to_owned(),
        };
        let choice = |(index, (name, role)): (usize, (&String, &Role))| {
            let leader = self.follows.iter().find(|(follower, _)| *follower == index);
            let taken_as = match leader {
                Some((_, leader)) => format!("label: it follows from {}", table.header[*leader]),
                None => taken_as(role),
            };
            Choice { name: name.clone(), taken_as }
        };
        table.header.iter().zip(&self.roles).enumerate().map(choice).collect()
    }
}

/// Refuses names that no column has.
///
/// # Errors
/// The name, and the columns that are there.
pub(crate) fn require_columns(table: &Table, options: &ColumnOptions) -> Result<(), ImportError> {
    let names = options.factors.iter().chain(options.metrics.iter().map(|(name, _)| name));
    for name in names {
        if !table.header.contains(name) {
            return Err(ImportError::new(&table.file, format!("there is no column {}", quoted(name)))
                .hint(format!("its columns are {}", table.header.join(", "))));
        }
    }
    Ok(())
}

/// Decides the role of each column.
///
/// # Errors
/// No column has numbers of runs.
pub(crate) fn of(table: &Table, options: &ColumnOptions) -> Result<Layout, ImportError> {
    let mut roles: Vec<Role> = (0..table.header.len()).map(|index| role(table, index, options)).collect();
    // One elapsed time per run: the first column of them, others are numbers of their own.
    let mut has_elapsed = false;
    for (index, role) in roles.iter_mut().enumerate() {
        if let Role::Elapsed(_) = role {
            if has_elapsed {
                *role = metric(&canonical(&table.header[index]), None);
            }
            has_elapsed = true;
        }
    }
    name_rows(table, &mut roles);
    let follows = drop_followers(table, options, &mut roles);
    if !roles.iter().any(|role| matches!(role, Role::Metric { .. } | Role::Elapsed(_))) {
        return Err(ImportError::new(&table.file, "no column has only numbers that were measured")
            .hint("name one: --metric COLUMN or --metric COLUMN:UNIT"));
    }
    Ok(Layout { roles, follows })
}

/// Of two factors that determine each other (random and sequential percent, a number and the name of a step) one is
/// enough: the first, unless it only counts the rows. Those that the user named stay.
fn drop_followers(table: &Table, options: &ColumnOptions, roles: &mut [Role]) -> Vec<(usize, usize)> {
    let factors: Vec<usize> = (0..roles.len()).filter(|index| roles[*index] == Role::Factor).collect();
    let distinct = |columns: &[usize]| {
        let key = |row: &crate::table::Row| {
            columns.iter().map(|index| row.cells[*index].clone()).collect::<Vec<_>>()
        };
        table.rows.iter().map(key).collect::<BTreeSet<_>>().len()
    };
    let is_numbering = |index: usize| {
        let numbers: Vec<Option<f64>> = table.rows.iter().map(|row| number(&row.cells[index]).ok()).collect();
        numbers.len() > 1
            && numbers.windows(2).all(|pair| matches!(pair, [Some(one), Some(next)] if *next == one + 1.0))
    };
    let mut follows: Vec<(usize, usize)> = Vec::new();
    for (place, later) in factors.iter().enumerate() {
        for earlier in &factors[..place] {
            let is_gone = |index: usize| follows.iter().any(|(follower, _)| *follower == index);
            let levels = distinct(&[*earlier]);
            if is_gone(*earlier)
                || levels < 2
                || levels != distinct(&[*later])
                || levels != distinct(&[*earlier, *later])
            {
                continue;
            }
            let (leader, follower) =
                if is_numbering(*earlier) { (*later, *earlier) } else { (*earlier, *later) };
            if !options.factors.contains(&table.header[follower]) {
                roles[follower] = Role::Label;
                follows.push((follower, leader));
                break;
            }
        }
    }
    follows
}

/// Rows are repetitions where nothing tells them apart: before that, words that stand in every row name them.
fn name_rows(table: &Table, roles: &mut [Role]) {
    if roles.contains(&Role::Factor) || table.rows.len() < 2 {
        return;
    }
    let is_name = |index: &usize| {
        let is_text =
            |row: &crate::table::Row| !is_missing(&row.cells[*index]) && number(&row.cells[*index]).is_err();
        roles[*index] == Role::Label
            && !column::is_label(&canonical(&table.header[*index]))
            && table.rows.iter().all(is_text)
    };
    if let Some(index) = (0..roles.len()).find(is_name) {
        roles[index] = Role::Factor;
    }
}

fn role(table: &Table, index: usize, options: &ColumnOptions) -> Role {
    let header = &table.header[index];
    let name = canonical(header);
    if options.factors.contains(header) {
        return Role::Factor;
    }
    let asked = options.metrics.iter().find(|(column, _)| column == header);
    let elapsed = ELAPSED.iter().find(|(known, _)| *known == name);
    if let Some((_, unit)) = asked {
        return match elapsed.filter(|_| unit.is_none()) {
            Some((_, unit)) => Role::Elapsed(*unit),
            None => metric(&name, unit.as_deref()),
        };
    }
    let cells: Vec<&str> =
        table.rows.iter().map(|row| row.cells[index].as_str()).filter(|cell| !is_missing(cell)).collect();
    if cells.is_empty() {
        return Role::Ignored;
    }
    if column::is_label(&name) {
        return Role::Label;
    }
    // A cell that spoils a column of numbers is refused with its line when the row is read.
    let spoiled = options.metrics.is_empty();
    let numbers = cells.iter().filter(|cell| number(cell).is_ok() || (spoiled && is_spoiled(cell))).count();
    let share = numbers as f64 / cells.len() as f64;
    let distinct: BTreeSet<&str> = cells.iter().copied().collect();
    let is_parameter = column::is_factor(&name) || options.known_parameters.contains(&name);
    if let Some((_, unit)) =
        elapsed.filter(|_| share >= NUMBERS_MIN && (share == 1.0 || options.metrics.is_empty()))
    {
        return Role::Elapsed(*unit);
    }
    if is_parameter {
        return Role::Factor;
    }
    // With factors named by the user, everything else that has only numbers was measured.
    let is_told = !options.factors.is_empty();
    // With metrics named, a column with other text in it is none.
    let numbers_min = if options.metrics.is_empty() { NUMBERS_MIN } else { 1.0 };
    match share {
        1.0 if column::is_size(&name) && repeats(&distinct, cells.len()) => Role::Factor,
        1.0 if column::is_measure(&name) || is_told => metric(&name, None),
        1.0 if repeats(&distinct, cells.len()) => Role::Factor,
        1.0 if name.ends_with("_id") => Role::Label,
        1.0 => metric(&name, None),
        _ if share >= numbers_min && column::is_measure(&name) => metric(&name, None),
        _ if is_told || column::is_measure(&name) || !is_words(&distinct, cells.len(), table.rows.len()) => {
            Role::Label
        }
        _ => Role::Factor,
    }
}

/// Are there few values, each of them several times?
fn repeats(distinct: &BTreeSet<&str>, count: usize) -> bool {
    distinct.len() <= LEVELS_MAX && distinct.len() * 2 <= count
}

/// Are these words that name configurations, in every row?
fn is_words(distinct: &BTreeSet<&str>, count: usize, rows: usize) -> bool {
    const CHARS_MAX: usize = 120;
    count == rows
        && (distinct.len() <= LEVELS_MAX || distinct.len() * 2 <= count)
        && distinct.iter().all(|word| word.chars().count() <= CHARS_MAX)
}

fn metric(name: &str, unit: Option<&str>) -> Role {
    let unit = unit.or_else(|| column::unit_of(name)).unwrap_or_default();
    Role::Metric { name: column::stored_name(name), unit: unit.to_owned() }
}
