//! Stands in for `tls` in a build without it: there is nothing to make a client or a channel from.

use std::io;

use super::error::WireError;
use super::transport::Transport;
use super::trust::{Authorities, TlsRefusal};

/// Never made.
#[derive(Clone, Debug)]
pub(super) enum Client {}

impl Client {
    /// Says that there is none.
    pub(super) fn new(_: &str, _: &Authorities, _: bool) -> Result<Self, TlsRefusal> {
        Err(TlsRefusal::new(
            "this build of fathom has no TLS (feature \"tls\")",
            "use a build with TLS, or connect without it: sslmode=disable",
        ))
    }
}

/// Never made.
pub(super) enum Channel {}

impl Channel {
    pub(super) async fn open(client: &Client, _: &mut Transport) -> Result<Self, WireError> {
        match *client {}
    }

    pub(super) async fn read(&mut self, _: &mut Transport, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn encrypt(&mut self, _: &[u8]) -> io::Result<&[u8]> {
        match *self {}
    }

    pub(super) fn description(&self) -> String {
        match *self {}
    }
}
