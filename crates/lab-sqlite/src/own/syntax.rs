//! Has SQLite parse every statement of a plan before a run, and executes none.

use lab::engine::TargetError;
use lab::own::{Part, Plan};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};
use script::{Client, Protocol, Statement, Variables};

use super::connection::{Binding, binding_of, without_value};
use super::failure::Failure;
use super::guard::{Refusal, refused_text};
use super::place::{Given, position};

/// Words with which SQLite says what is not there, or is there already.
const ABOUT_OBJECTS: [&str; 5] =
    ["no such ", "has no column named", " already exists", "already another table", "cannot modify "];

/// Prepares every statement of a plan on a confined connection.
///
/// # Errors
/// The first statement that SQLite refuses, with its place.
pub(crate) fn parse_all(connection: &Connection, refusal: &Refusal, plan: &Plan) -> Result<(), TargetError> {
    let program = plan.program();
    let client = Client::new(program, plan.seeds(), 0, plan.scale());
    let makes_objects: Vec<&str> =
        statements(plan).map(|(_, _, statement)| statement.text()).filter(|text| is_ddl(text)).collect();
    let may_be_set = set_in(plan);
    for (script, command, statement) in statements(plan) {
        let failure = match program.protocol() {
            Protocol::Simple => simple(connection, refusal, statement, client.variables(), &may_be_set),
            Protocol::Extended | Protocol::Prepared => numbered(connection, refusal, plan, statement),
        };
        let Err((failure, given)) = failure else { continue };
        if waits_for(&failure.error.text, &makes_objects) {
            continue;
        }
        let position = failure.at.map(|(byte, _)| position(statement, given, byte));
        let text = plan.place_of(script, command, position, &failure.error.text);
        let (text, hint) = match text.split_once("\nhint: ") {
            Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        return Err(TargetError::Refused { text, hint });
    }
    Ok(())
}

fn statements(plan: &Plan) -> impl Iterator<Item = (usize, usize, &Statement)> {
    plan.program().scripts().iter().enumerate().flat_map(|(script, parsed)| {
        let commands = parsed.commands().iter().enumerate();
        commands.filter_map(move |(command, parsed)| Some((script, command, parsed.statement()?)))
    })
}

type Refused<'a> = (Failure, Given<'a>);

/// Protocol simple: values may stand anywhere, so that a statement is refused only where neither parameters nor the
/// definitions make sense in it, nor a number in place of each variable.
fn simple<'a>(
    connection: &Connection,
    refusal: &Refusal,
    statement: &Statement,
    variables: &'a Variables,
    may_be_set: &dyn Fn(&str) -> bool,
) -> Result<(), Refused<'a>> {
    let mut written = Vec::new();
    statement.write(variables, &mut written);
    let text = String::from_utf8_lossy(&written);
    let failure = match prepare(connection, refusal, &text) {
        Ok(parameters) => {
            let is_without = |name: &&String| !name.strip_prefix(':').is_some_and(may_be_set);
            let without = parameters.iter().find(is_without);
            return without.map_or(Ok(()), |name| Err((without_value(name), Given::Written(variables))));
        }
        Err(failure) => failure,
    };
    if statement.parameters().iter().all(|slot| variables.is_defined(*slot)) {
        return Err((failure, Given::Written(variables)));
    }
    let Err(as_parameters) = prepare(connection, refusal, statement.numbered()) else { return Ok(()) };
    match prepare(connection, refusal, &with_ones(statement.numbered())) {
        Ok(_) => Ok(()),
        Err(_) => Err((as_parameters, Given::Numbered)),
    }
}

/// Protocols extended and prepared: as the first execution finds out how values are bound.
fn numbered<'a>(
    connection: &Connection,
    refusal: &Refusal,
    plan: &Plan,
    statement: &Statement,
) -> Result<(), Refused<'a>> {
    let prepared = match refused_text(statement.numbered()) {
        Some(reason) => Err(Failure::wrong(reason)),
        None => match binding_of(connection, refusal, plan.program(), statement) {
            Ok(Binding::Combined) => prepare(connection, refusal, statement.numbered()).map(drop),
            other => other.map(drop),
        },
    };
    prepared.map_err(|failure| (failure, Given::Numbered))
}

/// Prepares the first of the statements of a text; returns the names of its parameters. Those behind it may need what it
/// makes.
fn prepare(connection: &Connection, refusal: &Refusal, text: &str) -> Result<Vec<String>, Failure> {
    if let Some(reason) = refused_text(text) {
        return Err(Failure::wrong(reason));
    }
    let prepared = Batch::new(connection, text).next().map_err(|error| Failure::of(error, refusal))?;
    let Some(statement) = prepared else { return Ok(Vec::new()) };
    let name = |number| statement.parameter_name(number).unwrap_or("?").to_owned();
    Ok((1..=statement.parameter_count()).map(name).collect())
}

/// The variables that the clients of a plan may set: by `\set`, by rows, and by the slices of a load.
fn set_in(plan: &Plan) -> impl Fn(&str) -> bool {
    let commands = || plan.program().scripts().iter().flat_map(|script| script.commands());
    let takes_rows = commands().filter_map(|command| command.statement()).any(|one| one.store().is_some());
    let is_load = plan.part() == Part::Load;
    let set: Vec<String> = commands()
        .filter(|command| command.statement().is_none())
        .filter_map(|command| {
            // A backslash before the end of a line continues it.
            let mut words = command.text().split_ascii_whitespace().filter(|word| *word != "\\");
            (words.next()? == "\\set").then(|| words.next().map(str::to_owned))?
        })
        .collect();
    move |name| takes_rows || is_load || set.iter().any(|known| known == name)
}

/// The number 1 in place of `$1`, `$2`, ...
fn with_ones(numbered: &str) -> String {
    let mut text = String::with_capacity(numbered.len());
    let mut is_number = false;
    for character in numbered.chars() {
        match character {
            '$' => {
                text.push('1');
                is_number = true;
            }
            digit if is_number && digit.is_ascii_digit() => {}
            other => {
                text.push(other);
                is_number = false;
            }
        }
    }
    text
}

fn is_ddl(text: &str) -> bool {
    let word = text.split(|character: char| !character.is_ascii_alphabetic()).find(|word| !word.is_empty());
    word.is_some_and(|word| ["create", "alter", "drop"].iter().any(|ddl| word.eq_ignore_ascii_case(ddl)))
}

/// Is something not there, or there already, that a statement of the plan makes or drops?
fn waits_for(error: &str, makes_objects: &[&str]) -> bool {
    if !ABOUT_OBJECTS.iter().any(|words| error.contains(words)) {
        return false;
    }
    const WORDS: [&str; 18] = [
        "no", "such", "table", "column", "index", "view", "trigger", "function", "module", "has", "named",
        "already", "exists", "there", "is", "another", "or", "in",
    ];
    let names = |text: &str| -> Vec<String> {
        text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
            .filter(|word| !word.is_empty() && !WORDS.contains(word))
            .map(str::to_lowercase)
            .collect()
    };
    let named = names(error.rsplit_once(" (").map_or(error, |(text, _)| text));
    makes_objects.iter().any(|text| names(text).iter().any(|name| named.contains(name)))
}
