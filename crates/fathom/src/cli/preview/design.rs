//! What a design can show: its comparisons by name, the smallest p, the smallest difference.

use lab::assignment::Assignment;
use results::measure::Measure;
use results::model::{Cell, Looks};
use results::store::Store;
use results::wording::counted;
use serde_json::{Value, json};
use stats::compare::Method;
use stats::design::contrasts::Pair;
use stats::design::preview::{Preview, SPREADS};
use stats::design::reach::Design;
use stats::design::sequential::level_after;

use super::earlier::{self, EarlierSpread};

/// Level of the family of comparisons of a study.
const ALPHA: f64 = report::summary::ALPHA;
/// Comparisons that are named in text; JSON names all.
const NAMES_MAX: usize = 3;
/// Smaller spreads than this are those of values that do not vary.
const SPREAD_MIN: f64 = 1e-9;

/// What a design can show.
pub(crate) struct DesignPreview {
    experiment: String,
    metric: Measure,
    repetitions: u32,
    comparisons: Vec<Asked>,
    /// Absent where nothing is compared.
    preview: Option<Preview>,
    /// Of a study that ends when it is decided.
    looks: Option<Looks>,
    earlier: Option<EarlierSpread>,
}

/// One comparison.
struct Asked {
    /// The contrast that asks for it.
    contrast: String,
    /// The levels in which the two differ, candidate first.
    name: String,
}

impl DesignPreview {
    pub(super) fn of(assignment: &Assignment, store: Option<&Store>) -> anyhow::Result<Self> {
        let resolved = assignment.resolved();
        let metric = Measure::of_study(&assignment.study());
        let cells = assignment.cells();
        let asked = |(contrast, pair): (stats::design::contrasts::Contrasts, Pair)| Asked {
            contrast: contrast.to_string(),
            name: name(&cells[pair.reference], &cells[pair.candidate]),
        };
        let comparisons: Vec<Asked> = assignment.pairs().into_iter().map(asked).collect();
        let earlier = store.and_then(|store| earlier::spread(store, assignment, &metric));
        let looks = resolved.design.looks;
        let (blocks, alpha) = match looks {
            // At the last look, if the study gets there: no difference needs more runs.
            Some(looks) => (looks.blocks_max, last_level(&looks)?),
            None => (resolved.repetitions, ALPHA),
        };
        let design = Design::of(blocks, u32::try_from(comparisons.len()).unwrap_or(u32::MAX));
        let spread = earlier.map(|earlier| earlier.measured.noise);
        let preview = match spread.filter(|noise| noise.run_sd > SPREAD_MIN) {
            _ if comparisons.is_empty() => None,
            Some(noise) => Some(Preview::with_noise(design, noise, alpha)?),
            None => Some(Preview::of(design, &SPREADS, alpha)?),
        };
        let experiment = resolved.name.clone();
        Ok(Self { experiment, metric, repetitions: blocks, comparisons, preview, looks, earlier })
    }

    /// Can every comparison reach a verdict? Also true where there is none.
    pub(crate) fn can_decide(&self) -> bool {
        self.preview.as_ref().is_none_or(|preview| preview.reach.can_decide)
    }

    /// Why a design that cannot decide is refused, and what to do.
    pub(crate) fn refusal(&self) -> String {
        let Some(preview) = &self.preview else { return String::new() };
        let proposal = match preview.blocks_proposed() {
            Some(blocks) => format!("--repetitions {blocks} can show a difference"),
            None => "compare fewer configurations".to_owned(),
        };
        format!(
            "{} cannot reach a verdict: with {} the smallest p is {}, above the level of {}\nhint: {proposal}; \
             --anyway runs it as it is",
            self.experiment,
            counted(u64::from(self.repetitions), "repetition"),
            short(preview.reach.p_min_corrected),
            short(preview.alpha)
        )
    }

