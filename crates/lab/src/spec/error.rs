//! What is wrong with a spec, shown at the place where it is wrong.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// Lines longer than this are not quoted in a message: nobody reads them, and drawing them costs much.
const LINE_BYTES_MAX: usize = 400;

/// Values are quoted in a message up to this many characters.
const QUOTE_CHARS_MAX: usize = 60;

/// A named text that errors point into: a spec file, or one `--set` of the command line.
#[derive(Clone, Debug)]
pub(crate) struct SpecText {
    name: Arc<str>,
    text: Arc<str>,
}

impl SpecText {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn place(&self, span: Range<usize>) -> Span {
        Span { source: self.clone(), span }
    }
}

/// A range of bytes in a source.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    source: SpecText,
    span: Range<usize>,
}

impl Span {
    /// The bytes of the place as written.
    pub(crate) fn written(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// Offset of the first byte in its source.
    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    /// A part of this place, by offsets from its start; the whole place where the offsets do not fit.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        let span = self.span.start + part.start..self.span.start + part.end;
        let fits = span.end <= self.span.end && self.source.text.get(span.clone()).is_some();
        Self { source: self.source.clone(), span: if fits { span } else { self.span.clone() } }
    }
}

/// Why a spec, or what the command line makes of it, cannot be run.
///
/// `Display` prints the reason, the file and line with the text and carets below it, and help: what was found, the
/// nearest known key or the allowed values. It begins with the reason, lower case, without the word "error".
#[derive(Debug)]
pub struct SpecError(Box<Diagnosis>);

#[derive(Debug)]
struct Diagnosis {
    title: String,
    source: Option<SpecText>,
    /// The first is where the fault is, the others say what it clashes with.
    labels: Vec<(Range<usize>, String)>,
    help: Option<String>,
}

impl SpecError {
    /// An error at a place; `label` is printed beside the carets.
    pub(crate) fn at(place: &Span, title: impl Into<String>, label: impl Into<String>) -> Self {
        Self(Box::new(Diagnosis {
            title: title.into(),
            source: Some(place.source.clone()),
            labels: vec![(place.span.clone(), label.into())],
            help: None,
        }))
    }

    /// An error without a place, about the command line as a whole.
    pub(crate) fn without_place(title: impl Into<String>) -> Self {
        Self(Box::new(Diagnosis { title: title.into(), source: None, labels: Vec::new(), help: None }))
    }

    /// Adds one thing to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds a second place that takes part in the fault; a place in another source is left out.
    pub(crate) fn and(mut self, place: &Span, label: impl Into<String>) -> Self {
        if self.0.source.as_ref().is_some_and(|source| Arc::ptr_eq(&source.text, &place.source.text)) {
            self.0.labels.push((place.span.clone(), label.into()));
        }
        self
    }

    /// The reason alone, one line without the place.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// The advice, when there is one.
    pub fn advice(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Line of the fault, counted from 1; `None` when the fault is not in a text.
    pub fn line(&self) -> Option<usize> {
        let (source, (span, _)) = (self.0.source.as_ref()?, self.0.labels.first()?);
        Some(line_and_column(&source.text, span.start).0)
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(source) = &self.0.source else {
            f.write_str(&self.0.title)?;
            return match &self.0.help {
                Some(help) => write!(f, "\nhelp: {help}"),
                None => Ok(()),
            };
        };
        if source.text.lines().any(|line| line.len() > LINE_BYTES_MAX) {
            let start = self.0.labels.first().map_or(0, |(span, _)| span.start);
            let (line, column) = line_and_column(&source.text, start);
            write!(f, "{}\n --> {}:{line}:{column}", self.0.title, source.name)?;
            return match &self.0.help {
                Some(help) => write!(f, "\nhelp: {help}"),
                None => Ok(()),
            };
        }
        let mut snippet = Snippet::source(&*source.text).path(&*source.name);
        for (index, (span, label)) in self.0.labels.iter().enumerate() {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let span = within(&source.text, span);
            snippet =
                snippet.annotation(kind.span(span).label((!label.is_empty()).then_some(label.as_str())));
        }
        let mut group = Level::ERROR.no_name().primary_title(&*self.0.title).element(snippet);
        if let Some(help) = &self.0.help {
            group = group.element(Level::HELP.message(help));
        }
        f.write_str(&Renderer::plain().render(&[group]))
    }
}

impl std::error::Error for SpecError {}

/// The word in `candidates` that a person most likely meant by `found`, when one is near enough.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if found.chars().count() > QUOTE_CHARS_MAX {
        return None;
    }
    let allowed = 1 + found.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(found, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Help for a word that is not in the list: the nearest one, or all of them.
pub(crate) fn suggestion(found: &str, known: &[&str]) -> String {
    match nearest(found, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// A value for a message: in back quotes, on one line, cut when it is long.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(QUOTE_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(QUOTE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

/// The span cut to the text and to whole characters, and shown by its first line only: a whole table as carets
/// helps nobody.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let boundary =
        |offset: usize| (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let start = boundary(span.start);
    let end = boundary(span.end).max(start);
    let first_line =
        text.get(start..end).and_then(|part| part.find('\n')).map_or(end, |newline| start + newline);
    start..first_line.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_shows_file_line_caret_and_help() {
        let source = SpecText::new("night.toml", "name = \"n\"\nconections = 4\n");
        let error = SpecError::at(&source.place(11..21), "`conections` is not a key here", "not known")
            .help("did you mean `connections`?");
        let text = error.to_string();
        for part in
            ["`conections` is not a key here", "night.toml:2:1", "^^^^^^^^^^ not known", "did you mean"]
        {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains("error"), "{text}");
        assert_eq!(error.line(), Some(2));
    }

    #[test]
    fn a_very_long_line_is_named_and_not_drawn() {
        let source = SpecText::new("long.toml", &"x".repeat(100_000));
        let text = SpecError::at(&source.place(50_000..50_001), "no", "").to_string();
        assert_eq!(text, "no\n --> long.toml:1:50001");
    }

    #[test]
    fn a_span_outside_the_text_does_not_panic() {
        let source = SpecText::new("short.toml", "äb");
        for span in [0..1, 1..2, 3..90, 90..95] {
            let error = SpecError::at(&source.place(span), "no", "here");
            assert!(error.to_string().contains("no"));
            assert_eq!(error.line(), Some(1));
        }
    }

    #[test]
    fn the_nearest_word_is_one_that_could_be_a_slip() {
        let known = ["connections", "batch_size", "key"];
        assert_eq!(nearest("conections", known), Some("connections"));
        assert_eq!(nearest("batchsize", known), Some("batch_size"));
        assert_eq!(nearest("wal_level", known), None);
        assert_eq!(nearest(&"connections".repeat(1000), known), None);
    }
}
