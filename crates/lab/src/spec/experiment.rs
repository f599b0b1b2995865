//! A spec as read: an experiment that has not yet met an engine or a command line.

mod miniature;

use std::path::PathBuf;

use results::model::{Expectation, Factor, Scale};

use super::claim::Claim;
use super::design::{DESIGN_KEYS, DesignSpec, REPETITIONS_MAX, repeat};
use super::document::{self, Entry};
use super::draft::Draft;
use super::error::{Span, SpecError, SpecText, quoted};
use super::own_workload::{Files, NoFiles, OwnSpec};
use super::validity::Validity;
use crate::engine::Layout;
use crate::observe::external::ExternalCommand;
use crate::schedule::RepeatUntil;
pub(crate) use miniature::Miniature;

/// Repetitions of a spec that names none: the fewest in which runs of one block can decide, whatever drifts between blocks.
const REPETITIONS_DEFAULT: u32 = 6;

const KEYS: [&str; 21] = [
    "name",
    "title",
    "question",
    "kind",
    "source",
    "scale",
    "repetitions",
    "metric",
    "better",
    "secondary",
    "against",
    "factors",
    "parameters",
    "engine",
    "layout",
    "workload",
    "samplers",
    "validity",
    "repeat_until",
    "expect",
    "miniature",
];
const EXPECT_KEYS: [&str; 5] = ["claim", "check", "scope", "valid_for", "requires"];

/// Conditions of the machine that a claim may require.
const REQUIREMENTS: [(&str, &str); 2] =
    [("durable_commit", "durable_commit"), ("separate_devices", "separate_devices")];

/// Where an experiment comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reported with results elsewhere.
    Published,
    /// Announced elsewhere, never reported.
    Planned,
    /// Made by whoever wrote the spec.
    Own,
}

impl Kind {
    const WORDS: [(&'static str, Self); 3] =
        [("published", Self::Published), ("planned", Self::Planned), ("own", Self::Own)];

    /// The word in specs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Planned => "planned",
            Self::Own => "own",
        }
    }
}

/// An experiment as its spec describes it, at full scale and perhaps in miniature.
///
/// `resolve` makes of it what runs on one engine.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Lower-case letters, digits and dashes.
    pub name: String,
    /// One line.
    pub title: String,
    /// What the experiment answers.
    pub question: String,
    /// Where it comes from.
    pub kind: Kind,
    /// Where it was published, when it was.
    pub published_in: Option<String>,
    /// The comment at the top of the spec, without its comment signs; may be empty.
    pub comment: String,
    /// Commands that look at every run beside fathom's own samplers. No part of what the study is.
    pub samplers: Vec<ExternalCommand>,
    pub(crate) scale: Scale,
    pub(crate) repetitions: u32,
    pub(crate) design: DesignSpec,
    pub(crate) base: Draft,
    pub(crate) layout: Layout,
    pub(crate) validity: Validity,
    pub(crate) repeat_until: Option<RepeatUntil>,
    pub(crate) miniature: Option<Miniature>,
    /// `[workload]`.
    pub(crate) own: Option<OwnSpec>,
    pub(crate) claims: Vec<ClaimSpec>,
    /// Where errors about the experiment as a whole point.
    pub(crate) head: Span,
}

/// A claim of `[[expect]]` with the place of its check.
#[derive(Clone, Debug)]
pub(crate) struct ClaimSpec {
    pub(crate) expectation: Expectation,
    check_place: Option<Span>,
}

impl Experiment {
    /// Reads a spec. `source_name` is what errors call it, usually the path of the file.
    ///
    /// Checks everything that does not depend on engine and command line: keys, types, ranges, repeated levels,
    /// claims. Rules between parameters are checked by `resolve`. No file is read: a spec that names one is refused.
    pub fn parse(source_name: &str, text: &str) -> Result<Self, SpecError> {
        Self::parse_with(source_name, text, &NoFiles)
    }

    /// As `parse`; `files` reads what `[workload]` names.
    pub fn parse_with(source_name: &str, text: &str, files: &dyn Files) -> Result<Self, SpecError> {
        let source = SpecText::new(source_name, text);
        let mut experiment = document::read(&source, |entries| read_experiment(&source, entries, files))?;
        experiment.comment = leading_comment(text);
        experiment.check_claims()?;
        Ok(experiment)
    }

