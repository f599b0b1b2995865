//! What the clients acknowledge, once a second: the throughput that all other counters are held against.

use std::sync::Arc;

use super::series::{Looks, Probe, Told, series};
use crate::client::Progress;

/// Looks at the clients' own counts. With the loop on the server there are none until it ends.
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

    fn look(&mut self) -> Result<u64, String> {
        Ok(self.progress.rows())
    }

    fn tell(self, looks: &Looks<u64>) -> Told {
        let naming = series("rows_acknowledged_per_s", "1/s", "the clients' own counts");
        Told {
            series: looks.rate(naming, |rows| Some(*rows as f64)).into_iter().collect(),
            ..Told::default()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_between_two_looks_are_a_rate() {
        let probe = ClientsProbe { progress: Arc::new(Progress::new(1)) };
        let looks = Looks { looks: vec![(0, Some(10)), (500_000_000, Some(20)), (1_500_000_000, Some(50))] };
        let told = probe.tell(&looks);
        assert_eq!(told.series[0].values, [Some(20.0), Some(30.0)]);
    }
}
