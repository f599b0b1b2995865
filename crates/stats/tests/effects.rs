//! Main effects and interactions on made-up data of which the truth is known.

#![allow(clippy::unwrap_used)]

use stats::compare::{BlockedValue, Direction, compare_in_blocks};
use stats::design::contrasts::Factor;
use stats::design::reach::main_effect_p_min;
use stats::effects::{Against, Cell, EffectError, Interaction, MainEffect, interactions, main_effects};
use stats::random::{Random, derive_seed};
use stats::verdict::Verdict;

const SMALLER: Direction = Direction::SmallerIsBetter;
const ALPHA: f64 = 0.05;

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().map(|&level| level.to_owned()).collect() }
}

fn factors() -> Vec<Factor> {
    vec![factor("connections", &["1", "4", "8"]), factor("batch_size", &["1", "10"])]
}

/// Cells of both factors; `truth` gives the median of a cell by the positions of its levels.
fn study(
    truth: impl Fn(usize, usize) -> f64,
    blocks: u32,
    sd: f64,
    drift: f64,
    random: &mut Random,
) -> Vec<Cell> {
    let factors = factors();
    let mut cells = Vec::new();
    let shared: Vec<f64> = (0..blocks).map(|_| drift * random.normal_pair().0).collect();
    for (left, connections) in factors[0].levels.iter().enumerate() {
        for (right, batch_size) in factors[1].levels.iter().enumerate() {
            let mut value = |block: u32| {
                truth(left, right) * (shared[block as usize] + sd * random.normal_pair().0).exp()
            };
            let runs = (0..blocks).map(|block| BlockedValue { block, value: value(block) }).collect();
            cells.push(Cell { levels: vec![connections.clone(), batch_size.clone()], runs });
        }
    }
    cells
}

fn batch_effect(cells: &[Cell]) -> MainEffect {
    main_effects(&factors(), cells, &["batch_size"], Against::First, SMALLER, ALPHA, 1).unwrap().remove(0)
}

fn both(cells: &[Cell]) -> Vec<Interaction> {
    interactions(&factors(), cells, ["connections", "batch_size"], ALPHA, 1).unwrap()
}

