//! One file of a run, or of several.

use std::io::BufRead;

use super::{aggregate, log, output};
use crate::{Format, ImportError};

/// What one file says about a run, or about several.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) file: String,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Log(Box<log::Log>),
    Aggregate(aggregate::Aggregate),
    Output(Vec<output::Output>),
}

/// Reads one file.
///
/// # Errors
/// A line is not one of the format, a number is out of range, the file has no transaction.
pub fn part(reader: impl BufRead, file: &str, format: Format) -> Result<Part, ImportError> {
    let content = match format {
        Format::PgbenchLog => Content::Log(Box::new(log::read(reader, file)?)),
        Format::PgbenchAggregate => Content::Aggregate(aggregate::read(reader, file)?),
        Format::PgbenchOutput => Content::Output(output::read(reader, file)?),
        other => return Err(ImportError::new(file, format!("{other} is not a format of pgbench"))),
    };
    Ok(Part { file: file.to_owned(), content })
}
