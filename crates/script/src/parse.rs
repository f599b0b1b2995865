//! A script as commands: statements, backslash commands, and blocks that belong to one engine.

use crate::clauses::{Clauses, Placed};
use crate::command::{Command, Kind, Script, Time, join_conditionals};
use crate::comment;
use crate::dialect::{Dialect, Protocol};
use crate::error::ScriptError;
use crate::expression;
use crate::lines::Lines;
use crate::names::{Names, is_variable_name};
use crate::sql::scanner::{End, Scanned, Scanner};
use crate::sql::statement::{Statement, Store};
use crate::value::leading_integer;

/// Longest script.
const BYTES_MAX: usize = 16 << 20;
/// Most parameters of a statement in the protocols that have some.
///
/// EVIDENCE: pgbench's message "statement has too many arguments (maximum is 255)"
const PARAMETERS_MAX: usize = 255;

/// Parses a script.
pub(crate) fn parse(
    file: &str,
    bytes: &[u8],
    dialect: &Dialect,
    protocol: Protocol,
    names: &mut Names,
) -> Result<Script, ScriptError> {
    let text = read(file, bytes)?;
    let lines = Lines::new(file, text);
    let mut parser = Parser {
        text,
        lines,
        dialect,
        protocol,
        names,
        is_active: true,
        commands: Vec::new(),
        places: Vec::new(),
        last: Last::Other,
        is_in_pipeline: false,
        clauses: Clauses::default(),
    };
    parser.script()?;
    let Parser { mut commands, lines, places, clauses, .. } = parser;
    if commands.is_empty() {
        let hint = format!("write a statement or a backslash command for engine {}", dialect.engine);
        return Err(lines.error(0, format!("empty command list for script \"{file}\"")).with_hint(hint));
    }
    join_conditionals(&mut commands).map_err(|(index, message)| lines.error(places[index], message))?;
    let expectations =
        clauses.resolve().map_err(|(at, message, hint)| lines.error(at, message).with_hint(hint))?;
    for (index, expect) in expectations {
        if let Kind::Statement(statement) = &mut commands[index].kind {
            statement.set_expect(expect);
        }
    }
    Ok(Script { file: file.to_owned(), commands })
}

fn read<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ScriptError> {
    if bytes.len() > BYTES_MAX {
        let message = format!("script has {} bytes, the limit is {BYTES_MAX}", bytes.len());
        return Err(ScriptError::new(file, (1, 1), "", message)
            .with_hint("load data with COPY or a generator instead of statements"));
    }
    let (text, fault) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, text.find('\0').map(|at| (at, "has a NUL byte"))),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (std::str::from_utf8(valid).unwrap_or_default(), Some((valid.len(), "is not UTF-8")))
        }
    };
    match fault {
        // Some editors begin a file with a byte order mark.
        None => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Some((at, what)) => Err(Lines::new(file, text)
            .error(at, format!("script {what} at byte {at}"))
            .with_hint("convert the script to UTF-8, for example with iconv")),
    }
}

/// The command before, for `\gset`.
enum Last {
    Statement,
    Stored,
    Other,
}

struct Parser<'a, 'n> {
    text: &'a str,
    lines: Lines<'a>,
    dialect: &'n Dialect,
    protocol: Protocol,
    names: &'n mut Names,
    /// Not in a block of another engine.
    is_active: bool,
    commands: Vec<Command>,
    /// Offset of each command.
    places: Vec<usize>,
    last: Last,
    /// Behind a `\startpipeline`, whatever is between them.
    is_in_pipeline: bool,
    clauses: Clauses,
}

