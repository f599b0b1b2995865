//! Connections and their limits: many may be open at the same time, few are answered, and none is waited for.
//!
//! A connection is a thread with a small stack, blocked until bytes come or its time is over.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::http::{self, Request, Response};
use super::places::{Place, Places};

/// Connections that are open at the same time; more are told so with status 503. Each takes a few kilobytes until its
/// request is whole.
const CONNECTIONS_MAX: usize = 512;

/// Connections beyond these that are told so at the same time.
const REFUSALS_MAX: usize = 256;

/// Requests that are answered at the same time, each by a thread of its own and with a page in memory.
const ANSWERS_MAX: usize = 8;

/// Stack of a thread that reads a request and sends its answer; answers are made on one of the usual size.
const CONNECTION_STACK_BYTES: usize = 256 * 1024;

/// Time from the connection to the end of the request's head, and for a place among those that are answered.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// Time for a client to take its whole answer: 8 MiB at 2.2 Mbit/s.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// Time, and bytes, in which a client may end what it sends after its answer was sent: closed before, the connection
/// would be reset, and the answer lost on the way.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);
const CLOSE_BYTES_MAX: usize = 64 * 1024;

/// Time after a connection that could not be accepted: too many open files, or a client that went away.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers until the process ends.
pub(super) fn run(
    listener: &TcpListener,
    respond: impl Fn(&Request) -> Response + Send + Sync + 'static,
) -> ! {
    let respond = Arc::new(respond);
    let connections = Places::new(CONNECTIONS_MAX);
    let refusals = Places::new(REFUSALS_MAX);
    let answers = Places::new(ANSWERS_MAX);
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if let Some(place) = connections.take() {
            let (answers, respond) = (Arc::clone(&answers), Arc::clone(&respond));
            spawn(place, move || serve(&stream, &answers, &respond));
        } else if let Some(place) = refusals.take() {
            // Without reading the request; beyond these places without a word.
            spawn(place, move || send(&stream, &Response::busy()));
        }
    }
}

/// Does the work of a connection; where no thread is to be had, the connection is closed.
fn spawn(place: Place, work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(CONNECTION_STACK_BYTES);
    let _ = thread.spawn(move || {
        work();
        drop(place);
    });
}

/// One request, one answer; whatever goes wrong with the line ends it.
fn serve<F: Fn(&Request) -> Response + Send + Sync + 'static>(
    stream: &TcpStream,
    answers: &Arc<Places>,
    respond: &Arc<F>,
) {
    let response = match http::read(&mut Timed::new(stream, HEAD_TIME_MAX)) {
        Err(response) => response,
        Ok(request) => match answers.wait(HEAD_TIME_MAX) {
            Some(place) => {
                let respond = Arc::clone(respond);
                let made = thread::Builder::new().spawn(move || respond(&request));
                let response = made.ok().and_then(|made| made.join().ok());
                drop(place);
                response.unwrap_or_else(|| Response::text(500, "the page could not be created\n"))
            }
            None => Response::busy(),
        },
    };
    send(stream, &response);
}

/// Sends an answer and closes. The reader may be gone, or too slow; that is its right.
fn send(stream: &TcpStream, response: &Response) {
    if Timed::new(stream, ANSWER_TIME_MAX).write_all(&http::bytes(response)).is_ok() {
        let _ = close(stream);
    }
}

/// Says that nothing more comes, and takes in what the client still sends.
fn close(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let mut rest = Timed::new(stream, CLOSE_TIME_MAX);
    let mut scratch = [0; 4096];
    for _ in 0..CLOSE_BYTES_MAX / scratch.len() {
        if rest.read(&mut scratch)? == 0 {
            break;
        }
    }
    Ok(())
}

/// A connection whose transfers end by a deadline, all together.
struct Timed<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a TcpStream, time: Duration) -> Self {
        Self { stream, deadline: Instant::now() + time }
    }

    /// What is left of the time; never zero, which sockets take for no limit.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
