//! The answer of a design that does not compare everything with one reference: where gains stop, one level against
//! another, the best of each level.

use stats::design::contrasts::Contrasts;

use super::difference::{Difference, p_of};
use crate::number::{Decimals, number, p_value};
use crate::summary::{Contrast, Levels, Range, StudySummary, Verdict};

/// Most comparisons that a sentence names; more are counted.
const NAMED_MAX: usize = 6;

/// What the comparisons of one contrast come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// One sentence.
    pub headline: String,
    /// How sure that is; empty where no comparison was made.
    pub certainty: String,
    /// The comparisons one by one, and what could not be compared.
    pub remarks: Vec<String>,
}

/// Reads every contrast of the design; the first is the headline. `None` where speeds are compared with one reference, for
/// which there are sentences of their own, and where nothing was measured.
pub(super) fn reading(summary: &StudySummary) -> Option<Reading> {
    let is_plain = |contrast: &Contrast| contrast.asked == Contrasts::Reference.to_string();
    let is_plain = summary.quantity.is_speed() && summary.comparisons.iter().all(is_plain);
    let is_measured = summary.cells.iter().any(|cell| cell.estimate.is_some());
    if is_plain || !is_measured || summary.cells.len() < 2 {
        return None;
    }
    let mut readings = asked(summary).into_iter().map(|of_one| read(summary, &of_one));
    let mut first = readings.next().unwrap_or_default();
    for other in readings {
        first.remarks.push(other.headline);
        first.remarks.extend(other.remarks);
    }
    Some(first)
}

/// The comparisons by the contrast that asks for them, in order.
fn asked(summary: &StudySummary) -> Vec<Vec<&Contrast>> {
    let mut asked: Vec<Vec<&Contrast>> = Vec::new();
    for contrast in &summary.comparisons {
        match asked.iter_mut().find(|known| known[0].asked == contrast.asked) {
            Some(known) => known.push(contrast),
            None => asked.push(vec![contrast]),
        }
    }
    asked
}

fn read(summary: &StudySummary, of_one: &[&Contrast]) -> Reading {
    let made: Vec<&Contrast> =
        of_one.iter().copied().filter(|contrast| contrast.comparison.is_some()).collect();
    let mut remarks = Vec::new();
    let missing: Vec<&&Contrast> = of_one.iter().filter(|contrast| contrast.comparison.is_none()).collect();
    if let Some(first) = missing.first() {
        let reason = first.why_not.as_deref().unwrap_or("no counting run");
        remarks.push(format!(
            "Not compared: {} of {} pairs, the first {} ({reason}).",
            missing.len(),
            of_one.len(),
            named(first)
        ));
    }
    if made.is_empty() {
        let reason = missing.first().and_then(|first| first.why_not.as_deref());
        let reason = reason.unwrap_or("no pair has counting runs on both sides");
        let headline = format!("Nothing is compared: {reason}.");
        return Reading { headline, certainty: String::new(), remarks };
    }
    let words = Words { summary, made: &made };
    if made.iter().all(|contrast| verdict(contrast) == Verdict::TooFewRuns) {
        return Reading { headline: words.too_few(), certainty: String::new(), remarks };
    }
    let headline = match of_one[0].asked.parse() {
        Ok(Contrasts::Previous | Contrasts::PreviousOf(_)) => words.chains(),
        Ok(Contrasts::EachLevelOf(factor)) => words.best_of_each(&factor),
        Ok(Contrasts::Reference) => words.best_of_each(""),
        _ => words.pairs(),
    };
    let of_each = words.each();
    if made.len() > 1 {
        remarks.insert(0, of_each);
    }
    Reading { headline, certainty: words.certainty(), remarks }
}

fn verdict(contrast: &Contrast) -> Verdict {
    contrast.comparison.map_or(Verdict::TooFewRuns, |comparison| comparison.verdict)
}

/// `level=page against level=read at dop=1`.
fn named(contrast: &Contrast) -> String {
    let at =
        if contrast.common.0.is_empty() { String::new() } else { format!(" at {}", label(&contrast.common)) };
    format!("{} against {}{at}", label(&contrast.of_candidate), label(&contrast.of_reference))
}

