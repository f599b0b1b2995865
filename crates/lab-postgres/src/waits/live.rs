//! A running server of somebody's, looked at live: the waits and waiting tasks of one interval after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::engine::TargetError;
use lab::observe::counted::add_counted;
use lab::observe::live::{LiveServer, LiveView, Way};
use lab::observe::{RunningSampler, Sampler, Window};
use results::model::Metric;

use super::super::address;
use super::super::capabilities::Capabilities;
use super::super::control::Control;
use super::super::counted::COUNTED;
use super::super::counters;
use super::super::wire::Login;
use super::{CONTROL_NAME, Scope, WaitSampler};

/// How often the wish to stop is looked at.
const STOP_PERIOD: Duration = Duration::from_millis(50);

/// A server that is only looked at: nothing is created in it, nothing changed.
#[derive(Debug)]
pub struct LivePostgres {
    login: Login,
    control: Control,
    capabilities: Capabilities,
    way: Way,
}

impl LivePostgres {
    /// Connects to the server of the URL.
    ///
    /// Its waits are read from shared memory when it runs on this machine and this user may, else asked for over SQL;
    /// which one it is, and why, stands in the record of the sampler of each interval.
    ///
    /// # Errors
    /// A URL that is none, or a server that does not let us in. None shows the password.
    pub fn attach(url: &str, way: Way) -> Result<Self, TargetError> {
        let login = address::parse(url, CONTROL_NAME)?;
        let (control, capabilities) = connect(&login)?;
        Ok(Self { login, control, capabilities, way })
    }

    /// Version as the server says it.
    pub fn version(&self) -> &str {
        &self.capabilities.version
    }

    /// Begins an interval, which ends when the caller ends it.
    ///
    /// # Errors
    /// The server cannot be reached, as when it starts again: the next call tries anew.
    pub fn begin(&mut self) -> Result<LiveInterval<'_>, TargetError> {
        if !self.control.is_usable() {
            (self.control, self.capabilities) = connect(&self.login)?;
        }
        let sampler = Box::new(WaitSampler::new(&self.login, Scope::Server, self.way));
        let before = counters::read(&mut self.control, &self.capabilities)?.cumulative;
        let running = sampler.start();
        let began_at = jiff::Timestamp::now().to_string();
        Ok(LiveInterval { server: self, running, before, began: Instant::now(), began_at })
    }
}

impl LiveServer for LivePostgres {
    fn watch(&mut self, interval: Duration, stop: &AtomicBool) -> Result<LiveView, TargetError> {
        let sample = self.begin()?;
        while sample.began.elapsed() < interval && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STOP_PERIOD.min(interval.saturating_sub(sample.began.elapsed())));
        }
        Ok(sample.end())
    }
}

/// An interval under way.
pub struct LiveInterval<'a> {
    server: &'a mut LivePostgres,
    running: Box<dyn RunningSampler>,
    before: Vec<Metric>,
    began: Instant,
    began_at: String,
}

impl LiveInterval<'_> {
    /// Ends the interval and returns what was seen.
    pub fn end(mut self) -> LiveView {
        let window = Window { began: self.began, ended: Instant::now() };
        let _marks = self.running.halt(window);
        let mut observations = self.running.stop(window);
        let server = self.server;
        // A server that went away meanwhile has no counters; what was seen until then is shown.
        if let Ok(after) = counters::read(&mut server.control, &server.capabilities) {
            add_counted(&mut observations, &COUNTED, &differences(&self.before, &after.cumulative));
        }
        LiveView {
            began_at: self.began_at,
            elapsed_s: window.ended.duration_since(window.began).as_secs_f64(),
            version: server.capabilities.version.clone(),
            observations,
        }
    }
}

fn connect(login: &Login) -> Result<(Control, Capabilities), TargetError> {
    let mut control = super::super::external::connecting::connect(login)?;
    control.limit_answers(super::ANSWER_BYTES_MAX);
    let capabilities = Capabilities::probe(&mut control)?;
    Ok((control, capabilities))
}

fn differences(before: &[Metric], after: &[Metric]) -> Vec<Metric> {
    let difference = |metric: &Metric| {
        let earlier = before.iter().find(|earlier| earlier.name == metric.name)?;
        Some(Metric { value: metric.value - earlier.value, ..metric.clone() })
    };
    after.iter().filter_map(difference).collect()
}
