//! Offsets of a text as lines and columns.

use crate::error::ScriptError;

/// Where the lines of one script start.
pub(crate) struct Lines<'a> {
    file: &'a str,
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines; cost: one pass over the text.
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file, text, starts }
    }

    /// Returns the line of a byte offset, counted from 1. Cost: does not depend on the length of the line.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        self.starts.partition_point(|start| *start <= offset).max(1) as u32
    }

    /// Returns line and column of a byte offset, both counted from 1; the column counts characters.
    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.line(offset);
        let before = self.text.get(self.starts[line as usize - 1]..offset).unwrap_or_default();
        (line, before.chars().count() as u32 + 1)
    }

    /// Makes an error at an offset.
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> ScriptError {
        let (line, column) = self.place(offset);
        let rest = self.text.get(self.starts[line as usize - 1]..).unwrap_or_default();
        let text = rest.lines().next().unwrap_or_default();
        ScriptError::new(self.file, (line, column), text, message.into())
    }
}