impl<'a> Parser<'a, '_> {
    fn script(&mut self) -> Result<(), ScriptError> {
        let mut scanner = Scanner::default();
        let mut at = 0;
        loop {
            at = self.pass_comments(at)?;
            let scanned = scanner.scan(self.text, at).map_err(|unfinished| {
                let message = format!("unterminated {}", unfinished.what);
                self.lines.error(unfinished.offset, message)
            })?;
            let (end, next) = (scanned.end, scanned.next);
            if !scanned.text.is_empty() {
                comment::refuse_blocks(&self.lines, self.text, at, next)?;
                self.statement(at, scanned)?;
            }
            at = match end {
                End::Semicolon => next,
                End::Backslash => self.backslash(next)?,
                End::Text => return Ok(()),
            };
        }
    }

    /// Passes blanks and line comments, and obeys the comments that are for fathom.
    fn pass_comments(&mut self, mut at: usize) -> Result<usize, ScriptError> {
        loop {
            let rest = &self.text[at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).len();
            at += blanks;
            let Some(comment) = self.text[at..].strip_prefix("--") else { return Ok(at) };
            let comment = comment.split('\n').next().unwrap_or_default();
            if let Some(marker) = comment::marker(comment) {
                self.is_active = comment::block(&self.lines, self.dialect, at, marker)?;
                self.clauses.block();
            } else {
                let expect = comment::expectation(&self.lines, at + 2, comment)?;
                self.clauses.comment(self.lines.line(at), at, expect);
            }
            at += 2 + comment.len();
        }
    }

    fn statement(&mut self, at: usize, scanned: Scanned) -> Result<(), ScriptError> {
        self.last = Last::Statement;
        let mut inside = Vec::new();
        for comment in scanned.comments {
            let text = &self.text[comment.clone()];
            let expect = comment::expectation(&self.lines, comment.start, text)?;
            inside.extend(expect.map(|expect| (comment.start - 2, expect)));
        }
        let placed = Placed {
            text: &scanned.text,
            first_line: self.lines.line(at),
            last_line: self.lines.line(scanned.next - 1),
            command: self.is_active.then_some(self.commands.len()),
            is_in_pipeline: self.is_in_pipeline,
        };
        self.clauses.statement(&placed, inside);
        if !self.is_active {
            return Ok(());
        }
        let statement = Statement::new(scanned.text.clone(), self.names);
        if self.protocol != Protocol::Simple && statement.parameters().len() > PARAMETERS_MAX {
            return Err(self
                .lines
                .error(at, format!("statement has too many arguments (maximum is {PARAMETERS_MAX})"))
                .with_hint("use the simple protocol, or fewer variables"));
        }
        self.push(at, scanned.text, Kind::Statement(statement));
        Ok(())
    }

    fn push(&mut self, at: usize, text: String, kind: Kind) {
        if self.is_active {
            match kind {
                Kind::StartPipeline => self.is_in_pipeline = true,
                Kind::EndPipeline => self.is_in_pipeline = false,
                _ => {}
            }
            self.commands.push(Command { line: self.lines.line(at), text, kind });
            self.places.push(at);
        }
    }

    /// Parses the backslash command at an offset and returns where it ends.
    fn backslash(&mut self, at: usize) -> Result<usize, ScriptError> {
        let (name, after) = word(self.text, at + 1);
        // A backslash alone is a comment.
        let Some((_, name)) = name else { return Ok(after) };
        let command = name.to_ascii_lowercase();
        let (kind, end) = match command.as_str() {
            "set" | "if" | "elif" => self.with_expression(&command, after)?,
            _ => self.with_words(at, &command, &name, after)?,
        };
        if let Some(kind) = kind {
            self.last = Last::Other;
            let text = self.text[at..end].trim_end().to_owned();
            self.push(at, text, kind);
        }
        Ok(end)
    }

    fn with_expression(&mut self, command: &str, at: usize) -> Result<(Option<Kind>, usize), ScriptError> {
        let (name, at) = if command == "set" {
            let (name, after) = word(self.text, at);
            let Some((offset, name)) = name else {
                let missing = self.lines.error(at, "missing argument in command \"set\"");
                return Err(missing.with_hint("write \\set NAME EXPRESSION"));
            };
            if !is_variable_name(&name) {
                let message = format!("invalid variable name: \"{name}\" in command \"set\"");
                let hint = "a name has letters, digits and underscores, and begins with no digit";
                return Err(self.lines.error(offset, message).with_hint(hint));
            }
            (Some(name), after)
        } else {
            (None, at)
        };
        let parsed = expression::parse(self.text, at, self.names).map_err(|fault| {
            let error = self.lines.error(fault.offset, format!("{} in command \"{command}\"", fault.message));
            fault.hint.into_iter().fold(error, ScriptError::with_hint)
        })?;
        let condition = parsed.expression;
        let kind = match name {
            Some(name) => Kind::Set(self.names.intern(&name), condition),
            None => Kind::If { condition, otherwise: 0, is_first: command == "if", end: 0 },
        };
        Ok((Some(kind), parsed.end))
    }

    fn with_words(
        &mut self,
        at: usize,
        command: &str,
        name: &str,
        after: usize,
    ) -> Result<(Option<Kind>, usize), ScriptError> {
        let (words, end) = words(self.text, after);
        let kind = match command {
            "sleep" => Some(self.sleep(end, &words)?),
            "gset" | "aset" => {
                self.store(at, command, &words)?;
                None
            }
            "else" | "endif" | "startpipeline" | "syncpipeline" | "endpipeline" => {
                if let Some((offset, _)) = words.first() {
                    return Err(self
                        .lines
                        .error(*offset, format!("unexpected argument in command \"{name}\"")));
                }
                Some(match command {
                    "else" => Kind::Else { end: 0 },
                    "endif" => Kind::EndIf,
                    "startpipeline" => Kind::StartPipeline,
                    "syncpipeline" => Kind::SyncPipeline,
                    _ => Kind::EndPipeline,
                })
            }
            "shell" | "setshell" => {
                let message = format!("\\{command} is refused: scripts run no programs on this machine");
                return Err(self.lines.error(at, message).with_hint(
                    "compute the value with \\set, read it with \\gset, or define it with -D NAME=VALUE",
                ));
            }
            _ => {
                let hint = "commands are \\set, \\if, \\elif, \\else, \\endif, \\sleep, \\gset, \\aset, \\startpipeline, \
                            \\syncpipeline and \\endpipeline";
                let message = format!("invalid command in command \"{name}\"");
                return Err(self.lines.error(at, message).with_hint(hint));
            }
        };
        Ok((kind, end))
    }

    fn store(&mut self, at: usize, command: &str, words: &[Word]) -> Result<(), ScriptError> {
        if let Some((offset, _)) = words.get(1) {
            return Err(self.lines.error(*offset, format!("too many arguments in command \"{command}\"")));
        }
        if !matches!(self.last, Last::Statement) {
            return Err(self
                .lines
                .error(at, format!("\\{command} must follow an SQL command"))
                .with_hint(format!("write \\{command} behind a statement, instead of its semicolon")));
        }
        self.last = Last::Stored;
        self.clauses.extend(self.lines.line(at));
        if self.is_active
            && let Some(Command { kind: Kind::Statement(statement), .. }) = self.commands.last_mut()
        {
            let prefix = words.first().map_or_else(String::new, |(_, word)| word.clone());
            statement.set_store(Store { is_aset: command == "aset", prefix });
        }
        Ok(())
    }

    fn sleep(&mut self, at: usize, words: &[Word]) -> Result<Kind, ScriptError> {
        let in_command = "in command \"sleep\"";
        let Some((offset, first)) = words.first() else {
            let missing = self.lines.error(at, format!("missing argument {in_command}"));
            return Err(missing.with_hint("write \\sleep TIME [us | ms | s]"));
        };
        if let Some((offset, _)) = words.get(2) {
            return Err(self.lines.error(*offset, format!("too many arguments {in_command}")));
        }
        let mut unit = words.get(1).map(|(offset, unit)| (*offset, unit.as_str()));
        let time = if let Some(name) = first.strip_prefix(':') {
            Time::Variable(self.names.intern(name))
        } else {
            let sign = usize::from(first.starts_with(['+', '-']));
            let length = sign + first[sign..].bytes().take_while(u8::is_ascii_digit).count();
            let rest = &first[length..];
            if length == sign || (!rest.is_empty() && unit.is_some()) {
                let message = format!("invalid sleep time, must be an integer ({first}) {in_command}");
                return Err(self.lines.error(*offset, message));
            }
            if !rest.is_empty() {
                unit = Some((offset + length, rest));
            }
            Time::Constant(leading_integer(first).unwrap_or_default())
        };
        let (unit_offset, unit) = unit.unwrap_or((*offset, "s"));
        let unit_us = match unit.to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1000,
            "s" => 1_000_000,
            _ => {
                let message = format!("unrecognized time unit, must be us, ms or s ({unit}) {in_command}");
                return Err(self.lines.error(unit_offset, message));
            }
        };
        Ok(Kind::Sleep { time, unit_us })
    }
}

/// A word and its offset.
type Word = (usize, String);

/// Reads the next word of a command, if it has one, and where reading goes on.
fn word(text: &str, at: usize) -> (Option<Word>, usize) {
    let start = expression::after_blanks(text, at);
    let rest = &text[start..];
    let length = rest.find([' ', '\t', '\r', '\x0b', '\x0c', '\n']).unwrap_or(rest.len());
    if length == 0 {
        return (None, start);
    }
    let word = &rest[..length];
    // A backslash before the end of the line is not part of the word.
    let behind = &rest[length..];
    let length = match word.strip_suffix('\\') {
        Some(shorter) if behind.starts_with('\n') || behind.starts_with("\r\n") => shorter.len(),
        _ => length,
    };
    (Some((start, rest[..length].to_owned())), start + length)
}

/// Reads the other words of a command, and where its line ends.
fn words(text: &str, mut at: usize) -> (Vec<Word>, usize) {
    let mut words = Vec::new();
    loop {
        let (word, next) = word(text, at);
        at = next;
        match word {
            Some(word) => words.push(word),
            None => return (words, at),
        }
    }
}
