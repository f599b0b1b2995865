//! The highest rate that holds an objective: which rate to try next, and what the tries show.
//!
//! A try is a run at a rate, which held the objective or did not. Rates are doubled or halved until one holds in all of its
//! runs and another does not; then the middle of the two is tried until they are close. The interval is that of the
//! threshold of a logistic curve in the logarithm of the rate, given all tries: a posterior, so that it may be read whatever
//! made the search choose its rates (Watson and Pelli, "QUEST: a Bayesian adaptive psychometric method", Perception &
//! Psychophysics 33:2, 1983).

use crate::input::InputError;
use crate::summary::{CONFIDENCE, Interval};

/// Thresholds of the grid of the posterior.
const THRESHOLDS: usize = 601;

/// Spreads of the grid: how far from the threshold, in logarithms, runs still go both ways.
const SPREADS: [f64; 9] = [0.005, 0.01, 0.02, 0.035, 0.06, 0.1, 0.17, 0.3, 0.5];

/// Share of runs that come out by accident, whatever the rate.
const LAPSES: f64 = 0.02;

/// Digits of the rates that are tried.
const DIGITS: i32 = 3;

/// What is searched, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Transactions per second of the first try; above zero.
    pub start_per_s: f64,
    /// Lower rates are not tried.
    pub lowest_per_s: f64,
    /// The search ends when this rate, or a higher one, holds.
    pub highest_per_s: f64,
    /// Runs at each rate; at least 1.
    pub repeats: u32,
    /// The search ends when the lowest rate that fails is at most this much above the highest that holds: 0.05 is 5 %.
    pub precision: f64,
    /// Rates that are tried at most.
    pub rates_max: u32,
}

/// A rate, and what its runs showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Transactions per second.
    pub rate_per_s: f64,
    /// Of each run: did it hold the objective?
    pub held: Vec<bool>,
}

impl Tried {
    /// Did all runs hold the objective? Not without any run.
    pub fn holds(&self) -> bool {
        !self.held.is_empty() && self.held.iter().all(|held| *held)
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Try this rate.
    Rate(f64),
    /// Enough is known.
    Done(End),
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The highest rate that holds and the lowest that fails are close.
    Precise,
    /// As many rates as allowed were tried.
    RatesUsedUp,
    /// The highest rate that may be tried holds.
    HoldsEverywhere,
    /// The lowest rate that may be tried fails.
    FailsEverywhere,
}

/// What a search showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Highest rate whose runs all held, below the lowest that failed; `None` where there is none.
    pub highest_holding_per_s: Option<f64>,
    /// Lowest rate of which a run failed; `None` where there is none.
    pub lowest_failing_per_s: Option<f64>,
    /// Rate at which half of the runs would hold; `None` unless some rate holds and another fails.
    pub threshold_per_s: Option<f64>,
    /// Where that rate is, with the confidence that all intervals have.
    pub interval_per_s: Option<Interval>,
}

impl Search {
    /// A search around what clients reach in a closed loop, in transactions per second: it begins at half of that, and ends
    /// where twice as much holds, or a thousandth does not.
    pub fn below(capacity_per_s: f64, repeats: u32, precision: f64, rates_max: u32) -> Self {
        Self {
            start_per_s: capacity_per_s / 2.0,
            // Nine halvings of the first.
            lowest_per_s: capacity_per_s / 1100.0,
            highest_per_s: capacity_per_s * 1.98,
            repeats,
            precision,
            rates_max,
        }
    }

    /// A search around a rate that is known to be of the right size, in transactions per second: it begins there, and ends a
    /// thousandfold above or below.
    pub fn around(rate_per_s: f64, repeats: u32, precision: f64, rates_max: u32) -> Self {
        Self {
            start_per_s: rate_per_s,
            lowest_per_s: rate_per_s / 1100.0,
            highest_per_s: rate_per_s * 1000.0,
            repeats,
            precision,
            rates_max,
        }
    }

    /// The rate to try next, given all tries in any order. The same tries give the same rate.
    ///
    /// # Errors
    /// The first rate or the precision is not finite and above zero.
    pub fn next(&self, tried: &[Tried]) -> Result<Next, InputError> {
        for value in [self.start_per_s, self.precision] {
            if !(value.is_finite() && value > 0.0) {
                return Err(InputError::NotPositive { index: 0, value });
            }
        }
        let (holding, failing) = bracket(tried);
        let next = match (holding, failing) {
            (None, None) => rounded(self.start_per_s),
            (Some(holding), None) => {
                if holding >= self.highest_per_s {
                    return Ok(Next::Done(End::HoldsEverywhere));
                }
                rounded(holding * 2.0)
            }
            (None, Some(failing)) => {
                let lower = rounded(failing / 2.0);
                if lower < self.lowest_per_s {
                    return Ok(Next::Done(End::FailsEverywhere));
                }
                lower
            }
            (Some(holding), Some(failing)) => {
                let middle = rounded((holding * failing).sqrt());
                if failing <= holding * (1.0 + self.precision) || middle <= holding || middle >= failing {
                    return Ok(Next::Done(End::Precise));
                }
                middle
            }
        };
        if tried.len() >= self.rates_max as usize {
            return Ok(Next::Done(End::RatesUsedUp));
        }
        Ok(Next::Rate(next))
    }

