//! Made-up studies of a shipped miniature, through the stored form.

use lab::assignment::Assignment;
use lab::schedule::Schedule;
use lab::spec::{Experiment, Request, shipped};
use report::catalogue::Catalogue;
use report::summary::{Contrast, StudySummary, Verdict};
use results::measure::Measure;
use results::model::{ClientRecord, Environment, Metric, Run, RunKey, RunState, Scale};
use results::store::Store;
use stats::design::contrasts::Pair;
use stats::design::noise::log_sd;
use stats::random::{Random, derive_seed};

use crate::{DIFFERENCE, RUN_SD};

/// A value of the metric without any effect: seconds, rows per second, bytes.
const VALUE: f64 = 1000.0;
/// Rows of a run by time: enough that whole rows round nothing.
const ROWS: u64 = 1_000_000_000;

/// What is true of a made-up study.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Truth {
    /// All cells are alike.
    None,
    /// The two cells of this pair differ; those of the others do not, as far as pairs that share a cell can.
    One(usize),
    /// The two cells of every pair differ.
    All,
}

/// A results file that goes away with its directory, in memory where that is possible.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    store: Store,
    studies: u64,
}

impl Place {
    /// Studies after which a new file begins: listings of a large one cost more.
    const STUDIES_MAX: u64 = 200;

    pub(crate) fn new() -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open_or_create(directory.path()).unwrap();
        Self { directory, store, studies: 0 }
    }

    fn store(&mut self) -> &mut Store {
        self.studies += 1;
        if self.studies > Self::STUDIES_MAX {
            *self = Self::new();
            assert!(self.directory.path().exists());
        }
        &mut self.store
    }
}

/// A shipped experiment at its small scale, with more than one configuration.
pub(crate) struct MadeUp {
    assignment: Assignment,
    measure: Measure,
    pub(crate) pairs: Vec<Pair>,
    catalogue: Catalogue,
}

/// Every shipped experiment that compares something in its miniature.
pub(crate) fn experiments() -> Vec<MadeUp> {
    shipped().iter().filter_map(|shipped| MadeUp::of(shipped.name, shipped.text)).collect()
}

impl MadeUp {
    fn of(name: &str, text: &str) -> Option<Self> {
        let experiment = Experiment::parse(name, text).unwrap();
        let engines = [&lab_sqlite::ENGINE, &lab_postgres::ENGINE];
        let mut resolved = engines
            .iter()
            .filter_map(|engine| experiment.resolve(&Request::plain(Scale::Miniature, engine)).ok());
        let assignment = Assignment::new(resolved.next().unwrap(), Vec::new(), "made up", 1);
        let pairs: Vec<Pair> = assignment.pairs().into_iter().map(|(_, pair)| pair).collect();
        let measure = Measure::of_study(&assignment.study());
        let catalogue = Catalogue::new(engines.into_iter().filter_map(|engine| engine.waits));
        (!pairs.is_empty()).then_some(Self { assignment, measure, pairs, catalogue })
    }

    pub(crate) fn name(&self) -> &str {
        &self.assignment.resolved().name
    }

    pub(crate) fn repetitions(&self) -> u32 {
        self.assignment.resolved().repetitions
    }

    /// Stores one study and reads what its report decides.
    pub(crate) fn decide(&self, place: &mut Place, truth: Truth, drift: f64, number: u64) -> Decided {
        let kind = match truth {
            Truth::None => 0,
            Truth::One(_) => 1,
            Truth::All => 2,
        };
        // Experiments of one shape are not to draw the same studies.
        let name =
            self.name().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let seed = derive_seed(name, &[number, kind, (1000.0 * drift) as u64]);
        let effects = self.effects(truth, if number.is_multiple_of(2) { 1.0 } else { -1.0 });
        let assignment = self.assignment.clone().with_seed(seed);
        let summary = self.stored(place.store(), &assignment, &effects, drift);
        let found: Vec<Verdict> = summary.comparisons.iter().map(verdict).collect();
        let expected = |pair: &Pair| {
            let difference = effects[pair.candidate] - effects[pair.reference];
            let is_better = (difference < 0.0) == self.measure.is_smaller_better;
            match (difference.abs() > 1e-9, is_better) {
                (false, _) => Verdict::NoDifferenceShown,
                (true, true) => Verdict::Better,
                (true, false) => Verdict::Worse,
            }
        };
        assert_eq!(found.len(), self.pairs.len(), "{}", self.name());
        Decided { found, expected: self.pairs.iter().map(expected).collect() }
    }

