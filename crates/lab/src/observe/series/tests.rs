//! Samples of counters on the clock of the run.

#![allow(clippy::unwrap_used)]

use super::*;

fn samples(totals: &[(i64, Option<f64>)]) -> Samples<f64> {
    Samples { samples: totals.iter().map(|(ms, total)| (ms * 1_000_000, *total)).collect() }
}

#[test]
fn a_rate_is_the_difference_over_the_time_that_really_passed() {
    let samples = samples(&[(0, Some(10.0)), (1000, Some(30.0)), (2500, Some(60.0)), (2750, Some(61.0))]);
    let rate = samples.rate(series("rows_per_s", "1/s", "made up"), |total| Some(*total)).unwrap();
    assert_eq!(rate.values, [Some(20.0), Some(20.0), Some(4.0)]);
    assert_eq!(rate.at_ns, [1_000_000_000, 2_500_000_000, 2_750_000_000]);
}

#[test]
fn a_failed_sample_is_a_hole_and_the_next_difference_spans_it() {
    let samples = samples(&[(0, Some(0.0)), (1000, None), (2000, Some(30.0)), (3000, Some(5.0))]);
    let rate = samples.rate(series("rows_per_s", "1/s", "made up"), |total| Some(*total)).unwrap();
    assert_eq!(rate.values, [None, Some(15.0), None]);
    let gauge = samples.gauge(series("rows", "1", "made up"), |total| Some(*total)).unwrap();
    assert_eq!(gauge.values, [Some(0.0), None, Some(30.0), Some(5.0)]);
}

#[test]
fn a_ratio_has_a_hole_where_nothing_was_counted() {
    let samples = samples(&[(0, Some(0.0)), (1000, Some(4.0)), (2000, Some(4.0))]);
    let ratio =
        samples.ratio(series("write_ms", "ms", "made up"), |total| Some(total * 2.5), |total| Some(*total));
    assert_eq!(ratio.unwrap().values, [Some(2.5), None]);
}

#[test]
fn what_was_never_seen_makes_no_series() {
    let samples = samples(&[(0, Some(0.0)), (1000, Some(4.0))]);
    assert_eq!(samples.gauge(series("x", "1", "made up"), |_| None), None);
}

#[test]
fn a_last_part_of_a_second_that_is_too_short_is_counted_with_the_one_before() {
    let at = |times: &[i64]| times.iter().map(|ms| (ms * 1_000_000, ())).collect::<Vec<_>>();
    assert_eq!(without_short_end(at(&[0, 1000, 1200]), PERIOD), at(&[0, 1200]));
    assert_eq!(without_short_end(at(&[0, 1000, 1300]), PERIOD), at(&[0, 1000, 1300]));
    assert_eq!(without_short_end(at(&[0, 200]), PERIOD), at(&[0, 200]));
}

/// Counts its samples; every third one fails.
struct Counting(f64);

impl Probe for Counting {
    type Reading = f64;

    fn name(&self) -> String {
        "counting".to_owned()
    }

    fn sample(&mut self) -> Result<f64, String> {
        self.0 += 1.0;
        if self.0 % 3.0 == 0.0 { Err(format!("sample {} failed", self.0)) } else { Ok(self.0) }
    }

    fn series(self, samples: &Samples<f64>) -> SampledSeries {
        let gauge = samples.gauge(series("samples", "1", "made up"), |sample| Some(*sample));
        SampledSeries { series: gauge.into_iter().collect(), ..SampledSeries::default() }
    }
}

#[test]
fn a_run_shorter_than_the_period_still_has_a_first_and_a_last_sample() {
    let mut running = Box::new(SeriesSampler::new(Counting(0.0))).start();
    let began = Instant::now();
    running.released();
    let seen = running.stop(Window { began, ended: Instant::now() });
    assert_eq!(seen.series[0].values, [Some(2.0), None], "the sample before the barrier is not of the run");
    assert!(seen.series[0].at_ns.iter().all(|at_ns| *at_ns >= 0) && seen.series[0].at_ns.is_sorted());
    assert_eq!((seen.samplers[0].samples_taken, seen.samplers[0].samples_expected), (1, 2));
    assert_eq!(seen.samplers[0].problem.as_deref(), Some("sample 3 failed"));
}

#[test]
fn looks_come_at_the_asked_period_and_the_first_error_is_named() {
    let period = Duration::from_millis(2);
    let mut running = Box::new(SeriesSampler::every(Counting(0.0), period)).start();
    let began = Instant::now();
    while began.elapsed() < period * 10 {
        std::thread::yield_now();
    }
    let window = Window { began, ended: Instant::now() };
    assert_eq!(running.halt(window), []);
    let seen = running.stop(window);
    let record = &seen.samplers[0];
    assert!(record.samples_expected >= 11, "{record:?}");
    assert_eq!(record.problem.as_deref(), Some("sample 3 failed"));
    assert!(seen.series[0].at_ns.is_sorted());
}
