//! The bytes below the protocol: a Unix socket or TCP, first on a runtime, then at a worker's own loop, with TLS or
//! without.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::task::Poll;
use std::time::Duration;

use lab::client::Seat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::WireError;
use super::tls::{Channel, Client};

/// A connected socket, and the TLS on it.
pub(super) struct Stream {
    socket: Transport,
    channel: Option<Box<Channel>>,
}

impl Stream {
    /// Without TLS.
    pub(super) fn new(socket: Transport) -> Self {
        Self { socket, channel: None }
    }

    /// Shakes hands; from here on everything goes through TLS.
    pub(super) async fn encrypt(&mut self, client: &Client) -> Result<(), WireError> {
        assert!(self.channel.is_none(), "TLS begins once");
        self.channel = Some(Box::new(Channel::open(client, &mut self.socket).await?));
        Ok(())
    }

    /// Version and suite of TLS, where there is any.
    pub(super) fn encryption(&self) -> Option<String> {
        self.channel.as_ref().map(|channel| channel.description())
    }

    /// Reads what is there, waiting if nothing is. Zero is the end.
    #[inline]
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.channel {
            None => self.socket.read(buffer).await,
            Some(channel) => channel.read(&mut self.socket, buffer).await,
        }
    }

    /// Writes all bytes.
    #[inline]
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.channel {
            None => self.socket.write_all(bytes).await,
            Some(channel) => self.socket.write_all(channel.encrypt(bytes)?).await,
        }
    }

    /// Leaves the runtime for the worker's loop: blocking where the worker has no other client, else woken by it.
    pub(super) fn settle(&mut self, seat: Seat<'_>) -> io::Result<()> {
        self.socket.settle(seat)
    }

    /// Writes all bytes, blocking. Only for a settled socket.
    pub(super) fn write_blocking(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.channel {
            None => self.socket.write_blocking(bytes),
            Some(channel) => self.socket.write_blocking(channel.encrypt(bytes)?),
        }
    }

    /// Waits, at most `time_max` each, until the server closed its end; what it still says is thrown away. Only for
    /// a settled socket.
    pub(super) fn await_end(&mut self, time_max: Duration) {
        let mut scratch = [0; 4096];
        // Bounded: a server that goes on talking is left alone after a few buffers.
        for _ in 0..16 {
            if !matches!(self.socket.read_blocking(&mut scratch, time_max), Ok(1..)) {
                return;
            }
        }
    }
}

/// A connected socket; an enum so that the loop has no dynamic dispatch.
pub(super) enum Transport {
    /// On a runtime: start-up and control.
    Unix(UnixStream),
    /// On a runtime: start-up and control.
    Tcp(TcpStream),
    /// At a worker's loop: the measured part.
    Settled(Settled),
    /// On the way from one to the other, and after an error on that way.
    Gone,
}

impl Transport {
    /// Reads what is there, waiting if nothing is. The common case has no read that finds nothing: after a read
    /// that did not fill the buffer the next one waits for an event first.
    #[inline]
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Settled(socket) => socket.read(buffer).await,
            Self::Unix(stream) => stream.read(buffer).await,
            Self::Tcp(stream) => stream.read(buffer).await,
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes all bytes.
    #[inline]
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Settled(socket) => socket.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes).await,
            Self::Tcp(stream) => stream.write_all(bytes).await,
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn settle(&mut self, seat: Seat<'_>) -> io::Result<()> {
        let socket = match std::mem::replace(self, Self::Gone) {
            Self::Unix(stream) => Socket::Unix(stream.into_std()?),
            Self::Tcp(stream) => Socket::Tcp(stream.into_std()?),
            other => {
                *self = other;
                return Ok(());
            }
        };
        socket.set_nonblocking(!seat.is_alone())?;
        if !seat.is_alone() {
            seat.watch(socket.as_fd())?;
        }
        *self = Self::Settled(Settled { socket, is_blocking: seat.is_alone(), waits_first: false });
        Ok(())
    }

    fn write_blocking(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Settled(socket) => socket.write_all(bytes),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn read_blocking(&mut self, buffer: &mut [u8], time_max: Duration) -> io::Result<usize> {
        let Self::Settled(socket) = self else { return Err(io::ErrorKind::NotConnected.into()) };
        if !ready(socket.socket.as_fd(), PollFlags::IN, Some(time_max))? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.socket.read(buffer)
    }
}

/// A socket at a worker's loop.
pub(super) struct Settled {
    socket: Socket,
    is_blocking: bool,
    /// Was the socket found empty? Then the next read waits for an event before it asks the kernel.
    waits_first: bool,
}

enum Socket {
    Unix(StdUnixStream),
    Tcp(std::net::TcpStream),
}

impl Socket {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(nonblocking),
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }

    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

impl Settled {
    #[inline]
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|_| {
            // The socket stays registered: whatever is there, or its end, wakes this client.
            if std::mem::take(&mut self.waits_first) {
                return Poll::Pending;
            }
            loop {
                match self.socket.read(buffer) {
                    Ok(read_bytes) => {
                        self.waits_first = !self.is_blocking && read_bytes < buffer.len();
                        return Poll::Ready(Ok(read_bytes));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        })
        .await
    }

    /// Requests are far smaller than a socket's buffer: that it is full is rare enough to block for.
    #[inline]
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written_bytes) => bytes = bytes.get(written_bytes..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready(self.socket.as_fd(), PollFlags::OUT, None)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Waits until the socket is ready; false when `time_max` passed first.
fn ready(socket: BorrowedFd<'_>, flags: PollFlags, time_max: Option<Duration>) -> io::Result<bool> {
    let timeout = time_max
        .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) });
    Ok(poll(&mut [PollFd::from_borrowed_fd(socket, flags)], timeout.as_ref())? > 0)
}
