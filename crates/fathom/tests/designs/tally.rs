//! What the made-up studies of an experiment ended in.

use crate::made_up::MadeUp;
use crate::{DRIFTS, RUN_SD};

/// How many of so many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) studies: u64,
    pub(crate) met: u64,
}

impl Count {
    pub(crate) fn count(&mut self, is_met: bool) {
        self.studies += 1;
        self.met += u64::from(is_met);
    }

    pub(crate) fn share(self) -> f64 {
        self.met as f64 / self.studies as f64
    }

    fn and(self, other: Self) -> Self {
        Self { studies: self.studies + other.studies, met: self.met + other.met }
    }

    fn percent(self) -> String {
        format!("{:.1} %", 100.0 * self.share())
    }
}

/// At one drift.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Nothing differs: studies with any verdict.
    pub(crate) none: Count,
    /// One comparison differs, another in each study: studies that show it.
    pub(crate) one: Count,
    /// The same: studies with a verdict that is false.
    pub(crate) others: Count,
    /// Every comparison differs: studies with a verdict that is right.
    pub(crate) any: Count,
    /// The same: comparisons that are shown.
    pub(crate) each: Count,
}

/// Of one experiment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) name: String,
    pub(crate) by_drift: [Outcome; DRIFTS.len()],
    shape: String,
}

impl Tally {
    pub(crate) fn of(experiment: &MadeUp) -> Self {
        let shape = format!("{} | {}", experiment.pairs.len(), experiment.repetitions());
        Self { name: experiment.name().to_owned(), shape, ..Self::default() }
    }

    pub(crate) fn and(mut self, other: &Self) -> Self {
        for (mine, more) in self.by_drift.iter_mut().zip(&other.by_drift) {
            *mine = Outcome {
                none: mine.none.and(more.none),
                one: mine.one.and(more.one),
                others: mine.others.and(more.others),
                any: mine.any.and(more.any),
                each: mine.each.and(more.each),
            };
        }
        self
    }
}

/// As Markdown.
pub(crate) fn table(tallies: &[Tally], count: u64) -> String {
    let mut lines = vec![
        format!("{count} studies of each, run-to-run sd {} %; without drift / drift {} %", 100.0 * RUN_SD, 100.0 * DRIFTS[1]),
        "| miniature | comparisons | repetitions | nothing differs: any verdict | one differs by 20 %: shown | all differ: any shown | all differ: each shown |".to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for tally in tallies {
        let both = |of: &dyn Fn(&Outcome) -> Count| {
            tally.by_drift.iter().map(|outcome| of(outcome).percent()).collect::<Vec<_>>().join(" / ")
        };
        lines.push(format!(
            "| {} | {} | {} | {} | {} | {} |",
            tally.name,
            tally.shape,
            both(&|outcome| outcome.none),
            both(&|outcome| outcome.one),
            both(&|outcome| outcome.any),
            both(&|outcome| outcome.each),
        ));
    }
    lines.join("\n")
}
