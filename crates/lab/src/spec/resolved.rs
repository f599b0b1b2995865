//! What the command line adds to an experiment, and the experiment ready to run.

use results::model::{Cell, Design, Expectation, Factor, Level, Scale};
use stats::design::contrasts::{Contrasts, Pair};

use super::command::SpecCommand;
use super::design::{self, Wanted};
use super::experiment::Kind;
use super::parameters::of_own_workload;
use super::validity::Validity;
use crate::engine::{Engine, Layout};
use crate::schedule::RepeatUntil;
use crate::work::Work;

/// What the command line adds to a spec.
#[derive(Clone, Debug)]
pub struct Request {
    /// Full or miniature.
    pub scale: Scale,
    /// `--set` in order: a key, and one value that fixes it or several with commas between that vary it.
    pub overrides: Vec<(String, String)>,
    /// Kind of target.
    pub engine: &'static Engine,
    /// In place of the spec's repetitions.
    pub repetitions: Option<u32>,
    /// In place of the spec's `[repeat_until]`.
    pub repeat_until: Option<RepeatUntil>,
    /// What is compared in place of what the spec says.
    pub wanted: Wanted,
    /// Data directories, when not empty, and log directory, when given, in place of the spec's.
    pub layout: Layout,
    /// Is the server somebody else's? Then the sizes of memory and log that a spec fixes are left to it; as a factor or
    /// on the command line they still are a wish, and its target refuses it.
    pub server_is_foreign: bool,
}

impl Request {
    /// A request that changes nothing in the spec.
    pub fn plain(scale: Scale, engine: &'static Engine) -> Self {
        Self {
            scale,
            overrides: Vec::new(),
            engine,
            repetitions: None,
            repeat_until: None,
            wanted: Wanted::default(),
            layout: Layout::default(),
            server_is_foreign: false,
        }
    }
}

/// An experiment ready to run: every cell has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Name of the experiment.
    pub name: String,
    /// One line.
    pub title: String,
    /// The question.
    pub question: String,
    /// Where the experiment comes from.
    pub kind: Kind,
    /// Where it was published, when it was.
    pub published_in: Option<String>,
    /// Full or miniature.
    pub scale: Scale,
    /// Kind of target.
    pub engine: &'static Engine,
    /// Factors in the order of the spec, those added by `--set` last.
    pub factors: Vec<Factor>,
    /// Parameters that do not vary, defaults included; parameters without value and default are left out, and
    /// settings of other engines too. In the order of the table of parameters, settings last.
    pub fixed: Vec<(String, Level)>,
    /// Blocks; with `repeat_until` the smallest number of blocks.
    pub repetitions: u32,
    /// What is compared.
    pub design: Design,
    /// When to stop repeating, where the number of blocks is not fixed.
    pub repeat_until: Option<RepeatUntil>,
    /// Limits of the gates.
    pub validity: Validity,
    /// Directories by role.
    pub layout: Layout,
    /// Claims for this scale. A check that names a factor or level which the command line took away is left out,
    /// and its claim stays as words.
    pub expectations: Vec<Expectation>,
    /// Sizes that the spec fixes and a foreign server has in its own way, with their values in the spec.
    pub left_to_server: Vec<(String, Level)>,
    /// Commands of the spec that a run of this runs on this machine; whoever conducts it must have allowed them.
    pub commands: Vec<SpecCommand>,
    /// What runs, as a spec: reading and resolving it on the same engine gives this again.
    pub spec_toml: String,
    /// The work of each cell, by its index, with seed 0.
    pub(super) works: Vec<Work>,
}

impl Resolved {
    /// All cells, the last factor fastest; one without levels when there is no factor.
    pub fn cells(&self) -> Vec<Cell> {
        let count: usize = self.factors.iter().map(|factor| factor.levels.len()).product();
        (0..count).map(|index| self.cell(index)).collect()
    }

    /// Factors whose names are the user's own; none without an own workload.
    pub fn own_factors(&self) -> impl Iterator<Item = &Factor> {
        let is_own = self.works.first().is_some_and(|work| work.own.is_some());
        let is_own_name = |name: &str| !name.contains('.') && of_own_workload(name).is_none();
        self.factors.iter().filter(move |factor| is_own && is_own_name(&factor.name))
    }

    /// The pairs of cells that are compared, each with the contrast that asks for it.
    pub fn pairs(&self) -> Vec<(Contrasts, Pair)> {
        design::pairs(&self.design, &self.factors, &self.cells())
    }

    /// What a run of `cell` does; `seed` is that of the run's keys and arrival times.
    ///
    /// The cell must be one of `cells()`.
    pub fn work(&self, cell: &Cell, seed: u64) -> Work {
        let mut work = self.works[cell.index as usize].clone();
        work.seed = seed;
        work
    }

    fn cell(&self, index: usize) -> Cell {
        let mut rest = index;
        let mut levels: Vec<(String, Level)> = Vec::with_capacity(self.factors.len());
        for factor in self.factors.iter().rev() {
            levels.push((factor.name.clone(), factor.levels[rest % factor.levels.len()].clone()));
            rest /= factor.levels.len();
        }
        levels.reverse();
        Cell { index: index as u32, levels }
    }
}
