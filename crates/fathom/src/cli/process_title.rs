//! The command line as other users of the machine see it: without passwords and tokens.
//!
//! Any user may read the arguments of any process. Where one of them holds a secret, fathom starts itself again under
//! the same process id, with the secret hidden in the arguments. The arguments as typed go along in the environment,
//! which only the same user may read, as with `PGPASSWORD`. For some milliseconds, until then, the secret is visible.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use results::redaction::{HIDDEN, redacted};

/// Variable with the arguments as typed: hexadecimal digits, a zero byte behind each argument.
const VARIABLE: &str = "FATHOM_ARGUMENTS";

/// Options whose value is a secret as a whole.
const SECRET_OPTIONS: [&str; 2] = ["--token", "--notify-webhook"];

/// The arguments as typed. Where they hold a secret, this starts fathom again and returns in the new process.
pub(crate) fn arguments() -> Vec<OsString> {
    let shown: Vec<OsString> = std::env::args_os().collect();
    if let Some(typed) = std::env::var_os(VARIABLE).and_then(|value| decoded(value.as_bytes()))
        && hidden(&typed) == shown
    {
        return typed;
    }
    let hidden = hidden(&shown);
    if hidden == shown {
        return shown;
    }
    let mut command = Command::new("/proc/self/exe");
    if let Some((name, arguments)) = hidden.split_first() {
        command.arg0(name).args(arguments);
    }
    // Returns only when it could not be done (no /proc): the arguments then stay visible, and all else works.
    let error = command.env(VARIABLE, encoded(&shown)).exec();
    crate::cli::terminal::say(&format!(
        "warning: the password stays visible in the list of processes: {error}"
    ));
    shown
}

/// The arguments without what is secret in them.
fn hidden(arguments: &[OsString]) -> Vec<OsString> {
    let mut is_secret = false;
    let mut hide = |argument: &OsString| {
        if std::mem::take(&mut is_secret) {
            return OsString::from(HIDDEN);
        }
        let Some(text) = argument.to_str() else { return argument.clone() };
        is_secret = SECRET_OPTIONS.contains(&text);
        match text.split_once('=').filter(|(option, _)| SECRET_OPTIONS.contains(option)) {
            Some((option, _)) => OsString::from(format!("{option}={HIDDEN}")),
            None => OsString::from(redacted(text).as_ref()),
        }
    };
    arguments.iter().map(&mut hide).collect()
}

fn encoded(arguments: &[OsString]) -> String {
    let bytes = arguments.iter().flat_map(|argument| argument.as_bytes().iter().chain([&0]));
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn decoded(text: &[u8]) -> Option<Vec<OsString>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes: Vec<u8> = text
        .chunks(2)
        .map(|pair| Some((digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?) as u8))
        .collect::<Option<_>>()?;
    let arguments = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
    Some(arguments.map(|argument| OsStr::from_bytes(argument).to_owned()).collect::<Vec<OsString>>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn arguments_come_back_byte_by_byte_and_secrets_are_hidden() {
        let typed: Vec<OsString> =
            ["fathom", "", "-t", "postgres://u:geheim@h", "--token", "geheim", "--token=geheim"]
                .iter()
                .map(OsString::from)
                .chain([OsString::from_vec(vec![b'a', 0xff])])
                .collect();
        assert_eq!(decoded(encoded(&typed).as_bytes()).unwrap(), typed);
        let shown = ["fathom", "", "-t", "postgres://u:***@h", "--token", "***", "--token=***"];
        assert_eq!(hidden(&typed)[..7], shown.map(OsString::from));
        assert_eq!(hidden(&typed)[7], typed[7]);
        for text in ["", "0", "zz", "61"] {
            assert!(decoded(text.as_bytes()).is_none(), "{text}");
        }
    }
}