fn label(levels: &Levels) -> String {
    let named: Vec<String> = levels.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
    named.join(" ")
}

/// The comparisons of one contrast, at least one, with what their sentences share.
struct Words<'a> {
    summary: &'a StudySummary,
    made: &'a [&'a Contrast],
}

impl Words<'_> {
    fn difference(&self) -> Difference {
        Difference { quantity: self.summary.quantity }
    }

    /// The comparisons by the levels that their two sides share.
    fn groups(&self) -> Vec<Vec<&Contrast>> {
        let mut groups: Vec<Vec<&Contrast>> = Vec::new();
        for contrast in self.made {
            match groups.iter_mut().find(|known| known[0].common == contrast.common) {
                Some(known) => known.push(contrast),
                None => groups.push(vec![contrast]),
            }
        }
        groups
    }

    /// Where gains stop, for each combination of the other factors.
    fn chains(&self) -> String {
        let ends: Vec<(String, String)> =
            self.groups().iter().map(|steps| (label(&steps[0].common), self.chain(steps))).collect();
        let is_equal = ends.iter().all(|(_, text)| *text == ends[0].1);
        match ends.as_slice() {
            [(_, only)] => format!("{}.", capital(only)),
            [(_, first), ..] if is_equal => {
                format!("{}, in all {} combinations of the other factors.", capital(first), ends.len())
            }
            _ => {
                let of_one = |(common, text): &(String, String)| format!("at {common} {text}");
                format!("{}.", capital(&some(&ends.iter().map(of_one).collect::<Vec<_>>(), "; ")))
            }
        }
    }

    /// `gains stop at batch_size=10: batch_size=100 is not shown to be faster (p = 0.42)`.
    fn chain(&self, steps: &[&Contrast]) -> String {
        let difference = self.difference();
        let words = self.summary.quantity.words();
        let (better, worse) = (difference.comparative(true), difference.comparative(false));
        let better_count = steps.iter().take_while(|step| verdict(step) == Verdict::Better).count();
        let worse_count = steps.iter().take_while(|step| verdict(step) == Verdict::Worse).count();
        if let Some(last) = steps.last().filter(|_| better_count == steps.len()) {
            let last = label(&last.of_candidate);
            return match self.summary.quantity.is_speed() {
                true => format!("gains continue up to {last}: {better} at each level than at the one before"),
                false => format!("{words} is {better} at each level up to {last} than at the one before"),
            };
        }
        if let Some(last) = steps.last().filter(|_| worse_count == steps.len()) {
            let last = label(&last.of_candidate);
            return match self.summary.quantity.is_speed() {
                true => format!("each level up to {last} is {worse} than the one before"),
                false => format!("{words} is {worse} at each level up to {last} than at the one before"),
            };
        }
        if !self.summary.quantity.is_speed() {
            return self.steps(steps);
        }
        let next = steps[better_count];
        let p = p_of(next).map_or_else(String::new, |p| format!(" ({})", p_value(p)));
        let what = match verdict(next) {
            Verdict::Worse => format!("{} is {worse}{p}", label(&next.of_candidate)),
            _ => format!("{} is not shown to be {better}{p}", label(&next.of_candidate)),
        };
        let later = steps[better_count..].iter().find(|step| verdict(step) == Verdict::Better);
        let later = later.map_or_else(String::new, |step| {
            format!(", but {} is {better} than {}", label(&step.of_candidate), label(&step.of_reference))
        });
        match better_count {
            0 => format!("no gain from {} on is shown: {what}{later}", label(&next.of_reference)),
            _ => format!("gains stop at {}: {what}{later}", label(&next.of_reference)),
        }
    }

    /// `p99 response time is not shown to differ up to rate=400; at rate=1600 it is higher than at rate=400 (p = 0.031)`: for
    /// what is no speed, where a change may be welcome or not.
    fn steps(&self, steps: &[&Contrast]) -> String {
        let words = self.summary.quantity.words();
        let is_shown = |step: &&&Contrast| matches!(verdict(step), Verdict::Better | Verdict::Worse);
        let shown: Vec<&&Contrast> = steps.iter().filter(is_shown).collect();
        let Some(first) = shown.first() else {
            return format!("no difference in {words} is shown from any level to the next");
        };
        let place = steps.iter().position(|step| is_shown(&step)).unwrap_or(0);
        let p = p_of(first).map_or_else(String::new, |p| format!(" ({})", p_value(p)));
        let higher = self.difference().comparative(verdict(first) == Verdict::Better);
        let at = format!(
            "at {} it is {higher} than at {}{p}",
            label(&first.of_candidate),
            label(&first.of_reference)
        );
        let more = match shown.len() - 1 {
            0 => String::new(),
            more => format!("; {more} later of {} steps differ as well", steps.len()),
        };
        match place {
            0 => format!("{words} changes with the level: {at}{more}"),
            _ => format!("{words} is not shown to differ up to {}; {at}{more}", label(&first.of_reference)),
        }
    }

    /// The best of each level of a factor, against the first cell of that level.
    fn best_of_each(&self, factor: &str) -> String {
        let of_level = |contrast: &Contrast| {
            contrast.common.0.iter().find(|(name, _)| name == factor).map(|(_, level)| level.to_string())
        };
        let mut levels: Vec<(Option<String>, Vec<&Contrast>)> = Vec::new();
        for contrast in self.made {
            let level = of_level(contrast);
            match levels.iter_mut().find(|(known, _)| *known == level) {
                Some((_, known)) => known.push(contrast),
                None => levels.push((level, vec![contrast])),
            }
        }
        let text = |(level, contrasts): &(Option<String>, Vec<&Contrast>)| {
            let at = level.as_ref().map_or_else(String::new, |level| format!("at {factor}={level} "));
            let shown = contrasts.iter().filter(|contrast| verdict(contrast) == Verdict::Better);
            let best = shown.max_by(|left, right| speed_up(left).total_cmp(&speed_up(right)));
            match best {
                Some(best) => format!(
                    "{at}{} {}",
                    self.cell_without(best.candidate, factor),
                    self.difference().against(best, &self.cell_without(best.reference, factor))
                ),
                None => format!(
                    "{at}nothing is shown to be {} than {}",
                    self.difference().comparative(true),
                    self.cell_without(contrasts[0].reference, factor)
                ),
            }
        };
        format!("{}.", capital(&some(&levels.iter().map(text).collect::<Vec<_>>(), "; ")))
    }

    /// All levels of a cell but that of a factor, which stands before them.
    fn cell_without(&self, index: usize, factor: &str) -> String {
        let levels = self.summary.cells[index].levels.0.iter().filter(|(name, _)| name != factor);
        label(&Levels(levels.cloned().collect()))
    }

    /// One level against another: the factor, or the range of factors where there are several.
    fn pairs(&self) -> String {
        if let [only] = self.made {
            let text = match verdict(only) {
                Verdict::Better | Verdict::Worse => {
                    self.difference().against(only, &label(&only.of_reference))
                }
                _ => format!("is not shown to differ from {}", label(&only.of_reference)),
            };
            let at = if only.common.0.is_empty() {
                String::new()
            } else {
                format!("At {}: ", label(&only.common))
            };
            return format!("{at}{} {text}: {}.", label(&only.of_candidate), self.means(only));
        }
        let sides = |contrast: &Contrast| (contrast.of_candidate.clone(), contrast.of_reference.clone());
        let is_one_pair = self.made.iter().all(|contrast| sides(contrast) == sides(self.made[0]));
        if !is_one_pair {
            return self.each();
        }
        let shown: Vec<&&Contrast> = self
            .made
            .iter()
            .filter(|contrast| matches!(verdict(contrast), Verdict::Better | Verdict::Worse))
            .collect();
        let ratios: Vec<f64> = self.made.iter().map(|contrast| speed_up(contrast)).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let first = self.made[0];
        let count = self.made.len();
        let shown = match shown.len() {
            0 => format!("none of the {count} differences is shown"),
            some => format!("a difference is shown in {some} of {count} comparisons"),
        };
        format!(
            "{} {} {}; {shown}.",
            label(&first.of_candidate),
            self.difference().range(Range { low, high }),
            label(&first.of_reference)
        )
    }

    /// The comparisons one by one.
    fn each(&self) -> String {
        let of_one = |contrast: &&Contrast| {
            let text = match verdict(contrast) {
                Verdict::Better | Verdict::Worse => self.difference().with_interval(contrast),
                Verdict::NoDifferenceShown => {
                    let interval = contrast.comparison.and_then(|comparison| comparison.speed_up_interval);
                    let interval = interval.map_or_else(String::new, |interval| {
                        let ratio = if self.summary.quantity.is_speed() { "" } else { "ratio " };
                        format!(" ({ratio}{})", self.difference().interval(interval))
                    });
                    let within = contrast.comparison.and_then(|comparison| comparison.within);
                    let within = within.map_or_else(String::new, |margin| {
                        format!(", shown to lie within {} %", number(100.0 * margin))
                    });
                    format!("no significant difference{interval}{within}")
                }
                Verdict::TooFewRuns => "too few runs".to_owned(),
            };
            format!("{}: {text}", named(contrast))
        };
        let all: Vec<String> = self.made.iter().map(of_one).collect();
        format!("{}.", capital(&some(&all, "; ")))
    }

    fn too_few(&self) -> String {
        let n = self.made.iter().filter_map(|contrast| contrast.comparison);
        let n = n.map(|comparison| comparison.n_reference.min(comparison.n_candidate)).min().unwrap_or(0);
        let needed = crate::summary::runs_needed(self.summary.comparisons.len());
        let needed = needed.map_or_else(
            || "more".to_owned(),
            |needed| format!("at least {needed} counting runs of each configuration"),
        );
        format!("Too few runs (n={n}) to show any difference: {needed} are needed.")
    }

    /// `mean elapsed time 1.2 s against 1.4 s`.
    fn means(&self, contrast: &Contrast) -> String {
        let mean = |index: usize| self.summary.cells[index].estimate.map(|estimate| estimate.mean);
        let (Some(candidate), Some(reference)) = (mean(contrast.candidate), mean(contrast.reference)) else {
            return String::new();
        };
        let decimals = Decimals::for_values([candidate, reference]);
        let quantity = self.summary.quantity;
        let [candidate, reference] =
            [candidate, reference].map(|mean| quantity.with_unit(&decimals.write(mean)));
        format!("mean {} {candidate} against {reference}", quantity.words())
    }

    fn certainty(&self) -> String {
        let count = self.summary.comparisons.iter().filter(|contrast| contrast.comparison.is_some()).count();
        let n = |of: &dyn Fn(&Contrast) -> Option<usize>| {
            let all: Vec<usize> = self.made.iter().filter_map(|contrast| of(contrast)).collect();
            (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0))
        };
        let (low, high) =
            n(&|contrast| Some(contrast.comparison?.n_candidate.min(contrast.comparison?.n_reference)));
        let runs = if low == high { low.to_string() } else { format!("{low} to {high}") };
        match self.made {
            [only] if count == 1 => {
                let comparison = only.comparison;
                let interval = comparison.and_then(|comparison| comparison.speed_up_interval);
                let interval = interval.map_or_else(String::new, |interval| {
                    format!("95 % interval {}, ", self.difference().interval(interval))
                });
                let p = p_of(only).map_or_else(String::new, p_value);
                format!("{interval}{p}; {runs} runs per configuration.")
            }
            _ => format!(
                "{count} comparisons decided together: the chance of one false difference among them is at most {}; \
                 {runs} runs per configuration.",
                self.summary.chance()
            ),
        }
    }
}

fn speed_up(contrast: &Contrast) -> f64 {
    contrast.change.map_or(f64::NAN, |change| change.speed_up)
}

fn some(all: &[String], separator: &str) -> String {
    let shown: Vec<&str> = all.iter().take(NAMED_MAX).map(String::as_str).collect();
    match all.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(separator),
        more => format!("{}{separator}and {more} more", shown.join(separator)),
    }
}

/// With a capital letter in front, unless a name of a factor or a percentile stands there.
fn capital(text: &str) -> String {
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.contains(|letter: char| letter == '=' || letter.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
