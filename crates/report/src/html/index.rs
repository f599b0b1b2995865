//! The first page of `fathom serve`: everything in a results file that has a page, with what came out of it.

use results::store::{StoredCheck, StoredStructure, StudyId};
use results::verdict::VerdictKind;
use results::wording::{counted, thousands};

use super::baseline::Baseline;
use super::definitions::Definitions;
use super::figure::absent;
use super::markup::{Markup, markup};
use super::shell::shelled;
use super::tables::labelled;
use crate::number::duration;
use crate::tables::{file_name, moment};
use crate::{io_table, structure};

/// Whether a study goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// A process makes runs of it now.
    Running,
    /// Runs are missing, and no process makes them.
    Interrupted,
    /// Every planned run was made.
    Complete,
}

impl StudyState {
    fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Complete => "complete",
        }
    }
}

/// One study of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyLine {
    /// Its row number.
    pub id: StudyId,
    /// Its name for people.
    pub title: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Engine and version.
    pub target: String,
    /// Is it made in miniature?
    pub is_miniature: bool,
    /// Whether it goes on.
    pub state: StudyState,
    /// Planned runs that ended, each place once.
    pub done: usize,
    /// Cells times repetitions.
    pub planned: usize,
    /// Runs that enter means.
    pub counting: usize,
    /// From the start of the first run to the end of the last, in seconds; `None` before the first.
    pub duration_s: Option<f64>,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// What came out, in one phrase.
    pub verdict: String,
    /// The study of the same experiment and target before it, to compare with.
    pub previous: Option<StudyId>,
    /// Are there several studies of the experiment, so that it has a history?
    pub has_history: bool,
}

/// What a results file holds that has a page.
#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    /// All studies, oldest first.
    pub studies: &'a [StudyLine],
    /// All checks, oldest first.
    pub checks: &'a [StoredCheck],
    /// All baselines, oldest first.
    pub baselines: &'a [Baseline],
    /// Structures that belong to no run, oldest first.
    pub structures: &'a [StoredStructure],
}

/// Writes the index, the newest of each kind first.
pub fn index(index: &Index<'_>) -> String {
    let parts = [
        ("studies", "Studies", studies(index.studies)),
        ("checks", "Checks", checks(index.checks)),
        ("baselines", "I/O baselines", baselines(index.baselines)),
        ("structures", "Structures", structures(index.structures)),
    ];
    let shown: Vec<_> =
        parts.into_iter().filter_map(|(id, title, table)| Some((id, title, table?))).collect();
    let sections: Vec<Markup> = if shown.is_empty() {
        vec![absent("Nothing is stored yet. `fathom demo` stores two studies in less than a minute.")]
    } else {
        let section = |(id, title, table): &(&str, &str, Markup)| {
            markup!("<h2 id=\"{}\">{}</h2>{}", *id, *title, table)
        };
        shown.iter().map(section).collect()
    };
    let counts = [
        (index.studies.len(), "study", "studies"),
        (index.checks.len(), "check", "checks"),
        (index.baselines.len(), "I/O baseline", "I/O baselines"),
        (index.structures.len(), "structure", "structures"),
    ];
    let counts = counts.iter().filter(|(count, ..)| *count > 0);
    let kicker: Vec<String> =
        counts.map(|(count, one, many)| results::wording::counted_as(*count as u64, one, many)).collect();
    let kicker = if kicker.is_empty() { "stored results".to_owned() } else { kicker.join(" · ") };
    shelled("Results", &kicker, &sections, &Definitions::load())
}

fn studies(lines: &[StudyLine]) -> Option<Markup> {
    let columns = [
        ("study", "r"),
        ("title", "w"),
        ("result", "w"),
        ("state", "l i"),
        ("took", "r i"),
        ("engine", "l i"),
        ("date", "l i d"),
    ];
    let row = |line: &StudyLine| {
        let id = line.id.0;
        let title = if line.title.is_empty() { &line.experiment } else { &line.title };
        vec![
            markup!("{}", id),
            markup!(
                "<a href=\"/study/{}\">{}</a><div class=\"faint\">{}{}</div>",
                id,
                title,
                if *title == line.experiment { "" } else { line.experiment.as_str() },
                more(line)
            ),
            markup!("{}", sentence(&line.verdict)),
            state(line),
            line.duration_s.map_or_else(Markup::default, |seconds| markup!("{}", duration(seconds))),
            markup!("{}", line.target),
            date(&line.created_at),
        ]
    };
    (!lines.is_empty()).then(|| labelled(&columns, lines.iter().rev().map(row)))
}

