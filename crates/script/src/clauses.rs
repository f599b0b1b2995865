//! Which statement each expectation belongs to.
//!
//! Inside of a statement, or behind it in the same line, there is no doubt. In a line of its own an expectation stands
//! between two statements: each has at most one, and so most of them find theirs. The others are refused, not guessed.

use crate::sql::expect::Expect;

/// The expectations of a script, and the statements beside them.
#[derive(Debug, Default)]
pub(crate) struct Clauses {
    neighbours: Vec<Neighbour>,
    clauses: Vec<Clause>,
    /// Last line of the statement before and of the comments that follow it without a gap; 0 is none.
    reach_line: u32,
    /// Last line of that statement.
    end_line: u32,
    /// Expectations in lines of their own above the next statement, and the last line of comments below them.
    pending: Vec<usize>,
    pending_line: u32,
}

/// A statement of any engine.
#[derive(Debug)]
struct Neighbour {
    /// Index of the command; none in a block of another engine.
    command: Option<usize>,
    is_in_pipeline: bool,
    has_clause: bool,
}

#[derive(Debug)]
struct Clause {
    offset: usize,
    expect: Expect,
    /// The statement above, the statement below.
    candidates: [Option<usize>; 2],
    owner: Option<usize>,
}

/// A statement that was read.
pub(crate) struct Placed<'a> {
    pub(crate) text: &'a str,
    pub(crate) first_line: u32,
    pub(crate) last_line: u32,
    /// Index of the command; none in a block of another engine.
    pub(crate) command: Option<usize>,
    pub(crate) is_in_pipeline: bool,
}

/// An expectation without a statement to test: offset, what is wrong, what to do.
pub(crate) type Refused = (usize, &'static str, &'static str);

impl Clauses {
    /// Takes a line comment between two statements, with what it expects.
    pub(crate) fn comment(&mut self, line: u32, offset: usize, expect: Option<Expect>) {
        let is_beside = self.end_line > 0 && line == self.end_line;
        let is_below = self.reach_line > 0 && line <= self.reach_line + 1;
        let last = self.neighbours.len().checked_sub(1);
        if let Some(expect) = expect {
            let above = if is_below { last } else { None };
            let owner = if is_beside { last } else { None };
            self.clauses.push(Clause { offset, expect, candidates: [above, None], owner });
            if !is_beside {
                self.pending.push(self.clauses.len() - 1);
                self.pending_line = line;
            }
        }
        if is_below {
            self.reach_line = line;
        }
        if line == self.pending_line + 1 {
            self.pending_line = line;
        }
    }

    /// A block of engines begins: statements of two blocks are not neighbours.
    pub(crate) fn block(&mut self) {
        (self.reach_line, self.end_line) = (0, 0);
        self.pending.clear();
    }

    /// A command in this line belongs to the last statement: `\gset`.
    pub(crate) fn extend(&mut self, line: u32) {
        if self.reach_line > 0 {
            self.reach_line = line;
        }
        self.end_line = line;
    }

    /// Takes a statement with the expectations in its own comments.
    pub(crate) fn statement(&mut self, placed: &Placed<'_>, inside: Vec<(usize, Expect)>) {
        let index = self.neighbours.len();
        let Placed { command, is_in_pipeline, .. } = *placed;
        self.neighbours.push(Neighbour { command, is_in_pipeline, has_clause: false });
        let has_rows = !is_transaction_control(placed.text);
        let is_below = placed.first_line <= self.pending_line + 1;
        for pending in self.pending.drain(..) {
            self.clauses[pending].candidates[1] = (has_rows && is_below).then_some(index);
        }
        for (offset, expect) in inside {
            self.clauses.push(Clause { offset, expect, candidates: [None, None], owner: Some(index) });
        }
        self.end_line = placed.last_line;
        self.reach_line = if has_rows { placed.last_line } else { 0 };
    }

    /// Returns each expectation with the index of its command. Cost: a few passes over the expectations.
    pub(crate) fn resolve(mut self) -> Result<Vec<(usize, Expect)>, Refused> {
        for clause in &self.clauses {
            if let Some(owner) = clause.owner {
                take(&mut self.neighbours, owner, clause.offset)?;
            }
        }
        // A decision reaches the expectations behind it and those before it: once in each direction is enough.
        for clause in &mut self.clauses {
            clause.decide(&mut self.neighbours)?;
        }
        for clause in self.clauses.iter_mut().rev() {
            clause.decide(&mut self.neighbours)?;
        }
        let mut resolved = Vec::new();
        for clause in &self.clauses {
            let hint = "write it behind the semicolon of its statement, in the same line";
            let Some(owner) = clause.owner else {
                return Err((clause.offset, "expectation may belong to the statement above or below", hint));
            };
            let Some(command) = self.neighbours[owner].command else { continue };
            if self.neighbours[owner].is_in_pipeline {
                let hint =
                    "the results of a pipeline are read at its end: expect rows of a statement outside of it";
                return Err((clause.offset, "expectation of a statement in a pipeline", hint));
            }
            resolved.push((command, clause.expect));
        }
        Ok(resolved)
    }
}

impl Clause {
    /// Takes the only statement that is left.
    fn decide(&mut self, neighbours: &mut [Neighbour]) -> Result<(), Refused> {
        if self.owner.is_some() {
            return Ok(());
        }
        let is_free = |index: &usize| !neighbours[*index].has_clause;
        let [above, below] = self.candidates;
        self.owner = match (above.filter(is_free), below.filter(is_free)) {
            (Some(_), Some(_)) => return Ok(()),
            (Some(one), None) | (None, Some(one)) => Some(one),
            (None, None) => match above.or(below) {
                Some(taken) => return take(neighbours, taken, self.offset),
                None => {
                    let hint = "write it behind the semicolon of a statement, or in the line above or below a statement";
                    return Err((self.offset, "expectation belongs to no statement", hint));
                }
            },
        };
        self.owner.map_or(Ok(()), |owner| take(neighbours, owner, self.offset))
    }
}

fn take(neighbours: &mut [Neighbour], index: usize, offset: usize) -> Result<(), Refused> {
    if std::mem::replace(&mut neighbours[index].has_clause, true) {
        let hint = "a statement has one expectation: keep one, behind its semicolon";
        return Err((offset, "statement has more than one expectation", hint));
    }
    Ok(())
}

/// Statements that never have rows, so that no expectation in a line of its own is meant for them.
fn is_transaction_control(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"]
        .into_iter()
        .any(|word| first.eq_ignore_ascii_case(word))
}
