//! A target without an engine: what remains is the price of the harness itself.

use std::path::Path;
use std::sync::Arc;

use results::EngineId;
use results::ceiling::SyncCall;
use results::model::Setting;

use super::{
    Connector, Counters, Describe, Driver, DynConnector, Engine, EngineFacts, Files, Installation, Layout,
    Limitation, PostRunState, Provider, ServerLoop, ServerShare, Session, SessionError, SpaceCosts, Target,
    TargetError, TargetOptions, TimeCosts,
};
use crate::client::Registration;
use crate::estimate::heap_row_bytes;
use crate::task::EngineLocation;
use crate::work::Work;

/// No engine, as a value.
pub static ENGINE: Engine = Engine {
    id: EngineId::Noop,
    schemes: &[],
    is_embedded: true,
    is_managed: false,
    has_layout: false,
    time: TimeCosts {
        preparing_s: 0.02,
        waits_for_flushes: false,
        commits_per_flush_max: 1,
        row_s: Some(1e-6),
    },
    space: SpaceCosts {
        base_bytes: 0,
        idle_log_bytes: 0,
        object_bytes: 0,
        keeps_rows: false,
        keeps_one_shape: false,
        copies_all: false,
        guid_row_bytes: |_| heap_row_bytes(),
        log_bytes: |_, _, _| 0,
        fixture_log_bytes: |_| 0,
    },
    sync_call: |_| Some(SyncCall::default()),
    counted: &[],
    waits: None,
};

/// How the absence of an engine is reached.
pub static DRIVER: Driver = Driver {
    engine: &ENGINE,
    provide: |_: &TargetOptions| Ok(Box::new(NoopProvider)),
    installation: || Installation::BuiltIn,
    survey: None,
    attach: None,
    sql: |_| Vec::new(),
};

/// The choice of no engine.
#[derive(Debug)]
struct NoopProvider;

impl Provider for NoopProvider {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn is_local(&self) -> bool {
        false
    }

    fn limitations(&self, _layout: &Layout, work: &Work) -> Vec<Limitation> {
        NoopTarget.limitations(work)
    }

    fn start(&self, _layout: &Layout, _base: &Path) -> Result<Vec<Box<dyn Target>>, TargetError> {
        Ok(vec![Box::new(NoopTarget)])
    }
}

/// Connects to nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoopConnector;

impl Connector for NoopConnector {
    type Session = NoopSession;

    async fn connect(&self, _: u32, _: Registration<'_>) -> Result<NoopSession, SessionError> {
        Ok(NoopSession)
    }
}

/// Acknowledges everything at once.
#[derive(Clone, Copy, Debug)]
pub struct NoopSession;

impl Session for NoopSession {
    #[inline]
    async fn transaction(&mut self, _rows: u64, _: Registration<'_>) -> Result<(), SessionError> {
        Ok(())
    }

    /// Counts the transactions that the share would take.
    async fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        let rows = share.rows.unwrap_or(0);
        Ok(ServerLoop { rows, transactions: rows.div_ceil(share.batch_size.max(1)) })
    }
}

/// The control side of nothing.
#[derive(Debug, Default)]
pub struct NoopTarget;

impl Target for NoopTarget {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        if work.own.is_some() {
            return vec![Limitation {
                subject: "workload".to_owned(),
                text: "there is no engine that could execute SQL\nhint: choose another --target".to_owned(),
                refuses: true,
            }];
        }
        vec![Limitation {
            subject: ENGINE.id.to_string(),
            text: "no engine runs: the values are the overhead of fathom itself".to_owned(),
            refuses: false,
        }]
    }

    fn prepare(&mut self, _work: &Work) -> Result<(), TargetError> {
        Ok(())
    }

    fn connector(&self) -> Arc<dyn DynConnector> {
        Arc::new(NoopConnector)
    }

    fn jobs(&self, work: &Work) -> u32 {
        cores().min(work.connections)
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        Ok(Counters::default())
    }

    fn post_run_state(&mut self, _work: &Work) -> Result<PostRunState, TargetError> {
        Ok(PostRunState::default())
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stop(&mut self, _keep: bool) -> Result<(), TargetError> {
        Ok(())
    }

    fn describe(&mut self) -> Option<&mut dyn Describe> {
        Some(self)
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        Some(self)
    }
}

impl Describe for NoopTarget {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        Ok(Vec::new())
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        Ok(serde_json::json!({ "name": "noop", "version": env!("CARGO_PKG_VERSION") }))
    }
}

impl Files for NoopTarget {
    fn place(&mut self, _work: &Work) -> Result<EngineLocation, TargetError> {
        Ok(EngineLocation::of(ENGINE.id))
    }
}

/// Cores that this process may use; the natural number of worker threads.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}
