//! `fathom serve`: the pages of a results directory over HTTP, for reading only, fresh while an experiment runs.
//!
//! There is nothing to write to and no path of the file system in any address: an index, the pages of studies, checks,
//! baselines, structures, comparisons and histories, and how far a study is. It listens on the loopback address unless told otherwise, and elsewhere only with a token.

mod access;
mod http;
mod index;
mod listener;
mod percent;
mod places;
mod progress;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, bail};
use results::store::{Store, StoredStudy, StudyId};

use access::Access;
use http::{Request, Response};
use index::Lines;
use progress::Progress;

use crate::arguments::ServeArguments;
use crate::cli::study::{Form, Source};
use crate::cli::terminal::{print, say, told};
use crate::cli::{baselines, stored, stored_checks};
use crate::commands::{compare, history};
use crate::exit_status::ExitStatus;

/// Seconds after which an index with a running study is read again.
const REFRESH_S: u32 = 15;

/// Shortest token: short ones can be tried out.
const TOKEN_CHARS_MIN: usize = 16;

pub(crate) fn run(arguments: &ServeArguments) -> anyhow::Result<ExitStatus> {
    let directory = &arguments.results.results;
    // What cannot be read is said before anybody is invited.
    Store::open_read_only(directory)?;
    let listener = listen(arguments)?;
    let address = listener.local_addr().context("could not read the listening address")?;
    let access = Access::new(arguments.token.clone(), arguments.host.clone(), address);
    print(&format!("http://{address}/{}\n", if arguments.token.is_some() { "?token=TOKEN" } else { "" }))?;
    if !address.ip().is_loopback() {
        say("warning: HTTP is not encrypted: pages and token can be read on the network");
        say("hint: listen on 127.0.0.1 and use ssh -L, or put a proxy with TLS in front of it (--host NAME)");
    }
    say("serving read-only; press Ctrl-C to stop");
    let directory = directory.clone();
    let lines = Lines::default();
    listener::run(&listener, move |request| respond(request, &access, &directory, &lines))
}

fn listen(arguments: &ServeArguments) -> anyhow::Result<TcpListener> {
    let address: SocketAddr = arguments.listen.parse().with_context(|| {
        format!(
            "\"{}\" is not an address with a port\nhint: write 127.0.0.1:8474 or [::1]:8474",
            arguments.listen
        )
    })?;
    match &arguments.token {
        None if !address.ip().is_loopback() => bail!(
            "{} is reachable from other machines and has no token\nhint: give --token (or FATHOM_TOKEN) with at least {TOKEN_CHARS_MIN} characters, or listen on 127.0.0.1 and use ssh -L",
            address.ip()
        ),
        Some(token) if token.chars().count() < TOKEN_CHARS_MIN => {
            bail!(
                "the token has fewer than {TOKEN_CHARS_MIN} characters\nhint: openssl rand -hex 16 makes one"
            )
        }
        _ => {}
    }
    TcpListener::bind(address).with_context(|| format!("could not listen on {address}"))
}

/// The answer to a request.
fn respond(request: &Request, access: &Access, directory: &Path, lines: &Lines) -> Response {
    access.refusal(request).unwrap_or_else(|| {
        let response = answer(request, directory, lines).unwrap_or_else(|error| {
            say(&format!("{}: {}", report::plain::one_line(&request.path), told(&error)));
            Response::text(500, "the results could not be read; the server's standard error says why\n")
        });
        access.remembered(request, response)
    })
}

/// A page by the address, or that there is none.
fn answer(request: &Request, directory: &Path, lines: &Lines) -> anyhow::Result<Response> {
    let parts: Vec<&str> = request.path.split('/').filter(|part| !part.is_empty()).collect();
    let store = Store::open_read_only(directory)?;
    let page = match parts.as_slice() {
        [] => {
            let page = lines.page(&store)?;
            let mut response = Response::html(page.html);
            if page.is_running {
                response.headers.push(format!("Refresh: {REFRESH_S}"));
            }
            return Ok(response);
        }
        ["study", number, "state"] => return state(&store, number),
        ["study", number] => match known_study(&store, number)? {
            Some(study) => Some(Source::read(&store, study.id)?.render(Form::Html, true)),
            None => None,
        },
        ["check", number] => match number.parse() {
            Ok(number) if store.checks()?.iter().any(|check| check.id == number) => {
                Some(report::html::check(&stored_checks::of_place(&store, number)?))
            }
            _ => None,
        },
        ["io", number] => {
            let wanted: Option<i64> = number.parse().ok();
            let mut tables = store.io_tables()?.into_iter();
            let found = tables.find(|stored| Some(stored.id.0) == wanted);
            found.map(|stored| report::html::baseline_page(&baselines::stored(stored)))
        }
        ["structure", number] => {
            let wanted: Option<i64> = number.parse().ok();
            let structures = store.structures()?;
            let found = structures.iter().find(|stored| Some(stored.id) == wanted);
            found.map(report::html::structure_page)
        }
        ["compare", baseline, candidate] => {
            match (known_study(&store, baseline)?, known_study(&store, candidate)?) {
                (Some(baseline), Some(candidate)) => compare::page(&store, baseline.id, candidate.id)?,
                _ => None,
            }
        }
        ["history", number] => match known_study(&store, number)? {
            Some(study) => history::page(&store, &study.study.experiment)?,
            None => None,
        },
        _ => None,
    };
    let linked = page.map(|page| report::html::with_index_link(&page));
    Ok(linked.map_or_else(|| Response::text(404, "page not found\n"), Response::html))
}

/// How far a study is, for its open page.
fn state(store: &Store, number: &str) -> anyhow::Result<Response> {
    let Some(study) = known_study(store, number)? else {
        return Ok(Response::text(404, "page not found\n"));
    };
    let results = stored::results(store, study.id)?;
    let progress = Progress::of(&results, store.has_writer(), jiff::Timestamp::now());
    Ok(Response::json(progress.json(&results)))
}

/// The study with a number, where there is one.
fn known_study(store: &Store, number: &str) -> anyhow::Result<Option<StoredStudy>> {
    let wanted = number.parse().ok().map(StudyId);
    Ok(store.studies()?.into_iter().find(|stored| Some(stored.id) == wanted))
}