/// `complete, 15 of 15 runs`; runs that do not count are named.
fn state(line: &StudyLine) -> Markup {
    let excluded = match line.done.saturating_sub(line.counting) {
        0 => String::new(),
        count => format!(", {} excluded", thousands(count as u64)),
    };
    let class = if line.state == StudyState::Complete { "" } else { "open" };
    markup!(
        "<span><span class=\"{}\">{}</span>, {} of {} runs{}</span>",
        class,
        line.state.word(),
        line.done,
        line.planned,
        excluded
    )
}

/// Whether it is a miniature, and links to what is made of several studies.
fn more(line: &StudyLine) -> Markup {
    let scale = line.is_miniature.then(|| markup!(", miniature"));
    let compare = line.previous.map(|previous| {
        markup!(" · <a href=\"/compare/{}/{}\">compare with study {}</a>", previous.0, line.id.0, previous.0)
    });
    let history = line.has_history.then(|| markup!(" · <a href=\"/history/{}\">history</a>", line.id.0));
    [scale, compare, history].into_iter().flatten().collect()
}

/// A result with a capital letter and without a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

/// The day and the minute; the whole moment on hover.
fn date(at: &str) -> Markup {
    let whole = moment(at);
    let short = whole.get(..16).map_or_else(|| whole.clone(), |minute| minute.replace('T', " "));
    markup!("<span title=\"{}\">{}</span>", whole, short)
}

fn checks(checks: &[StoredCheck]) -> Option<Markup> {
    let columns = [
        ("check", "r"),
        ("database", "w"),
        ("result", "w"),
        ("level", "l i"),
        ("size", "r i"),
        ("took", "r i"),
        ("engine", "l i"),
        ("date", "l i d"),
    ];
    let row = |check: &StoredCheck| {
        let report = &check.report;
        let verdict = report.verdict();
        let class = if verdict.kind == VerdictKind::Damage { "bad" } else { "" };
        vec![
            markup!("{}", check.id),
            place("check", check.id, &check.place),
            markup!("<span class=\"{}\">{}</span>", class, sentence(&verdict.text)),
            markup!("{}", report.level.name()),
            markup!("{}", counted(report.accounting.page_count, "page")),
            markup!("{}", duration(report.counters.elapsed_ns as f64 / 1e9)),
            markup!("{}", report.engine_id().map_or(report.engine.as_str(), |engine| engine.title())),
            date(&check.stored_at),
        ]
    };
    (!checks.is_empty()).then(|| labelled(&columns, checks.iter().rev().map(row)))
}

fn baselines(baselines: &[Baseline]) -> Option<Markup> {
    let columns =
        [("baseline", "r"), ("place", "w"), ("result", "w"), ("rows", "l"), ("device", "l"), ("date", "l")];
    let row = |baseline: &Baseline| {
        let table = &baseline.table;
        let count = table.rows.len() + table.sync_rows.len();
        let flagged = match io_table::flagged_count(table) {
            0 => String::new(),
            flagged => format!(", {flagged} flagged"),
        };
        vec![
            markup!("{}", baseline.number.unwrap_or_default()),
            place("io", baseline.number.unwrap_or_default(), &table.target),
            markup!("{}", sentence(&io_table::answer(table).into_iter().next().unwrap_or_default())),
            markup!("{}{}", counted(count as u64, "row"), flagged),
            markup!("{}", table.device.as_deref().unwrap_or_default()),
            date(&baseline.began_at),
        ]
    };
    (!baselines.is_empty()).then(|| labelled(&columns, baselines.iter().rev().map(row)))
}

fn structures(structures: &[StoredStructure]) -> Option<Markup> {
    let columns = [
        ("structure", "r"),
        ("database", "w"),
        ("result", "w"),
        ("mode", "l i"),
        ("engine", "l i"),
        ("date", "l i d"),
    ];
    let row = |stored: &StoredStructure| {
        let report = &stored.report;
        vec![
            markup!("{}", stored.id),
            place("structure", stored.id, &stored.place),
            markup!("{}", sentence(&structure::answer(report).into_iter().next().unwrap_or_default())),
            markup!("{}", report.mode.name()),
            markup!("{}", report.engine_id().map_or(report.engine.as_str(), |engine| engine.title())),
            date(&stored.stored_at),
        ]
    };
    (!structures.is_empty()).then(|| labelled(&columns, structures.iter().rev().map(row)))
}

/// A link by the last part of a path, which the whole path stands below.
fn place(kind: &str, number: i64, path: &str) -> Markup {
    let name = file_name(path);
    let whole = if name == path { Markup::default() } else { markup!("<div class=\"faint\">{}</div>", path) };
    markup!("<a href=\"/{}/{}\">{}</a>{}", kind, number, name, whole)
}
