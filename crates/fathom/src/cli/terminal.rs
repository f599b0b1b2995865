//! What people see on standard error: the log, progress, one line per run.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::engine::Limitation;
use lab::laboratory::Notice;
use report::plain::{json, lines, one_line};
use report::text::Form;
use results::ceiling::CeilingPattern;
use results::model::{GateOutcome, Run, RunState};
use results::redaction::redacted;
use results::wording::counted;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Redraws per second: enough to see it move, too few to cost anything.
const REDRAWS_PER_S: u8 = 4;

/// Sends warnings (and with `-v` more) to standard error.
pub(crate) fn start_log(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Harmless)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .log_internal_errors(false);
    tracing_subscriber::registry().with(level).with(lines).init();
}

/// Writes text for people to standard output; an error, not a panic, when the reader went away. Whatever it holds acts on
/// no terminal.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    write_out(fitted(&lines(text)).as_bytes())
}

/// Writes a document to standard output whose lines mean something to programs (CSV, a spec): none is broken, and it acts on
/// no terminal.
pub(crate) fn print_document(document: &str) -> std::io::Result<()> {
    write_out(lines(document).as_bytes())
}

/// Writes a document of JSON to standard output; it reads as the same values, and acts on no terminal.
pub(crate) fn print_json(document: &str) -> std::io::Result<()> {
    write_out(json(document).as_bytes())
}

/// Text with lines no wider than the terminal: `COLUMNS` where it is set, the terminal's own width otherwise. In a pipe
/// lines are left as they are, for grep and diff.
pub(crate) fn fitted(text: &str) -> String {
    match columns() {
        Some(width) => report::findings::wrapped(text, width),
        None => text.to_owned(),
    }
}

/// Width of the terminal on standard output; `None` in a pipe.
fn columns() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    columns.or_else(|| Some(usize::from(console::Term::stdout().size_checked()?.1)))
}

/// How tables are laid out: for the terminal's width, or for a file and a pipe as always.
pub(crate) fn form(output: Option<&Path>) -> Form {
    let is_file = output.is_some_and(|path| path != Path::new("-"));
    columns().filter(|_| !is_file).map_or_else(Form::default, Form::of_width)
}

/// Standard error for the lines of libraries: they may quote a server.
struct Harmless;

impl Write for Harmless {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        stderr().lock().write_all(lines(&redacted(&String::from_utf8_lossy(bytes))).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        stderr().lock().flush()
    }
}

/// Writes bytes to standard output; an error, not a panic, when the reader went away.
pub(crate) fn write_out(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a line to standard error, without the passwords that it may quote. Whether anybody reads it must not decide the fate of a night's runs.
pub(crate) fn say(line: &str) {
    // Nowhere is left to tell that nobody listens.
    let _ = writeln!(stderr().lock(), "{}", lines(&redacted(line)));
}

/// An error with its causes, each once: many causes are told by the error above them already. Hints follow the last cause,
/// each on a line of its own.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let (mut text, mut hints) = (String::new(), String::new());
    for cause in error.chain().map(ToString::to_string) {
        let (reason, hint) = cause.split_at(cause.find("\nhint: ").unwrap_or(cause.len()));
        if text.is_empty() {
            reason.clone_into(&mut text);
        } else if !text.contains(reason) {
            text = format!("{text}: {reason}");
        }
        if !hints.contains(hint) {
            hints += hint;
        }
    }
    text + &hints
}

/// Shows a study as it goes: a bar on a terminal, and one line per run anywhere.
pub(crate) struct StudyDisplay {
    bar: ProgressBar,
    began: Instant,
    runs_done: usize,
    runs_to_do: usize,
    current: String,
    /// What the clients' work is counted in.
    work: &'static str,
}