#[test]
fn an_effect_without_noise_is_the_geometric_mean_of_the_ratios() {
    // Ratios 0.5, 0.5 and 0.25 of batch size 10 over 1.
    let ratio = [0.5, 0.5, 0.25];
    let truth = |left: usize, right: usize| if right == 0 { 10.0 } else { 10.0 * ratio[left] };
    let cells = study(truth, 3, 0.0, 0.5, &mut Random::new(1));
    let effect = batch_effect(&cells);
    assert_eq!((effect.reference.as_str(), effect.candidate.as_str(), effect.combinations), ("1", "10", 3));
    let comparison = effect.judged.comparison;
    assert!((comparison.ratio.unwrap() - (0.5_f64 * 0.5 * 0.25).cbrt()).abs() < 1e-12);
    // Nine places, all on one side: 2 of 2^9 sign patterns.
    assert_eq!(comparison.p_attainable_min, 2.0 / 512.0);
    assert_eq!(comparison.p_attainable_min, main_effect_p_min(3, 3));
    let found = both(&cells);
    let at_8 = found.iter().find(|each| each.candidate[0] == "8").unwrap();
    assert!((at_8.ratio.unwrap() - 0.5).abs() < 1e-12 && (found[0].ratio.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn one_factor_alone_is_the_paired_comparison() {
    let cells = study(|_, right| [10.0, 12.0][right], 8, 0.05, 0.3, &mut Random::new(2));
    let (only, levels) = (vec![factors().remove(1)], ["1", "10"]);
    let single: Vec<Cell> = (0..2)
        .map(|index| Cell { levels: vec![levels[index].to_owned()], runs: cells[index].runs.clone() })
        .collect();
    let effect = main_effects(&only, &single, &["batch_size"], Against::Previous, SMALLER, ALPHA, 1)
        .unwrap()
        .remove(0);
    let paired = compare_in_blocks(&cells[0].runs, &cells[1].runs, SMALLER, ALPHA, 1).unwrap();
    let comparison = effect.judged.comparison;
    assert_eq!((comparison.p_value, comparison.method), (paired.p_value, paired.method));
    assert_eq!(comparison.ratio_interval.map(|it| it.low), paired.ratio_interval.map(|it| it.low));
    assert_eq!(effect.combinations, 1);
}

#[test]
fn three_blocks_decide_a_main_effect_under_drift() {
    let mut covered = 0;
    let found = (0..300)
        .filter(|&each| {
            let random = &mut Random::new(derive_seed(3, &[each]));
            let cells = study(|left, right| [10.0, 5.0, 4.0][left] * [1.0, 1.2][right], 3, 0.05, 0.3, random);
            let judged = batch_effect(&cells).judged;
            covered += u32::from(judged.comparison.ratio_interval.unwrap().contains(1.2));
            judged.decision.verdict == Verdict::Worse
        })
        .count();
    println!(
        "20 % over three levels, three blocks, drift 30 %: found {found} of 300, interval covers {covered}"
    );
    assert!(found >= 290 && covered >= 273, "{found} {covered}");
}

#[test]
fn no_effect_is_shown_at_most_as_often_as_the_level_says() {
    let (mut main, mut interaction) = (0, 0);
    for each in 0..400 {
        let random = &mut Random::new(derive_seed(4, &[each]));
        // The other factor has a large effect; batch size has none, and nothing acts on anything.
        let cells = study(|left, _| [10.0, 5.0, 4.0][left], 4, 0.05, 0.3, random);
        main += u32::from(matches!(
            batch_effect(&cells).judged.decision.verdict,
            Verdict::Better | Verdict::Worse
        ));
        interaction += u32::from(both(&cells).iter().any(|each| each.is_shown));
    }
    println!("of 400 without an effect: {main} main effects, {interaction} interactions shown");
    // 20 are expected at most; four standard deviations of that are 17.
    assert!(main <= 37 && interaction <= 37, "{main} {interaction}");
}

#[test]
fn an_interaction_is_found_and_named() {
    let found = (0..100)
        .filter(|&each| {
            let random = &mut Random::new(derive_seed(5, &[each]));
            let truth = |left: usize, right: usize| if (left, right) == (2, 1) { 5.0 } else { 10.0 };
            let shown: Vec<Interaction> =
                both(&study(truth, 8, 0.05, 0.3, random)).into_iter().filter(|each| each.is_shown).collect();
            let named = shown.iter().find(|each| each.candidate == ["8", "10"]);
            named.is_some_and(|each| each.interval.unwrap().contains(0.5)) && shown.len() == 1
        })
        .count();
    assert!(found >= 85, "{found}");
}

#[test]
fn missing_cells_and_blocks_leave_what_both_levels_share() {
    let mut cells = study(|_, right| [1.0, 2.0][right], 4, 0.02, 0.1, &mut Random::new(6));
    cells[0].runs.clear();
    cells[2].runs.truncate(1);
    let effect = batch_effect(&cells);
    let comparison = effect.judged.comparison;
    assert_eq!((effect.combinations, comparison.n_reference, comparison.n_candidate), (2, 5, 5));
    assert!(comparison.ratio_interval.unwrap().contains(2.0));
    let nothing: Vec<Cell> = cells.iter().map(|cell| Cell { runs: Vec::new(), ..cell.clone() }).collect();
    let effect = batch_effect(&nothing);
    assert_eq!((effect.judged.comparison.ratio, effect.judged.decision.verdict), (None, Verdict::TooFewRuns));
    assert!(both(&nothing).iter().all(|each| each.ratio.is_none() && !each.is_shown));
}

#[test]
fn names_and_values_that_are_wrong_are_refused() {
    let cells = study(|_, _| 1.0, 2, 0.1, 0.0, &mut Random::new(7));
    let refused =
        main_effects(&factors(), &cells, &["batch"], Against::First, SMALLER, ALPHA, 1).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "factor 'batch' is not in the experiment\nhint: factors: connections, batch_size"
    );
    assert!(matches!(
        interactions(&factors(), &cells, ["batch_size", "batch_size"], ALPHA, 1),
        Err(EffectError::Name(_))
    ));
    let mut wrong = cells;
    wrong[1].runs[0].value = 0.0;
    assert!(matches!(
        main_effects(&factors(), &wrong, &["batch_size"], Against::First, SMALLER, ALPHA, 1),
        Err(EffectError::Value(_))
    ));
}