    /// What the tries show. Costs some milliseconds.
    pub fn found(&self, tried: &[Tried]) -> Found {
        let (holding, failing) = bracket(tried);
        let (threshold_per_s, interval_per_s) = match (holding, failing) {
            (Some(_), Some(_)) => posterior(tried).unzip(),
            _ => (None, None),
        };
        Found {
            highest_holding_per_s: holding,
            lowest_failing_per_s: failing,
            threshold_per_s,
            interval_per_s,
        }
    }

    /// Rates that a search tries at most before it ends, whatever its runs show.
    pub fn rates_bound(&self) -> u32 {
        let steps = |factor: f64| factor.max(1.0).log2().ceil() as u32 + 1;
        let bracket =
            steps(self.start_per_s / self.lowest_per_s).max(steps(self.highest_per_s / self.start_per_s));
        self.rates_max.min(bracket + self.middles())
    }

    /// Rates that a search tries where the first one is right but for a factor of two.
    pub fn rates_expected(&self) -> u32 {
        self.rates_max.min(2 + self.middles())
    }

    /// Middles of a factor of two until the precision is reached.
    fn middles(&self) -> u32 {
        let steps = std::f64::consts::LN_2 / self.precision.max(1e-3).ln_1p();
        steps.log2().ceil().max(0.0) as u32
    }
}

/// The highest rate that holds below all rates that fail, and the lowest that fails.
fn bracket(tried: &[Tried]) -> (Option<f64>, Option<f64>) {
    let with_runs = || tried.iter().filter(|tried| !tried.held.is_empty());
    let failing = with_runs().filter(|tried| !tried.holds()).map(|tried| tried.rate_per_s).reduce(f64::min);
    let is_below = |rate: &f64| failing.is_none_or(|failing| *rate < failing);
    let holding = with_runs().filter(|tried| tried.holds()).map(|tried| tried.rate_per_s).filter(is_below);
    (holding.reduce(f64::max), failing)
}

/// Median and interval of the threshold, by a grid: thresholds and spreads are equally probable in logarithms before.
fn posterior(tried: &[Tried]) -> Option<(f64, Interval)> {
    let rates = || tried.iter().filter(|tried| !tried.held.is_empty()).map(|tried| tried.rate_per_s.ln());
    // Beyond an eighth below and above the rates that were tried nothing is known.
    let low = rates().reduce(f64::min)? - std::f64::consts::LN_2 * 3.0;
    let high = rates().reduce(f64::max)? + std::f64::consts::LN_2 * 3.0;
    let step = (high - low) / (THRESHOLDS - 1) as f64;
    let mut logarithms = Vec::with_capacity(THRESHOLDS);
    for index in 0..THRESHOLDS {
        let threshold = low + step * index as f64;
        let each = SPREADS.map(|spread| likelihood(tried, threshold, spread));
        logarithms.push(each);
    }
    let largest = logarithms.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms
        .iter()
        .map(|each| each.iter().map(|logarithm| (logarithm - largest).exp()).sum())
        .collect();
    let total: f64 = weights.iter().sum();
    let quantile = |share: f64| {
        let mut sum = 0.0;
        for (index, weight) in weights.iter().enumerate() {
            if sum + weight >= share * total {
                // Within the step, by how much of its weight is needed.
                let part = if *weight > 0.0 { (share * total - sum) / weight } else { 0.5 };
                return (low + step * (index as f64 + part - 0.5)).exp();
            }
            sum += weight;
        }
        high.exp()
    };
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let interval = Interval { low: quantile(tail), high: quantile(1.0 - tail), confidence: CONFIDENCE };
    Some((quantile(0.5), interval))
}

/// Logarithm of the probability of what was seen.
fn likelihood(tried: &[Tried], threshold: f64, spread: f64) -> f64 {
    let mut sum = 0.0;
    for tried in tried {
        let distance = (tried.rate_per_s.ln() - threshold) / spread;
        let holds = LAPSES / 2.0 + (1.0 - LAPSES) / (1.0 + distance.exp());
        let held = tried.held.iter().filter(|held| **held).count() as f64;
        sum += held * holds.ln() + (tried.held.len() as f64 - held) * (1.0 - holds).ln();
    }
    sum
}

