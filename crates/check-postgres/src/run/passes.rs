//! One pass over a batch: reading, progress, limits, and what is kept when it is stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use check::findings::Findings;
use check::pass::{Pass, unclaimed_bytes};
use check::progress::Progress;
use check::stopped::NotResumed;
use disk::scan::{Governor, ScanFile, ScanOutcome};
use results::EngineId;

use crate::cluster::state::Standing;
use crate::plan::Plan;
use crate::plan::batch::{Position, bytes_of, rest_of};
use crate::plan::objects::PlanFile;
use crate::run::context::PassContext;
use crate::run::coverage::Covered;
use crate::run::evidence::CheckError;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;
use crate::run::stopped::{STATE_VERSION, State, StoppedCheck};

impl ReportBuilder<'_> {
    /// Reads the files of one pass from a place on; what is learned is added to `state`.
    pub(crate) fn pass(
        &mut self,
        context: &PassContext<'_>,
        from: Position,
        state: &mut PassState,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let block_bytes = self.cluster.block_bytes as u64;
        let all_bytes = bytes_of(context.files);
        let files = rest_of(context.files, from.bytes, block_bytes);
        let all = *context;
        let context = PassContext { files: &files, ..*context };
        self.accounting.page_count += page_count(&files, block_bytes);
        if self.unfinished.is_some() || files.is_empty() {
            self.accounting.bytes_expected += bytes_of(&files);
            self.accounting.unreached_count += page_count(&files, block_bytes);
            for file in &files {
                let count = file.part.bytes.div_ceil(block_bytes);
                state.sums.covered.pages_left_out(file.relation, count);
            }
            self.bytes_before += all_bytes;
            return Ok(());
        }
        let governor = Arc::new(Governor::new(self.options.rate_bytes_per_s_max));
        let pass = Pass {
            deadline: self.options.time_max.map(|limit| self.start + limit),
            bytes_before: self.bytes_before + from.bytes,
            bytes_total: Some(self.bytes_total),
            ..Pass::new(self.options, &governor, self.cluster.block_bytes)
        };
        let outcome = self.read(pass, &context, progress)?;
        pass.count(&outcome, &mut self.counters);
        self.account(&outcome, block_bytes);
        let unclaimed = unclaimed_bytes(&outcome);
        for part in outcome.states {
            self.take(part, state);
        }
        let unclaimed_files = outcome.files.iter().zip(&files);
        let not_reached: Vec<(Option<u32>, u64)> = unclaimed_files
            .map(|(file, plan)| (plan.relation, file.unclaimed_bytes.div_ceil(block_bytes)))
            .collect();
        if unclaimed > 0 {
            self.unfinished = Some("stopped before the end".to_owned());
            let place = Position { bytes: all_bytes - unclaimed, ..from };
            self.keep(&all, place, unclaimed, state);
        }
        // Of what is gone on with later nothing is left out.
        for (relation, count) in not_reached {
            state.sums.covered.pages_left_out(relation, count);
        }
        self.bytes_before += all_bytes;
        Ok(())
    }

    fn read(
        &self,
        pass: Pass<'_>,
        context: &PassContext<'_>,
        progress: &mut dyn Progress,
    ) -> Result<ScanOutcome<PassState>, CheckError> {
        let files: Vec<ScanFile> = context.files.iter().map(PlanFile::scan_file).collect();
        let per_rule = self.options.findings_per_rule_max;
        let memory = self.options.memory_bytes_max / (2 * self.options.worker_count.max(1) as u64);
        let make_state = |_| PassState::with_memory(context.plan, per_rule, memory);
        Ok(pass.run(&files, progress, make_state, |state, extent| context.visit(state, extent))?)
    }

    /// Whether the user's limit is reached, or the user wants an end.
    pub(crate) fn is_time_over(&self) -> bool {
        self.options.time_max.is_some_and(|limit| self.start.elapsed() >= limit)
            || self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn account(&mut self, outcome: &ScanOutcome<PassState>, block_bytes: u64) {
        self.accounting.bytes_expected += outcome.expected_bytes();
        self.accounting.bytes_read += outcome.read_bytes();
        for file in &outcome.files {
            self.accounting.unreached_count += file.unclaimed_bytes.div_ceil(block_bytes);
            // A server at work drops and cuts files; these pages are counted as skipped, and not expected to be read.
            if self.cluster.standing == Standing::Running {
                let vanished = if file.cache.is_none() { file.unreadable_bytes } else { 0 };
                self.accounting.bytes_expected -= file.missing_bytes + vanished;
            }
        }
    }

    fn take(&mut self, part: PassState, into: &mut PassState) {
        let reads_again = part.read_again + part.range_read_count();
        self.findings.merge(part.findings);
        self.accounting.clean_count += part.clean;
        self.accounting.damaged_count += part.damaged;
        self.accounting.affected_count += part.affected;
        self.accounting.unreadable_count += part.unreadable;
        for (why, count) in part.skipped {
            *self.skipped.entry(why.to_owned()).or_default() += count;
        }
        self.counters.extra_read_count += reads_again;
        self.counters.extra_read_bytes += reads_again * self.cluster.block_bytes as u64;
        into.sums.merge(part.sums);
    }

    /// Keeps what a stopped check needs to go on.
    fn keep(&mut self, context: &PassContext<'_>, place: Position, unclaimed_bytes: u64, state: &PassState) {
        let Some(path) = &self.options.resume_file else { return };
        let block_bytes = self.cluster.block_bytes as u64;
        let mut accounting = self.accounting.clone();
        accounting.page_count -= accounting.unreached_count;
        accounting.unreached_count = 0;
        accounting.bytes_expected -= unclaimed_bytes;
        accounting.skipped = self
            .skipped
            .iter()
            .map(|(why, page_count)| results::check::Skipped { why: why.clone(), page_count: *page_count })
            .collect();
        let rest = rest_of(context.files, place.bytes, block_bytes);
        let next = rest.first();
        let whole = next.and_then(|next| context.files.iter().find(|file| file.shown == next.shown));
        let next_offset_bytes =
            next.zip(whole).map_or(0, |(next, whole)| next.part.offset_bytes - whole.part.offset_bytes);
        let mut covered = self.covered.clone();
        covered.merge(state.sums.covered.clone());
        let mut sums = state.sums.to_stored();
        // In the second pass the row pointers of the first stand in the context.
        let codes = state.sums.exceptions.iter().map(|(table, codes)| (*table, codes.all()));
        let looked_up = context
            .of_indexes
            .iter()
            .flat_map(|pass| pass.exceptions.iter())
            .map(|(table, list)| (*table, list.codes().all()));
        sums.exceptions = codes.chain(looked_up).collect();
        sums.exceptions.sort_unstable();
        let stopped = StoppedCheck {
            engine: EngineId::Postgres,
            version: STATE_VERSION,
            identity: self.identity(context.plan),
            seed: self.seed,
            next_file: next.map_or_else(String::new, |file| file.shown.clone()),
            next_offset_bytes,
            findings: self.findings.to_stored(),
            state: State {
                batch_index: place.batch as u64,
                pass_index: place.pass,
                claimed_bytes: place.bytes,
                accounting,
                counters: self.counters.clone(),
                coverage: covered.stored(),
                sums,
            },
        };
        self.unfinished = Some(match stopped.store(path) {
            Ok(()) => format!(
                "stopped before the end; the same command with --resume {} resumes here",
                path.display()
            ),
            Err(error) => {
                format!("stopped before the end; could not write \"{}\": {error}", path.display())
            }
        });
    }

    /// A check that was stopped and can go on here; says why when it cannot.
    pub(crate) fn resume(&mut self, plan: &Plan) -> Option<StoppedCheck> {
        let path = self.options.resume_file.as_ref().filter(|path| path.exists())?;
        let loaded = StoppedCheck::load(path, EngineId::Postgres, STATE_VERSION, &self.identity(plan));
        let stopped = match loaded {
            Ok(stopped) => stopped,
            Err(error) => {
                let why = match error {
                    NotResumed::Differs => {
                        "the cluster or the options differ from those of the stopped check".to_owned()
                    }
                    NotResumed::OtherVersion => error.to_string(),
                    NotResumed::Read(error) => format!("could not read \"{}\": {error}", path.display()),
                };
                self.left_out(None, "resuming an earlier check", &why);
                return None;
            }
        };
        let mut accounting = stopped.state.accounting.clone();
        for skipped in accounting.skipped.drain(..) {
            *self.skipped.entry(skipped.why).or_default() += skipped.page_count;
        }
        self.accounting = accounting;
        self.counters = stopped.state.counters.clone();
        let most = self.options.findings_per_rule_max;
        self.findings = Findings::from_stored(&crate::RULES, most, stopped.findings.clone());
        self.resumed_ns = stopped.state.counters.elapsed_ns;
        self.covered = Covered::restored(&stopped.state.coverage, plan.relations.len());
        self.seed = stopped.seed;
        Some(stopped)
    }

    /// Numbers that tell whether a cluster is still the one whose check was stopped.
    fn identity(&self, plan: &Plan) -> Vec<u64> {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let control = self.cluster.control.as_ref();
        let batch = self.options.object_batch.map_or(u64::MAX, |batch| batch as u64);
        let switches = [self.options.level as u64, batch, u64::from(self.options.is_raw)];
        if self.cluster.standing == Standing::Running {
            // Files come and grow; the place is found by name.
            let system = control.map(|control| control.system_identifier);
            return switches.into_iter().chain(system).collect();
        }
        let mut hasher = DefaultHasher::new();
        for file in plan.first_files.iter().chain(&plan.second_files) {
            file.shown.hash(&mut hasher);
            file.part.bytes.hash(&mut hasher);
        }
        let of_control = control.map(|control| [control.system_identifier, control.checkpoint_lsn]);
        switches.into_iter().chain([hasher.finish()]).chain(of_control.into_iter().flatten()).collect()
    }
}

fn page_count(files: &[PlanFile], block_bytes: u64) -> u64 {
    files.iter().map(|file| file.part.bytes.div_ceil(block_bytes)).sum()
}
