//! A target whose runs may be tasks: it prepares what the engine underneath has, and lets the engine rest meanwhile.

use std::sync::Arc;

use results::model::{Setting, Warning};
use results::structure::StructureReport;

use super::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, EngineFacts, Files, Limitation,
    Observe, OwnDatabases, PostRunState, Residence, Target, TargetError,
};
use crate::cache::{self, CachedPages};
use crate::task::{Task, TaskConnector, TaskOrder, TaskOutcome};
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

    /// The engine, while its runs are statements: a run that is a task has none of its abilities but those that
    /// [`TaskRun`] gives it.
    fn statements(&mut self) -> Option<&mut T> {
        if self.run.is_some() { None } else { Some(&mut self.engine) }
    }

    fn prepare_task(&mut self, work: &Work) -> Result<(), TargetError> {
        let (settings, facts) = match self.engine.describe() {
            Some(describe) => (describe.settings()?, describe.facts()?),
            None => (Vec::new(), EngineFacts::Null),
        };
        let needs_server = match work.workload {
            Workload::Backup => work.subject.backup == BackupMethod::PgBasebackup,
            workload => workload == Workload::Inventory,
        };
        let files = self.engine.files().ok_or_else(|| {
            TargetError::refused(
                "this target has no files that a task could read",
                "name an engine that fathom runs itself, in place of a URL (--target NAME)",
            )
        })?;
        if !needs_server {
            files.rest()?;
        }
        let place = files.place(work)?;
        let order = TaskOrder { work: work.clone(), place };
        let connector = TaskConnector::new(Arc::clone(&self.task), order);
        self.run = Some(TaskRun { connector, settings, facts });
        Ok(())
    }

    /// Inspects what statements left in the files; what goes wrong is a caution, not the end of the run.
    fn inspect(&mut self, work: &Work, post_run_state: &mut PostRunState) {
        let Some(files) = self.engine.files() else { return };
        let place = match files.place(work) {
            Ok(place) => place,
            Err(error) => return self.caution(&error.to_string()),
        };
        match self.task.inspect(&TaskOrder { work: work.clone(), place }) {
            Ok(TaskOutcome { metrics, structures }) => {
                post_run_state.metrics.extend(metrics);
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
    fn engine(&self) -> &'static Engine {
        self.engine.engine()
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        let mut limitations = self.engine.limitations(work);
        let has_files = self.engine.residence().is_some_and(|place| !place.directories().is_empty());
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

    fn connector(&self) -> Arc<dyn DynConnector> {
        match &self.run {
            Some(run) => Arc::new(run.connector.clone()),
            None => self.engine.connector(),
        }
    }

    fn jobs(&self, work: &Work) -> u32 {
        if self.run.is_some() { 1 } else { self.engine.jobs(work) }
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        self.statements().map_or_else(|| Ok(Counters::default()), Target::counters)
    }

    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        if let Some(run) = &self.run {
            let TaskOutcome { metrics, structures } = run.connector.take_seen();
            self.structures.extend(structures);
            return Ok(PostRunState { metrics, ..PostRunState::default() });
        }
        let mut post_run_state = self.engine.post_run_state(work)?;
        if work.workload == Workload::GuidPopulate {
            self.inspect(work, &mut post_run_state);
        }
        post_run_state.warnings.append(&mut self.cautions);
        Ok(post_run_state)
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.run = None;
        self.engine.clean()
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        self.run = None;
        self.engine.stop(keep)
    }

    fn describe(&mut self) -> Option<&mut dyn Describe> {
        Some(self)
    }

    fn residence(&self) -> Option<&dyn Residence> {
        self.engine.residence()
    }

    fn clients(&mut self) -> Option<&mut dyn ClientControl> {
        self.statements()?.clients()
    }

    fn cache(&mut self) -> Option<&mut dyn CacheControl> {
        match &mut self.run {
            Some(run) => Some(run),
            None => self.engine.cache(),
        }
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        self.engine.files()
    }

    fn observe(&mut self) -> Option<&mut dyn Observe> {
        self.statements()?.observe()
    }

    fn own_databases(&mut self) -> Option<&mut dyn OwnDatabases> {
        self.statements()?.own_databases()
    }

    fn take_structures(&mut self) -> Vec<StructureReport> {
        std::mem::take(&mut self.structures)
    }
}

/// The engine's description; settings and facts of a task are those before the engine came to rest.
impl<T: Target + ?Sized> Describe for TaskTarget<T> {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        match (&self.run, self.engine.describe()) {
            (Some(run), _) => Ok(run.settings.clone()),
            (None, Some(engine)) => engine.settings(),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        match (&self.run, self.engine.describe()) {
            (Some(run), _) => Ok(run.facts.clone()),
            (None, Some(engine)) => engine.facts(),
            (None, None) => Ok(EngineFacts::Null),
        }
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.engine.describe().map(|engine| engine.warnings()).unwrap_or_default()
    }
}

impl CacheControl for TaskRun {
    fn set_cache(&mut self, work: &Work) -> Result<Option<CachedPages>, TargetError> {
        if !work.workload.has_fixtures() {
            return Ok(None);
        }
        cache::set(&self.connector.order.place.files, work.subject.cache).map(Some)
    }
}
