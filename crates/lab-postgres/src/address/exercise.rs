//! One function that reads any text as a connection string, a service file and a password file, for fuzzing.

use std::path::PathBuf;

use super::super::wire::Endpoint;
use super::{login, passfile, service};

/// Between the texts.
const SEPARATOR: char = '\0';

/// Reads a connection string, a service file, a password file and the environment, each after a zero byte. Nothing may
/// panic, hang or grow; what comes back does not matter.
///
/// The body of the fuzz target. Reads no file but those that the texts name by an absolute path, and none below /proc.
pub fn exercise_address(text: &str) {
    let mut texts = text.split(SEPARATOR);
    let [url, service_file, password_file, variables] =
        std::array::from_fn(|_| texts.next().unwrap_or_default());
    let _group = service::group(service_file, "a");
    let tcp = Endpoint::Tcp { host: "localhost".to_owned(), port: 5432 };
    let unix = Endpoint::Unix { directory: PathBuf::from("/tmp"), port: 5432 };
    for endpoint in [&tcp, &unix] {
        let connection = passfile::Connection { host: None, endpoint, database: "a:b", user: r"a\b" };
        let _password = passfile::matching(password_file, &connection);
    }
    let environment = |name: &str| {
        let found =
            variables.lines().filter_map(|line| line.split_once('=')).find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_owned())
    };
    if !text.contains("/proc") {
        let _login = login(url, "fathom", &environment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_kind_are_read_or_refused() {
        for url in [
            "",
            "postgres://a:b@[::1]:1/c?d=e",
            "host=/tmp user='a b' password=\\",
            "x",
            "%",
            "postgresql://%zz@",
        ] {
            for file in ["", "[a]\nhost=b\n", "*:*:*:*:p", "\\"] {
                exercise_address(&[url, file, file, "PGPORT=1\nPGSSLMODE=x\n"].join("\0"));
            }
        }
    }
}
