//! From an endpoint to a connected socket, on the calling thread or in an event loop.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::time::{Duration, Instant};

use lab::client::Registration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with, sockopt};

use super::endpoint::Endpoint;
use super::transport::{Socket, Transport, wait};

/// A Unix socket whose queue is full is tried again after this time.
const QUEUE_TIME: Duration = Duration::from_millis(10);

/// The addresses of a host, looked up once for all clients of a run.
#[derive(Debug, Default)]
pub(in super::super) struct Addresses(OnceLock<Result<Vec<SocketAddr>, (ErrorKind, String)>>);

impl Addresses {
    fn of(&self, host: &str, port: u16, deadline: Option<Instant>) -> io::Result<Vec<SocketAddr>> {
        let look_up = || resolve(host, port, deadline).map_err(|error| (error.kind(), error.to_string()));
        self.0.get_or_init(look_up).clone().map_err(|(kind, text)| io::Error::new(kind, text))
    }
}

/// Who waits while a connection is made.
#[derive(Clone, Copy)]
pub(super) struct Waiter<'a> {
    deadline: Option<Instant>,
    /// `None` for the calling thread.
    event_loop: Option<(Registration<'a>, &'a Addresses)>,
}

impl<'a> Waiter<'a> {
    /// The calling thread, until `deadline`.
    pub(super) fn thread(deadline: Option<Instant>) -> Self {
        Self { deadline, event_loop: None }
    }

    /// An event loop. It keeps to the deadline itself, but for the name of the host, which is looked up blocking.
    pub(super) fn event_loop(
        registration: Registration<'a>,
        addresses: &'a Addresses,
        deadline: Option<Instant>,
    ) -> Self {
        Self { deadline, event_loop: Some((registration, addresses)) }
    }

    /// When the connection is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Connects; of several addresses the first that takes the connection.
    pub(super) async fn connect(&self, endpoint: &Endpoint) -> io::Result<Transport> {
        let socket = match endpoint {
            Endpoint::Unix { directory, port } => {
                let address = SocketAddrUnix::new(directory.join(format!(".s.PGSQL.{port}")))?;
                Socket::Unix(UnixStream::from(self.connect_to(AddressFamily::UNIX, &address).await?))
            }
            Endpoint::Tcp { host, port } => {
                let addresses = match self.event_loop {
                    Some((_, addresses)) => addresses.of(host, *port, self.deadline)?,
                    None => resolve(host, *port, self.deadline)?,
                };
                let stream = TcpStream::from(self.connect_to_first(&addresses).await?);
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
        };
        match self.event_loop {
            Some(_) => Ok(Transport::watched(socket)),
            None => Transport::polled(socket, self.deadline),
        }
    }

    async fn connect_to_first(&self, addresses: &[SocketAddr]) -> io::Result<OwnedFd> {
        let mut outcome = Err(io::Error::new(ErrorKind::InvalidInput, "could not resolve to any address"));
        for address in addresses {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            outcome = self.connect_to(family, address).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    async fn connect_to(&self, family: AddressFamily, address: &impl SocketAddrArg) -> io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        loop {
            match rustix::net::connect(&socket, address) {
                Ok(()) => {
                    if let Some((registration, _)) = self.event_loop {
                        registration.watch(&socket)?;
                    }
                    return Ok(socket);
                }
                Err(Errno::INPROGRESS | Errno::INTR) => break,
                // The queue of a Unix socket is full.
                Err(Errno::AGAIN) => self.pause().await?,
                Err(error) => return Err(error.into()),
            }
        }
        match self.event_loop {
            None => wait(socket.as_fd(), PollFlags::OUT, self.deadline)?,
            Some((registration, _)) => {
                registration.watch_connecting(&socket)?;
                std::future::poll_fn(|_| match is_writable(&socket) {
                    Ok(false) => Poll::Pending,
                    Ok(true) => Poll::Ready(Ok(())),
                    Err(error) => Poll::Ready(Err(error)),
                })
                .await?;
                registration.watch_answers(&socket)?;
            }
        }
        sockopt::socket_error(&socket)??;
        Ok(socket)
    }

    /// Waits a little.
    async fn pause(&self) -> io::Result<()> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(ErrorKind::TimedOut.into());
        }
        match self.event_loop {
            None => std::thread::sleep(QUEUE_TIME),
            Some((registration, _)) => registration.sleep_until(now + QUEUE_TIME).await,
        }
        Ok(())
    }
}

fn is_writable(socket: &OwnedFd) -> io::Result<bool> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&at_once)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The addresses of a host. A name server that does not answer has a thread of its own, which is not waited for after
/// `deadline`.
fn resolve(host: &str, port: u16, deadline: Option<Instant>) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let host = host.to_owned();
    std::thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The receiver may have given up.
        let _ = sender.send(found);
    })?;
    let outcome = match deadline {
        Some(deadline) => receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    match outcome {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout) => Err(ErrorKind::TimedOut.into()),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the name could not be resolved")),
    }
}
