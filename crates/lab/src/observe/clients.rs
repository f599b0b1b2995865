//! What the clients acknowledge, once a second: the throughput that all other counters are held against.

use std::sync::Arc;

use super::series::{Probe, SampledSeries, Samples, series};
use crate::client::Progress;

/// Samples the clients' own counts. With the loop on the server there are none until it ends.
#[derive(Debug)]
pub(crate) struct ClientsProbe {
    /// Of the pool at work.
    pub(crate) progress: Arc<Progress>,
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
        let naming = series("rows_acknowledged_per_s", "1/s", "the clients' own counts");
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
    fn rows_between_two_samples_are_a_rate() {
        let probe = ClientsProbe { progress: Arc::new(Progress::new(1)) };
        let samples =
            Samples { samples: vec![(0, Some(10)), (500_000_000, Some(20)), (1_500_000_000, Some(50))] };
        let sampled = probe.series(&samples);
        assert_eq!(sampled.series[0].values, [Some(20.0), Some(30.0)]);
    }
}
