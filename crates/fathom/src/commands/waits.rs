//! `fathom waits`: what the sessions of a running server wait for, interval after interval.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use lab::observe::live::{LiveView, Way};

use report::plain::plain;

use crate::arguments::WaitsArguments;
use crate::cli::quantities::time_above_zero;
use crate::cli::stopping::{self, Ending};
use crate::cli::terminal::{form, print, print_json, say, told};
use crate::exit_status::ExitStatus;

/// How often the flag that ends fathom is read.
const STOP_PERIOD: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &WaitsArguments) -> anyhow::Result<ExitStatus> {
    let interval = time_above_zero("--interval", &arguments.interval)?;
    let way = if arguments.sql { Way::Sql } else { Way::Best };
    let stop = stopping::on_signals(Ending::Leaves)?;
    let attach = crate::engines::of_address(&arguments.url)
        .and_then(|driver| driver.attach)
        .context("no engine has waits of a running server to watch")?;
    let mut server = attach(&arguments.url, way)?;
    loop {
        match server.watch(interval, &stop) {
            Ok(view) if arguments.json => print_json(&format!("{}\n", serde_json::to_string(&view)?))?,
            Ok(view) => print(&text_of(&view))?,
            Err(error) if arguments.once => return Err(error.into()),
            // A server that starts again is worth waiting for.
            Err(error) => {
                say(&told(&error.into()));
                pause(interval, &stop);
            }
        }
        if arguments.once || stop.load(Ordering::Relaxed) {
            return Ok(ExitStatus::Clean);
        }
    }
}

/// Lets an interval pass, or less when fathom is to end.
fn pause(interval: Duration, stop: &AtomicBool) {
    let began = Instant::now();
    while began.elapsed() < interval && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STOP_PERIOD.min(interval));
    }
}

/// One interval: a headline and the tables.
fn text_of(view: &LiveView) -> String {
    format!(
        "{}, {:.1} s, {}\n\n{}\n",
        view.began_at,
        view.elapsed_s,
        plain(&view.version),
        form(None).waits(&view.observations)
    )
}
