//! The files of an import: recognised, hashed while they are read, and put together to studies.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::anyhow;
use import::hdrlog::ValueUnit;
use import::table::{ColumnOptions, Table};
use import::{Format, ImportError, Reading};
use results::imported::ImportedFile;
use sha2::{Digest, Sha256};

use crate::arguments::{ImportArguments, ImportFormat, ImportUnit};

/// Bytes by which a format is recognised.
const START_BYTES: u64 = 64 << 10;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The files of one study, and what was read from them.
pub(super) struct Group {
    pub(super) files: Vec<ImportedFile>,
    pub(super) reading: anyhow::Result<Reading>,
}

/// A file that was recognised.
struct Source {
    path: PathBuf,
    name: String,
    format: Format,
}

/// What was read of a file.
type Seen = Rc<RefCell<(Sha256, u64)>>;

/// Passes bytes on and hashes them.
struct Hashed<R> {
    reader: R,
    seen: Seen,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let mut seen = self.seen.borrow_mut();
        seen.0.update(&buffer[..count]);
        seen.1 += count as u64;
        Ok(count)
    }
}

/// Reads all files: the groups, and why other files cannot be read.
///
/// # Errors
/// An option that does not belong to the format of any file.
pub(super) fn groups(arguments: &ImportArguments) -> anyhow::Result<(Vec<Group>, Vec<anyhow::Error>)> {
    let mut sources: Vec<Source> = Vec::new();
    let mut errors = Vec::new();
    for path in &arguments.files {
        match source(path, arguments.format) {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(error),
        }
    }
    let is_table = |source: &Source| source.format == Format::Csv;
    if !arguments.factor.is_empty() && !sources.is_empty() && !sources.iter().any(is_table) {
        anyhow::bail!(
            "--factor names a column of a table, and no file is one\nhint: --set adds a level to all runs"
        );
    }
    let mut groups = tables(&sources, arguments, &mut errors);
    for formats in [
        &[Format::PgbenchLog, Format::PgbenchAggregate, Format::PgbenchOutput][..],
        &[Format::Fio],
        &[Format::HammerDb],
        &[Format::HdrHistogram],
    ] {
        let of_tool: Vec<&Source> =
            sources.iter().filter(|source| formats.contains(&source.format)).collect();
        if !of_tool.is_empty() {
            groups.push(of_one_tool(&of_tool, arguments));
        }
    }
    Ok((groups, errors))
}

fn source(path: &PathBuf, format: ImportFormat) -> anyhow::Result<Source> {
    let name = path.to_string_lossy().into_owned();
    let refuse = |error: std::io::Error| anyhow!("could not import \"{name}\": {error}");
    let mut file = disk::regular::open(path).map_err(refuse)?;
    let mut start = Vec::new();
    file.by_ref().take(START_BYTES).read_to_end(&mut start).map_err(refuse)?;
    if start.is_empty() {
        return Err(anyhow!("could not import \"{name}\": the file is empty"));
    }
    let asked = match format {
        ImportFormat::Auto => None,
        ImportFormat::Csv => Some(Format::Csv),
        ImportFormat::PgbenchLog => Some(Format::PgbenchLog),
        ImportFormat::PgbenchAggregate => Some(Format::PgbenchAggregate),
        ImportFormat::PgbenchOutput => Some(Format::PgbenchOutput),
        ImportFormat::Fio => Some(Format::Fio),
        ImportFormat::Hammerdb => Some(Format::HammerDb),
        ImportFormat::Hdrhistogram => Some(Format::HdrHistogram),
    };
    let format = asked.or_else(|| Format::recognise(&start)).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        anyhow!(
            "could not import \"{name}\": the format was not recognised\nhint: name it with --format, one of {}",
            names.join(", ")
        )
    })?;
    Ok(Source { path: path.clone(), name, format })
}

