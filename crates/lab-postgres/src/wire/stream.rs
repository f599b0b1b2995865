//! The bytes below the protocol: a socket, with TLS or without.

use std::io;
use std::time::{Duration, Instant};

use lab::client::Registration;

use super::error::WireError;
use super::tls::{Channel, Client};
use super::transport::Transport;

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
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.channel {
            None => self.socket.write_all(bytes),
            Some(channel) => self.socket.write_all(channel.encrypt(bytes)?),
        }
    }

    /// Is there something to read? Not known with TLS, where it is `false`.
    pub(super) fn is_readable(&self) -> bool {
        self.channel.is_none() && self.socket.is_readable()
    }

    /// Bounds the waits of a connection outside of an event loop; what takes longer is an error of kind `TimedOut`.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.socket.set_deadline(deadline);
    }

    /// Begins the measured part: blocking where the worker has no other client, else woken by its event loop.
    pub(super) fn enter_loop(&mut self, registration: Registration<'_>) -> io::Result<()> {
        self.socket.enter_loop(registration)
    }

    /// Waits, at most `time_max` each, until the server closed its end; what it still says is thrown away.
    pub(super) fn await_end(&mut self, time_max: Duration) {
        let mut scratch = [0; 4096];
        // Bounded: a server that goes on talking is left alone after a few buffers.
        for _ in 0..16 {
            if !matches!(self.socket.read_raw(&mut scratch, time_max), Ok(1..)) {
                return;
            }
        }
    }
}
