//! A connected socket, and how its owner waits for it.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::task::Poll;
use std::time::{Duration, Instant};

use lab::client::Registration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A connected socket.
pub(super) struct Transport {
    socket: Socket,
    waiting: Waiting,
    /// Of [`Waiting::Poll`].
    deadline: Option<Instant>,
    /// Was the socket found empty? Then the next read waits for an event before it asks the kernel.
    waits_first: bool,
}

/// How a read waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// In poll(2), until the deadline: the control side.
    Poll,
    /// In read(2): the measured part of the only client of a worker.
    Block,
    /// In the event loop of its worker.
    Event,
}

/// An enum so that the loop has no dynamic dispatch.
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Transport {
    /// A socket whose reads block the thread until `deadline`.
    pub(super) fn polled(socket: Socket, deadline: Option<Instant>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, waiting: Waiting::Poll, deadline, waits_first: false })
    }

    /// A socket that an event loop watches.
    pub(super) fn watched(socket: Socket) -> Self {
        Self { socket, waiting: Waiting::Event, deadline: None, waits_first: false }
    }

    /// When a wait ends with an error of kind `TimedOut`; not of a watched socket.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Lets the only client of a worker block from here on.
    pub(super) fn enter_loop(&mut self, registration: Registration<'_>) -> io::Result<()> {
        if self.waiting == Waiting::Event && registration.is_alone() {
            registration.forget(self.socket.as_fd())?;
            self.socket.set_nonblocking(false)?;
            (self.waiting, self.waits_first) = (Waiting::Block, false);
        }
        Ok(())
    }

    /// Reads what is there, waiting if nothing is. The common case has no read that finds nothing: after a read
    /// that did not fill the buffer the next one waits for an event first.
    #[inline]
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.waiting == Waiting::Poll {
            return self.read_polling(buffer);
        }
        poll_fn(|_| {
            // The socket stays registered: whatever is there, or its end, wakes this client.
            if std::mem::take(&mut self.waits_first) {
                return Poll::Pending;
            }
            loop {
                match self.socket.read(buffer) {
                    Ok(read_bytes) => {
                        self.waits_first = self.waiting == Waiting::Event && read_bytes < buffer.len();
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

    /// Writes all bytes. Requests are far smaller than a socket's buffer: that it is full is rare enough to block for.
    #[inline]
    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written_bytes) => bytes = bytes.get(written_bytes..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(self.socket.as_fd(), PollFlags::OUT, self.deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Is there something to read?
    pub(super) fn is_readable(&self) -> bool {
        wait(self.socket.as_fd(), PollFlags::IN, Some(Instant::now())).is_ok()
    }

    /// Reads bytes below TLS, waiting at most `time_max`.
    pub(super) fn read_raw(&mut self, buffer: &mut [u8], time_max: Duration) -> io::Result<usize> {
        wait(self.socket.as_fd(), PollFlags::IN, Instant::now().checked_add(time_max))?;
        self.socket.read(buffer)
    }

    fn read_polling(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Before each read: a server that sends a byte now and then must not hold the thread.
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(self.socket.as_fd(), PollFlags::IN, self.deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}

impl Socket {
    pub(super) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
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

/// Waits until the descriptor is ready, through signals.
///
/// # Errors
/// Of kind `TimedOut` when `deadline` passes first.
pub(super) fn wait(
    descriptor: BorrowedFd<'_>,
    flags: PollFlags,
    deadline: Option<Instant>,
) -> io::Result<()> {
    loop {
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = time
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) });
        match poll(&mut [PollFd::from_borrowed_fd(descriptor, flags)], timeout.as_ref()) {
            Ok(0) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
