//! `fathom serve`: the pages of a results directory over HTTP, for reading only, fresh while an experiment runs.
//!
//! There is nothing to write to and no path of the file system in any address: a list of studies, checks and structures, the
//! page of each, and how far a study is. It listens on the loopback address unless told otherwise, and elsewhere only with a token.

mod access;
mod http;
mod listener;
mod percent;
mod places;
mod progress;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, bail};
use report::html::Index;
use results::store::{Store, StoredStructure, StudyId};

use access::Access;
use http::{Request, Response};

use crate::arguments::ServeArguments;
use crate::cli::study::{Form, Source};
use crate::cli::terminal::{print, say, told};
use crate::cli::{stored, stored_checks};
use crate::exit_status::ExitStatus;

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
    listener::run(&listener, move |request| respond(request, &access, &directory))
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
fn respond(request: &Request, access: &Access, directory: &Path) -> Response {
    access.refusal(request).unwrap_or_else(|| {
        let response = answer(request, directory).unwrap_or_else(|error| {
            say(&format!("{}: {}", report::plain::plain(&request.path), told(&error)));
            Response::text(500, "the results could not be read; the server's standard error says why\n")
        });
        access.remembered(request, response)
    })
}

/// Structures that belong to no run: those of runs are on the page of their study.
fn alone(store: &Store) -> anyhow::Result<Vec<StoredStructure>> {
    let mut structures = store.structures()?;
    structures.retain(|stored| stored.run_id.is_none());
    Ok(structures)
}

fn answer(request: &Request, directory: &Path) -> anyhow::Result<Response> {
    let not_found = || Ok(Response::text(404, "page not found\n"));
    let parts: Vec<&str> = request.path.split('/').filter(|part| !part.is_empty()).collect();
    let store = Store::open_read_only(directory)?;
    match parts.as_slice() {
        [] => {
            let (studies, checks, structures) = (store.studies()?, store.checks()?, alone(&store)?);
            let index = Index { studies: &studies, checks: &checks, structures: &structures };
            Ok(Response::html(report::html::list(&index)))
        }
        ["check", number] => match number.parse() {
            Ok(number) if store.checks()?.iter().any(|check| check.id == number) => {
                Ok(Response::html(report::html::check(&stored_checks::of_place(&store, number)?)))
            }
            _ => not_found(),
        },
        ["structure", number] => {
            let structures = alone(&store)?;
            let wanted: Option<i64> = number.parse().ok();
            match structures.iter().find(|stored| Some(stored.id) == wanted) {
                Some(stored) => Ok(Response::html(report::html::structure_page(stored))),
                None => not_found(),
            }
        }
        ["study", number, rest @ ..] => {
            let studies = store.studies()?;
            let wanted = number.parse().ok().map(StudyId);
            let Some(study) = studies.iter().find(|stored| Some(stored.id) == wanted) else {
                return not_found();
            };
            match rest {
                [] => Ok(Response::html(Source::read(&store, study.id)?.render(Form::Html, true))),
                ["state"] => {
                    let results = stored::results(&store, study.id)?;
                    Ok(Response::json(progress::state(&results, store.has_writer(), jiff::Timestamp::now())))
                }
                _ => not_found(),
            }
        }
        _ => not_found(),
    }
}
