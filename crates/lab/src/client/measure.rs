//! One client's loop over transactions and what it writes down.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use results::histogram::LatencyHistogram;
use results::model::ClientRecord;

use super::event_loop::{Registration, yield_now};
use super::pace::{Arrivals, Timer};
use super::progress::Progress;
use super::seconds::LatencySeconds;
use crate::engine::{ServerShare, Session, SessionError};

/// A client that has not waited for anything for this long lets its neighbours on the thread run.
const LONGEST_TURN: Duration = Duration::from_millis(1);
/// A transaction is repeated at most this often before its client gives up.
const RETRIES_MAX: u64 = 1_000;

/// What ends a client's loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// This many rows.
    Rows(u64),
    /// This many nanoseconds since the barrier.
    Time(u64),
}

/// How one client goes through its share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) until: Until,
    pub(super) batch_size: u64,
    pub(super) rate_per_s: Option<f64>,
    pub(super) arrival_seed: u64,
    pub(super) on_server: bool,
    /// Arrivals that would begin later than this are skipped.
    pub(super) latency_limit_ns: Option<u64>,
}

/// One client between barrier and report.
#[derive(Debug)]
pub(super) struct Client<'a, S> {
    pub(super) session: &'a mut S,
    pub(super) record: &'a mut ClientRecord,
    pub(super) progress: &'a Progress,
    /// Of all clients of the thread; borrowed for the moment of a count.
    pub(super) seconds: &'a RefCell<LatencySeconds>,
    pub(super) barrier: Instant,
    pub(super) registration: Registration<'a>,
    /// Rows of transactions that failed in the end or were skipped: part of the share, and not of the record.
    pub(super) failed_rows: u64,
}

impl<S: Session> Client<'_, S> {
    /// Works through `share`; fills the record, also when it fails on the way.
    pub(super) async fn work(&mut self, share: Share) {
        self.record.start_ns = Some(self.now_ns());
        let done = if share.on_server {
            self.loop_on_server(share).await
        } else if let Some(rate_per_s) = share.rate_per_s {
            self.open_loop(share, rate_per_s).await
        } else {
            self.closed_loop(share).await
        };
        match done {
            Ok(true) => self.record.end_ns = Some(self.now_ns()),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Back to back; true when the share was finished, false when somebody asked to stop.
    async fn closed_loop(&mut self, share: Share) -> Result<bool, SessionError> {
        let mut begin_ns = self.now_ns();
        let mut turn_ns = begin_ns;
        loop {
            let rows = match share.until {
                Until::Rows(total) => {
                    share.batch_size.min(total.saturating_sub(self.record.rows + self.failed_rows))
                }
                Until::Time(end_ns) if begin_ns < end_ns => share.batch_size,
                Until::Time(_) => 0,
            };
            if rows == 0 {
                return Ok(true);
            }
            if self.progress.is_stopped() {
                return Ok(false);
            }
            let is_done = self.transaction(rows, self.registration).await?;
            let end_ns = self.now_ns();
            if is_done {
                self.record.service_time.record(end_ns - begin_ns);
                self.seconds.borrow_mut().record(end_ns, end_ns - begin_ns);
            }
            begin_ns = end_ns;
            if end_ns - turn_ns > LONGEST_TURN.as_nanos() as u64 {
                yield_now().await;
                begin_ns = self.now_ns();
                turn_ns = begin_ns;
            }
        }
    }

    /// At arrival times that do not wait for the engine; the response time counts from the intended start.
    async fn open_loop(&mut self, share: Share, rate_per_s: f64) -> Result<bool, SessionError> {
        let timer = Timer::new(self.registration)
            .map_err(|error| SessionError::Fatal(format!("could not make a timer: {error}")))?;
        let mut arrivals = Arrivals::new(rate_per_s, share.arrival_seed);
        self.record.response_time = Some(LatencyHistogram::new());
        loop {
            let rows = match share.until {
                Until::Rows(total) => {
                    share.batch_size.min(total.saturating_sub(self.record.rows + self.failed_rows))
                }
                Until::Time(end_ns) if arrivals.next_ns() < end_ns && self.now_ns() < end_ns => {
                    share.batch_size
                }
                Until::Time(end_ns) => {
                    self.record.arrivals_unserved += arrivals.drain_until(end_ns);
                    0
                }
            };
            if rows == 0 {
                return Ok(true);
            }
            if self.progress.is_stopped() {
                return Ok(false);
            }
            let intended_ns = arrivals.next_ns();
            arrivals.advance();
            timer
                .sleep_until(self.barrier + Duration::from_nanos(intended_ns))
                .await
                .map_err(|error| SessionError::Fatal(format!("could not wait on a timer: {error}")))?;
            let begin_ns = self.now_ns();
            if share.latency_limit_ns.is_some_and(|limit_ns| begin_ns > intended_ns + limit_ns) {
                // It would be late before it begins: as with pgbench's --latency-limit it is skipped.
                self.record.arrivals_unserved += 1;
                self.failed_rows += rows;
                self.registration.log_skipped(self.record.client_index, begin_ns - intended_ns);
                yield_now().await;
                continue;
            }
            let registration = self.registration.with_lag(begin_ns.saturating_sub(intended_ns));
            if self.transaction(rows, registration).await? {
                let end_ns = self.now_ns();
                self.record.service_time.record(end_ns - begin_ns);
                if let Some(response_time) = &mut self.record.response_time {
                    response_time.record(end_ns.saturating_sub(intended_ns));
                }
                self.seconds.borrow_mut().record(end_ns, end_ns.saturating_sub(intended_ns));
            }
            yield_now().await;
        }
    }

    /// One call for the whole share.
    async fn loop_on_server(&mut self, share: Share) -> Result<bool, SessionError> {
        let (rows, time) = match share.until {
            Until::Rows(rows) => (Some(rows), None),
            Until::Time(end_ns) => (None, Some(Duration::from_nanos(end_ns))),
        };
        let done = self.session.server_loop(ServerShare { rows, time, batch_size: share.batch_size }).await?;
        self.record.rows += done.rows;
        self.record.transactions += done.transactions;
        self.count_progress(done.rows);
        Ok(true)
    }

    /// One transaction; false when it failed in the end and the client goes on.
    async fn transaction(&mut self, rows: u64, registration: Registration<'_>) -> Result<bool, SessionError> {
        let mut tries = 0;
        loop {
            match self.session.transaction(rows, registration).await {
                Ok(()) => break,
                Err(SessionError::Failed(text)) => {
                    self.failed_rows += rows;
                    self.record.error.get_or_insert(text);
                    return Ok(false);
                }
                Err(SessionError::Retry(_)) if tries < RETRIES_MAX && !self.progress.is_stopped() => {
                    tries += 1;
                    self.record.retries += 1;
                    yield_now().await;
                }
                Err(error) => return Err(error),
            }
        }
        self.record.rows += rows;
        self.record.transactions += 1;
        self.count_progress(rows);
        Ok(true)
    }

    fn fail(&mut self, error: SessionError) {
        self.record.errors += 1;
        self.record.error.get_or_insert_with(|| error.to_string());
    }

    fn count_progress(&self, rows: u64) {
        self.progress.add(self.record.client_index, rows);
    }

    fn now_ns(&self) -> u64 {
        self.barrier.elapsed().as_nanos() as u64
    }
}
