//! Every section of the outcome of a study, in the order in which it is read, with the outputs that show it.

use crate::layout::Section;
use crate::stretches;
use crate::summary::StudySummary;
use crate::tables::{ceilings, comparisons, corrections, effects, latencies, metrics, outcome, scripts};

/// An output, or a part of one, that shows sections of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// `fathom report` as text or Markdown: all of it.
    Full,
    /// The end of `fathom run`: tables first, the verdict last, where the eye is.
    Brief,
    /// The page: the compared quantity over the factors.
    PageFactors,
    /// The page: latencies.
    PageLatency,
}

use Destination::{Brief, Full, PageFactors, PageLatency};

type Make = fn(&StudySummary) -> Vec<Section>;

/// What does not count and what speaks against the values comes before them.
const SECTIONS: &[(&[Destination], Make)] = &[
    (&[Full, Brief], |summary| vec![outcome::head(summary)]),
    (&[Full, Brief], |summary| Vec::from_iter(outcome::invalid_runs(summary))),
    (&[Full, Brief], outcome::conditions),
    (&[Full], |summary| vec![outcome::verdict(summary)]),
    (&[Full, Brief, PageFactors], |summary| vec![outcome::means(summary)]),
    (&[Full, Brief, PageFactors], |summary| Vec::from_iter(comparisons::comparisons(summary))),
    (&[Full, Brief, PageFactors], |summary| Vec::from_iter(outcome::changes(summary))),
    (&[Full, Brief, PageFactors], |summary| Vec::from_iter(effects::effects(summary))),
    (&[Full, Brief, PageFactors], |summary| Vec::from_iter(comparisons::secondary(summary))),
    (&[Full, Brief, PageFactors], outcome::mean_matrices),
    (&[Full, Brief, PageFactors], |summary| Vec::from_iter(outcome::best_per_level(summary))),
    (&[Full, Brief, PageFactors], outcome::improvement_matrices),
    (&[PageFactors], |summary| Vec::from_iter(outcome::expectations(summary))),
    (&[Full], |summary| Vec::from_iter(metrics::section(summary))),
    (&[Brief], |summary| Vec::from_iter(metrics::key_figures(summary))),
    (&[Full, Brief], |summary| Vec::from_iter(metrics::plans(summary))),
    (&[Full, PageLatency], |summary| Vec::from_iter(latencies::section(summary))),
    (&[Brief], |summary| Vec::from_iter(latencies::brief(summary))),
    (&[Full], scripts::sections),
    (&[Brief], scripts::brief),
    (&[Brief], |summary| Vec::from_iter(outcome::reasons(summary))),
    (&[Full, Brief], |summary| Vec::from_iter(ceilings::ceilings(summary))),
    (&[Full], |summary| Vec::from_iter(outcome::reasons(summary))),
    (&[Full], outcome::waits),
    (&[Full], |summary| stretches::sections(&summary.stretches)),
    (&[Full, Brief], |summary| Vec::from_iter(outcome::expectations(summary))),
    (&[Full, Brief], |summary| Vec::from_iter(corrections::corrections(summary))),
    (&[Brief], |summary| vec![outcome::verdict(summary)]),
];

/// The sections that an output shows.
pub(crate) fn sections(summary: &StudySummary, destination: Destination) -> Vec<Section> {
    let shown = SECTIONS.iter().filter(|(destinations, _)| destinations.contains(&destination));
    shown.flat_map(|(_, make)| make(summary)).collect()
}
