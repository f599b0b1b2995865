//! A target without an engine: what remains is the price of the harness itself.

use std::path::PathBuf;

use results::model::{Setting, Warning};

use super::{
    Aftermath, Connector, Counters, EngineFacts, Limitation, ServerLoop, ServerShare, SessionError, Target,
    TargetError,
};
use crate::task::Place;
use crate::work::Work;

/// Connects to nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoopConnector;

impl NoopConnector {
    /// Makes a session at once.
    pub fn connect(self) -> NoopSession {
        NoopSession
    }
}

/// Acknowledges everything at once.
#[derive(Clone, Copy, Debug)]
pub struct NoopSession;

impl NoopSession {
    /// Does nothing.
    #[inline]
    pub fn transaction(&mut self, _rows: u64) -> Result<(), SessionError> {
        Ok(())
    }

    /// Counts the transactions that the share would take.
    pub fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        let rows = share.rows.unwrap_or(0);
        Ok(ServerLoop { rows, transactions: rows.div_ceil(share.batch_size.max(1)) })
    }
}

/// The control side of nothing.
#[derive(Debug, Default)]
pub struct NoopTarget;

impl Target for NoopTarget {
    fn kind(&self) -> &'static str {
        "noop"
    }

    fn limitations(&self, _work: &Work) -> Vec<Limitation> {
        vec![Limitation {
            subject: "noop".to_owned(),
            text: "no engine runs: the figures are the price of the harness itself".to_owned(),
            refuses: false,
        }]
    }

    fn prepare(&mut self, _work: &Work) -> Result<(), TargetError> {
        Ok(())
    }

    fn connector(&self) -> Connector {
        Connector::Noop(NoopConnector)
    }

    fn place(&mut self, _work: &Work) -> Result<Option<Place>, TargetError> {
        Ok(Some(Place { engine: "noop".to_owned(), ..Place::default() }))
    }

    fn jobs(&self, work: &Work) -> u32 {
        cores().min(work.connections)
    }

    fn clients_seen(&mut self) -> Result<Option<u32>, TargetError> {
        Ok(None)
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        Ok(Counters::default())
    }

    fn aftermath(&mut self, _work: &Work) -> Result<Aftermath, TargetError> {
        Ok(Aftermath::default())
    }

    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        Ok(Vec::new())
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        Ok(serde_json::json!({ "name": "noop", "version": env!("CARGO_PKG_VERSION") }))
    }

    fn directories(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    fn server_process_id(&self) -> Option<u32> {
        None
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stop(&mut self, _keep: bool) -> Result<(), TargetError> {
        Ok(())
    }
}

/// Cores that this process may use; the natural number of worker threads.
pub(super) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}
