//! The laboratory: takes a study through blocks of runs, repeats what does not count, stores each run as it ends.
//!
//! Invariant: whatever has been announced as ended is in the results file. A crash at any moment loses
//! at most the run in flight; the same assignment picks up where the file ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use results::ceiling::CeilingPattern;
use results::model::{Cell, Run, RunKey, RunState, Study};
use results::store::{Store, StoreError, StudyId};
use stats::random::derive_seed;

use crate::assignment::Assignment;
use crate::ceilings::{self, CeilingPlaces, CeilingTime};
use crate::engine::{Limitation, Target, TargetError};
use crate::gates::Limits;
use crate::reading;
use crate::run::{self, Course, Leftovers, RunError, RunRequest, Tick};
use crate::schedule::Schedule;
use crate::work::{Amount, WarmUp, Work};

mod attachments;
mod completeness;
mod decisions;
mod progress;
mod rehearsal;
mod standstill;

use completeness::adds_block;
pub use completeness::is_complete;
use standstill::Standstill;

use progress::{StudyProgress, disk_full, widest_percent};

/// Stream of the random numbers that give every run its own keys.
const RUN_STREAM: u64 = 0x7275_6e73;

/// What happens, for whoever shows it or sends it on.
#[derive(Debug)]
pub enum Notice<'a> {
    /// The study begins or goes on.
    StudyBegins {
        /// The study.
        study: &'a Study,
        /// Runs of the planned blocks.
        planned: usize,
        /// Of these, runs that the results file already has.
        reused: usize,
    },
    /// The target does something in its own way.
    Limited(&'a Limitation),
    /// A run begins.
    RunBegins {
        /// Which execution of which cell.
        key: RunKey,
        /// The cell.
        cell: &'a Cell,
        /// Counted from 1 among all runs planned so far.
        number: usize,
        /// Runs planned so far.
        planned: usize,
    },
    /// About ten times a second.
    RunProgress {
        /// Rows acknowledged so far.
        rows: u64,
        /// Rows that the run will have, when it is bounded by rows.
        rows_total: Option<u64>,
    },
    /// About ten times a second, while the workload of the user's own makes its tables and loads them.
    Loading {
        /// Rows so far.
        rows: u64,
        /// Rows that there will be; `None` where that is not known.
        rows_total: Option<u64>,
    },
    /// Nothing moved for the given time. Told once per standstill.
    NoProgress {
        /// The cell.
        cell: &'a Cell,
        /// How long.
        still_for: Duration,
    },
    /// A run ended and is stored.
    RunEnds {
        /// Row number in the results file.
        run_id: i64,
        /// The cell.
        cell: &'a Cell,
        /// Its record.
        run: &'a Run,
    },
    /// What a device gives by itself is being measured.
    Ceiling {
        /// `log` or `data`.
        role: &'a str,
        /// What is asked of it.
        pattern: &'a CeilingPattern,
    },
    /// A block beyond the planned ones begins because an interval is still too wide or a comparison is not decided.
    BlockAdded {
        /// Counted from 0.
        block_index: u32,
        /// Widest half width among the cells, in percent of the mean; `None` with fewer than two runs.
        half_width_percent: Option<f64>,
        /// Comparisons that are not decided; `None` where the study does not wait for that.
        undecided: Option<usize>,
    },
}

/// How a study ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StudyOutcome {
    /// Runs made now.
    pub ran: usize,
    /// Of these, invalid ones.
    pub invalid: usize,
    /// Planned runs that no valid attempt fills.
    pub unfilled: usize,
    /// Did the user ask to stop?
    pub stopped: bool,
}

/// Why a study could not go on. All runs that ended before are stored.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The target cannot do what a cell asks.
    #[error(
        "cannot run cell {cell} on {engine}: {reason}\nhint: leave out that level with --set, or choose another target"
    )]
    Refused {
        /// Label of the cell.
        cell: String,
        /// Kind of target.
        engine: String,
        /// Why.
        reason: String,
    },
    /// A run could not begin.
    #[error("could not begin the run of cell {cell}: {source}")]
    Run {
        /// Label of the cell.
        cell: String,
        /// The reason.
        source: RunError,
    },
    /// The directories under test are full: no further run can do better.
    #[error(
        "no space left for cell {cell}: {reason}; run {run_id} is kept and does not count\nhint: free space or choose fewer rows, then start the same command again"
    )]
    DiskFull {
        /// Label of the cell.
        cell: String,
        /// The run that met it.
        run_id: i64,
        /// What the client was reported.
        reason: String,
    },
    /// The results could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target could not be stopped or removed.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Results file, targets and the wish to stop.
