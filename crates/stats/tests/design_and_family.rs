//! Whether designs keep what is computed before they run: the power that is stated, the error rate of a whole family,
//! with and without drift between blocks, and that of looking often.
//!
//! The values printed here (`cargo test -p stats --test design_and_family -- --nocapture`) stand in
//! docs/report/statistics.md.

#![allow(clippy::unwrap_used)]

use stats::compare::{BlockedValue, Direction, Method};
use stats::design::contrasts::Pair;
use stats::design::noise::Noise;
use stats::design::power::{power, smallest_difference};
use stats::design::reach::Design;
use stats::design::sequential::{Step, looks, step};
use stats::family::{Judged, judge, judge_apart};
use stats::random::{Random, derive_seed};
use stats::verdict::Verdict;

const SMALLER: Direction = Direction::SmallerIsBetter;
const ALPHA: f64 = 0.05;

/// Cells whose medians have these ratios: runs that spread by `run_sd` in blocks that spread by `block_sd`.
fn study(
    ratios: &[f64],
    blocks: u32,
    run_sd: f64,
    block_sd: f64,
    random: &mut Random,
) -> Vec<Vec<BlockedValue>> {
    let mut cells = vec![Vec::new(); ratios.len()];
    for block in 0..blocks {
        let shared = block_sd * random.normal_pair().0;
        for (cell, ratio) in cells.iter_mut().zip(ratios) {
            let value = ratio * (shared + run_sd * random.normal_pair().0).exp();
            cell.push(BlockedValue { block, value });
        }
    }
    cells
}

fn against_first(cells: usize) -> Vec<Pair> {
    (1..cells).map(|candidate| Pair { reference: 0, candidate }).collect()
}

fn every_pair(cells: usize) -> Vec<Pair> {
    let pairs = (0..cells).flat_map(|left| (left + 1..cells).map(move |right| (left, right)));
    pairs.map(|(reference, candidate)| Pair { reference, candidate }).collect()
}

fn is_difference(judged: &Judged) -> bool {
    matches!(judged.decision.verdict, Verdict::Better | Verdict::Worse)
}

/// The share of tries in which `succeeds` is true; each try gets its own stream.
fn share(tries: u32, seed: u64, mut succeeds: impl FnMut(&mut Random) -> bool) -> f64 {
    let successes =
        (0..tries).filter(|&each| succeeds(&mut Random::new(derive_seed(seed, &[u64::from(each)])))).count();
    successes as f64 / f64::from(tries)
}

fn assert_at_most(share: f64, probability: f64, tries: u32, what: &str) {
    let deviation = (probability * (1.0 - probability) / f64::from(tries)).sqrt();
    assert!(share <= probability + 3.0 * deviation, "{what}: {share} for at most {probability}");
}

#[test]
fn a_family_without_differences_raises_false_alarms_in_one_of_twenty_studies_at_most() {
    // (cells, blocks, drift between blocks)
    for (cells, blocks, block_sd) in [(8, 5, 0.0), (8, 5, 0.3), (8, 6, 0.0), (8, 6, 0.3), (3, 8, 0.3)] {
        for (name, pairs) in [("against the first", against_first(cells)), ("every pair", every_pair(cells))]
        {
            let tries = 1000;
            let alarms = share(tries, 10 + u64::from(blocks), |random| {
                let runs = study(&vec![1.0; cells], blocks, 0.05, block_sd, random);
                judge(&runs, &pairs, SMALLER, ALPHA, 1).unwrap().iter().any(is_difference)
            });
            println!(
                "false alarms, {cells} cells {name}, {blocks} blocks, drift {block_sd}: {:.1} %",
                100.0 * alarms
            );
            assert_at_most(alarms, ALPHA, tries, &format!("{cells} cells {name}, {blocks} blocks"));
        }
    }
}

#[test]
fn true_differences_in_some_cells_do_not_loosen_the_rest() {
    // Cells 0, 3 and 4 are alike; the others differ from them by little and by much.
    let ratios = [1.0, 1.1, 2.0, 1.0, 1.0, 0.5];
    let pairs = every_pair(ratios.len());
    let is_alike = |pair: &Pair| ratios[pair.reference] == ratios[pair.candidate];
    for (blocks, block_sd) in [(5, 0.0), (6, 0.3)] {
        let tries = 400;
        let alarms = share(tries, 40 + u64::from(blocks), |random| {
            let runs = study(&ratios, blocks, 0.05, block_sd, random);
            let judged = judge(&runs, &pairs, SMALLER, ALPHA, 1).unwrap();
            judged.iter().zip(&pairs).any(|(judged, pair)| is_alike(pair) && is_difference(judged))
        });
        println!("false alarms beside true differences, {blocks} blocks: {:.1} %", 100.0 * alarms);
        assert_at_most(alarms, ALPHA, tries, &format!("{blocks} blocks"));
    }
}