    /// Lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(preview) = &self.preview else {
            return vec![format!("comparisons: none: one configuration, {}", self.metric.words)];
        };
        let at = counted(u64::from(self.repetitions), "repetition");
        let (p_min, level) = (short(preview.reach.p_min_corrected), short(preview.alpha));
        let reach = match (preview.reach.can_decide, &self.looks) {
            (true, None) => format!("smallest p: {p_min} with {at} (level {level})"),
            (true, Some(looks)) => format!(
                "smallest p: {p_min} with {at} (level {level} at the last look; looks from block {} on, {ALPHA} over all)",
                looks.blocks_min
            ),
            (false, _) => {
                let needed = preview.blocks_proposed().map(|blocks| format!("; {blocks} repetitions can"));
                let needed = needed.unwrap_or_default();
                format!(
                    "smallest p: {p_min} with {at}, above the level of {level}: cannot reach a verdict{needed}"
                )
            }
        };
        let mut lines = vec![self.comparisons_line(), reach];
        lines.extend(preview.reach.can_decide.then(|| self.smallest_line(preview)));
        lines
    }

    fn comparisons_line(&self) -> String {
        let mut by_contrast: Vec<(&str, Vec<&str>)> = Vec::new();
        for Asked { contrast, name } in &self.comparisons {
            if by_contrast.last().is_none_or(|(last, _)| last != contrast) {
                by_contrast.push((contrast, Vec::new()));
            }
            let names = by_contrast.last_mut().map(|(_, names)| names);
            names
                .into_iter()
                .filter(|names| !names.contains(&name.as_str()))
                .for_each(|names| names.push(name));
        }
        let of_contrast = |(contrast, names): &(&str, Vec<&str>)| {
            let listed = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
            let rest = names.len().saturating_sub(NAMES_MAX);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!("{contrast} ({listed}{more})")
        };
        let contrasts: Vec<String> = by_contrast.iter().map(of_contrast).collect();
        let count = counted(self.comparisons.len() as u64, "comparison");
        let better = if self.metric.is_smaller_better { "smaller" } else { "larger" };
        format!("{count} of {} ({better} is better): {}", self.metric.name, contrasts.join("; "))
    }

    fn smallest_line(&self, preview: &Preview) -> String {
        let difference = |smallest: Option<f64>| match smallest {
            Some(smallest) => format!("{} %", short(100.0 * smallest)),
            None => "none".to_owned(),
        };
        let head = "smallest difference at 80 % power";
        let Some(earlier) = self.earlier else {
            let at = |(spread, smallest): &(f64, Option<f64>)| {
                format!("{} (run-to-run sd {} %)", difference(*smallest), short(100.0 * spread))
            };
            let all: Vec<String> = preview.smallest.iter().map(at).collect();
            return format!("{head}: {}", all.join(", "));
        };
        let noise = earlier.measured.noise;
        let source = counted_studies(earlier.studies);
        if noise.run_sd <= SPREAD_MIN {
            return format!("{head}: any (the runs of {source} did not vary)");
        }
        let smallest = preview.smallest.first().and_then(|(_, smallest)| *smallest);
        format!(
            "{head}: {} (run-to-run sd {} %, drift between blocks {} % in {source})",
            difference(smallest),
            short(100.0 * noise.run_sd),
            short(100.0 * noise.block_sd)
        )
    }

    /// The same for programs.
    pub(crate) fn as_json(&self) -> Value {
        let named = |asked: &Asked| json!({ "against": asked.contrast, "name": asked.name });
        let comparisons: Vec<Value> = self.comparisons.iter().map(named).collect();
        let smallest = |preview: &Preview| -> Vec<Value> {
            let at =
                |(spread, smallest): &(f64, Option<f64>)| json!({ "run_sd": spread, "difference": smallest });
            preview.smallest.iter().map(at).collect()
        };
        let preview = self.preview.as_ref();
        json!({
            "metric": self.metric.name,
            "better": if self.metric.is_smaller_better { "smaller" } else { "larger" },
            "repetitions": self.repetitions,
            "looks": self.looks,
            "comparisons": comparisons,
            "level": preview.map_or(ALPHA, |preview| preview.alpha),
            "can_decide": preview.map(|preview| preview.reach.can_decide),
            "smallest_p": preview.map(|preview| preview.reach.p_min_corrected),
            "labels_dealt": preview.map(|preview| match preview.reach.method {
                Method::AllRuns => "all_runs",
                Method::WithinBlocks => "within_blocks",
            }),
            "repetitions_proposed": preview.and_then(Preview::blocks_proposed),
            "power": stats::design::power::POWER,
            "smallest_differences": preview.map(smallest),
            "earlier": self.earlier.map(|earlier| json!({
                "studies": earlier.studies,
                "degrees_of_freedom": earlier.measured.degrees_of_freedom,
                "run_sd": earlier.measured.noise.run_sd,
                "block_sd": earlier.measured.noise.block_sd,
            })),
        })
    }
}

/// The level at the last look.
fn last_level(looks: &Looks) -> anyhow::Result<f64> {
    let level = level_after(looks.blocks_max, looks.blocks_min, looks.blocks_max, ALPHA)?;
    Ok(level.unwrap_or(ALPHA))
}

fn counted_studies(count: usize) -> String {
    if count == 1 { "the last study".to_owned() } else { format!("the last {count} studies") }
}

/// `batch_size 10 against 1`; every factor in which the two differ.
fn name(reference: &Cell, candidate: &Cell) -> String {
    let both = reference.levels.iter().zip(&candidate.levels);
    let (mut names, mut candidates, mut references) = (Vec::new(), Vec::new(), Vec::new());
    for ((name, left), (_, right)) in both.filter(|(left, right)| left.1 != right.1) {
        names.push(name.as_str());
        candidates.push(right.to_string());
        references.push(left.to_string());
    }
    format!("{} {} against {}", names.join("/"), candidates.join("/"), references.join("/"))
}

/// Two significant digits.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if value.abs() < 1e-4 {
        return format!("{value:.1e}");
    }
    let digits = (1 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_significant_digits() {
        let shown = [0.031_25, 0.1, 5.66, 15.74, 106.0, 0.0079, 2.0, 0.0].map(short);
        assert_eq!(shown, ["0.031", "0.1", "5.7", "16", "106", "0.0079", "2", "0"]);
    }
}
