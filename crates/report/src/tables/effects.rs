//! What each factor does over the levels of the others, and which factors act on each other.

use super::comparisons::heads_of_change;
use crate::layout::{Align, Block, Grid, Section};
use crate::number::{factor, p_value, percent};
use crate::summary::{EffectSummary, InteractionSummary, StudySummary};
use crate::tables::or_dash;

/// Interactions that are named; more are counted.
const INTERACTIONS_MAX: usize = 6;

/// The main effects; `None` with fewer than two factors, where the comparisons say the same.
pub(crate) fn effects(summary: &StudySummary) -> Option<Section> {
    if summary.factors.len() < 2 || summary.effects.effects.is_empty() {
        return None;
    }
    let (percent_head, factor_head) = heads_of_change(summary);
    let mut grid = Grid::named_by([("factor".to_owned(), Align::Left), ("levels".to_owned(), Align::Left)])
        .with([
            ("over", Align::Right),
            (percent_head, Align::Right),
            (factor_head, Align::Right),
            ("95 % interval", Align::Right),
            ("p", Align::Right),
            ("verdict", Align::Left),
        ]);
    for effect in &summary.effects.effects {
        grid.push(row(summary, effect));
    }
    let note = format!(
        "Geometric means of the ratios over the combinations (\"over\") of the other factors' levels. p is corrected for all main \
         effects together; the chance of one false \"better\" or \"worse\" among them is at most {}.",
        summary.chance()
    );
    let mut blocks = vec![Block::Grid(grid), Block::Paragraph(note)];
    blocks.push(interactions(summary));
    Some(Section::new("Main effects", blocks))
}

fn row(summary: &StudySummary, effect: &EffectSummary) -> Vec<String> {
    let quantity = summary.quantity;
    // The ratio is of values; a smaller time is a larger speed.
    let is_inverted = quantity.is_speed() && quantity.is_better(1.0, 2.0);
    let shown = |ratio: f64| if is_inverted { 1.0 / ratio } else { ratio };
    let cost = |ratio: f64| if quantity.is_better(1.0, 2.0) { ratio } else { 1.0 / ratio };
    let change = |ratio: f64| match quantity.is_speed() {
        true => percent(100.0 * (1.0 - cost(ratio))),
        false => percent(100.0 * (ratio - 1.0)),
    };
    vec![
        effect.factor.clone(),
        format!("{} vs {}", effect.candidate, effect.reference),
        effect.combinations.to_string(),
        or_dash(effect.ratio, change),
        or_dash(effect.ratio, |ratio| factor(shown(ratio))),
        or_dash(effect.ratio_interval, |range| {
            let ends = [shown(range.low), shown(range.high)];
            format!("{} to {}", factor(ends[0].min(ends[1])), factor(ends[0].max(ends[1])))
        }),
        or_dash(effect.p_adjusted, |p| {
            let text = p_value(p);
            text.strip_prefix("p = ").or(text.strip_prefix("p ")).unwrap_or(&text).to_owned()
        }),
        effect.verdict.words().to_owned(),
    ]
}

/// The interactions that are shown, or that none is, or that none could be.
fn interactions(summary: &StudySummary) -> Block {
    let effects = &summary.effects;
    let mut items: Vec<String> = effects
        .interactions
        .iter()
        .take(INTERACTIONS_MAX)
        .map(|interaction| sentence(summary, interaction))
        .collect();
    match (items.is_empty(), effects.can_show_interactions) {
        (true, false) => Block::Paragraph("Too few blocks to show whether factors interact.".to_owned()),
        (true, true) => Block::Paragraph("No interaction of two factors is shown.".to_owned()),
        (false, _) => {
            let more = effects.interactions.len().saturating_sub(INTERACTIONS_MAX);
            items.extend((more > 0).then(|| format!("{more} weaker interactions are shown as well.")));
            Block::Items(items)
        }
    }
}

/// `batch_size and connections interact: batch_size=10 has 0.30 times the elapsed time of 1 at connections=1 and 0.80 times at 8.`
fn sentence(summary: &StudySummary, interaction: &InteractionSummary) -> String {
    let [one, other] = &interaction.factors;
    let [at_reference, at_candidate] = interaction.ratios.map(factor);
    format!(
        "{one} and {other} interact: {one}={} has {at_reference} times the {} of {one}={} at {other}={}, and {at_candidate} times at \
         {other}={} ({}).",
        interaction.candidate[0],
        summary.quantity.words(),
        interaction.reference[0],
        interaction.reference[1],
        interaction.candidate[1],
        p_value(interaction.p_adjusted)
    )
}
