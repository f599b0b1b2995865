//! Samplers of the user's own: a command that prints CSV with time stamps while a run goes on.
//!
//! The first record names the columns. The time stands in the column called `time`, `timestamp`, `ts` or `date`,
//! else in the first one: seconds since 1970, with or without a fraction, or RFC 3339. Every other column with numbers
//! in it becomes the series `external.COLUMN`; a unit may stand behind its name in brackets: `supply (W)`. The command
//! is started before the barrier and ended with the run; one that fails, or prints what is no such table, is named in
//! the record of the run and ends nothing.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use results::observations::{Observations, SamplerRecord, Series, SeriesKind};
use rustix::process::{Pid, Signal, kill_process_group};

use super::series::nanoseconds_since;
use super::{RunningSampler, Sampler, Window};
use crate::child::LastSignal;

/// Names of the column that holds the time, best first.
const TIME_COLUMNS: [&str; 5] = ["time", "timestamp", "ts", "date", "datetime"];

/// Lines kept of one command: a night at ten lines a second.
const LINES_MAX: usize = 500_000;

/// Longest line that is read; more than this is no sample.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Columns read of one line.
const COLUMNS_MAX: usize = 256;

/// Longest text kept of what the command says on standard error.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// How long a command may take to end after it was asked to.
const END_WAIT_MAX: Duration = Duration::from_secs(2);

/// A wall clock that moves more than this against the run's clock cannot align anything to 1 s.
const CLOCK_STEP_MAX_S: f64 = 0.2;

/// A command of the user's, as `sh -c` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalCommand(String);

impl ExternalCommand {
    /// Takes a command line.
    ///
    /// # Errors
    /// An empty one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("the command of a sampler is empty".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// The whole command line.
    pub fn line(&self) -> &str {
        &self.0
    }

    /// First word alone: arguments may hold what does not belong into results.
    pub fn program(&self) -> &str {
        self.0.split_whitespace().next().unwrap_or_default()
    }
}

/// A command that has not begun.
#[derive(Clone, Debug)]
pub struct ExternalSampler {
    command: ExternalCommand,
}

impl ExternalSampler {
    /// Will run the command during the next measured part.
    pub fn new(command: ExternalCommand) -> Self {
        Self { command }
    }
}

/// The wall clock and the run's clock at one moment.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    wall_s: f64,
    at: Instant,
}

impl Clocks {
    fn now() -> Self {
        Self { wall_s: jiff::Timestamp::now().as_nanosecond() as f64 / 1e9, at: Instant::now() }
    }
}

impl Sampler for ExternalSampler {
    fn start(self: Box<Self>) -> Box<dyn RunningSampler> {
        let clocks = Clocks::now();
        let child = crate::child::command("sh", LastSignal::Kill)
            .args(["-c", &self.command.0])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut running =
            Running { command: self.command, clocks, child: None, lines: None, complaint: None };
        match child {
            Ok(mut child) => {
                running.lines = child.stdout.take().map(lines_of);
                running.complaint = child.stderr.take().map(text_of);
                running.child = Some(child);
            }
            Err(error) => {
                tracing::warn!("could not start the sampler \"{}\": {error}", running.command.program());
            }
        }
        Box::new(running)
    }
}

struct Running {
    command: ExternalCommand,
    clocks: Clocks,
    child: Option<Child>,
    lines: Option<Receiver<String>>,
    complaint: Option<Receiver<String>>,
}

impl RunningSampler for Running {
    fn stop(mut self: Box<Self>, window: Window) -> Observations {
        let ended = self.child.take().map(end);
        let later = Clocks::now();
        let lines: Vec<String> = self.lines.take().map(|lines| lines.iter().collect()).unwrap_or_default();
        let complaint = self.complaint.take().and_then(|text| text.recv_timeout(END_WAIT_MAX).ok());
        let source = format!("command \"{}\"", self.command.program());
        let (table, mut problem) = match read_table(&lines) {
            Ok(table) => (table, None),
            Err(reason) => (Table::default(), Some(reason)),
        };
        if let Some(reason) = failure(ended, complaint.as_deref()) {
            problem = Some(reason);
        }
        let passed_s = later.at.duration_since(self.clocks.at).as_secs_f64();
        let step_s = later.wall_s - self.clocks.wall_s - passed_s;
        if step_s.abs() > CLOCK_STEP_MAX_S {
            problem = Some(format!("the wall clock was moved by {step_s:.1} s during the run"));
        }
        let zero_s = self.clocks.wall_s - nanoseconds_since(window.began, self.clocks.at) as f64 / 1e9;
        let ended_ns = nanoseconds_since(window.began, window.ended);
        let series = table.series(zero_s, ended_ns, &source);
        let samples = series.iter().map(|series| series.at_ns.len() as u64).max().unwrap_or(0);
        if problem.is_none() && samples == 0 {
            problem = Some("no line fell into the run".to_owned());
        }
        let record = SamplerRecord {
            name: format!("external {}", self.command.program()),
            period_ns: series.first().and_then(|series| period_ns(&series.at_ns)).unwrap_or(0),
            samples_expected: samples,
            samples_taken: samples,
            cpu_s: 0.0,
            problem: problem.map(|reason| format!("{source}: {reason}")),
        };
        Observations { series, samplers: vec![record], ..Observations::default() }
    }
}

