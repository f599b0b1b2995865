//! Connections and their limits: many may be open at the same time, few are answered, and none is waited for.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::http::{self, Request, Response};

/// Connections that are open at the same time; more are told so with status 503. Each takes a few kilobytes until its
/// request is whole.
const CONNECTIONS_MAX: usize = 512;

/// Connections beyond these that are told so at the same time.
const REFUSALS_MAX: usize = 256;

/// Requests that are answered at the same time, each by a thread of its own and with a page in memory.
const ANSWERS_MAX: usize = 8;

/// Time from the connection to the end of the request's head, and for a place among those that are answered.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// Time for a client to take its whole answer: 8 MiB at 2.2 Mbit/s.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// Time, and bytes, in which a client may end what it sends after its answer was sent: closed before, the connection
/// would be reset, and the answer lost on the way.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(1);
const FAREWELL_BYTES_MAX: usize = 64 * 1024;

/// Answers until the process ends.
pub(super) fn run(
    listener: StdListener,
    respond: impl Fn(&Request) -> Response + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(ANSWERS_MAX)
        .build()
        .context("could not listen")?;
    listener.set_nonblocking(true).context("could not listen")?;
    runtime.block_on(listen(listener, Arc::new(respond)))
}

async fn listen(
    listener: StdListener,
    respond: Arc<impl Fn(&Request) -> Response + Send + Sync + 'static>,
) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener).context("could not listen")?;
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let answers = Arc::new(Semaphore::new(ANSWERS_MAX));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many open files, or a client that went away: others come.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        match Arc::clone(&connections).try_acquire_owned() {
            Ok(place) => {
                let (answers, respond) = (Arc::clone(&answers), Arc::clone(&respond));
                tokio::spawn(async move {
                    serve(stream, &answers, respond, place).await;
                });
            }
            // Without reading the request; beyond these places without a word.
            Err(_) => {
                if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        send(stream, &Response::busy()).await;
                        drop(place);
                    });
                }
            }
        }
    }
}

/// One request, one answer; whatever goes wrong with the line ends it.
async fn serve(
    mut stream: TcpStream,
    answers: &Arc<Semaphore>,
    respond: Arc<impl Fn(&Request) -> Response + Send + Sync + 'static>,
    _place: OwnedSemaphorePermit,
) {
    let response = match timeout(HEAD_TIME_MAX, http::read(&mut stream)).await {
        Err(_) => Response::text(408, "the request header took too long\n"),
        Ok(Err(response)) => response,
        Ok(Ok(request)) => match timeout(HEAD_TIME_MAX, Arc::clone(answers).acquire_owned()).await {
            Ok(Ok(place)) => {
                let answer = tokio::task::spawn_blocking(move || respond(&request)).await;
                drop(place);
                answer.unwrap_or_else(|_| Response::text(500, "the page could not be created\n"))
            }
            _ => Response::busy(),
        },
    };
    send(stream, &response).await;
}

/// Sends an answer and closes. The reader may be gone, or too slow; that is its right.
async fn send(mut stream: TcpStream, response: &Response) {
    let sent = timeout(ANSWER_TIME_MAX, stream.write_all(&http::bytes(response))).await;
    if matches!(sent, Ok(Ok(()))) {
        let _ = timeout(FAREWELL_TIME_MAX, part(&mut stream)).await;
    }
}

/// Says that nothing more comes, and takes in what the client still sends.
async fn part(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.shutdown().await?;
    let mut scratch = [0; 4096];
    for _ in 0..FAREWELL_BYTES_MAX / scratch.len() {
        if stream.read(&mut scratch).await? == 0 {
            break;
        }
    }
    Ok(())
}
