//! Servers that are made up for the purpose: silent, slow, without end, and not keeping to the protocol.

mod hostile;
mod server;
mod silence;
