//! The bytes below the protocol: a Unix socket or TCP.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket; an enum so that the loop has no dynamic dispatch.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Reads what is there, waiting if nothing is. After a read that did not fill the buffer tokio waits for the
    /// next event first, so the common case has no read that finds nothing.
    #[inline]
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer).await,
            Self::Tcp(stream) => stream.read(buffer).await,
        }
    }

    /// Writes all bytes.
    #[inline]
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes).await,
            Self::Tcp(stream) => stream.write_all(bytes).await,
        }
    }
}
