//! What the shipped experiments decide: made-up studies of each miniature, stored and summarised as real ones are.
//!
//! The suite makes a few studies of each; `FATHOM_STUDIES=1000 cargo test --release -p fathom --test designs -- --nocapture`
//! makes as many, holds each experiment to the stated rates by itself, and prints the table of docs/report/statistics.md.
#![allow(clippy::unwrap_used)]

mod made_up;
mod tally;

use made_up::{MadeUp, Truth};
use tally::Tally;

/// Studies of each experiment and truth in the suite.
const STUDIES: u64 = 2;
/// Run-to-run standard deviation, relative.
const RUN_SD: f64 = 0.05;
/// Standard deviation of what the runs of a block have in common, relative.
const DRIFTS: [f64; 2] = [0.0, 0.3];
/// The true difference.
const DIFFERENCE: f64 = 0.2;
/// Chance of a false verdict in a study, as stated.
const LEVEL: f64 = 0.05;
/// Chance to show a difference, as stated.
const POWER: f64 = 0.8;

/// Studies of each kind, and whether each experiment is to hold by itself.
fn studies() -> (u64, bool) {
    let wanted =
        std::env::var("FATHOM_STUDIES").ok().map(|count| count.parse().expect("a number of studies"));
    (wanted.unwrap_or(STUDIES), wanted.is_some_and(|count| count >= 200))
}

/// Three standard errors of a share that is expected to be `share` of `count`.
fn tolerance(share: f64, count: u64) -> f64 {
    3.0 * (share * (1.0 - share) / count as f64).sqrt()
}

#[test]
fn every_shipped_miniature_shows_a_difference_of_a_fifth_and_nothing_where_there_is_none() {
    let (count, is_each_held) = studies();
    let experiments = made_up::experiments();
    assert!(experiments.len() > 20, "{}", experiments.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let tallies = std::sync::Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(experiment) =
                    experiments.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let tally = tally(experiment, count);
                    tallies.lock().unwrap().push(tally);
                }
            });
        }
    });
    let mut tallies = tallies.into_inner().unwrap();
    tallies.sort_by(|one, other| one.name.cmp(&other.name));
    println!("{}", tally::table(&tallies, count));
    let all = tallies.iter().fold(Tally::default(), |sum, tally| sum.and(tally));
    let held: Vec<&Tally> = if is_each_held { tallies.iter().collect() } else { vec![&all] };
    for tally in held {
        for (drift, outcome) in DRIFTS.iter().zip(&tally.by_drift) {
            let at = format!("{} at a drift of {drift}: {outcome:?}", tally.name);
            let false_max = LEVEL + tolerance(LEVEL, outcome.none.studies);
            assert!(outcome.none.share() <= false_max, "false verdicts, at most {false_max:.3}: {at}");
            let power_min = POWER - tolerance(POWER, outcome.one.studies);
            assert!(outcome.one.share() >= power_min, "one difference, at least {power_min:.3}: {at}");
            let others_max = LEVEL + tolerance(LEVEL, outcome.others.studies);
            assert!(
                outcome.others.share() <= others_max,
                "false verdicts beside it, at most {others_max:.3}: {at}"
            );
            assert!(
                outcome.any.share() >= power_min,
                "a verdict where all differ, at least {power_min:.3}: {at}"
            );
        }
    }
}

/// Makes the studies of one experiment.
fn tally(experiment: &MadeUp, count: u64) -> Tally {
    let mut tally = Tally::of(experiment);
    for (drift, outcome) in DRIFTS.into_iter().zip(&mut tally.by_drift) {
        let mut store = made_up::Place::new();
        for study in 0..count {
            let pair = (study as usize) % experiment.pairs.len();
            outcome.none.count(experiment.decide(&mut store, Truth::None, drift, study).is_any_shown());
            let one = experiment.decide(&mut store, Truth::One(pair), drift, study);
            outcome.one.count(one.is_right(pair));
            outcome.others.count(one.is_wrong());
            let all = experiment.decide(&mut store, Truth::All, drift, study);
            outcome.any.count(all.is_any_right());
            (0..experiment.pairs.len()).for_each(|pair| outcome.each.count(all.is_right(pair)));
        }
    }
    tally
}
