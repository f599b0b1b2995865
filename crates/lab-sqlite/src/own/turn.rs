//! A client on its thread: alone there it blocks, else its neighbours go on while it waits for a lock.

use std::time::{Duration, Instant};

use lab::client::Registration;
use lab::own::{Answer, At, StatementError, Statements};

use super::connection::{OwnConnection, Refused};
use crate::session::BUSY_TIME_MAX;

/// Between two tries to get a lock; the last one is repeated. As SQLite's own busy handler does it.
// EVIDENCE: sqlite main.c, sqliteDefaultBusyCallback
const DELAYS_MS: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// One transaction of a client.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) connection: &'a mut OwnConnection,
    pub(super) registration: Registration<'a>,
}

impl Statements for Turn<'_> {
    #[inline]
    async fn execute(&mut self, at: At<'_>, answer: &mut Answer) -> Result<(), StatementError> {
        let Err(mut refused) = self.connection.execute(at, answer) else { return Ok(()) };
        // SQLite has waited where the client is alone.
        if self.registration.is_alone() {
            return Err(refused.error);
        }
        let began = Instant::now();
        let mut delays = DELAYS_MS.iter();
        let mut delay_ms = 0;
        while refused.may_wait && began.elapsed() < BUSY_TIME_MAX && !self.registration.is_stopped() {
            delay_ms = delays.next().copied().unwrap_or(delay_ms);
            let until = Instant::now() + Duration::from_millis(delay_ms);
            self.connection.while_busy(self.registration.sleep_until(until)).await;
            match self.connection.execute(at, answer) {
                Ok(()) => return Ok(()),
                Err(again) => refused = again,
            }
        }
        let Refused { error, .. } = refused;
        Err(error)
    }

    async fn roll_back(&mut self) -> Result<(), StatementError> {
        self.connection.roll_back()
    }

    fn is_in_transaction(&self) -> bool {
        self.connection.is_in_transaction()
    }
}
