//! One connection's TLS, the same on the control side and in an event loop: it takes and gives bytes and leaves all
//! waiting to the socket.
//!
//! Problem: bytes may have been received and not yet asked for, decrypted or not, while the socket stays silent: who
//! waited for the socket then would wait for ever. Solution: `read` asks what is decrypted first, what is received
//! second, the socket last.

use std::io::{self, Read, Write};
use std::ops::Range;

use rustls::ClientConnection;

use super::super::error::WireError;
use super::super::transport::Transport;
use super::Client;

/// Bytes taken from the socket at a time: a short answer fits, and a full record (16 KiB) takes five reads.
const RECEIVED_BYTES: usize = 4096;

/// The state of one connection's TLS.
pub(in super::super) struct Channel {
    session: ClientConnection,
    /// What came from the socket; `pending` is the part not yet decrypted.
    received: Box<[u8]>,
    pending: Range<usize>,
    /// What goes to the socket next, reused.
    sealed: Vec<u8>,
}

impl Channel {
    /// Shakes hands.
    pub(in super::super) async fn open(client: &Client, socket: &mut Transport) -> Result<Self, WireError> {
        let explain = |error: &rustls::Error| WireError::Tls(client.explain(error));
        let session = client.connect().map_err(|error| explain(&error))?;
        let received = vec![0; RECEIVED_BYTES].into_boxed_slice();
        let mut channel = Self { session, received, pending: 0..0, sealed: Vec::new() };
        while channel.session.is_handshaking() {
            channel.flush(socket).map_err(WireError::Io)?;
            if !channel.receive(socket).await.map_err(WireError::Io)? {
                return Err(WireError::Tls(client.broken_off()));
            }
            if let Err(error) = channel.decrypt() {
                // Tells the server why; that it does not hear it changes nothing.
                let _ = channel.flush(socket);
                return Err(match error.downcast::<rustls::Error>() {
                    Ok(error) => explain(&error),
                    Err(error) => WireError::Io(error),
                });
            }
        }
        channel.flush(socket).map_err(WireError::Io)?;
        Ok(channel)
    }

    /// Reads decrypted bytes, waiting only if there are none. Zero is the end.
    #[inline]
    pub(in super::super) async fn read(
        &mut self,
        socket: &mut Transport,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if !self.receive(socket).await? {
                return Ok(0);
            }
            self.decrypt()?;
            // The answer to a change of keys.
            if self.session.wants_write() {
                self.flush(socket)?;
            }
        }
    }

    /// Encrypts bytes; what comes back goes to the socket as it is.
    #[inline]
    pub(in super::super) fn encrypt(&mut self, mut bytes: &[u8]) -> io::Result<&[u8]> {
        self.sealed.clear();
        loop {
            let taken = self.session.writer().write(bytes)?;
            bytes = bytes.get(taken..).unwrap_or_default();
            while self.session.wants_write() {
                self.session.write_tls(&mut self.sealed)?;
            }
            if bytes.is_empty() {
                return Ok(&self.sealed);
            }
            if taken == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
    }

    /// Version and suite, as `TLSv1_3 TLS13_AES_256_GCM_SHA384`.
    pub(in super::super) fn description(&self) -> String {
        let version = self.session.protocol_version().map(|version| format!("{version:?}"));
        let suite = self.session.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
        version.into_iter().chain(suite).collect::<Vec<_>>().join(" ")
    }

    /// Sees to it that there is something to decrypt; false at the end.
    #[inline]
    async fn receive(&mut self, socket: &mut Transport) -> io::Result<bool> {
        if self.pending.is_empty() {
            self.pending = 0..socket.read(&mut self.received).await?;
        }
        Ok(!self.pending.is_empty())
    }

    /// Decrypts some of what was received. An error of TLS is a [`rustls::Error`] inside.
    ///
    /// Called only when everything decrypted before was taken, so that what waits is bounded by what is received at
    /// a time and the record that it completes.
    #[inline]
    fn decrypt(&mut self) -> io::Result<()> {
        let mut bytes = self.received.get(self.pending.clone()).unwrap_or_default();
        let taken = self.session.read_tls(&mut bytes)?;
        // Nothing is taken after the server said that nothing follows.
        self.pending.start = if taken == 0 { self.pending.end } else { self.pending.start + taken };
        self.session
            .process_new_packets()
            .map(drop)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn flush(&mut self, socket: &mut Transport) -> io::Result<()> {
        while self.session.wants_write() {
            self.sealed.clear();
            self.session.write_tls(&mut self.sealed)?;
            socket.write_all(&self.sealed)?;
        }
        Ok(())
    }
}
