//! What an output is made of, before it is text or Markdown: sections of sentences, lists and grids.

/// How the cells of a column stand, and whether they may be broken over lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words: left, on one line where there is room.
    Left,
    /// Numbers: right, never broken.
    Right,
    /// Sentences: left, broken over lines.
    Wrapped,
}

/// Rows and columns of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Header and alignment of each column.
    pub(crate) columns: Vec<(String, Align)>,
    /// How many columns from the left name the row; they are repeated when a wide grid is cut into several.
    pub(crate) key_columns: usize,
    /// Are the columns that name a row factors? Their names are the user's, and their cells are levels.
    pub(crate) names_levels: bool,
    /// Each with one cell per column.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Starts a grid with the columns that name a row.
    pub(crate) fn named_by(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        let columns: Vec<_> = columns.into_iter().collect();
        Self { key_columns: columns.len(), columns, names_levels: false, rows: Vec::new() }
    }

    /// Adds columns of values.
    pub(crate) fn with<'a>(mut self, columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        self.columns.extend(columns.into_iter().map(|(name, align)| (name.to_owned(), align)));
        self
    }

    /// Adds a row with one cell per column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(row);
    }
}

/// One part of a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// Sentences.
    Paragraph(String),
    /// One item per line.
    Items(Vec<String>),
    /// A table.
    Grid(Grid),
}

/// Sections that an output treats in a way of its own; titles are for readers alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SectionId {
    /// Any other.
    #[default]
    Plain,
    /// The result in sentences.
    Verdict,
    /// The cautions of the runs, with their codes.
    Warnings,
    /// Identity, seed and fixed parameters of the study.
    Study,
    /// The storage behind each role.
    Storage,
    /// Pictures made of characters.
    StripMaps,
    /// What differs around the runs of two sides.
    Changes,
    /// The sides of a comparison.
    Sides,
    /// Waits of both sides of a pair.
    Waits,
    /// How the tables are read.
    Notes,
}

/// A titled part of an output; one without blocks is left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// What it is, where that matters to an output.
    pub(crate) id: SectionId,
    /// One line.
    pub(crate) title: String,
    /// In the order in which they are read.
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// Makes a section.
    pub(crate) fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id: SectionId::Plain, title: title.into(), blocks }
    }

    /// Gives it an id.
    pub(crate) fn named(self, id: SectionId) -> Self {
        Self { id, ..self }
    }
}