#[test]
fn unlike_spreads_and_long_tails_raise_no_more_false_alarms() {
    let tries = 600;
    let alarms = share(tries, 60, |random| {
        let mut runs = study(&[1.0; 5], 6, 0.02, 0.1, random);
        // One cell spreads ten times as much, another stalls now and then.
        for run in &mut runs[1] {
            run.value *= (0.2 * random.normal_pair().0).exp();
        }
        for run in runs.iter_mut().flatten() {
            run.value *= if random.unit_f64() < 0.05 { 1.5 } else { 1.0 };
        }
        judge(&runs, &against_first(5), SMALLER, ALPHA, 1).unwrap().iter().any(is_difference)
    });
    println!("false alarms, unlike spreads and stalls: {:.1} %", 100.0 * alarms);
    assert_at_most(alarms, ALPHA, tries, "unlike spreads");
}

#[test]
fn a_fifth_slower_is_found_under_drift_with_six_blocks_and_not_with_five() {
    let found = |blocks: u32, block_sd: f64| {
        share(300, 70 + u64::from(blocks), |random| {
            let runs = study(&[1.0, 1.2, 1.0, 1.0, 1.0], blocks, 0.05, block_sd, random);
            is_difference(&judge(&runs, &against_first(5), SMALLER, ALPHA, 1).unwrap()[0])
        })
    };
    for (blocks, block_sd) in [(5, 0.0), (5, 0.3), (6, 0.0), (6, 0.3), (8, 0.3)] {
        println!(
            "20 % slower found, {blocks} blocks, drift {block_sd}: {:.0} %",
            100.0 * found(blocks, block_sd)
        );
    }
    assert!(found(5, 0.0) >= 0.9 && found(5, 0.3) <= 0.1, "{} {}", found(5, 0.0), found(5, 0.3));
    assert!(found(6, 0.3) >= 0.9, "{}", found(6, 0.3));
}

#[test]
fn the_power_that_is_computed_is_that_of_the_family() {
    for (blocks, comparisons, sd, drift) in
        [(5, 4, 0.05, 0.0), (6, 1, 0.05, 0.3), (6, 4, 0.05, 0.3), (5, 2, 0.05, 0.1), (10, 3, 0.1, 0.0)]
    {
        let design = Design::of(blocks, comparisons);
        let noise = Noise { run_sd: sd, block_sd: drift };
        let difference = smallest_difference(&design, noise, 0.8, ALPHA).unwrap().unwrap();
        let computed = power(&design, difference, noise, ALPHA).unwrap();
        let mut ratios = vec![1.0; comparisons as usize + 1];
        ratios[1] = 1.0 + difference;
        let pairs = against_first(ratios.len());
        let found = share(500, 80 + u64::from(blocks), |random| {
            let runs = study(&ratios, blocks, sd, drift, random);
            is_difference(&judge(&runs, &pairs, SMALLER, ALPHA, 1).unwrap()[0])
        });
        println!(
            "{blocks} blocks, {comparisons} comparisons, sd {sd}, drift {drift}: {:.1} % detected in {:.0} % \
             (computed {:.0} %)",
            100.0 * difference,
            100.0 * found,
            100.0 * computed
        );
        assert!((computed - 0.8).abs() < 0.02, "{computed}");
        assert!((found - 0.8).abs() < 0.08, "{blocks} {comparisons} {drift}: {found}");
    }
}

#[test]
fn looking_after_every_block_keeps_the_error_rate() {
    let all = looks(&[0.5, 0.6, 0.7, 0.8, 0.9, 1.0].map(|share| share), ALPHA).unwrap();
    let pairs = against_first(3);
    let ended = |ratios: &[f64], margin: Option<f64>, random: &mut Random| -> (Step, f64) {
        let runs = study(ratios, 12, 0.05, 0.1, random);
        for look in &all {
            let blocks = (look.fraction * 12.0).round() as usize;
            let so_far: Vec<Vec<BlockedValue>> = runs.iter().map(|cell| cell[..blocks].to_vec()).collect();
            let judged = judge(&so_far, &pairs, SMALLER, look.level, 1).unwrap();
            let steps: Vec<Step> = judged.iter().map(|each| step(each, 2, margin, look)).collect();
            if steps.contains(&Step::Different) {
                return (Step::Different, look.fraction);
            }
            if steps.iter().all(|step| *step == Step::Equivalent) {
                return (Step::Equivalent, look.fraction);
            }
        }
        (Step::Undecided, 1.0)
    };
    let tries = 500;
    let alarms = share(tries, 90, |random| ended(&[1.0; 3], None, random).0 == Step::Different);
    println!("false alarms with six looks: {:.1} %", 100.0 * alarms);
    assert_at_most(alarms, ALPHA, tries, "six looks");
    let alike = share(tries, 92, |random| ended(&[1.0, 1.0, 1.1], Some(0.1), random).0 == Step::Equivalent);
    println!("equivalent within 10 % at a true difference of 10 %: {:.1} %", 100.0 * alike);
    assert_at_most(alike, ALPHA, tries, "equivalence at its margin");
    let mut work = 0.0;
    let found = share(tries, 91, |random| {
        let (step, fraction) = ended(&[1.0, 1.2, 1.0], None, random);
        work += fraction / f64::from(tries);
        step == Step::Different
    });
    println!("20 % slower found: {:.0} %, after {:.0} % of the blocks", 100.0 * found, 100.0 * work);
    assert!(found > 0.95 && work < 0.75, "{found} {work}");
    let equivalent = share(tries, 93, |random| ended(&[1.0; 3], Some(0.15), random).0 == Step::Equivalent);
    println!("equivalent within 15 % without a difference: {:.0} %", 100.0 * equivalent);
    assert!(equivalent > 0.8, "{equivalent}");
}

