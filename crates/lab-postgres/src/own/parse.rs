//! All statements of scripts parsed by the server before a run, and none executed.

use lab::engine::TargetError;
use lab::own::{Answer, Plan};
use script::{Client, Protocol, Slot, Statement, Value, Variables};

use super::reply::{Course, Reply};
use crate::wire::{Connection, ServerError, WireError, complete};

/// SQLSTATE of a text that is no statement; without a position: several statements where the server parses one.
// EVIDENCE: PostgreSQL src/backend/tcop/postgres.c, exec_parse_message
const SYNTAX_ERROR: &str = "42601";

/// SQLSTATEs of objects that are not there: table, column, function, type and others, schema, prepared statement, cursor.
const UNDEFINED: [&str; 7] = ["42P01", "42703", "42883", "42704", "3F000", "26000", "34000"];

/// Parses every statement of the scripts.
///
/// # Errors
/// The first one that the server refuses, with its place.
pub(super) fn parse_all(connection: &mut Connection, plan: &Plan) -> Result<(), TargetError> {
    let program = plan.program();
    let mut client = Client::new(program, plan.seeds(), 0, plan.scale());
    let makers = Makers::of(plan);
    for (script_index, script) in program.scripts().iter().enumerate() {
        let mut branches = 0_u32;
        for (command_index, command) in script.commands().iter().enumerate() {
            let Some(statement) = command.statement() else {
                let word = command.text().trim_start_matches('\\');
                branches += u32::from(word.starts_with("if"));
                branches -= u32::from(word.starts_with("endif")).min(branches);
                continue;
            };
            let refusal = match copies(statement.text()) {
                true => Some(Refusal {
                    text: "COPY FROM STDIN and COPY TO STDOUT are not possible in scripts".to_owned(),
                    position: None,
                    is_undefined: false,
                    hint: Some("[workload] load = { copy = \"FILE.csv\" } loads a file"),
                }),
                false => {
                    let known = client.variables_mut();
                    refusal(connection, program.protocol(), statement, known, &makers)
                        .map_err(|error| TargetError::engine("could not parse the scripts", error))?
                }
            };
            // A branch may be for a configuration in which the object is there.
            let refusal = refusal.filter(|refusal| branches == 0 || !refusal.is_undefined);
            if let Some(Refusal { text, position, hint, .. }) = refusal {
                return Err(TargetError::Refused {
                    text: plan.place_of(script_index, command_index, position, &text),
                    hint: hint.map(str::to_owned),
                });
            }
        }
    }
    Ok(())
}

/// Why the server would not execute a statement.
struct Refusal {
    text: String,
    position: Option<u32>,
    /// Is it about an object that is not there?
    is_undefined: bool,
    hint: Option<&'static str>,
}

impl Refusal {
    fn new(error: &ServerError, position: Option<u32>) -> Self {
        let is_undefined = UNDEFINED.contains(&error.code.as_str());
        Self { text: error.to_string(), position, is_undefined, hint: None }
    }
}

fn refusal(
    connection: &mut Connection,
    protocol: Protocol,
    statement: &Statement,
    variables: &mut Variables,
    makers: &Makers,
) -> Result<Option<Refusal>, WireError> {
    if protocol != Protocol::Simple {
        let refused = parse(connection, statement.numbered().as_bytes())?;
        let is_real = |error: &ServerError| !makers.may_make(error, statement.numbered());
        return Ok(refused.filter(is_real).map(|error| {
            let position = error.position.map(|position| statement.position_of(position, None));
            Refusal::new(&error, position)
        }));
    }
    let unknown: Vec<Slot> =
        statement.parameters().iter().copied().filter(|slot| !variables.is_defined(*slot)).collect();
    // What a script sets is a number, most often.
    unknown.iter().for_each(|slot| variables.set(*slot, Value::Integer(1)));
    let mut sent = Vec::new();
    statement.write(variables, &mut sent);
    let Some(error) = parse(connection, &sent)? else { return Ok(None) };
    let is_several = error.code == SYNTAX_ERROR && error.position.is_none();
    if is_several || makers.may_make(&error, &String::from_utf8_lossy(&sent)) {
        return Ok(None);
    }
    if !unknown.is_empty() {
        let position = error.position.map(|position| statement.position_of(position, Some(variables)));
        let is_name = UNDEFINED.contains(&error.code.as_str()) && is_in_name(statement.text(), position);
        let is_value = error.code.starts_with("22");
        if is_name || is_value || parse(connection, statement.numbered().as_bytes())?.is_none() {
            return Ok(None);
        }
    }
    let position = error.position.map(|position| statement.position_of(position, Some(variables)));
    Ok(Some(Refusal::new(&error, position)))
}

/// Has the server parse a text; returns its error.
fn parse(connection: &mut Connection, sql: &[u8]) -> Result<Option<ServerError>, WireError> {
    if sql.contains(&0) {
        return Ok(None);
    }
    let mut out = vec![b'P'];
    out.extend_from_slice(&(sql.len() as u32 + 8).to_be_bytes());
    out.push(0);
    out.extend_from_slice(sql);
    // The end of the text, no types of parameters, and Sync.
    out.extend_from_slice(b"\0\0\0S\0\0\0\x04");
    connection.send(&out);
    let (mut reply, mut answer) = (Reply::default(), Answer::default());
    while complete(reply.read(connection, &mut answer, false))? != Course::Ready {}
    Ok(reply.refused.take().map(|error| *error))
}