    fn empty(head: Span, is_own: bool) -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            question: String::new(),
            kind: Kind::Own,
            published_in: None,
            comment: String::new(),
            samplers: Vec::new(),
            scale: Scale::Full,
            repetitions: REPETITIONS_DEFAULT,
            design: DesignSpec::default(),
            base: Draft::new(is_own),
            layout: Layout::default(),
            validity: Validity::default(),
            repeat_until: None,
            miniature: None,
            own: None,
            claims: Vec::new(),
            head,
        }
    }

    /// Writes down what follows from `[workload]`.
    fn settle_own_workload(&mut self, place: &Span) {
        self.base.settle_own_workload(place);
        if self.title.is_empty() {
            self.title = self.question.clone();
        }
    }

    /// The scales at which the experiment can run.
    pub fn scales(&self) -> Vec<Scale> {
        let own = [self.scale];
        let miniature = self.miniature.as_ref().map(|_| Scale::Miniature);
        own.into_iter().chain(miniature.filter(|scale| *scale != self.scale)).collect()
    }

    /// The factors of a scale as the spec has them, before any override; none when there is no such scale.
    pub fn factors(&self, scale: Scale) -> Vec<Factor> {
        self.draft(scale).map(|draft| draft.model_factors()).unwrap_or_default()
    }

    /// Factors and parameters of a scale.
    pub(crate) fn draft(&self, scale: Scale) -> Result<Draft, SpecError> {
        let mut draft = self.base.clone();
        if scale == self.scale {
            return Ok(draft);
        }
        let (Scale::Miniature, Some(miniature)) = (scale, &self.miniature) else {
            let (wanted, help) = match scale {
                Scale::Miniature => ("miniature", "add [miniature.parameters], or run it at full scale"),
                Scale::Full => ("full scale", "run it as a miniature"),
            };
            let title = format!("experiment `{}` has no {wanted}", self.name);
            return Err(SpecError::at(&self.head, title, "").help(help));
        };
        if let Some(factors) = &miniature.factors {
            draft.factors.clear();
            factors.factors.iter().for_each(|factor| draft.vary(factor.clone()));
        }
        // Those of one engine, where the others are kept.
        miniature.parameters.factors.iter().for_each(|factor| draft.vary(factor.clone()));
        miniature.parameters.parameters.iter().for_each(|parameter| draft.fix(parameter.clone()));
        Ok(draft)
    }

    /// Refuses checks that name a factor or a level that does not exist at the scale that they are for.
    fn check_claims(&self) -> Result<(), SpecError> {
        for claim in &self.claims {
            let (Some(check), Some(place)) = (&claim.expectation.check, &claim.check_place) else { continue };
            let parsed = Claim::parse(check).map_err(|error| claim_error(place, check, error))?;
            for scale in self.scales() {
                let applies = claim.expectation.scope.is_none_or(|scope| scope == scale);
                if let Some(unknown_reference) =
                    applies.then(|| parsed.unknown_reference(&self.factors(scale))).flatten()
                {
                    return Err(claim_error(place, check, unknown_reference));
                }
            }
        }
        Ok(())
    }
}

fn read_experiment(
    source: &SpecText,
    entries: &[Entry<'_>],
    files: &dyn Files,
) -> Result<Experiment, SpecError> {
    // It decides what names of parameters there are, wherever the spec has it.
    let workload = entries.iter().find(|entry| entry.key == "workload");
    let is_own = workload.is_some();
    let top = source.place(0..0);
    let mut experiment = Experiment::empty(top.clone(), is_own);
    let mut miniature = None;
    for entry in entries {
        match entry.key {
            "name" => {
                experiment.name = name(entry)?;
                experiment.head = entry.value_place.clone();
            }
            "title" => experiment.title = entry.text()?,
            "question" => experiment.question = entry.text()?,
            "kind" => experiment.kind = entry.word(&Kind::WORDS)?,
            "source" => experiment.published_in = Some(entry.text()?),
            "scale" => {
                experiment.scale = entry.word(&[("full", Scale::Full), ("miniature", Scale::Miniature)])?
            }
            "repetitions" => experiment.repetitions = entry.count(1..=REPETITIONS_MAX)?,
            key if DESIGN_KEYS.contains(&key) => experiment.design.read(entry)?,
            "factors" => experiment.base.read_factors(&entry.table()?)?,
            "parameters" => experiment.base.read_parameters(&entry.table()?)?,
            "engine" => experiment.base.read_engines(&entry.table()?)?,
            "layout" => experiment.layout = layout(&entry.table()?)?,
            "samplers" => experiment.samplers = samplers(entry)?,
            "validity" => experiment.validity.read(&entry.table()?)?,
            "repeat_until" => experiment.repeat_until = Some(repeat::read(entry)?),
            "expect" => {
                experiment.claims = entry
                    .tables()?
                    .iter()
                    .map(|(place, entries)| claim(place, entries))
                    .collect::<Result<_, _>>()?;
            }
            "miniature" => miniature = Some(entry),
            "workload" => {
                experiment.own = Some(OwnSpec::read(entry, files, &mut experiment.base)?);
            }
            _ => return Err(entry.not_known("a spec", &KEYS)),
        }
    }
    // Last, because the miniature's rules stand on those of the full scale, wherever the spec has them.
    if let Some(entry) = miniature {
        experiment.miniature = Some(Miniature::read(&entry.table()?, &experiment.validity, is_own)?);
    }
    if let Some(workload) = workload {
        experiment.settle_own_workload(&workload.key_place);
    }
    experiment.design.check_metrics(experiment.own.as_ref().and_then(OwnSpec::after))?;
    require_texts(&experiment, &top)?;
    Ok(experiment)
}

/// Refuses an experiment without name, title or question.
fn require_texts(experiment: &Experiment, top: &Span) -> Result<(), SpecError> {
    for (key, value) in
        [("name", &experiment.name), ("title", &experiment.title), ("question", &experiment.question)]
    {
        if value.is_empty() {
            let title = format!("the spec has no `{key}`");
            return Err(
                SpecError::at(top, title, "").help(format!("add {key} = \"…\" above the first table"))
            );
        }
    }
    Ok(())
}

fn name(entry: &Entry<'_>) -> Result<String, SpecError> {
    let name = entry.text()?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let title = format!("{} is not a name of an experiment", quoted(&name));
        return Err(SpecError::at(
            &entry.value_place,
            title,
            "lower-case letters, digits and dashes, at most 64",
        ));
    }
    Ok(name)
}

