//! A subset of fio's job files, for those who have their patterns written down already.
//!
//! Syntax and meaning follow fio 3.33, HOWTO "Job file format" and "Job file parameters". What fathom does otherwise
//! becomes a note; what it cannot do is refused with its line, never passed over.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::matrix::{Matrix, Pattern};
use crate::backend::BackendChoice;

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

/// Why a job file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioJobError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
    /// One thing to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for FioJobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use line {} of the job file: {}", self.line, self.problem)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for FioJobError {}

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

/// `rw`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mode {
    is_random: bool,
    reads: bool,
    writes: bool,
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
            None => return Err(error(line, "a parameter stands before the first section")),
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

fn error(line: usize, problem: &str) -> FioJobError {
    FioJobError { line, problem: problem.to_owned(), hint: None }
}

fn not_a(line: usize, key: &str, text: &str, kind: &str) -> FioJobError {
    error(line, &format!("\"{text}\" of parameter \"{key}\" is not {kind}"))
}

fn mode(line: usize, text: &str) -> Result<Mode, FioJobError> {
    let (is_random, reads, writes) = match text {
        "read" => (false, true, false),
        "write" => (false, false, true),
        "randread" => (true, true, false),
        "randwrite" => (true, false, true),
        "rw" | "readwrite" => (false, true, true),
        "randrw" => (true, true, true),
        _ => return Err(not_a(line, "rw", text, "read, write, randread, randwrite, rw or randrw")),
    };
    Ok(Mode { is_random, reads, writes })
}

fn engine(line: usize, text: &str, notes: &mut Vec<String>) -> Result<BackendChoice, FioJobError> {
    let (choice, note) = match text {
        "io_uring" => return Ok(BackendChoice::Uring),
        "libaio" => (BackendChoice::Auto, "ioengine=libaio: fathom uses io_uring, or threads without it"),
        "psync" | "sync" | "pvsync" | "pvsync2" | "posixaio" => (
            BackendChoice::Threads,
            "this ioengine: fathom uses one pread thread for each transfer outstanding",
        ),
        _ => {
            return Err(not_a(
                line,
                "ioengine",
                text,
                "io_uring, libaio, psync, sync, pvsync, pvsync2 or posixaio",
            ));
        }
    };
    notes.push(note.to_owned());
    Ok(choice)
}

fn number<T: std::str::FromStr>(line: usize, key: &str, text: &str) -> Result<T, FioJobError> {
    text.parse().map_err(|_| not_a(line, key, text, "a whole number in range"))
}

fn percent(line: usize, key: &str, text: &str) -> Result<u8, FioJobError> {
    let percent: u8 = number(line, key, text)?;
    if percent > 100 { Err(not_a(line, key, text, "a share of 0 to 100")) } else { Ok(percent) }
}

/// A parameter without a value is a yes.
fn boolean(line: usize, key: &str, value: Option<&str>) -> Result<bool, FioJobError> {
    match value {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(text) => Err(not_a(line, key, text, "0 or 1")),
    }
}

/// Several files, separated by colons, are one target too many.
fn path(line: usize, key: &str, text: &str) -> Result<PathBuf, FioJobError> {
    if text.is_empty() || text.contains(':') {
        return Err(not_a(line, key, text, "one path"));
    }
    Ok(PathBuf::from(text))
}

/// fio's units with `kb_base=1024`, its default: k, m, g, t with or without b. `kib` means 1000 there, by history,
/// and is refused here.
fn size(line: usize, key: &str, text: &str) -> Result<u64, FioJobError> {
    let (digits, unit) = digits_and_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" => Some(10),
        "m" | "mb" => Some(20),
        "g" | "gb" => Some(30),
        "t" | "tb" => Some(40),
        _ => None,
    };
    let bytes = shift.and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| not_a(line, key, text, "one size such as 8k or 1g"))
}

fn time(line: usize, key: &str, text: &str) -> Result<Duration, FioJobError> {
    let (digits, unit) = digits_and_unit(text);
    let us = match unit {
        "" | "s" => Some(1_000_000),
        "us" => Some(1),
        "ms" => Some(1000),
        "m" => Some(60_000_000),
        "h" => Some(3_600_000_000),
        "d" => Some(86_400_000_000),
        _ => None,
    };
    let us = us.and_then(|unit: u64| digits.parse::<u64>().ok()?.checked_mul(unit));
    us.map(Duration::from_micros).ok_or_else(|| not_a(line, key, text, "a time such as 30 or 500ms"))
}

