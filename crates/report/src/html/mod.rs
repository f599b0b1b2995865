//! One page that needs nothing else: every figure of a study as tables, pictures and data, in one HTML file.
//!
//! The tables are those of the other outputs; the pictures are drawn here ([`chart`]) and need no script; the series
//! are embedded once, as JSON, and drawn by uPlot where scripts run. The page's own policy forbids every request.

mod baseline;
mod chart;
mod checks;
mod clock;
mod definitions;
mod device;
mod document;
mod factors;
mod figure;
mod human;
mod index;
mod latency;
mod markup;
mod metrics;
mod page;
mod record;
mod shell;
mod slide;
mod structure;
mod tables;
mod why;

use results::model::Scale;

use crate::outcome::Answer;
use crate::summary::StudySummary;
use definitions::Definitions;
use markup::{Markup, markup};

pub use baseline::{Baseline, page as baseline_page};
pub use checks::page as check;
pub use document::{comparison, history, studies};
pub use index::{Index, StudyLine, StudyState, index as index_page};
pub use page::Page;
pub use shell::with_index_link;
pub use slide::{comparison as comparison_svg, history as history_svg, studies as studies_svg, svg};
pub use structure::page as structure_page;

/// One part of the page behind the answer.
struct Part {
    id: &'static str,
    title: &'static str,
    html: Markup,
}

/// Writes the page. The same figures give the same bytes.
///
/// Costs some milliseconds per run; the series are thinned so that hundreds of runs fit (the page says when they were).
pub fn page(page: &Page<'_>) -> String {
    let definitions = Definitions::load();
    let embedded = clock::data::embedded(page);
    let parts = [
        Part { id: "factors", title: "By factor", html: factors::html(page, &definitions) },
        Part { id: "latency", title: "Latency", html: latency::html(page, &definitions) },
        Part { id: "scripts", title: "Scripts", html: latency::scripts::html(page, &definitions) },
        Part { id: "why", title: "Why", html: why::html(page, &definitions) },
        Part { id: "time", title: "Over time", html: clock::html(page, &definitions, embedded.thinned) },
        Part { id: "device", title: "Device", html: device::html(page, &definitions) },
        Part { id: "structure", title: "Structure", html: structure::html(page, &definitions) },
        Part { id: "record", title: "Record", html: record::html(page, &definitions) },
    ];
    let parts: Vec<Part> = parts.into_iter().filter(|part| !part.html.is_empty()).collect();
    let summary = page.summary;
    let scale = match summary.scale {
        Scale::Full => "full scale",
        Scale::Miniature => "miniature",
    };
    let question = match summary.question.as_str() {
        "" => Markup::default(),
        question => markup!("<p class=\"question\">{}</p>", question),
    };
    let links = parts.iter().map(|part| markup!("<a href=\"#{}\">{}</a>", part.id, part.title));
    let mut sections = answer(&Answer::of(summary));
    sections.extend(parts.iter().zip(2_usize..).map(|(part, number)| {
        markup!(
            "<section id=\"{}\"><h2><span>{}</span> {}</h2>\n{}\n</section>\n",
            part.id,
            number,
            part.title,
            part.html
        )
    }));
    let content = shell::Content {
        title: &summary.heading(),
        kicker: format!("{} on {}, {scale} · {}", summary.experiment, summary.engine, counts(summary)),
        lead: markup!("{}\n<p id=\"live\" hidden></p>\n", question),
        links: markup!(
            "<nav aria-label=\"Sections\"><a href=\"#answer\">Answer</a>{}</nav>",
            links.collect::<Markup>()
        ),
        sections,
        data: Some(embedded.json),
        is_live: page.is_live,
    };
    content.page(&definitions)
}

/// The first section: the result in one sentence, how sure it is, the first caution, and what it holds for in one line;
/// then the limit and what else there is to say.
fn answer(answer: &Answer) -> Markup {
    let invalid = answer
        .invalid
        .as_deref()
        .map(|runs| markup!("<p class=\"invalid\"><b>Invalid runs.</b> {}</p>", runs));
    let headline = markup!("<p class=\"headline\">{}</p>", answer.headline);
    let certainty = said(&answer.certainty).map(|words| markup!("<p class=\"certainty\">{}</p>", words));
    let cautions = answer.cautions.iter().map(|caution| markup!("<li>{}</li>", caution)).collect::<Markup>();
    let listed = (!cautions.is_empty()).then(|| markup!("<ul class=\"cautions\">{}</ul>", cautions));
    let context = markup!("<p class=\"environment\" title=\"{}\">{}</p>", answer.environment, answer.context);
    let values = said(&answer.values).map(|words| markup!("<p>{}</p>", words));
    let expected = answer.expected.iter().map(|words| markup!("<p>{}</p>", words)).collect::<Markup>();
    let limit = said(&answer.limit).map(|words| markup!("<p>{}</p>", words));
    let remarks = answer.remarks.iter().map(|remark| markup!("<p class=\"remark\">{}</p>", remark));
    let remarks = Some(remarks.collect());
    let lines =
        [invalid, Some(headline), certainty, values, Some(expected), listed, Some(context), limit, remarks];
    let lines = lines.map(|line| markup!("\n{}", line.unwrap_or_default())).into_iter();
    markup!(
        "<section id=\"answer\"><h2><span>1</span> The answer</h2>{}\n</section>\n",
        lines.collect::<Markup>()
    )
}

/// Words, where there are any.
fn said(words: &str) -> Option<&str> {
    (!words.is_empty()).then_some(words)
}

fn counts(summary: &StudySummary) -> String {
    let counts = summary.counts;
    let mut words = format!("{} of {} {} runs count", counts.counting, counts.planned, summary.origin_word());
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
