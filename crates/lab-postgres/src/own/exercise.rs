//! Reads any bytes as what a server answers to the statements of scripts, for fuzzing.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use lab::client::EventLoop;
use lab::own::{OwnWorkload, Part, Plan, Protocol, Runner, SqlText, WeightedScript};
use lab::work::Work;

use super::session::OwnConnecting;
use super::state::ScriptState;
use super::statements::ScriptConnection;
use crate::ENGINE;
use crate::wire::{complete, made_up_connection};

/// The most bytes that are sent: what a socket takes without a reader.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Transactions on one connection.
const TRANSACTIONS_MAX: usize = 3;
/// What the client executes: values that are stored, a pipeline, a transaction; the pipeline not with protocol simple.
const STATEMENTS: &str = "SELECT 1 AS a, 2 AS b \\gset\nSELECT :a \\; SELECT :b;\n";
const PIPELINE: &str = "SELECT 1 AS a \\gset\n\\startpipeline\nSELECT 1;\nSELECT :a;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\n\
                        BEGIN;\nUPDATE t SET a = :a;\nEND;\n";

/// Has a made-up server answer the statements of a script with these bytes; the first byte chooses the protocol. Nothing may
/// panic, hang or grow; what comes back does not matter.
///
/// The body of a fuzz target. Does nothing where there is no socket.
pub fn exercise_scripts(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    let bytes = bytes.get(..ANSWER_BYTES_MAX).unwrap_or(bytes);
    if theirs.write_all(bytes).and_then(|()| theirs.shutdown(std::net::Shutdown::Write)).is_err() {
        return;
    }
    let (protocol, text) = match choice % 3 {
        0 => (Protocol::Simple, STATEMENTS),
        1 => (Protocol::Extended, PIPELINE),
        _ => (Protocol::Prepared, PIPELINE),
    };
    let sql = SqlText { file: "any.sql".to_owned(), text: text.to_owned() };
    let scripts = vec![WeightedScript { sql, weight: 1 }];
    let own = OwnWorkload { scripts, protocol, max_tries: 2, scale: 1, ..OwnWorkload::default() };
    let Ok(Some(plan)) = Plan::new(&own, Part::Scripts, ENGINE.id, &Work::example()) else { return };
    let (plan, Ok(event_loop)) = (Arc::new(plan), EventLoop::new()) else { return };
    let registration = event_loop.registration(0, 1);
    let Ok(mut runner) = Runner::new(Arc::clone(&plan), 0, registration) else { return };
    let Some(mut connection) = made_up_connection(ours) else { return };
    let mut state = ScriptState::new(Arc::clone(&plan), OwnConnecting::first_commands(&plan));
    for _ in 0..TRANSACTIONS_MAX {
        let mut script = ScriptConnection { connection: &mut connection, state: &mut state };
        if complete(runner.transaction(&mut script, registration)).is_err() && connection.is_broken() {
            return;
        }
    }
}