    /// The effect of each cell on the logarithm of its values.
    fn effects(&self, truth: Truth, sign: f64) -> Vec<f64> {
        let cells = self.assignment.cells().len();
        let step = sign * DIFFERENCE.ln_1p();
        let mut effects = vec![0.0; cells];
        let (steps, from) = match truth {
            Truth::None => return effects,
            // Along the pairs from the candidate on, without this pair: what is compared with it moves with it.
            Truth::One(pair) => {
                effects[self.pairs[pair].candidate] = step;
                let others = self.pairs.iter().enumerate().filter(|(other, _)| *other != pair);
                let steps: Vec<(Pair, f64)> = others.map(|(_, other)| (*other, 0.0)).collect();
                (steps, vec![self.pairs[pair].candidate])
            }
            Truth::All => (self.pairs.iter().map(|pair| (*pair, step)).collect(), (0..cells).collect()),
        };
        let mut reached = vec![false; cells];
        for first in from {
            let mut open = vec![first];
            while let Some(cell) = open.pop().filter(|&cell| !std::mem::replace(&mut reached[cell], true)) {
                for &(pair, step) in &steps {
                    let next = if pair.reference == cell {
                        Some((pair.candidate, step))
                    } else if pair.candidate == cell {
                        Some((pair.reference, -step))
                    } else {
                        None
                    };
                    if let Some((next, step)) = next.filter(|(next, _)| !reached[*next]) {
                        effects[next] = effects[cell] + step;
                        open.push(next);
                    }
                }
            }
        }
        effects
    }

    fn stored(
        &self,
        store: &mut Store,
        assignment: &Assignment,
        effects: &[f64],
        drift: f64,
    ) -> StudySummary {
        let mut random = Random::new(assignment.seed());
        let run_sd = log_sd(RUN_SD).unwrap();
        let block_sd = if drift > 0.0 { log_sd(drift).unwrap() } else { 0.0 };
        let study = store.begin_study(&assignment.study()).unwrap();
        store.put_cells(study, &assignment.cells()).unwrap();
        let schedule = Schedule::new(effects.len() as u32, assignment.seed());
        let mut position = 0;
        for block_index in 0..self.repetitions() {
            let shared = block_sd * random.normal_pair().0;
            for cell_index in schedule.block(block_index) {
                let chance = run_sd * random.normal_pair().0;
                let value = VALUE * (effects[cell_index as usize] + shared + chance).exp();
                let run = self.run(RunKey { block_index, cell_index, attempt: 0 }, position, value);
                let id = store.begin_run(study, run.key, position, &run.started_at).unwrap();
                store.finish_run(id, &run).unwrap();
                position += 1;
            }
        }
        report::summary::summarise(&store.study_results(study).unwrap(), &self.catalogue, &[])
    }

    /// A valid run whose metric has this value.
    fn run(&self, key: RunKey, position: u32, value: f64) -> Run {
        let name = self.measure.name.as_str();
        let seconds = match name {
            "elapsed_s" => value,
            "rows_per_s" | "transactions_per_s" => ROWS as f64 / value,
            _ => 1.0,
        };
        let elapsed_ns = (seconds * 1e9) as u64;
        let mut client = ClientRecord::new(0);
        (client.start_ns, client.end_ns) = (Some(0), Some(elapsed_ns));
        (client.rows, client.transactions) = (ROWS, ROWS);
        if self.measure.is_latency() {
            // One latency of so many milliseconds is every quantile.
            client.service_time.record((value * 1e6) as u64);
            client.response_time = Some(client.service_time.clone());
        }
        let is_of_clients =
            self.measure.is_latency() || ["elapsed_s", "rows_per_s", "transactions_per_s"].contains(&name);
        let metric = Metric {
            name: name.to_owned(),
            value,
            unit: self.measure.unit.clone(),
            source: "made up".to_owned(),
        };
        let run = Run {
            key,
            position,
            started_at: "2026-11-20T10:00:00Z".to_owned(),
            state: RunState::Valid,
            elapsed_ns,
            clients: vec![client],
            metrics: if is_of_clients { Vec::new() } else { vec![metric] },
            gates: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            settings: Vec::new(),
            observations: Default::default(),
            scripts: Vec::new(),
            environment: Environment::default(),
        };
        let found = self.measure.value(&run).unwrap();
        // A latency is that of its bucket.
        let precision = if self.measure.is_latency() { 2e-3 } else { 1e-6 };
        assert!((found / value - 1.0).abs() < precision, "{name}: {found}, made up as {value}");
        run
    }
}

fn verdict(contrast: &Contrast) -> Verdict {
    contrast.comparison.unwrap().verdict
}

/// The verdicts of a study beside what is true.
pub(crate) struct Decided {
    found: Vec<Verdict>,
    expected: Vec<Verdict>,
}

impl Decided {
    fn is_shown(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Better | Verdict::Worse)
    }

    pub(crate) fn is_any_shown(&self) -> bool {
        self.found.iter().any(|&found| Self::is_shown(found))
    }

    /// Is the difference of this pair shown, in the right direction?
    pub(crate) fn is_right(&self, pair: usize) -> bool {
        Self::is_shown(self.found[pair]) && self.found[pair] == self.expected[pair]
    }

    pub(crate) fn is_any_right(&self) -> bool {
        (0..self.found.len()).any(|pair| self.is_right(pair))
    }

    /// Is any verdict false?
    pub(crate) fn is_wrong(&self) -> bool {
        let both = self.found.iter().zip(&self.expected);
        both.into_iter().any(|(found, expected)| Self::is_shown(*found) && found != expected)
    }
}
