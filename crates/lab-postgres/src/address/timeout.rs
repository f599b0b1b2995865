//! How long connecting may take: `connect_timeout`, else `PGCONNECT_TIMEOUT`, else a default of our own.

use std::time::Duration;

use lab::engine::TargetError;

use super::super::wire::CONNECT_TIME_DEFAULT;
use super::refusal::refused;

/// Time for the whole start-up of a connection; `None` is without end.
///
/// # Errors
/// A value that is no whole number of seconds. That of the URL is not quoted, as it may be a piece of a password.
// EVIDENCE: PostgreSQL documentation, "Parameter Key Words", connect_timeout: seconds; zero or negative waits indefinitely
pub(super) fn connecting(
    said: Option<String>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Duration>, TargetError> {
    let (text, is_of_url) = match (said, environment("PGCONNECT_TIMEOUT")) {
        (Some(text), _) => (text, true),
        (None, Some(text)) => (text, false),
        (None, None) => return Ok(Some(CONNECT_TIME_DEFAULT)),
    };
    match text.trim().parse::<i32>() {
        Ok(seconds) => {
            Ok(u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs))
        }
        Err(_) if is_of_url => Err(refused("its connect_timeout is no whole number of seconds")),
        Err(_) => Err(TargetError::refused(
            format!("PGCONNECT_TIMEOUT=\"{text}\" is no whole number of seconds"),
            "write a number such as 10, or 0 for no limit",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_url_comes_before_the_environment_and_neither_means_ten_seconds() {
        let of = |said: Option<&str>, variable: Option<&str>| {
            let environment = |_: &str| variable.map(str::to_owned);
            connecting(said.map(str::to_owned), &environment)
        };
        assert_eq!(of(None, None).unwrap(), Some(Duration::from_secs(10)));
        assert_eq!(of(None, Some("3")).unwrap(), Some(Duration::from_secs(3)));
        assert_eq!(of(Some("5"), Some("3")).unwrap(), Some(Duration::from_secs(5)));
        assert_eq!(of(Some("0"), None).unwrap(), None);
        assert_eq!(of(Some("-1"), None).unwrap(), None);
        for text in ["", "x", "1.5", "99999999999", "5s"] {
            let of_url = of(Some(text), None).unwrap_err().to_string();
            assert!(
                of_url.contains("connect_timeout") && (text.is_empty() || !of_url.contains(text)),
                "{of_url}"
            );
            assert!(of(None, Some(text)).unwrap_err().to_string().contains("PGCONNECT_TIMEOUT"));
        }
    }
}