/// What became of the command: `None` when it was still at work and was ended by us.
fn end(mut child: Child) -> Option<std::process::ExitStatus> {
    if let Ok(Some(status)) = child.try_wait() {
        return Some(status);
    }
    let group = Pid::from_child(&child);
    // Only the group that began with our own child: the shell and what it started.
    let _ = kill_process_group(group, Signal::TERM);
    let asked_at = Instant::now();
    while asked_at.elapsed() < END_WAIT_MAX {
        if let Ok(Some(_)) = child.try_wait() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
    None
}

fn failure(ended: Option<Option<std::process::ExitStatus>>, complaint: Option<&str>) -> Option<String> {
    let status = match ended {
        None => return Some("it could not be started".to_owned()),
        Some(status) => status?,
    };
    let last_word = complaint.and_then(|text| text.lines().rfind(|line| !line.trim().is_empty()));
    let last_word = last_word.map_or(String::new(), |line| format!(": {}", line.trim()));
    Some(format!("it ended before the run did, with {status}{last_word}"))
}

/// Hands over the lines as they come, so that the command never waits for us.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(output);
        for _ in 0..LINES_MAX {
            let mut line = Vec::new();
            match reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                return;
            }
        }
        // What comes after the last line that is kept is read and dropped.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    receiver
}

fn text_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut reader = BufReader::new(output);
        let _ = reader.by_ref().take(COMPLAINT_BYTES_MAX).read_to_end(&mut kept);
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    });
    receiver
}

/// Columns of numbers with the time of each line, in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    times_s: Vec<f64>,
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    unit: String,
    values: Vec<Option<f64>>,
}

/// Reads the lines that a command printed.
///
/// A line without a time, as one cut short at the end, is left out; a field that is no number is a hole.
///
/// # Errors
/// No header, a header of one column, or no line with a time under it.
pub fn read_table(lines: &[String]) -> Result<Table, String> {
    let mut lines = lines.iter().filter(|line| !line.trim().is_empty());
    let header = fields(lines.next().ok_or("it printed nothing")?);
    if header.len() < 2 {
        return Err(format!("its first line \"{}\" does not name a time and a value", header.join(",")));
    }
    let lower: Vec<String> = header.iter().map(|name| name.to_lowercase()).collect();
    let time =
        TIME_COLUMNS.iter().find_map(|name| lower.iter().position(|column| column == name)).unwrap_or(0);
    let mut table = Table::default();
    let places: Vec<usize> = (0..header.len()).filter(|place| *place != time).collect();
    for place in &places {
        let (name, unit) = name_and_unit(&header[*place]);
        table.columns.push(Column { name, unit, values: Vec::new() });
    }
    let mut first_odd = None;
    for line in lines {
        let values = fields(line);
        let Some(time_s) = values.get(time).and_then(|text| parse_time(text)) else {
            first_odd.get_or_insert(line);
            continue;
        };
        table.times_s.push(time_s);
        for (column, place) in table.columns.iter_mut().zip(&places) {
            let value = values.get(*place).and_then(|text| text.parse::<f64>().ok());
            column.values.push(value.filter(|value| value.is_finite()));
        }
    }
    match first_odd {
        Some(line) if table.times_s.is_empty() => {
            let shown: String = line.chars().take(80).collect();
            Err(format!("no line has a time in its column \"{}\": \"{shown}\"", header[time]))
        }
        _ => Ok(table),
    }
}

impl Table {
    /// Puts the columns on the run's clock; lines outside the run are left out.
    fn series(&self, zero_s: f64, ended_ns: i64, source: &str) -> Vec<Series> {
        let mut places: Vec<(i64, usize)> = self
            .times_s
            .iter()
            .enumerate()
            .map(|(place, time_s)| (((time_s - zero_s) * 1e9) as i64, place))
            .filter(|(at_ns, _)| (0..=ended_ns).contains(at_ns))
            .collect();
        places.sort_unstable();
        let series = |column: &Column| Series {
            name: format!("external.{}", column.name),
            unit: column.unit.clone(),
            source: source.to_owned(),
            kind: SeriesKind::Gauge,
            at_ns: places.iter().map(|(at_ns, _)| *at_ns).collect(),
            values: places.iter().map(|(_, place)| column.values[*place]).collect(),
        };
        self.columns.iter().map(series).filter(|series| series.values.iter().any(Option::is_some)).collect()
    }
}

/// Splits a line of CSV; a field in double quotes may hold commas, and `""` for a quote.
fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted && fields.len() < COLUMNS_MAX => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

/// `supply (W)` to `supply` and `W`.
fn name_and_unit(text: &str) -> (String, String) {
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some((name, unit)) = text.strip_suffix(close).and_then(|text| text.rsplit_once(open)) {
            return (name.trim().to_owned(), unit.trim().to_owned());
        }
    }
    (text.to_owned(), String::new())
}

/// Seconds since 1970, or RFC 3339.
fn parse_time(text: &str) -> Option<f64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return seconds.is_finite().then_some(seconds);
    }
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    Some(timestamp.as_nanosecond() as f64 / 1e9)
}

/// Median time between two samples.
fn period_ns(at_ns: &[i64]) -> Option<u64> {
    let mut gaps: Vec<i64> = at_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).map(|gap| gap.unsigned_abs())
}

#[cfg(test)]
mod tests;