/// A rate with few digits, so that it can be read and typed.
fn rounded(rate: f64) -> f64 {
    let magnitude = rate.log10().floor() as i32;
    let digits = DIGITS - 1 - magnitude;
    if digits >= 0 {
        let unit = 10_f64.powi(digits);
        (rate * unit).round() / unit
    } else {
        let unit = 10_f64.powi(-digits);
        (rate / unit).round() * unit
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::Random;

    fn search() -> Search {
        Search::below(1000.0, 3, 0.05, 16)
    }

    /// Searches a system whose runs at a rate hold or do not.
    fn searched(search: &Search, mut holds: impl FnMut(f64) -> bool) -> (Vec<Tried>, End) {
        let mut tried: Vec<Tried> = Vec::new();
        loop {
            match search.next(&tried).unwrap() {
                Next::Done(end) => return (tried, end),
                Next::Rate(rate) => {
                    let held = (0..search.repeats).map(|_| holds(rate)).collect();
                    tried.push(Tried { rate_per_s: rate, held });
                }
            }
        }
    }

    #[test]
    fn a_sharp_limit_is_found_within_the_precision() {
        for limit in [3.3, 20.0, 333.0, 600.0, 990.0, 1500.0] {
            let (tried, end) = searched(&search(), |rate| rate <= limit);
            let found = search().found(&tried);
            assert_eq!(end, End::Precise, "{limit}");
            let (low, high) = (found.highest_holding_per_s.unwrap(), found.lowest_failing_per_s.unwrap());
            assert!(low <= limit && limit < high && high <= low * 1.06, "{limit}: {low} to {high}");
            let interval = found.interval_per_s.unwrap();
            assert!(interval.contains(limit), "{limit}: {interval:?}");
            assert!(interval.high / interval.low < 1.45, "{limit}: {interval:?}");
            assert!(tried.len() as u32 <= search().rates_bound(), "{}", tried.len());
        }
    }

    #[test]
    fn what_holds_everywhere_or_nowhere_ends_the_search() {
        let (tried, end) = searched(&search(), |_| true);
        assert_eq!((end, tried.len()), (End::HoldsEverywhere, 3));
        assert_eq!(search().found(&tried).highest_holding_per_s, Some(2000.0));
        assert_eq!(search().found(&tried).interval_per_s, None);
        let (tried, end) = searched(&search(), |_| false);
        assert_eq!((end, tried.len()), (End::FailsEverywhere, 10));
        assert_eq!(search().found(&tried).lowest_failing_per_s, Some(0.985));
        assert_eq!(search().found(&tried).highest_holding_per_s, None);
        let few = Search { rates_max: 4, ..search() };
        let (tried, end) = searched(&few, |rate| rate < 700.0);
        assert_eq!((end, tried.len()), (End::RatesUsedUp, 4));
    }

    #[test]
    fn a_search_around_a_rate_is_not_bound_to_it() {
        for limit in [0.3, 2.0, 70.0, 4000.0] {
            let search = Search::around(50.0, 3, 0.05, 30);
            let (tried, end) = searched(&search, |rate| rate <= limit);
            let found = search.found(&tried);
            assert_eq!(end, End::Precise, "{limit}");
            assert!(found.highest_holding_per_s.unwrap() <= limit);
            assert!(found.lowest_failing_per_s.unwrap() > limit);
            assert!(tried.len() as u32 <= search.rates_bound(), "{limit}: {}", tried.len());
        }
    }

    #[test]
    fn the_same_tries_in_another_order_give_the_same_rate() {
        let (mut tried, _) = searched(&search(), |rate| rate < 700.0);
        tried.truncate(4);
        let next = search().next(&tried);
        tried.reverse();
        assert_eq!(search().next(&tried), next);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        for (start_per_s, precision) in [(0.0, 0.05), (f64::NAN, 0.05), (1.0, 0.0), (f64::INFINITY, 0.05)] {
            assert!(Search { start_per_s, precision, ..search() }.next(&[]).is_err());
        }
    }

    /// A queue with one server: the response time at a share of its capacity is exponential, and what a run measures of its
    /// 99th percentile spreads from run to run.
    fn queue_holds(random: &mut Random, rate: f64, capacity: f64, limit_s: f64, sd: f64) -> bool {
        if rate >= capacity {
            return false;
        }
        let p99_s = 100_f64.ln() / (capacity - rate);
        p99_s * (sd * random.normal_pair().0).exp() < limit_s
    }

    #[test]
    fn the_interval_holds_the_threshold_of_a_noisy_queue() {
        for sd in [0.02, 0.1, 0.3] {
            let (mut covered, mut widths, count) = (0, 0.0, 400);
            for seed in 0..count {
                let mut random = Random::new(seed);
                let capacity = 800.0 + 400.0 * random.unit_f64();
                // p99 is below 20 ms up to 230 per second below the capacity.
                let threshold = capacity - 100_f64.ln() / 0.02;
                let search = Search::below(capacity, 3, 0.05, 16);
                let (tried, _) = searched(&search, |rate| queue_holds(&mut random, rate, capacity, 0.02, sd));
                let interval = search.found(&tried).interval_per_s.unwrap();
                covered += u32::from(interval.contains(threshold));
                widths += (interval.high / interval.low).ln();
            }
            assert!(f64::from(covered) >= 0.93 * count as f64, "sd {sd}: {covered} of {count}");
            assert!(widths / (count as f64) < 0.45, "sd {sd}: {}", widths / count as f64);
        }
    }
}