#[test]
fn one_pair_alone_is_decided_as_before() {
    let runs = study(&[1.0, 1.1], 9, 0.05, 0.2, &mut Random::new(3));
    let judged = judge(&runs, &against_first(2), SMALLER, ALPHA, 1).unwrap()[0];
    assert_eq!(judged.comparison.method, Method::WithinBlocks);
    assert_eq!(judged.decision.p_adjusted, Some(judged.comparison.p_value));
}

#[test]
fn verdict_and_interval_agree_and_the_order_of_runs_plays_no_part() {
    for each in 0..60 {
        let mut random = Random::new(derive_seed(5, &[each]));
        let blocks = 3 + random.below(5) as u32;
        let mut runs = study(&[1.0, 1.0, 1.15, 1.3], blocks, 0.05, 0.1, &mut random);
        // Some runs are missing, as after an interruption.
        if each % 3 == 0 {
            runs[2].pop();
        }
        if each % 7 == 0 {
            runs[3].clear();
        }
        let pairs = every_pair(4);
        let judged = judge(&runs, &pairs, SMALLER, ALPHA, 1).unwrap();
        for (judged, pair) in judged.iter().zip(&pairs) {
            let (verdict, adjusted) = (judged.decision.verdict, judged.decision.p_adjusted);
            assert!(adjusted.is_none_or(|adjusted| adjusted >= judged.comparison.p_value), "{judged:?}");
            assert_eq!(
                verdict == Verdict::TooFewRuns,
                adjusted.is_none_or(|_| verdict == Verdict::TooFewRuns)
            );
            if let (Some(interval), true) = (judged.decision.ratio_interval, verdict != Verdict::TooFewRuns) {
                assert_eq!(interval.contains(1.0), !is_difference(judged), "{pair:?} {judged:?}");
            }
        }
        runs.iter_mut().for_each(|cell| cell.reverse());
        assert_eq!(judge(&runs, &pairs, SMALLER, ALPHA, 1).unwrap(), judged);
    }
}

#[test]
fn a_last_block_that_was_interrupted_does_not_take_the_verdicts_away() {
    let mut runs = study(&[1.0, 2.0, 0.5, 3.0], 5, 0.02, 0.0, &mut Random::new(4));
    // The fifth block was interrupted after two of four runs.
    runs[1].pop();
    runs[3].pop();
    let judged = judge(&runs, &against_first(4), SMALLER, ALPHA, 1).unwrap();
    let verdicts: Vec<Verdict> = judged.iter().map(|judged| judged.decision.verdict).collect();
    assert_eq!(verdicts, [Verdict::Worse, Verdict::Better, Verdict::Worse]);
}

#[test]
fn cells_of_several_studies_are_decided_among_all_runs_with_four_runs_each() {
    let values = |ratio: f64, random: &mut Random| -> Vec<f64> {
        (0..4).map(|_| ratio * (0.05 * random.normal_pair().0).exp()).collect()
    };
    let count = |ratios: [f64; 7], seed: u64| {
        share(400, seed, |random| {
            let cells = ratios.map(|ratio| values(ratio, random));
            judge_apart(&cells, &against_first(7), SMALLER, ALPHA, 1).unwrap().iter().any(is_difference)
        })
    };
    let (alarms, found) = (count([1.0; 7], 30), count([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.3], 31));
    println!(
        "four runs of seven studies: {:.1} % false alarms, 30 % found {:.0} %",
        100.0 * alarms,
        100.0 * found
    );
    assert_at_most(alarms, ALPHA, 400, "seven studies");
    assert!(found > 0.9, "{found}");
}

#[test]
fn equal_values_and_no_spread_are_no_difference_and_no_panic() {
    let cell = |value: f64| (0..6).map(|block| BlockedValue { block, value }).collect::<Vec<_>>();
    let judged = judge(&[cell(2.0), cell(2.0), cell(3.0)], &every_pair(3), SMALLER, ALPHA, 1).unwrap();
    let verdicts: Vec<Verdict> = judged.iter().map(|judged| judged.decision.verdict).collect();
    assert_eq!(verdicts, [Verdict::NoDifferenceShown, Verdict::Worse, Verdict::Worse]);
    assert!(judge(&[cell(0.0), cell(1.0)], &every_pair(2), SMALLER, ALPHA, 1).is_err());
    assert!(judge(&[], &[], SMALLER, ALPHA, 1).unwrap().is_empty());
}