/// Opens a file from its beginning; what is read of it is hashed.
fn open(source: &Source) -> Result<(BufReader<Hashed<File>>, Seen), ImportError> {
    let refuse = |error: std::io::Error| ImportError::new(&source.name, error.to_string());
    let mut file = disk::regular::open(&source.path).map_err(refuse)?;
    file.seek(SeekFrom::Start(0)).map_err(refuse)?;
    let seen = Rc::new(RefCell::new((Sha256::new(), 0)));
    let reader = Hashed { reader: file, seen: Rc::clone(&seen) };
    Ok((BufReader::with_capacity(BUFFER_BYTES, reader), seen))
}

fn file(source: &Source, seen: &Seen) -> ImportedFile {
    let seen = seen.borrow();
    let sha256 = seen.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    ImportedFile { path: source.name.clone(), bytes: seen.1, sha256 }
}

/// Every table by itself; all of them are there when one is checked.
fn tables(sources: &[Source], arguments: &ImportArguments, errors: &mut Vec<anyhow::Error>) -> Vec<Group> {
    let mut read: Vec<(ImportedFile, Table)> = Vec::new();
    for source in sources.iter().filter(|source| source.format == Format::Csv) {
        let table = open(source).and_then(|(reader, seen)| {
            let table = Table::read(reader, &source.name)?;
            Ok((file(source, &seen), table))
        });
        match table {
            Ok(table) => read.push(table),
            Err(error) => errors.push(error.into()),
        }
    }
    let options = options(arguments);
    let mut groups = Vec::new();
    for (index, (file, table)) in read.iter().enumerate() {
        let others: Vec<&Table> = read
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .map(|(_, (_, table))| table)
            .collect();
        let reading = import::table::read(table, &others, &options).map_err(anyhow::Error::from);
        groups.push(Group { files: vec![file.clone()], reading });
    }
    groups
}

fn options(arguments: &ImportArguments) -> ColumnOptions {
    let metric = |text: &String| match text.split_once(':') {
        Some((name, unit)) => (name.to_owned(), Some(unit.to_owned())),
        None => (text.clone(), None),
    };
    ColumnOptions {
        factors: arguments.factor.clone(),
        metrics: arguments.metric.iter().map(metric).collect(),
        known_parameters: lab::spec::parameters().iter().map(|parameter| parameter.name.to_owned()).collect(),
    }
}

/// All files of one tool as one study.
fn of_one_tool(sources: &[&Source], arguments: &ImportArguments) -> Group {
    let mut files = Vec::new();
    let mut readers: Vec<(String, Box<dyn BufRead>)> = Vec::new();
    let mut seen_of = Vec::new();
    let reading = (|| {
        if sources[0].format.is_pgbench() {
            let mut parts = Vec::new();
            // One after the other: a log may be larger than memory.
            for source in sources {
                let (reader, seen) = open(source)?;
                parts.push(import::pgbench::part(reader, &source.name, source.format)?);
                files.push(file(source, &seen));
            }
            return import::pgbench::join(parts);
        }
        for source in sources {
            let (reader, seen) = open(source)?;
            readers.push((source.name.clone(), Box::new(reader)));
            seen_of.push((source, seen));
        }
        let readers = std::mem::take(&mut readers);
        let reading = match sources[0].format {
            Format::Fio => import::fio::read(readers),
            Format::HammerDb => import::hammerdb::read(readers),
            _ => import::hdrlog::read(readers, unit(arguments.unit)),
        };
        files.extend(seen_of.iter().map(|(source, seen)| file(source, seen)));
        reading
    })();
    Group { files, reading: reading.map_err(anyhow::Error::from) }
}

fn unit(unit: Option<ImportUnit>) -> Option<ValueUnit> {
    unit.map(|unit| match unit {
        ImportUnit::Ns => ValueUnit::Nanoseconds,
        ImportUnit::Us => ValueUnit::Microseconds,
        ImportUnit::Ms => ValueUnit::Milliseconds,
    })
}
