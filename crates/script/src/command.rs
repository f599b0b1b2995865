//! The commands of a parsed script, and where control goes from one to another.

use crate::expression::Expression;
use crate::names::Slot;
use crate::sql::statement::Statement;

/// One command of a script.
#[derive(Clone, Debug)]
pub struct Command {
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Statement(Statement),
    Set(Slot, Expression),
    /// `\if` and `\elif`: index of the next branch, or of `\endif`.
    If {
        condition: Expression,
        otherwise: usize,
        is_first: bool,
        end: usize,
    },
    Else {
        end: usize,
    },
    EndIf,
    Sleep {
        time: Time,
        unit_us: i64,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

#[derive(Clone, Debug)]
pub(crate) enum Time {
    Constant(i64),
    Variable(Slot),
}

impl Command {
    /// Returns the line of the script, counted from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Returns the text of the command, without the blanks and comments before it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the statement, unless it is a backslash command.
    pub fn statement(&self) -> Option<&Statement> {
        match &self.kind {
            Kind::Statement(statement) => Some(statement),
            _ => None,
        }
    }
}

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) file: String,
    pub(crate) commands: Vec<Command>,
}

impl Script {
    /// Returns the name of the script: its file, or that of a built-in one.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the commands of the engine that the program was made for.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }
}

/// An `\if` or a branch of it that is in the wrong place: index of the command, and what is wrong.
pub(crate) type Misplaced = (usize, &'static str);

/// Joins each `\if` with its branches and its `\endif`.
pub(crate) fn join_conditionals(commands: &mut [Command]) -> Result<(), Misplaced> {
    // Of each open \if: the branches so far.
    let mut open: Vec<Vec<usize>> = Vec::new();
    for index in 0..commands.len() {
        let (name, is_branch) = match &commands[index].kind {
            Kind::If { is_first: true, .. } => {
                open.push(vec![index]);
                continue;
            }
            Kind::If { .. } => ("\\elif", true),
            Kind::Else { .. } => ("\\else", true),
            Kind::EndIf => ("\\endif", false),
            _ => continue,
        };
        let Some(branches) = open.last_mut() else {
            return Err((
                index,
                match name {
                    "\\elif" => "\\elif without matching \\if",
                    "\\else" => "\\else without matching \\if",
                    _ => "\\endif without matching \\if",
                },
            ));
        };
        let last = branches[branches.len() - 1];
        if is_branch && matches!(commands[last].kind, Kind::Else { .. }) {
            let is_else = name == "\\else";
            return Err((index, if is_else { "\\else after \\else" } else { "\\elif after \\else" }));
        }
        if let Kind::If { otherwise, .. } = &mut commands[last].kind {
            *otherwise = index;
        }
        if is_branch {
            branches.push(index);
            continue;
        }
        for branch in open.pop().unwrap_or_default() {
            if let Kind::If { end, .. } | Kind::Else { end } = &mut commands[branch].kind {
                *end = index;
            }
        }
    }
    open.last().map_or(Ok(()), |branches| Err((branches[0], "\\if without matching \\endif")))
}