impl StudyDisplay {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar, began: Instant::now(), runs_done: 0, runs_to_do: 0, current: String::new(), work: "rows" }
    }

    /// Takes note of what happens.
    pub(crate) fn notice(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::StudyBegins { study, planned, reused } => {
                self.bar.set_length(*planned as u64);
                self.bar.set_position(*reused as u64);
                self.runs_to_do = planned - reused;
                self.work = if study.is_own_workload() { "transactions" } else { "rows" };
                let reuse =
                    if *reused > 0 { format!(", {reused} of them already completed") } else { String::new() };
                let word = if *planned == 1 { "run" } else { "runs" };
                self.line(format!(
                    "{} on {}: {planned} {word}{reuse}, seed {}",
                    study.experiment, study.engine, study.seed
                ));
            }
            Notice::Limited(limitation) => self.line(format!("note: {}", limited(limitation))),
            Notice::RunBegins { cell, key, .. } => {
                let again =
                    if key.attempt > 0 { format!(", attempt {}", key.attempt + 1) } else { String::new() };
                self.current = format!("{}{again}", cell.label());
                self.message(String::new());
            }
            Notice::RunProgress { rows, rows_total } => self.message(match rows_total {
                Some(total) if *total > 0 => format!(" {:.0} %", 100.0 * *rows as f64 / *total as f64),
                _ => format!(" {rows} {}", self.work),
            }),
            Notice::Loading { rows, rows_total } => self.message(match rows_total {
                Some(total) => format!(" loading: {rows} of {total} rows"),
                None => format!(" loading: {rows} rows"),
            }),
            Notice::NoProgress { cell, still_for } => {
                self.line(format!("warning: {}: no progress for {}", cell.label(), seconds(*still_for)));
            }
            Notice::RunEnds { run_id, cell, run } => {
                if run.state == RunState::Valid {
                    self.runs_done += 1;
                    self.bar.inc(1);
                }
                self.line(run_line(*run_id, &cell.label(), run));
            }
            Notice::Ceiling { role, pattern } => {
                let what = match pattern {
                    CeilingPattern::Appends { method, size_bytes, .. } => {
                        format!("appends of {size_bytes} bytes made durable by {}", method.name())
                    }
                    CeilingPattern::Writes { transfer_bytes, random_percent, .. } => {
                        let place = if *random_percent > 0 { "random" } else { "sequential" };
                        format!("{place} writes of {transfer_bytes} bytes")
                    }
                };
                self.line(format!("ceiling of the {role}: measuring {what}"));
            }
            Notice::BlockAdded { block_index, half_width_percent, undecided } => {
                let undecided = undecided.map_or_else(String::new, |count| {
                    format!("{} not decided, ", counted(count as u64, "comparison"))
                });
                let width = half_width_percent.map_or("too few runs for an interval".to_owned(), |p| {
                    format!("widest interval ± {p:.1} %")
                });
                self.line(format!("block {} is added: {undecided}{width}", block_index + 1));
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn message(&self, detail: String) {
        let left = self.runs_to_do.saturating_sub(self.runs_done);
        let eta = if self.runs_done == 0 {
            String::new()
        } else {
            let per_run = self.began.elapsed() / self.runs_done as u32;
            format!(", about {} left", seconds(per_run * left as u32))
        };
        self.bar.set_message(one_line(&format!("{}{detail}{eta}", self.current)));
    }

    fn line(&self, text: String) {
        if self.bar.is_hidden() {
            say(&text);
        } else {
            self.bar.println(lines(&text));
        }
    }
}

/// What an engine does in its own way, with what it is about where the sentence does not say so.
pub(crate) fn limited(limitation: &Limitation) -> String {
    let Limitation { subject, text, .. } = limitation;
    if subject.is_empty() || text.contains(subject.as_str()) {
        text.clone()
    } else {
        format!("{subject}: {text}")
    }
}

fn run_line(run_id: i64, label: &str, run: &Run) -> String {
    let place = format!("run {run_id}  block {}  {label}", run.key.block_index + 1);
    if run.state == RunState::Valid {
        let seconds = run.elapsed_ns as f64 / 1e9;
        let rate = run.transactions() as f64 / seconds;
        return format!("{place}  {seconds:.3} s  {rate:.0} transactions/s");
    }
    let reasons: Vec<String> = run
        .gates
        .iter()
        .filter(|gate| gate.outcome == GateOutcome::Failed)
        .map(|gate| format!("{}: {}", gate.gate, gate.found))
        .collect();
    format!("{place}  INVALID, not counted: {}", reasons.join("; "))
}

fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..=119 => format!("{:.0} s", time.as_secs_f64()),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{:.1} h", whole as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::told;

    #[test]
    fn a_cause_that_its_error_tells_already_is_not_told_twice() {
        let cause = || std::io::Error::other("disk on fire");
        let error = Err::<(), _>(cause()).context("could not read \"x\": disk on fire").context("no run");
        assert_eq!(
            error.map_err(|error| told(&error)),
            Err("no run: could not read \"x\": disk on fire".to_owned())
        );
        let error = Err::<(), _>(cause()).context("no run");
        assert_eq!(error.map_err(|error| told(&error)), Err("no run: disk on fire".to_owned()));
    }
}
