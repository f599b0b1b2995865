//! A subset of fio's job files, for those who have their patterns written down already.
//!
//! Syntax and meaning follow fio 3.33, HOWTO "Job file format" and "Job file parameters". What fathom does otherwise
//! becomes a note; what it cannot do is refused with its line, never passed over.

mod error;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use super::matrix::Matrix;
use super::pattern::Pattern;
use crate::backend::BackendChoice;
pub use error::FioJobError;
use values::{Mode, boolean, engine, error, mode, number, path, percent, size, time};

/// Parameters that change nothing in what fathom measures: it always counts all jobs of a row together, runs by time
/// and registers buffers and files where it can.
const WITHOUT_EFFECT: [&str; 18] = [
    "clat_percentiles",
    "disk_util",
    "end_fsync",
    "eta",
    "fallocate",
    "fixedbufs",
    "group_reporting",
    "invalidate",
    "lat_percentiles",
    "norandommap",
    "percentile_list",
    "randrepeat",
    "refill_buffers",
    "registerfiles",
    "thread",
    "time_based",
    "unlink",
    "userspace_reap",
];

/// Parameters with an effect, for the nearest one to a word that is none.
const WITH_EFFECT: [&str; 23] = [
    "bs",
    "blocksize",
    "direct",
    "directory",
    "filename",
    "filesize",
    "hipri",
    "iodepth",
    "ioengine",
    "numjobs",
    "percentage_random",
    "ramp_time",
    "randseed",
    "readwrite",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "stonewall",
    "wait_for_previous",
    "buffered",
    "timeout",
];

/// A matrix read from a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJob {
    /// The matrix; one row per job section, in their order.
    pub matrix: Matrix,
    /// `filename` or `directory`, where given.
    pub path: Option<PathBuf>,
    /// The names of the job sections, row by row.
    pub names: Vec<String>,
    /// What fathom does otherwise than fio, as sentences.
    pub notes: Vec<String>,
}

/// What one section says, beginning with what `[global]` said before it.
#[derive(Clone, Debug, PartialEq)]
struct Section {
    name: String,
    line: usize,
    mode: Mode,
    transfer_bytes: u64,
    outstanding: u32,
    jobs: u32,
    read_percent: Option<u8>,
    random_percent: Option<u8>,
    waits: bool,
    shared: Shared,
}

/// What has to be the same in all sections.
#[derive(Clone, Debug, PartialEq)]
struct Shared {
    path: Option<PathBuf>,
    size_bytes: Option<u64>,
    runtime: Option<Duration>,
    ramp: Duration,
    seed: u64,
    direct: bool,
    poll: bool,
    backend: BackendChoice,
}

/// Reads a job file.
///
/// # Errors
/// At the first line that fathom does not understand or cannot do, with its number.
pub fn read_fio_job(text: &str) -> Result<FioJob, FioJobError> {
    let mut global = defaults();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = false;
    let mut notes = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let text = raw.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = text.strip_prefix('[') {
            let name =
                name.strip_suffix(']').ok_or_else(|| error(line, "the section is not closed by \"]\""))?;
            in_global = name.eq_ignore_ascii_case("global");
            if !in_global {
                sections.push(Section { name: name.to_owned(), line, ..global.clone() });
            }
            continue;
        }
        let section = match sections.last_mut() {
            _ if in_global => &mut global,
            Some(section) => section,
            None => return Err(error(line, "a parameter precedes the first section")),
        };
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (text, None),
        };
        section.set(line, &key.to_ascii_lowercase(), value, &mut notes)?;
    }
    let last_line = text.lines().count().max(1);
    matrix_of(sections, last_line, notes)
}

fn defaults() -> Section {
    let standard = Matrix::of(Vec::new(), 0);
    Section {
        name: String::new(),
        line: 0,
        mode: Mode { is_random: false, reads: true, writes: false },
        // fio's own default.
        transfer_bytes: 4096,
        outstanding: 1,
        jobs: 1,
        read_percent: None,
        random_percent: None,
        waits: false,
        shared: Shared {
            path: None,
            size_bytes: None,
            runtime: None,
            ramp: Duration::ZERO,
            seed: standard.seed,
            direct: false,
            poll: false,
            backend: BackendChoice::Auto,
        },
    }
}

