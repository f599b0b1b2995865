//! Line comments that are for fathom: blocks of one engine, and expectations.

use crate::dialect::Dialect;
use crate::error::ScriptError;
use crate::lines::Lines;
use crate::sql::expect::Expect;

/// What a line comment says to fathom about blocks.
pub(crate) fn marker(comment: &str) -> Option<&str> {
    comment.trim().strip_prefix("fathom:").map(str::trim)
}

/// Reads `engine=a,b` or `engine=all` at an offset and returns whether the engine of the program is among them.
pub(crate) fn block(
    lines: &Lines<'_>,
    dialect: &Dialect,
    at: usize,
    marker: &str,
) -> Result<bool, ScriptError> {
    let Some(engines) = marker.strip_prefix("engine=") else {
        return Err(lines
            .error(at, format!("unrecognized comment for fathom: \"{marker}\""))
            .with_hint("write -- fathom: engine=NAME or -- fathom: engine=all"));
    };
    let mut is_active = false;
    for engine in engines.split(',').map(str::trim) {
        let is_known = dialect.engines.iter().any(|known| known == engine);
        if engine != "all" && !is_known {
            let known = dialect.engines.join(", ");
            return Err(lines
                .error(at, format!("unknown engine \"{engine}\""))
                .with_hint(format!("engines are {known}, and all")));
        }
        is_active |= engine == "all" || engine == dialect.engine;
    }
    Ok(is_active)
}

/// Reads the expectation of a comment whose text begins at an offset, if it is one.
pub(crate) fn expectation(
    lines: &Lines<'_>,
    at: usize,
    comment: &str,
) -> Result<Option<Expect>, ScriptError> {
    Expect::read(comment).transpose().map_err(|(offset, message)| {
        lines
            .error(at + offset, message)
            .with_hint("write for example -- expect: rows = 1; comparisons are =, <>, <, <=, > and >=")
    })
}

/// A line inside of a statement that would begin a block is refused: half a statement belongs to no engine.
pub(crate) fn refuse_blocks(
    lines: &Lines<'_>,
    text: &str,
    from: usize,
    to: usize,
) -> Result<(), ScriptError> {
    let mut at = from;
    for line in text[from..to].split_inclusive('\n') {
        if line.trim_start().strip_prefix("--").is_some_and(|comment| marker(comment).is_some()) {
            return Err(lines
                .error(at, "comment for fathom inside of a statement")
                .with_hint("end the statement before it with a semicolon"));
        }
        at += line.len();
    }
    Ok(())
}
