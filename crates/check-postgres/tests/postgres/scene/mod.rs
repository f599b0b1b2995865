//! Clusters made by real servers, and what is done to them.

pub(crate) mod clean;
pub(crate) mod edit;
mod pause;
pub(crate) mod peers;
pub(crate) mod server;