fn layout(entries: &[Entry<'_>]) -> Result<Layout, SpecError> {
    let mut layout = Layout::default();
    for entry in entries {
        match entry.key {
            "data" => {
                let Some(elements) = entry.elements() else {
                    return Err(entry.wrong_type("a list of directories"));
                };
                layout.data = elements
                    .iter()
                    .map(|element| directory(element.text("data")?, &element.place))
                    .collect::<Result<_, _>>()?;
            }
            "log" => layout.log = Some(directory(entry.text()?, &entry.value_place)?),
            _ => return Err(entry.not_known("[layout]", &["data", "log"])),
        }
    }
    Ok(layout)
}

fn samplers(entry: &Entry<'_>) -> Result<Vec<ExternalCommand>, SpecError> {
    let Some(elements) = entry.elements() else { return Err(entry.wrong_type("a list of commands")) };
    elements
        .iter()
        .map(|element| {
            ExternalCommand::parse(&element.text("samplers")?)
                .map_err(|reason| SpecError::at(&element.place, reason, "expected a command line"))
        })
        .collect()
}

fn directory(text: String, place: &Span) -> Result<PathBuf, SpecError> {
    if text.is_empty() || text.contains('\n') {
        return Err(SpecError::at(place, "a directory of the layout has no name", "expected a path"));
    }
    Ok(PathBuf::from(text))
}

fn claim(place: &Span, entries: &[Entry<'_>]) -> Result<ClaimSpec, SpecError> {
    let mut expectation =
        Expectation { claim: String::new(), check: None, scope: None, valid_for: None, requires: None };
    let mut check_place = None;
    for entry in entries {
        match entry.key {
            "claim" => expectation.claim = entry.text()?,
            "check" => {
                expectation.check = Some(entry.text()?);
                check_place = Some(entry.value_place.clone());
            }
            "scope" => {
                let words =
                    [("both", None), ("full", Some(Scale::Full)), ("miniature", Some(Scale::Miniature))];
                expectation.scope = entry.word(&words)?;
            }
            "valid_for" => expectation.valid_for = Some(entry.text()?),
            "requires" => expectation.requires = Some(entry.word(&REQUIREMENTS)?.to_owned()),
            _ => return Err(entry.not_known("[[expect]]", &EXPECT_KEYS)),
        }
    }
    if expectation.claim.is_empty() {
        return Err(SpecError::at(place, "an expectation has no `claim`", "")
            .help("say in words what is expected: claim = \"…\""));
    }
    Ok(ClaimSpec { expectation, check_place })
}

/// Points into the string of the check where it is written without escapes, else at the whole string.
fn claim_error(place: &Span, check: &str, error: super::claim::ClaimError) -> SpecError {
    let written = place.written();
    let inner = written.len() == check.len() + 2 && written.get(1..=check.len()) == Some(check);
    let place = if inner { place.part(1 + error.span.start..1 + error.span.end) } else { place.clone() };
    let spec_error = SpecError::at(&place, error.title, "");
    match error.help {
        Some(help) => spec_error.help(help),
        None => spec_error,
    }
}

/// The lines that begin with `#` at the top of the text.
fn leading_comment(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}
