//! What the clients acknowledge, once a second: the throughput that all other counters are held against.

use std::sync::Arc;

use super::series::{Probe, SampledSeries, Samples, series};
use crate::client::Progress;

/// Samples the clients' own counts. With the loop on the server there are none until it ends.
#[derive(Debug)]
pub(crate) struct ClientsProbe {
    /// Of the pool at work.
    pub(crate) progress: Arc<Progress>,
    /// Is the workload the user's own? What is counted are transactions then.
    pub(crate) is_own: bool,
}

impl Probe for ClientsProbe {
    type Reading = u64;

    fn name(&self) -> String {
        "clients".to_owned()
    }

    fn sample(&mut self) -> Result<u64, String> {
        Ok(self.progress.rows())
    }

    fn series(self, samples: &Samples<u64>) -> SampledSeries {
        let name = if self.is_own { "transactions_acknowledged_per_s" } else { "rows_acknowledged_per_s" };
        let naming = series(name, "1/s", "the clients' own counts");
        SampledSeries {
            series: samples.rate(naming, |rows| Some(*rows as f64)).into_iter().collect(),
            ..SampledSeries::default()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn work_between_two_samples_is_a_rate_named_after_what_it_counts() {
        let probe = |is_own| ClientsProbe { progress: Arc::new(Progress::new(1)), is_own };
        let samples =
            Samples { samples: vec![(0, Some(10)), (500_000_000, Some(20)), (1_500_000_000, Some(50))] };
        for (is_own, name) in [(false, "rows_acknowledged_per_s"), (true, "transactions_acknowledged_per_s")]
        {
            let sampled = probe(is_own).series(&samples);
            assert_eq!(
                (&*sampled.series[0].name, &*sampled.series[0].values),
                (name, &[Some(20.0), Some(30.0)][..])
            );
        }
    }
}
