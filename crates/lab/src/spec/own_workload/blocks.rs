//! Blocks of a text that belong to certain levels: `-- fathom: key=bigint,uuid`, up to the next comment with this name.

use std::ops::Range;

/// Blocks with this name belong to engines, and are those of the script language.
const ENGINE: &str = "engine";
/// Ends a block: what follows belongs to all levels.
const ALL: &str = "all";

/// A comment that begins a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The whole line, without its end.
    line: Range<usize>,
    /// The bytes of the name.
    pub(super) place: Range<usize>,
    pub(super) name: &'a str,
    levels: &'a str,
}

/// The comments of a text that begin blocks, in order.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for written in text.split_inclusive('\n') {
        let line = written.trim_end_matches(['\n', '\r']);
        found.extend(block(line, start));
        start += written.len();
    }
    found
}

fn block(line: &str, start: usize) -> Option<Block<'_>> {
    let rest = line.trim_start().strip_prefix("--")?.trim_start().strip_prefix("fathom:")?.trim_start();
    let (name, levels) = rest.split_once('=')?;
    let name = name.trim_end();
    if name == ENGINE || !script::is_variable_name(name) {
        return None;
    }
    let at = start + line.len() - rest.len();
    Some(Block { line: start..start + line.len(), place: at..at + name.len(), name, levels })
}

/// The lines of a text, without their ends, that do not belong to the levels: `is_level` says whether a factor has one.
/// Comments that begin blocks are among them; those of engines never are.
///
/// # Errors
/// A block whose name `is_level` does not know (`None`).
pub(super) fn left_out<'a>(
    text: &'a str,
    is_level: &dyn Fn(&str, &str) -> Option<bool>,
) -> Result<Vec<Range<usize>>, Block<'a>> {
    let blocks = blocks(text);
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    let mut left_out = Vec::new();
    let mut closed: Vec<&str> = Vec::new();
    let mut next = blocks.into_iter().peekable();
    let mut start = 0;
    for written in text.split_inclusive('\n') {
        let line = start..start + written.trim_end_matches(['\n', '\r']).len();
        start += written.len();
        if let Some(block) = next.next_if(|block| block.line == line) {
            let mut is_open = false;
            for level in block.levels.split(',').map(str::trim) {
                let Some(is_one) = is_level(block.name, level) else { return Err(block) };
                is_open |= is_one || level == ALL;
            }
            closed.retain(|name| *name != block.name);
            if !is_open {
                closed.push(block.name);
            }
            left_out.push(line);
        } else if !closed.is_empty() && !line.is_empty() && !is_of_engine(&text[line.clone()]) {
            left_out.push(line);
        }
    }
    Ok(left_out)
}

fn is_of_engine(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("--").map(str::trim_start);
    let rest = comment.and_then(|comment| comment.strip_prefix("fathom:")).map(str::trim_start);
    rest.is_some_and(|rest| rest.strip_prefix(ENGINE).is_some_and(|rest| rest.trim_start().starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Result<String, String> {
        let is_level = |name: &str, level: &str| match name {
            "key" => Some(level == "uuid"),
            "n" => Some(level == "1"),
            _ => None,
        };
        let ranges = left_out(text, &is_level).map_err(|block| block.name.to_owned())?;
        let mut out = String::new();
        let mut from = 0;
        for range in ranges {
            out.push_str(&text[from..range.start]);
            from = range.end;
        }
        Ok(out + &text[from..])
    }

    #[test]
    fn a_block_is_kept_for_its_levels_and_lines_keep_their_numbers() {
        for (text, expected) in [
            ("a\nb", "a\nb"),
            (
                "a\n-- fathom: key=bigint\nb\n-- fathom: key=uuid, text\nc\n-- fathom: key=all\nd",
                "a\n\n\n\nc\n\nd",
            ),
            ("--fathom:key = uuid\r\nb\r\n  --  fathom: key=x\r\nc\r\n", "\r\nb\r\n\r\n\r\n"),
            (
                "-- fathom: key=x\n-- fathom: n=1\nb\n-- fathom: key=all\nc\n-- fathom: n=2\nd",
                "\n\n\n\nc\n\n",
            ),
            ("-- fathom: key=x\n-- fathom: engine=sqlite\nb", "\n-- fathom: engine=sqlite\n"),
            ("-- fathom: engine=sqlite\nb", "-- fathom: engine=sqlite\nb"),
            ("SELECT '-- fathom: key=x';\n-- key=x\nb", "SELECT '-- fathom: key=x';\n-- key=x\nb"),
        ] {
            assert_eq!(kept(text), Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(kept("-- fathom: kee=1\nb"), Err("kee".to_owned()));
    }
}
