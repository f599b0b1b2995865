//! Main effects: what each factor does over the levels of the others, with its interval. Interactions are named in the table.

use stats::compare::Direction;

use super::super::chart::difference::{self, Line, Tone};
use super::super::definitions::Definitions;
use super::super::figure::figure;
use super::super::human;
use super::super::markup::{Markup, markup};
use crate::number::p_value;
use crate::summary::{Contrast, EffectSummary, Effects, Levels, Range, StudySummary, Verdict};

/// One chart per factor on a common axis; nothing without factors.
pub(in crate::html) fn charts(
    summary: &StudySummary,
    effects: &Effects,
    definitions: &Definitions,
) -> Markup {
    let compared = of_contrasts(summary);
    let effects = if summary.factors.len() == 1 { &compared } else { &effects.effects };
    let known: Vec<&EffectSummary> =
        effects.iter().filter(|effect| effect.percent().is_some_and(f64::is_finite)).collect();
    let lines: Vec<Line> = known.iter().map(|effect| line(effect)).collect();
    let span = difference::reach(&lines, 0.0);
    let mut html = Markup::default();
    for factor in &summary.factors {
        let of_factor = |(effect, line): (&&EffectSummary, &Line)| {
            (effect.factor == factor.name).then(|| ((*effect).clone(), line.clone()))
        };
        let (found, lines): (Vec<EffectSummary>, Vec<Line>) =
            known.iter().zip(&lines).filter_map(of_factor).unzip();
        let title = format!("Effect of {} on {}", factor.name, summary.quantity.words());
        let Some(svg) = difference::draw(&title, &lines, 0.0, span) else { continue };
        let over = found.first().map_or(1, |effect| effect.combinations);
        let of_others = match over {
            0 | 1 => String::new(),
            over => format!(", over {over} combinations of the other factors"),
        };
        let note = markup!(
            "Change of {}{}, with its 95 % {} for all changes shown here together; left of 0 is a smaller value.",
            definitions.header(summary.quantity.name()),
            of_others,
            definitions.header("interval")
        );
        html.push(&figure(&svg, &note));
    }
    html
}

/// The comparisons of a study of one factor, which are its effects: judged once, so that no two outputs differ.
fn of_contrasts(summary: &StudySummary) -> Vec<EffectSummary> {
    let one = |contrast: &Contrast| {
        let comparison = contrast.comparison?;
        let is_inverse = summary.quantity.direction() == Direction::SmallerIsBetter;
        let ratio = |speed_up: f64| if is_inverse { 1.0 / speed_up } else { speed_up };
        let interval = comparison.speed_up_interval.map(|range| match is_inverse {
            true => Range { low: ratio(range.high), high: ratio(range.low) },
            false => range,
        });
        let level = |levels: &Levels| Some(levels.0.first()?.1.clone());
        Some(EffectSummary {
            factor: summary.factors.first()?.name.clone(),
            reference: level(&contrast.of_reference)?,
            candidate: level(&contrast.of_candidate)?,
            combinations: 1,
            ratio: comparison.speed_up.map(ratio),
            ratio_interval: interval,
            p_adjusted: comparison.p_adjusted,
            verdict: comparison.verdict,
        })
    };
    summary.comparisons.iter().filter_map(one).collect()
}

fn line(effect: &EffectSummary) -> Line {
    let percent = effect.percent().unwrap_or(0.0);
    let interval = effect.ratio_interval.map(|range| (100.0 * (range.low - 1.0), 100.0 * (range.high - 1.0)));
    let p = effect.p_adjusted.map_or_else(String::new, |p| format!(", {}", p_value(p)));
    Line {
        label: format!("{} → {}", human::level(&effect.reference), human::level(&effect.candidate)),
        percent,
        interval,
        words: format!("{}: {}{p}", change_words(percent), effect.verdict.words()),
        tone: match effect.verdict {
            Verdict::Better => Tone::Good,
            Verdict::Worse => Tone::Bad,
            _ => Tone::Plain,
        },
    }
}

/// `-72.3 %`, and `×12.4` where the percentage has four digits.
fn change_words(percent: f64) -> String {
    if percent >= 900.0 {
        format!("×{}", human::number(1.0 + percent / 100.0))
    } else {
        format!("{percent:+.1} %")
    }
}