pub struct Laboratory<'a> {
    /// Where runs are stored.
    pub store: &'a mut Store,
    /// In the order of the assignment's servers; at least one, or none where the study [`is_complete`].
    pub targets: &'a mut [Box<dyn Target>],
    /// When and where ceilings of the devices are measured; `None` measures none.
    pub ceilings: Option<(CeilingTime, CeilingPlaces)>,
    /// Are the objects of the last run left in place?
    pub leftovers: Leftovers,
    /// Set by a signal: the run in flight is ended and not counted.
    pub stop: Arc<AtomicBool>,
}

impl Laboratory<'_> {
    /// Runs what is missing of the assignment.
    ///
    /// # Errors
    /// A cell that the target refuses (before anything runs), a target that cannot be prepared, a results
    /// file that cannot be written.
    pub fn conduct(
        &mut self,
        assignment: &Assignment,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> Result<(StudyId, StudyOutcome), LabError> {
        let cells = assignment.cells();
        let new_study = assignment.study();
        self.refuse_or_limit(assignment, &cells, on_notice)?;
        let study = self.store.begin_study(&new_study)?;
        self.store.put_cells(study, &cells)?;
        self.store.close_interrupted(study)?;
        let mut progress = StudyProgress::read(self.store, study, assignment)?;
        let is_due = |cell_index| !progress.is_filled(0, cell_index);
        rehearsal::rehearse(self.targets, assignment, &cells, &is_due)
            .map_err(|(cell, source)| LabError::Run { cell, source })?;
        let schedule = Schedule::new(cells.len() as u32, assignment.seed());
        let planned_blocks = assignment.resolved().repetitions;
        on_notice(&Notice::StudyBegins {
            study: &new_study,
            planned: planned_blocks as usize * cells.len(),
            reused: progress.filled_among(planned_blocks, cells.len()),
        });
        self.provide_ceilings(CeilingTime::Before, study, assignment, on_notice)?;
        let mut outcome = StudyOutcome::default();
        let mut block_index = 0;
        while block_index < planned_blocks || self.wants_block(assignment, &progress, block_index, on_notice)
        {
            let planned = planned_blocks.max(block_index + 1) as usize * cells.len();
            for cell_index in schedule.block(block_index) {
                if progress.is_filled(block_index, cell_index) {
                    continue;
                }
                let place = PlannedRun { study, block_index, cell: &cells[cell_index as usize], planned };
                self.fill(assignment, place, &mut progress, &mut outcome, on_notice)?;
                if outcome.stopped {
                    return Ok((study, outcome));
                }
            }
            block_index += 1;
        }
        self.provide_ceilings(CeilingTime::After, study, assignment, on_notice)?;
        Ok((study, outcome))
    }

    /// Measures the ceilings when this is the time for it. After the last run they are completed in any case: only
    /// then is known what a flush of the runs had.
    fn provide_ceilings(
        &mut self,
        now: CeilingTime,
        study: StudyId,
        assignment: &Assignment,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> Result<(), LabError> {
        let Some((time, places)) = &self.ceilings else { return Ok(()) };
        let is_time = *time == now || now == CeilingTime::After && *time != CeilingTime::Never;
        if !is_time {
            return Ok(());
        }
        let works: Vec<Work> = assignment.cells().iter().map(|cell| assignment.work(cell, 0)).collect();
        let mut tell = |role: &str, pattern: &CeilingPattern| on_notice(&Notice::Ceiling { role, pattern });
        let engine = assignment.resolved().engine;
        Ok(ceilings::provide(self.store, study, engine, places, &works, &mut tell)?)
    }

    /// Asks every cell's target before anything is made.
    fn refuse_or_limit(
        &mut self,
        assignment: &Assignment,
        cells: &[Cell],
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> Result<(), LabError> {
        let mut reported: Vec<Limitation> = Vec::new();
        for cell in cells {
            let work = assignment.work(cell, 0);
            let Some(target) = self.targets.get_mut(assignment.target_index(cell)) else { continue };
            let own = rehearsal::own_limitation(target.as_mut(), &work);
            for limitation in target.limitations(&work).into_iter().chain(own) {
                if limitation.refuses {
                    let engine = target.engine().id.to_string();
                    return Err(LabError::Refused { cell: cell.label(), engine, reason: limitation.text });
                }
                if !reported.contains(&limitation) {
                    on_notice(&Notice::Limited(&limitation));
                    reported.push(limitation);
                }
            }
        }
        Ok(())
    }

    /// Runs one cell of the schedule until an attempt counts, at most as often as the spec allows.
    fn fill(
        &mut self,
        assignment: &Assignment,
        place: PlannedRun<'_>,
        progress: &mut StudyProgress,
        outcome: &mut StudyOutcome,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> Result<(), LabError> {
        for _ in 0..assignment.resolved().validity.attempts {
            if self.stop.load(Ordering::Relaxed) {
                outcome.stopped = true;
                return Ok(());
            }
            let state = self.attempt(assignment, place, progress, on_notice)?;
            outcome.ran += 1;
            match state {
                RunState::Valid => return Ok(()),
                RunState::Interrupted => {
                    outcome.ran -= 1;
                    outcome.stopped = true;
                    return Ok(());
                }
                RunState::Invalid | RunState::Running => outcome.invalid += 1,
            }
        }
        outcome.unfilled += 1;
        Ok(())
    }

    fn attempt(
        &mut self,
        assignment: &Assignment,
        place: PlannedRun<'_>,
        progress: &mut StudyProgress,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> Result<RunState, LabError> {
        let PlannedRun { study, block_index, cell, planned } = place;
        let attempt = self.store.next_attempt(study, block_index, cell.index)?;
        let key = RunKey { block_index, cell_index: cell.index, attempt };
        let position = progress.next_position();
        on_notice(&Notice::RunBegins { key, cell, number: progress.filled() + 1, planned });
        let run_seed = derive_seed(assignment.seed(), &[RUN_STREAM, block_index.into(), cell.index.into()]);
        let work = assignment.work(cell, run_seed);
        let run_id = self.store.begin_run(study, key, position, &jiff::Timestamp::now().to_string())?;
        let limits = limits(assignment);
        let stop = Arc::clone(&self.stop);
        let mut standstill = Standstill::new(assignment.no_progress);
        let rows_total = rows_total(&work);
        let mut on_tick = |tick: Tick| {
            on_notice(&match tick.loading {
                Some(total) => {
                    Notice::Loading { rows: tick.rows, rows_total: Some(total).filter(|total| *total > 0) }
                }
                None => Notice::RunProgress { rows: tick.rows, rows_total },
            });
            if let Some(still_for) = standstill.observe(tick.pulse) {
                on_notice(&Notice::NoProgress { cell, still_for });
            }
            if stop.load(Ordering::Relaxed) { Course::Stop } else { Course::Continue }
        };
        let target = self.targets[assignment.target_index(cell)].as_mut();
        let request = RunRequest { work: &work, key, position, limits, samplers: &assignment.samplers };
        let executed = run::execute_and(target, request, self.leftovers, &mut on_tick);
        if self.stop.load(Ordering::Relaxed) && !matches!(&executed, Ok(run) if run.state == RunState::Valid)
        {
            self.store.close_interrupted(study)?;
            return Ok(RunState::Interrupted);
        }
        let mut run = match executed {
            Ok(run) => run,
            Err(source) => {
                self.store.close_interrupted(study)?;
                return Err(LabError::Run { cell: cell.label(), source });
            }
        };
        if reading::plan_of(&run).is_some() {
            let earlier = self.earlier_plan(study, cell)?;
            reading::judge_plan(&mut run, earlier.as_deref());
        }
        self.store.finish_run(run_id, &run)?;
        self.store_structures(assignment.target_index(cell), run_id)?;
        progress.add(&run);
        on_notice(&Notice::RunEnds { run_id, cell, run: &run });
        match disk_full(&run) {
            Some(reason) => Err(LabError::DiskFull { cell: cell.label(), run_id, reason: reason.to_owned() }),
            None => Ok(run.state),
        }
    }

    /// As [`adds_block`], and says so.
    fn wants_block(
        &self,
        assignment: &Assignment,
        progress: &StudyProgress,
        block_index: u32,
        on_notice: &mut dyn FnMut(&Notice<'_>),
    ) -> bool {
        let wanted = adds_block(assignment, progress, block_index);
        if wanted {
            let half_width_percent = widest_percent(&progress.precisions(assignment.cells().len()));
            let undecided = progress.undecided(block_index);
            on_notice(&Notice::BlockAdded { block_index, half_width_percent, undecided });
        }
        wanted
    }
}

/// One run of the schedule.
#[derive(Clone, Copy)]
struct PlannedRun<'a> {
    study: StudyId,
    block_index: u32,
    cell: &'a Cell,
    planned: usize,
}

fn limits(assignment: &Assignment) -> Limits {
    let validity = &assignment.resolved().validity;
    Limits {
        start_skew_fraction: validity.start_skew_fraction,
        start_skew_floor: Duration::from_millis(validity.start_skew_floor_ms),
        client_cpu_fraction: validity.client_cpu_fraction,
        samples_present_fraction: validity.samples_present_fraction,
        within_limit_fraction: validity.within_limit_fraction,
    }
}

fn rows_total(work: &Work) -> Option<u64> {
    match (work.amount, work.warm_up) {
        (Amount::Rows(rows), WarmUp::None) => Some(rows),
        (Amount::Rows(rows), WarmUp::Rows(warm_up)) => Some(rows + warm_up),
        _ => None,
    }
}
