//! Statements of scripts as messages, written behind each other into one buffer that is used again and again.

use script::{Statement, Variables};

/// A statement as text with its values: a simple query.
pub(super) fn query(statement: &Statement, variables: &Variables, out: &mut Vec<u8>) {
    message(b'Q', out, |out| {
        statement.write(variables, out);
        out.push(0);
    });
}

/// Has the server parse a statement with its parameters numbered; their types are left to the server.
pub(super) fn parse(name: Name, statement: &Statement, out: &mut Vec<u8>) {
    message(b'P', out, |out| {
        name.write(out);
        out.extend_from_slice(statement.numbered().as_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    });
}

/// Binds the values of a parsed statement as text; an undefined variable is NULL.
pub(super) fn bind(name: Name, statement: &Statement, variables: &Variables, out: &mut Vec<u8>) {
    message(b'B', out, |out| {
        out.push(0);
        name.write(out);
        let parameters = statement.parameters();
        // No formats: all are text. A statement has at most 255 parameters.
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        for slot in parameters {
            let at = out.len();
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            if variables.write(*slot, out) {
                let length = (out.len() - at - 4) as u32;
                patch(out, at, length);
            }
        }
        out.extend_from_slice(&[0, 0]);
    });
}

/// Asks for the names of the columns of the bound statement.
pub(super) fn describe(out: &mut Vec<u8>) {
    out.extend_from_slice(b"D\0\0\0\x06P\0");
}

/// Executes the bound statement, all of its rows.
pub(super) fn execute(out: &mut Vec<u8>) {
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

/// Forgets a prepared statement; one that is not there is no error.
pub(super) fn close(name: Name, out: &mut Vec<u8>) {
    message(b'C', out, |out| {
        out.push(b'S');
        name.write(out);
    });
}

/// Ends a series of messages: after an error the server passes over all before it.
pub(super) fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// Has the server send the answers that it has.
pub(super) fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"H\0\0\0\x04");
}

/// Refuses to send the rows that a COPY FROM STDIN waits for.
pub(super) fn copy_fail(out: &mut Vec<u8>) {
    message(b'f', out, |out| out.extend_from_slice(b"scripts have no rows to copy\0"));
}

/// Name of a prepared statement: those of a script's commands differ.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// The unnamed statement.
    None,
    /// Of this command.
    Command {
        /// Index of the script.
        script: usize,
        /// Index of the command in it.
        command: usize,
    },
}

impl Name {
    fn write(self, out: &mut Vec<u8>) {
        if let Self::Command { script, command } = self {
            out.push(b's');
            digits(script, out);
            out.push(b'_');
            digits(command, out);
        }
        out.push(0);
    }
}

fn digits(number: usize, out: &mut Vec<u8>) {
    let at = out.len();
    let mut left = number;
    loop {
        out.push(b'0' + (left % 10) as u8);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if let Some(written) = out.get_mut(at..) {
        written.reverse();
    }
}

/// Writes a message: its kind, its length, its body.
fn message(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    // What exceeds the bound of a message is refused before it is sent.
    let length = (out.len() - at) as u32;
    patch(out, at, length);
}

fn patch(out: &mut [u8], at: usize, number: u32) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_prepared_statements_are_decimal_and_end_with_a_zero_byte() {
        let mut out = Vec::new();
        Name::Command { script: 0, command: 1203 }.write(&mut out);
        Name::None.write(&mut out);
        assert_eq!(out, b"s0_1203\0\0");
    }

    #[test]
    fn a_message_counts_its_length_and_its_body() {
        let mut out = Vec::new();
        sync(&mut out);
        copy_fail(&mut out);
        close(Name::Command { script: 1, command: 0 }, &mut out);
        let lengths: Vec<usize> = std::iter::successors(Some(0), |&at| {
            let length = u32::from_be_bytes(out.get(at + 1..at + 5)?.try_into().ok()?);
            Some(at + 1 + length as usize)
        })
        .collect();
        assert_eq!(lengths, [0, 5, 39, 50]);
        assert_eq!(out.len(), 50);
    }
}
