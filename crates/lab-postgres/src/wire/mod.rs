//! The client side of the PostgreSQL protocol (version 3), for a loop that must cost little CPU.
//!
//! One round trip is one write, one wait and one read: requests are encoded once and sent as they stand, answers
//! are parsed in place in one reused buffer, and nothing is allocated unless the server reports an error. A driver
//! made for applications spends more on its queue and its row types than the exchange itself.
//!
//! Everything that the server sends is untrusted: lengths are bounded, and a message that does not fit the protocol
//! ends the connection with an error that says so.

mod answer;
mod answer_reader;
mod blocking;
mod command_tag;
mod connecting;
mod connection;
mod endpoint;
mod error;
mod exercise;
mod login;
mod security;
mod startup;
mod stream;
#[cfg(test)]
mod tests;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod transport;
mod trust;

pub(super) use answer::{ServerError, column_names, server_error, text_row};
pub(super) use answer_reader::{ANSWER_BYTES_MAX, QUESTION_TIME_MAX, Rows};
pub(super) use blocking::complete;
pub(super) use command_tag::CommandTag;
pub(super) use connecting::Addresses;
pub(super) use connection::{Connection, Message, TransactionState};
pub(super) use endpoint::Endpoint;
pub(super) use error::{INVALID_PASSWORD, WireError};
pub(super) use exercise::made_up_connection;
pub use exercise::{exercise_answers, exercise_startup};
pub(super) use login::{CONNECT_TIME_DEFAULT, Login, Secret};
pub(super) use security::Security;
pub(super) use trust::{Authorities, SslMode};
