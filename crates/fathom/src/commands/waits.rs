//! `fathom waits`: what the sessions of a running server wait for, interval after interval.

use std::sync::atomic::Ordering;

use lab::observe::live::{LiveServer, LiveView, Way};

use crate::Verdict;
use crate::arguments::WaitsArguments;
use crate::quantities::time_of;
use crate::terminal::{print, say, stop_on_signals};

pub(crate) fn run(arguments: &WaitsArguments) -> anyhow::Result<Verdict> {
    let interval = time_of("--interval", &arguments.interval)?;
    anyhow::ensure!(!interval.is_zero(), "--interval takes a time above 0");
    let way = if arguments.sql { Way::Sql } else { Way::Best };
    let stop = stop_on_signals()?;
    let mut server = LiveServer::attach(&arguments.url, way)?;
    loop {
        match server.watch(interval, &stop) {
            Ok(view) => print(&text_of(&view, arguments.json)?)?,
            Err(error) if arguments.once => return Err(error.into()),
            // A server that starts again is worth waiting for.
            Err(error) => say(&error.to_string()),
        }
        if arguments.once || stop.load(Ordering::Relaxed) {
            return Ok(Verdict::Clean);
        }
    }
}

/// One interval: a line of JSON, or a headline and the tables.
fn text_of(view: &LiveView, as_json: bool) -> anyhow::Result<String> {
    if as_json {
        return Ok(format!("{}\n", serde_json::to_string(view)?));
    }
    Ok(format!(
        "{}, {:.1} s, {}\n\n{}\n",
        view.began_at,
        view.elapsed_s,
        view.version,
        report::text::waits(&view.observations)
    ))
}
