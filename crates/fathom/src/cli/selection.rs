//! Naming what is compared: `[DIR:]STUDY[~N][@DATE][/NAME=VALUE[,NAME=VALUE]]`.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use report::comparison::{Side, restrict};
use results::store::{RESULTS_FILE, Store, StoredStudy, StudyId};

/// A study, or a part of one, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// As it was typed.
    text: String,
    /// Results directory, when it is not the usual one.
    directory: Option<PathBuf>,
    study: StudyName,
    /// Levels that the configurations must have.
    levels: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StudyName {
    /// Row number.
    Number(i64),
    /// The latest of an experiment (of all, when it says `latest`), so many before it, made by the end of a moment.
    Latest { experiment: String, before: usize, made_by: Option<String> },
}

impl Selection {
    /// Reads what was typed; a directory before the colon must hold a results file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let is_results = |directory: &str| Path::new(directory).join(RESULTS_FILE).is_file();
        let colon = text.match_indices(':').map(|(at, _)| at).find(|&at| is_results(&text[..at]));
        let (directory, rest) = match colon {
            Some(at) => (Some(PathBuf::from(&text[..at])), &text[at + 1..]),
            None => (None, text),
        };
        let (study, levels) = rest.split_once('/').map_or((rest, ""), |(study, levels)| (study, levels));
        Ok(Self {
            text: text.to_owned(),
            directory,
            study: study_name(study).ok_or_else(|| {
                let hint = "a number of `fathom list --studies`, an experiment, `latest`; then ~N for the Nth before it, \
                            @DATE, and /factor=level for some configurations";
                anyhow!("\"{text}\" is not a study\nhint: {hint}")
            })?,
            levels: levels
                .split(',')
                .filter(|level| !level.is_empty())
                .map(|level| match level.split_once('=') {
                    Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
                    None => Err(anyhow!("\"{level}\" in \"{text}\" is not a level\nhint: write factor=level")),
                })
                .collect::<anyhow::Result<_>>()?,
        })
    }

    /// Reads the study with its runs; with the histograms of the counting runs when latencies are wanted.
    pub(crate) fn read(&self, usual: &Path, needs_latencies: bool) -> anyhow::Result<Side> {
        let store = Store::open_read_only(self.directory.as_deref().unwrap_or(usual))?;
        let found = self.find(&store)?;
        let results = match needs_latencies {
            true => store.study_results_with_histograms(found.id)?,
            false => store.study_results(found.id)?,
        };
        let results =
            restrict(&results, &self.levels).map_err(|reason| anyhow!("\"{}\": {reason}", self.text))?;
        Ok(Side { name: self.text.clone(), study_id: found.id.0, results })
    }

    /// The study in this store, all of it.
    pub(crate) fn whole(&self, store: &Store) -> anyhow::Result<StoredStudy> {
        if self.directory.is_some() || !self.levels.is_empty() {
            bail!("\"{}\" is more than a study\nhint: --results names another directory", self.text);
        }
        self.find(store)
    }

    fn find(&self, store: &Store) -> anyhow::Result<StoredStudy> {
        let (experiment, before, made_by) = match &self.study {
            StudyName::Number(number) => {
                let id = StudyId(*number);
                return Ok(StoredStudy { id, study: store.study(id)? });
            }
            StudyName::Latest { experiment, before, made_by } => (experiment, *before, made_by),
        };
        let mut studies = store.studies()?;
        studies.retain(|stored| experiment == "latest" || stored.study.experiment == *experiment);
        if studies.is_empty() {
            bail!(
                "\"{}\" has no study of \"{experiment}\"\nhint: `fathom list --studies` lists them",
                store.path().display()
            );
        }
        // A moment that is cut short stands for its end: 2026-11-20 is the whole day.
        let is_made_by = |stored: &StoredStudy| {
            made_by.as_ref().is_none_or(|by| {
                let created = &stored.study.created_at;
                created.get(..by.len().min(created.len())).is_some_and(|start| start <= by.as_str())
            })
        };
        studies.retain(is_made_by);
        studies
            .sort_by(|one, other| (&one.study.created_at, one.id).cmp(&(&other.study.created_at, other.id)));
        let count = studies.len();
        match count.checked_sub(before + 1).map(|place| studies.swap_remove(place)) {
            Some(found) => Ok(found),
            None => bail!("\"{}\" goes back further than the {count} matching studies", self.text),
        }
    }
}

fn study_name(text: &str) -> Option<StudyName> {
    let (text, made_by) = match text.split_once('@') {
        Some((text, date)) => (text, Some(moment(date)?)),
        None => (text, None),
    };
    let (name, before) = match text.split_once('~') {
        Some((name, before)) => (name, before.parse().ok()?),
        None => (text, 0),
    };
    match (name.parse(), name) {
        (_, "") => None,
        (Ok(number), _) => (before == 0 && made_by.is_none()).then_some(StudyName::Number(number)),
        (Err(_), name) => Some(StudyName::Latest { experiment: name.to_owned(), before, made_by }),
    }
}

/// A date or the start of a moment in UTC, as the results write it: `2026-11-20` or `2026-11-20T13:00`.
fn moment(text: &str) -> Option<String> {
    let is_shape = text.bytes().all(|byte| byte.is_ascii_digit() || b"-T:.Z".contains(&byte));
    (is_shape && text.len() >= "2026-11-20".len()).then(|| text.trim_end_matches('Z').to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn studies_are_named_by_number_by_experiment_by_date_and_by_level() {
        assert_eq!(Selection::parse("12").unwrap().study, StudyName::Number(12));
        let latest = |experiment: &str, before, made_by: Option<&str>| StudyName::Latest {
            experiment: experiment.to_owned(),
            before,
            made_by: made_by.map(str::to_owned),
        };
        assert_eq!(Selection::parse("a-a").unwrap().study, latest("a-a", 0, None));
        assert_eq!(
            Selection::parse("multi-file~2@2026-11-20").unwrap().study,
            latest("multi-file", 2, Some("2026-11-20"))
        );
        let part = Selection::parse("3/batch_size=10,connections=4").unwrap();
        assert_eq!(part.study, StudyName::Number(3));
        assert_eq!(part.levels[1], ("connections".to_owned(), "4".to_owned()));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in ["", "/batch_size=1", "a~x", "3~1", "3@2026-11-20", "a@yesterday", "3/batch_size"] {
            assert!(Selection::parse(text).is_err(), "{text}");
        }
    }
}
