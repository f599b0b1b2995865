//! Tells somebody who went away: when a study finishes, fails, or stands still.
//!
//! A notification that does not get through is a warning; it never ends a study.

use std::process::Stdio;
use std::time::Duration;

use lab::child::LastSignal;

use crate::arguments::NotifyArguments;

/// A receiver that takes longer than this is given up.
const DELIVERY_TIME_MAX: Duration = Duration::from_secs(10);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// All runs are done.
    Finished,
    /// The study could not go on.
    Failed,
    /// Nothing has moved for the given time.
    NoProgress,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::NoProgress => "no_progress",
        }
    }
}

/// Where notifications go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifier {
    command: Option<String>,
    webhook: Option<String>,
}

impl Notifier {
    pub(crate) fn new(arguments: &NotifyArguments) -> Self {
        Self { command: arguments.notify_command.clone(), webhook: arguments.notify_webhook.clone() }
    }

    /// Tells all receivers; blocks until they have it or gave up.
    pub(crate) fn tell(&self, event: Event, experiment: &str, message: &str) {
        if let Some(command) = &self.command
            && let Err(reason) = run_command(command, event, experiment, message)
        {
            tracing::warn!("could not notify by command: {reason}");
        }
        if let Some(url) = &self.webhook
            && let Err(reason) = post(url, event, experiment, message)
        {
            // The URL may carry a token: it stays out of the message.
            tracing::warn!("could not notify by webhook: {reason}");
        }
    }
}

fn run_command(command: &str, event: Event, experiment: &str, message: &str) -> Result<(), String> {
    let mut child = lab::child::command("sh", LastSignal::Kill)
        .args(["-c", command])
        .env("FATHOM_EVENT", event.word())
        .env("FATHOM_EXPERIMENT", experiment)
        .env("FATHOM_MESSAGE", message)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = std::time::Instant::now() + DELIVERY_TIME_MAX;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("it ended with {status}")),
            None if std::time::Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it took longer than {} s", DELIVERY_TIME_MAX.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn post(url: &str, event: Event, experiment: &str, message: &str) -> Result<(), String> {
    let agent = ureq::Agent::config_builder().timeout_global(Some(DELIVERY_TIME_MAX)).build().new_agent();
    let body = serde_json::json!({
        "event": event.word(),
        "experiment": experiment,
        "message": message,
        "text": format!("fathom: {experiment}: {message}"),
    });
    match agent.post(url).header("content-type", "application/json").send(body.to_string()) {
        Ok(_) => Ok(()),
        Err(ureq::Error::StatusCode(code)) => Err(format!("the receiver answered with status {code}")),
        Err(ureq::Error::Timeout(_)) => Err(format!("no answer within {} s", DELIVERY_TIME_MAX.as_secs())),
        Err(ureq::Error::BadUri(_)) => Err("the URL cannot be posted to".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