/// Is a variable a part of the name at this character of the text, as in `orders_:n`? Without a character: of any name.
fn is_in_name(text: &str, position: Option<u32>) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '"' | '.' | ':');
    let has_variable = |name: &str| {
        let name = name.replace("::", " ");
        name.split(':')
            .skip(1)
            .any(|rest| rest.starts_with(|letter: char| letter.is_alphabetic() || letter == '_'))
    };
    match position {
        Some(position) => {
            let rest: String = text
                .chars()
                .skip(position as usize - usize::from(position > 0))
                .take_while(|letter| is_part(*letter))
                .collect();
            has_variable(&rest)
        }
        None => {
            text.split(|letter| !is_part(letter)).any(|name| !name.starts_with(':') && has_variable(name))
        }
    }
}

/// Does the statement copy to or from the client?
fn copies(text: &str) -> bool {
    let mut words = words(text);
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("copy"))
        && words.any(|word| word.eq_ignore_ascii_case("stdin") || word.eq_ignore_ascii_case("stdout"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Statements of the scripts that make objects for later ones.
struct Makers {
    /// Is there one that may make anything: a block of code, a procedure?
    any: bool,
    /// The texts of those that name what they make, in lower case.
    named: Vec<String>,
}

impl Makers {
    fn of(plan: &Plan) -> Self {
        let mut makers = Self { any: false, named: Vec::new() };
        for command in plan.program().scripts().iter().flat_map(|script| script.commands()) {
            let Some(statement) = command.statement() else { continue };
            for part in statement.text().split(';') {
                makers.add(part);
            }
        }
        makers
    }

    fn add(&mut self, text: &str) {
        let lower = text.to_lowercase();
        let mut words = words(&lower);
        let is_named = match words.next() {
            Some("do" | "call" | "execute") => {
                self.any = true;
                false
            }
            Some("create" | "alter" | "import" | "prepare" | "declare") => true,
            Some("select" | "with" | "table") => words.any(|word| word == "into"),
            _ => false,
        };
        drop(words);
        self.any |= lower.contains("search_path");
        if is_named {
            self.named.push(lower);
        }
    }

    /// Can the object that the error misses in the text that was sent have been made by a statement before?
    fn may_make(&self, error: &ServerError, sent: &str) -> bool {
        UNDEFINED.contains(&error.code.as_str())
            && (self.any || {
                let place = error.position.map(|position| name_at(sent, position));
                let name = place.unwrap_or_else(|| missing_name(&error.message).to_owned()).to_lowercase();
                self.named.iter().any(|text| text.contains(&name))
            })
    }
}

/// The name at a character of a text, without its schema. Messages may be in any language.
fn name_at(text: &str, position: u32) -> String {
    let is_part = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '"');
    let rest = text.chars().skip((position as usize).saturating_sub(1));
    let name: String = rest.take_while(is_part).filter(|letter| *letter != '"').collect();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The name in `relation "a.b" does not exist`, `function f(integer) does not exist`, `column t.x does not exist`: without
/// its schema.
fn missing_name(message: &str) -> &str {
    let quoted = message.split('"').nth(1);
    let name = quoted.or_else(|| message.split_whitespace().nth(1)).unwrap_or_default();
    let name = name.split('(').next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_is_missing_is_found_in_the_message() {
        for (message, name) in [
            ("relation \"sales.oders\" does not exist", "oders"),
            ("function next_id(integer, text) does not exist", "next_id"),
            ("column t.x does not exist", "x"),
            ("", ""),
        ] {
            assert_eq!(missing_name(message), name);
        }
    }

    #[test]
    fn an_object_is_expected_of_statements_that_make_it_and_of_no_others() {
        let mut makers = Makers { any: false, named: Vec::new() };
        makers.add("CREATE TEMP TABLE Basket (id int)");
        makers.add("INSERT INTO oders VALUES (1)");
        let missing = |name: &str| ServerError {
            code: "42P01".to_owned(),
            message: format!("relation \"{name}\" does not exist"),
            ..ServerError::default()
        };
        assert!(makers.may_make(&missing("basket"), ""));
        assert!(!makers.may_make(&missing("oders"), ""));
        let german = ServerError {
            message: "Relation »basket« existiert nicht".to_owned(),
            position: Some(15),
            ..missing("")
        };
        assert!(makers.may_make(&german, "SELECT 1 FROM pg_temp.\"basket\" AS oders"));
        assert!(!makers.may_make(&german, "SELECT 1 FROM oders, basket"));
        makers.add("DO $$ BEGIN EXECUTE 'CREATE TABLE oders ()'; END $$");
        assert!(makers.may_make(&missing("oders"), ""));
    }

    #[test]
    fn a_variable_is_part_of_a_name_where_it_touches_it() {
        let text = "SELECT x::int FROM orders_:n WHERE a = :b";
        for (position, expected) in [(20, true), (8, false), (36, false), (40, true)] {
            assert_eq!(is_in_name(text, Some(position)), expected, "{position}");
        }
        assert!(is_in_name(text, None));
        assert!(!is_in_name("SELECT x::int FROM t WHERE a = :b", None));
    }

    #[test]
    fn only_a_copy_of_the_client_s_rows_is_one() {
        assert!(copies("COPY t FROM STDIN;"));
        assert!(copies("copy (select 1) to stdout"));
        assert!(!copies("COPY t FROM '/tmp/stdin.csv'".replace("stdin", "rows").as_str()));
        assert!(!copies("SELECT 'copy stdin'"));
    }
}
