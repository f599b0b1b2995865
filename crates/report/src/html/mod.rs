//! One page that needs nothing else: every figure of a study as tables, pictures and data, in one HTML file.
//!
//! The tables are those of the other outputs; the pictures are drawn here ([`chart`]) and need no script; the series
//! are embedded once, as JSON, and drawn by uPlot where scripts run. The page's own policy forbids every request.

mod chart;
mod checks;
mod clock;
mod data;
mod definitions;
mod device;
mod document;
mod factors;
mod record;
mod slide;
mod structure;
mod tables;
mod why;

use askama::Template;
use base64::Engine;
use results::io::IoTable;
use results::model::{Scale, StoredRun};
use results::store::{StoredStructure, StudyResults};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::summary::StudySummary;
use chart::escape;
use definitions::Definitions;

pub use document::{Index, check, comparison, history, list, structure as structure_page};
pub use slide::{comparison as comparison_svg, history as history_svg, svg};

const STYLE: &str = concat!(
    include_str!("../../vendor/uplot-1.6.32/uPlot.min.css"),
    include_str!("../../assets/chart.css"),
    include_str!("../../assets/page.css")
);
const UPLOT: &str = include_str!("../../vendor/uplot-1.6.32/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../../vendor/uplot-1.6.32/LICENSE");
const SCRIPT: &str = concat!(include_str!("../../assets/zoom.js"), include_str!("../../assets/page.js"));

/// Everything that a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The figures of the study.
    pub summary: &'a StudySummary,
    /// The study as stored, for the raw data.
    pub results: &'a StudyResults,
    /// Its runs with histograms, series and waiting tasks, in the order of `results.runs`.
    pub runs: &'a [StoredRun],
    /// Baselines of the devices that the study used.
    pub baselines: &'a [IoTable],
    /// How tables and indexes lie on their pages, as measured after these runs.
    pub structures: &'a [StoredStructure],
    /// Is it shown by `fathom serve`, so that it asks for news?
    pub is_live: bool,
}

/// One numbered part of the page.
struct Part {
    id: &'static str,
    title: &'static str,
    html: String,
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    shell: Shell,
    question: String,
    answer: Answer,
    parts: Vec<Part>,
    uplot: &'a str,
    licence: &'a str,
}

/// What all pages have: head, colours, definitions, script.
struct Shell {
    title: String,
    kicker: String,
    definitions: Vec<Footnote>,
    style: &'static str,
    policy: String,
    script: &'static str,
    data: String,
    is_live: bool,
}

impl Shell {
    /// A shell around escaped words; `data` is what scripts draw.
    fn new(title: String, kicker: String, definitions: &Definitions, data: String, is_live: bool) -> Self {
        Self {
            title,
            kicker,
            definitions: footnotes(definitions),
            style: STYLE,
            policy: policy(is_live),
            script: SCRIPT,
            data,
            is_live,
        }
    }
}

/// A definition, cut into its paragraph and its points.
struct Footnote {
    number: usize,
    names: String,
    lines: Vec<String>,
}

/// Writes the page. The same figures give the same bytes.
///
/// Costs some milliseconds per run; the series are thinned so that hundreds of runs fit (the page says when they were).
pub fn page(page: &Page<'_>) -> String {
    let definitions = Definitions::load();
    let embedded = data::embedded(page);
    let parts = vec![
        Part { id: "factors", title: "By factor", html: factors::html(page, &definitions) },
        Part { id: "why", title: "Why", html: why::html(page, &definitions) },
        Part { id: "time", title: "Over time", html: clock::html(page, &definitions, embedded.thinned) },
        Part { id: "device", title: "Device", html: device::html(page, &definitions) },
        Part { id: "structure", title: "Structure", html: structure::html(page, &definitions) },
        Part { id: "record", title: "Record", html: record::html(page, &definitions) },
    ];
    let summary = page.summary;
    let scale = match summary.scale {
        Scale::Full => "full scale",
        Scale::Miniature => "miniature",
    };
    let (experiment, engine) = (escape(&summary.experiment), escape(&summary.engine));
    let kicker = format!("{experiment} on {engine}, {scale} · {}", counts(summary));
    let template = PageTemplate {
        question: escape(&summary.question),
        answer: harmless(Answer::of(summary)),
        parts,
        uplot: UPLOT,
        licence: UPLOT_LICENCE,
        shell: Shell::new(escape(&summary.heading()), kicker, &definitions, embedded.json, page.is_live),
    };
    template.render().expect("a template that writes to memory renders")
}

/// A sentence in place of a section that has nothing to show.
fn absent(sentence: &str) -> String {
    format!("<p class=\"absent\">{}</p>", escape(sentence))
}

fn figure(svg: &str, caption: &str) -> String {
    let caption =
        if caption.is_empty() { String::new() } else { format!("<figcaption>{caption}</figcaption>") };
    format!("<figure>{svg}{caption}</figure>")
}

/// Labels in the sentences come from outside.
fn harmless(answer: Answer) -> Answer {
    Answer {
        invalid: answer.invalid.as_deref().map(escape),
        environment: escape(&answer.environment),
        cautions: answer.cautions.iter().map(|caution| escape(caution)).collect(),
        headline: escape(&answer.headline),
        certainty: escape(&answer.certainty),
        limit: escape(&answer.limit),
        remarks: answer.remarks.iter().map(|remark| escape(remark)).collect(),
    }
}

fn counts(summary: &StudySummary) -> String {
    let counts = summary.counts;
    let mut words = format!("{} of {} planned runs count", counts.counting, counts.planned);
    for (count, word) in [
        (counts.invalid, "invalid"),
        (counts.interrupted, "interrupted"),
        (counts.running, "running"),
        (counts.suspect, "suspect"),
        (counts.superseded, "superseded"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {word}"));
        }
    }
    words
}

fn footnotes(definitions: &Definitions) -> Vec<Footnote> {
    let of_one = |entry: &definitions::Definition| Footnote {
        number: entry.number,
        names: entry.names.join(", "),
        lines: entry.text.lines().map(|line| line.trim_start_matches("- ").to_owned()).collect(),
    };
    definitions.used().into_iter().map(of_one).collect()
}

/// What the page may do: run its own two scripts, and nothing from elsewhere; a live page may ask its own server.
fn policy(is_live: bool) -> String {
    let hash = |script: &str| {
        let digest = Sha256::digest(script.as_bytes());
        format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
    };
    let connect = if is_live { "connect-src 'self'; " } else { "" };
    format!(
        "default-src 'none'; {connect}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
         script-src {} {}",
        hash(UPLOT),
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendored_files_are_those_that_their_sums_name() {
        let sums = include_str!("../../vendor/uplot-1.6.32/VENDOR.toml");
        let css = include_str!("../../vendor/uplot-1.6.32/uPlot.min.css");
        for (name, text) in [("LICENSE", UPLOT_LICENCE), ("uPlot.iife.min.js", UPLOT), ("uPlot.min.css", css)]
        {
            let digest: String =
                Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(sums.contains(&format!("\"{name}\" = \"{digest}\"")), "{name} has the sum {digest}");
        }
    }

    #[test]
    fn no_script_of_ours_can_end_its_element() {
        for text in [UPLOT, SCRIPT] {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }
}