fn digits_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PUBLISHED: &str = "
; the fourth and the last shape of the published table
[global]
ioengine=io_uring
direct=1
filename=/data/test
size=50g
runtime=30
ramp_time=500ms
time_based
norandommap=1

[sequential-8k]
rw=read
bs=8k
iodepth=32

[mixed-256k]
stonewall
rw=randread
percentage_random=50
bs=256K
iodepth = 86
numjobs=2
";

    #[test]
    fn a_job_file_becomes_a_matrix() {
        let job = read_fio_job(PUBLISHED).unwrap();
        assert_eq!(job.names, ["sequential-8k", "mixed-256k"]);
        assert_eq!(job.path, Some(PathBuf::from("/data/test")));
        let matrix = &job.matrix;
        let mixed = Pattern { jobs: 2, ..Pattern::read(256 << 10, 50, 86) };
        assert_eq!(matrix.patterns, [Pattern::read(8192, 0, 32), mixed]);
        assert_eq!((matrix.size_bytes, matrix.want_direct), (50 << 30, true));
        assert_eq!((matrix.runtime, matrix.ramp), (Duration::from_secs(30), Duration::from_millis(500)));
        assert_eq!(matrix.backend, BackendChoice::Uring);
        assert_eq!(matrix.destroy_contents, None, "a file cannot give the right to overwrite");
    }

    #[test]
    fn fios_defaults_hold_where_nothing_is_said() {
        let job = read_fio_job("[a]").unwrap();
        assert_eq!(job.matrix.patterns, [Pattern::read(4096, 0, 1)]);
        assert!(!job.matrix.want_direct);
        assert_eq!(job.path, None);
        assert!(job.notes.iter().any(|note| note.starts_with("no runtime is given")));
    }

    #[test]
    fn mixes_are_read_in_both_directions() {
        let mix = |text: &str| {
            let pattern = read_fio_job(&format!("[a]\n{text}")).unwrap().matrix.patterns[0];
            (pattern.read_percent, pattern.random_percent)
        };
        assert_eq!(mix("rw=randrw"), (50, 100));
        assert_eq!(mix("rw=randrw\nrwmixread=70"), (70, 100));
        assert_eq!(mix("rw=rw\nrwmixwrite=70"), (30, 0));
        assert_eq!(mix("rw=randwrite\nrwmixread=70"), (0, 100));
        assert_eq!(mix("rw=read\npercentage_random=70"), (100, 0));
    }

    #[test]
    fn what_fathom_cannot_do_is_refused_with_its_line_and_a_hint() {
        let cases = [
            (
                "[a]\niodepht=3",
                2,
                "no parameter \"iodepht\"; the nearest parameter that fathom has is \"iodepth\"",
            ),
            ("[a]\nrate_process=poisson", 2, "no parameter \"rate_process\""),
            ("rw=read", 1, "before the first section"),
            ("[a\nrw=read", 1, "not closed"),
            ("[a]\nrw=trim", 2, "\"trim\" of parameter \"rw\" is not read, write"),
            ("[a]\nbs=8k,4k", 2, "is not one size"),
            ("[a]\nbs=8kib", 2, "is not one size"),
            ("[a]\nbs", 2, "has no value"),
            ("[a]\nbs=99999999999t", 2, "is not one size"),
            ("[a]\nruntime=-1", 2, "is not a time"),
            ("[a]\nfilename=/a:/b", 2, "is not one path"),
            ("[a]\nrwmixread=101", 2, "0 to 100"),
            ("[a]\nfdatasync=1", 2, "asks for flushes between transfers; ask for the flush table"),
            ("[a]\n[b]", 2, "at the same time as the ones before it; write \"stonewall\""),
            ("[a]\nsize=1g\n[b]\nstonewall\nsize=2g", 3, "move these parameters to [global]"),
            ("", 1, "no job section"),
            ("[a]\nbs=1000", 1, "multiple of 512"),
            ("[a]\niodepth=5000", 1, "1 to 1024"),
        ];
        for (text, line, part) in cases {
            let error = read_fio_job(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn text_cut_anywhere_is_an_error_or_a_matrix() {
        for end in 0..PUBLISHED.len() {
            let _any = read_fio_job(&PUBLISHED[..end]);
        }
        let _any = read_fio_job("[\u{fffd}]\n=\n=1\n[global]\n\u{1f4be}=8k");
    }
}
