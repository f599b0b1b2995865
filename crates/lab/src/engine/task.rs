//! A target whose runs may be tasks: it prepares what the engine underneath has, and lets the engine rest meanwhile.

use std::path::PathBuf;
use std::sync::Arc;

use results::model::{Setting, Warning};
use results::structure::StructureReport;

use super::{Aftermath, Connector, Counters, EngineFacts, Limitation, LogRecords, Target, TargetError};
use crate::cache::{self, CacheLook};
use crate::observe::Sampler;
use crate::task::{Order, Outcome, Task, TaskConnector};
use crate::work::{BackupMethod, Work, Workload};

/// An engine, and what is done to its files.
#[derive(Debug)]
pub struct TaskTarget<T: Target + ?Sized> {
    task: Arc<dyn Task>,
    run: Option<TaskRun>,
    structures: Vec<StructureReport>,
    cautions: Vec<Warning>,
    engine: Box<T>,
}

/// What exists from `prepare` to `clean` of a run that is a task.
#[derive(Debug)]
struct TaskRun {
    connector: TaskConnector,
    /// As the engine said before it came to rest.
    settings: Vec<Setting>,
    facts: EngineFacts,
}

impl<T: Target + ?Sized> TaskTarget<T> {
    /// Puts an engine under the laboratory's tasks; other runs reach it unchanged.
    pub fn new(engine: Box<T>, task: Arc<dyn Task>) -> Self {
        Self { task, run: None, structures: Vec::new(), cautions: Vec::new(), engine }
    }

    fn prepare_task(&mut self, work: &Work) -> Result<(), TargetError> {
        let (settings, facts) = (self.engine.settings()?, self.engine.facts()?);
        let needs_server = match work.workload {
            Workload::Backup => work.subject.backup == BackupMethod::PgBasebackup,
            workload => workload == Workload::Inventory,
        };
        if !needs_server {
            self.engine.rest()?;
        }
        let place = self.engine.place(work)?.ok_or_else(|| {
            TargetError::refused(
                "this target has no files that a task could read",
                "use --target sqlite or postgres",
            )
        })?;
        let order = Order { work: work.clone(), place };
        let connector = TaskConnector::new(Arc::clone(&self.task), order);
        self.run = Some(TaskRun { connector, settings, facts });
        Ok(())
    }

    /// Looks at what statements left in the files; what goes wrong is a caution, not the end of the run.
    fn appraise(&mut self, work: &Work, aftermath: &mut Aftermath) {
        let place = match self.engine.place(work) {
            Ok(Some(place)) => place,
            Ok(None) => return,
            Err(error) => return self.caution(&error.to_string()),
        };
        match self.task.appraise(&Order { work: work.clone(), place }) {
            Ok(Outcome { metrics, structures }) => {
                aftermath.metrics.extend(metrics);
                self.structures.extend(structures);
            }
            Err(reason) => self.caution(&reason),
        }
    }

    fn caution(&mut self, reason: &str) {
        self.cautions.push(Warning {
            code: "structure_not_measured".to_owned(),
            text: format!("the structure of the run's table could not be measured: {reason}"),
        });
    }
}

impl<T: Target + ?Sized> Target for TaskTarget<T> {
    fn kind(&self) -> &'static str {
        self.engine.kind()
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        let mut limitations = self.engine.limitations(work);
        let has_files = !self.engine.directories().is_empty();
        if work.workload.is_task() && work.workload != Workload::Inventory && !has_files {
            limitations.push(Limitation {
                subject: "workload".to_owned(),
                text: "this target has no files on this machine that a task could read".to_owned(),
                refuses: true,
            });
        }
        limitations
    }

    fn prepare(&mut self, work: &Work) -> Result<(), TargetError> {
        self.run = None;
        self.structures.clear();
        self.cautions.clear();
        self.engine.prepare(work)?;
        if work.workload.is_task() { self.prepare_task(work) } else { Ok(()) }
    }

    fn connector(&self) -> Connector {
        match &self.run {
            Some(run) => Connector::Task(run.connector.clone()),
            None => self.engine.connector(),
        }
    }

    fn set_cache(&mut self, work: &Work) -> Result<Option<CacheLook>, TargetError> {
        match &self.run {
            Some(run) if work.workload.has_stock() => {
                cache::set(&run.connector.order.place.files, work.subject.cache).map(Some)
            }
            Some(_) => Ok(None),
            None => self.engine.set_cache(work),
        }
    }

    fn jobs(&self, work: &Work) -> u32 {
        if self.run.is_some() { 1 } else { self.engine.jobs(work) }
    }

    fn clients_seen(&mut self) -> Result<Option<u32>, TargetError> {
        if self.run.is_some() { Ok(None) } else { self.engine.clients_seen() }
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        if self.run.is_some() { Ok(()) } else { self.engine.interrupt() }
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        if self.run.is_some() { Ok(Counters::default()) } else { self.engine.counters() }
    }

    fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        if self.run.is_some() { Ok(None) } else { self.engine.client_counters() }
    }

    fn log_records(
        &mut self,
        work: &Work,
        before: &Counters,
        after: &Counters,
        transactions: u64,
    ) -> LogRecords {
        if self.run.is_some() {
            return LogRecords::default();
        }
        self.engine.log_records(work, before, after, transactions)
    }

    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>> {
        if self.run.is_some() { Vec::new() } else { self.engine.samplers(work) }
    }

    fn aftermath(&mut self, work: &Work) -> Result<Aftermath, TargetError> {
        if let Some(run) = &self.run {
            let Outcome { metrics, structures } = run.connector.take_seen();
            self.structures.extend(structures);
            return Ok(Aftermath { metrics, ..Aftermath::default() });
        }
        let mut aftermath = self.engine.aftermath(work)?;
        if work.workload == Workload::GuidPopulate {
            self.appraise(work, &mut aftermath);
        }
        aftermath.warnings.append(&mut self.cautions);
        Ok(aftermath)
    }

    fn take_structures(&mut self) -> Vec<StructureReport> {
        std::mem::take(&mut self.structures)
    }

    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        match &self.run {
            Some(run) => Ok(run.settings.clone()),
            None => self.engine.settings(),
        }
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        match &self.run {
            Some(run) => Ok(run.facts.clone()),
            None => self.engine.facts(),
        }
    }

    fn directories(&self) -> Vec<(String, PathBuf)> {
        self.engine.directories()
    }

    fn warnings(&self) -> Vec<Warning> {
        self.engine.warnings()
    }

    fn server_process_id(&self) -> Option<u32> {
        self.engine.server_process_id()
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.run = None;
        self.engine.clean()
    }

    fn kept(&self) -> Vec<String> {
        self.engine.kept()
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        self.run = None;
        self.engine.stop(keep)
    }
}
