//! Samples the waits of all sessions over SQL, ten times a second: for servers on other machines, and where the rights
//! to read memory are missing. Costs the server below 0.4 % of a processor; does not tell resource from signal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::control::Control;
use super::events::normalise;
use super::sessions::{self, Known};
use super::wait_counts::{Phase, SessionState, WaitCounts};

/// Time between two samples.
pub(super) const PERIOD: Duration = Duration::from_millis(100);

/// Different sessions that one sampler follows.
const ACCOUNTS_MAX: usize = 100_000;

/// Different waits that it counts; PostgreSQL 18 has about 300.
const NAMES_MAX: usize = 2000;

/// Sessions under observation over a connection of their own.
#[derive(Debug)]
pub(super) struct SqlProbe {
    control: Control,
    known: Arc<Mutex<Known>>,
    accounts: HashMap<u32, usize>,
    /// Number of each wait: its place in `names` plus one.
    numbers: HashMap<(String, String), u32>,
    names: Vec<(String, String)>,
    pub(super) wait_counts: WaitCounts,
}

impl SqlProbe {
    pub(super) fn new(control: Control, known: Arc<Mutex<Known>>) -> Self {
        Self {
            control,
            known,
            accounts: HashMap::new(),
            numbers: HashMap::new(),
            names: Vec::new(),
            wait_counts: WaitCounts::default(),
        }
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// The server is gone, or does not answer the question.
    pub(super) fn sample(&mut self) -> Result<(), String> {
        let sessions = sessions::ask(&mut self.control)
            .map_err(|error| format!("could not ask the server for its waits: {error}"))?;
        let at = Instant::now();
        if self.accounts.len() > ACCOUNTS_MAX || self.names.len() > NAMES_MAX {
            return Err(format!(
                "the server lists more than {ACCOUNTS_MAX} sessions or {NAMES_MAX} waits by name: counting ended"
            ));
        }
        let mut page = self.wait_counts.page();
        for session in &sessions {
            let wait_counts = &mut self.wait_counts;
            let account = *self
                .accounts
                .entry(session.process_id)
                .or_insert_with(|| wait_counts.open(session.process_id));
            let event = session.wait.clone().map_or(0, |wait| self.number(wait));
            page.push(SessionState { account, event, phase: Phase::Unsplit });
        }
        self.wait_counts.enter(at, page);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).learn(&sessions);
        Ok(())
    }

    /// What was seen, and the names of its numbers from 1 on.
    pub(super) fn finish(self) -> (WaitCounts, Vec<(String, String)>) {
        (self.wait_counts, self.names)
    }

    fn number(&mut self, wait: (String, String)) -> u32 {
        if let Some(number) = self.numbers.get(&wait) {
            return *number;
        }
        self.names.push(normalise(&wait.0, &wait.1));
        let number = self.names.len() as u32;
        self.numbers.insert(wait, number);
        number
    }
}
