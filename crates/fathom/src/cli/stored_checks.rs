//! Checks in the results directory: stored after each check, shown again.

use std::fmt::Write;
use std::path::{Path, PathBuf, absolute};

use results::check::CheckReport;
use results::redaction::redacted;
use results::store::{Store, StoredCheck};

use super::stored::{self, seconds};
use super::terminal::{fitted, say};
use crate::engines;

/// Stores a check that ended. What prevents that is said, and changes neither the answer nor the exit status: the
/// check itself is done. Returns its number.
pub(crate) fn store(report: &CheckReport, target: &Path, directory: &Path) -> Option<i64> {
    let place = place(target);
    let stored = if is_within(directory, target) {
        Err("it is inside the checked directory, where nothing is written".to_owned())
    } else {
        let now = jiff::Timestamp::now().to_string();
        stored::writable(directory)
            .and_then(|mut store| store.add_check(report, &place, &now, env!("CARGO_PKG_VERSION")))
            .map_err(|error| error.to_string())
    };
    match &stored {
        Ok(id) => say(&format!("stored as check {id} in \"{}\"", directory.display())),
        Err(reason) => say(&format!("the check is not stored in \"{}\": {reason}", directory.display())),
    }
    stored.ok()
}

/// The page of a check: beside the others of the same place where it was stored, else by itself.
pub(crate) fn page(
    report: &CheckReport,
    target: &Path,
    number: Option<i64>,
    directory: &Path,
) -> anyhow::Result<String> {
    if let Some(number) = number {
        return Ok(report::html::check(&of_place(&Store::open_read_only(directory)?, number)?));
    }
    let alone = StoredCheck {
        id: 0,
        stored_at: jiff::Timestamp::now().to_string(),
        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
        place: place(target),
        report: report.clone(),
        read_ceiling_bytes_per_s: None,
    };
    Ok(report::html::check(&[alone]))
}

/// A check and behind it the others of the same place, for its page.
pub(crate) fn of_place(store: &Store, wanted: i64) -> anyhow::Result<Vec<StoredCheck>> {
    let check = store.check(wanted)?;
    let mut checks = store.checks()?;
    checks.retain(|other| other.place == check.place && other.id != check.id);
    checks.insert(0, check);
    Ok(checks)
}

/// Everything that a stored check said, as text.
pub(crate) fn detail(check: &StoredCheck) -> String {
    let mut text = format!(
        "check {} of {}, stored {}Z by fathom {}\n\n{}",
        check.id,
        report::plain::one_line(&check.place),
        seconds(&check.stored_at),
        check.fathom_version,
        fitted(&report::findings::text_of(&check.report, engines::rules().of(&check.report), usize::MAX))
    );
    // Writing to a String cannot fail.
    let _ = match (check.share_of_ceiling(), check.bytes_per_s()) {
        (Some(share), Some(rate)) => writeln!(
            text,
            "pages passed at {:.0} MB/s, {:.0} % of a plain read (the newest check at level read)",
            rate / 1e6,
            100.0 * share
        ),
        _ => writeln!(
            text,
            "share of the read rate unknown: no check at level read of the same files is stored"
        ),
    };
    text
}

/// What was checked under a name that is the same from every working directory; a URL without its password.
pub(crate) fn place(target: &Path) -> String {
    if let Some((scheme, rest)) = target.to_str().and_then(|target| target.split_once("://")) {
        let (host, user) = match rest.rsplit_once('@') {
            Some((user, host)) => (host, user.split(':').next().unwrap_or_default()),
            None => (rest, ""),
        };
        let host = host.split('?').next().unwrap_or_default();
        let at = if user.is_empty() { "" } else { "@" };
        return redacted(&format!("{scheme}://{user}{at}{host}")).into_owned();
    }
    redacted(&resolved(target).to_string_lossy()).into_owned()
}

/// Is the directory within the target of a check?
pub(crate) fn is_within(directory: &Path, target: &Path) -> bool {
    target.is_dir() && resolved(directory).starts_with(resolved(target))
}

/// The path with all links followed as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing {
        Some((above, real)) if above != path => real.join(path.strip_prefix(above).unwrap_or(above)),
        Some((_, real)) => real,
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::place;

    #[test]
    fn no_password_is_part_of_a_place() {
        assert_eq!(
            place(Path::new("postgres://u:se:c@ret@host:5432/db?password=x")),
            "postgres://u@host:5432/db"
        );
        assert_eq!(place(Path::new("postgres://host/db")), "postgres://host/db");
    }
}