fn matrix_of(
    sections: Vec<Section>,
    last_line: usize,
    mut notes: Vec<String>,
) -> Result<FioJob, FioJobError> {
    let Some(first) = sections.first() else {
        return Err(error(last_line, "the file has no job section"));
    };
    let shared = first.shared.clone();
    for section in &sections[1..] {
        if !section.waits {
            let problem = format!("fio runs job \"{}\" at the same time as the ones before it", section.name);
            let hint = Some(
                "write \"stonewall\" into it, because fathom measures one row after the other".to_owned(),
            );
            return Err(FioJobError { line: section.line, problem, hint });
        }
        if section.shared != shared {
            let problem = format!(
                "job \"{}\" has another file, size, time, seed, engine or direct than job \"{}\"",
                section.name, first.name
            );
            let hint =
                Some("move these parameters to [global], because all rows of a matrix share them".to_owned());
            return Err(FioJobError { line: section.line, problem, hint });
        }
    }
    let patterns = sections.iter().map(Section::pattern).collect();
    let standard = Matrix::of(patterns, shared.size_bytes.unwrap_or(Matrix::published().size_bytes));
    if shared.runtime.is_none() {
        notes.push(format!("no runtime is given: each row takes {} s", standard.runtime.as_secs()));
    }
    notes.push("random places are drawn with replacement, as with norandommap".to_owned());
    let matrix = Matrix {
        runtime: shared.runtime.unwrap_or(standard.runtime),
        ramp: shared.ramp,
        seed: shared.seed,
        backend: shared.backend,
        want_direct: shared.direct,
        poll: shared.poll,
        ..standard
    };
    matrix.check().map_err(|problem| error(first.line, &problem.to_string()))?;
    let names = sections.into_iter().map(|section| section.name).collect();
    Ok(FioJob { matrix, path: shared.path, names, notes })
}

impl Section {
    fn pattern(&self) -> Pattern {
        let read_percent = match (self.mode.reads, self.mode.writes) {
            (true, false) => 100,
            (false, _) => 0,
            (true, true) => self.read_percent.unwrap_or(50),
        };
        // percentage_random has an effect on random modes only; sequential modes are sequential.
        let random_percent = if self.mode.is_random { self.random_percent.unwrap_or(100) } else { 0 };
        let &Section { transfer_bytes, outstanding, jobs, .. } = self;
        Pattern { transfer_bytes, read_percent, random_percent, outstanding, jobs }
    }

    fn set(
        &mut self,
        line: usize,
        key: &str,
        value: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<(), FioJobError> {
        let text = || value.ok_or_else(|| error(line, &format!("parameter \"{key}\" has no value")));
        let shared = &mut self.shared;
        match key {
            "rw" | "readwrite" => self.mode = mode(line, text()?)?,
            "bs" | "blocksize" => self.transfer_bytes = size(line, key, text()?)?,
            "iodepth" => self.outstanding = number(line, key, text()?)?,
            "numjobs" => self.jobs = number(line, key, text()?)?,
            "rwmixread" => self.read_percent = Some(percent(line, key, text()?)?),
            "rwmixwrite" => self.read_percent = Some(100 - percent(line, key, text()?)?),
            "percentage_random" => self.random_percent = Some(percent(line, key, text()?)?),
            "stonewall" | "wait_for_previous" => self.waits = boolean(line, key, value)?,
            "filename" | "directory" => shared.path = Some(path(line, key, text()?)?),
            "size" | "filesize" => shared.size_bytes = Some(size(line, key, text()?)?),
            "runtime" | "timeout" => shared.runtime = Some(time(line, key, text()?)?),
            "ramp_time" => shared.ramp = time(line, key, text()?)?,
            "randseed" => shared.seed = number(line, key, text()?)?,
            "direct" => shared.direct = boolean(line, key, value)?,
            "buffered" => shared.direct = !boolean(line, key, value)?,
            "hipri" => shared.poll = boolean(line, key, value)?,
            "ioengine" => shared.backend = engine(line, text()?, notes)?,
            key if WITHOUT_EFFECT.contains(&key) => {}
            "fsync" | "fdatasync" | "sync" => {
                let hint =
                    Some("ask for the flush table, which measures appends with their flushes".to_owned());
                let problem = format!("parameter \"{key}\" asks for flushes between transfers");
                return Err(FioJobError { line, problem, hint });
            }
            key => {
                let known = WITH_EFFECT.iter().chain(&WITHOUT_EFFECT);
                let nearest = known.min_by_key(|known| strsim::damerau_levenshtein(known, key));
                let close = nearest.filter(|known| strsim::damerau_levenshtein(known, key) <= 3);
                let hint = close.map(|known| format!("the nearest parameter that fathom has is \"{known}\""));
                return Err(FioJobError {
                    line,
                    problem: format!("fathom has no parameter \"{key}\""),
                    hint,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
