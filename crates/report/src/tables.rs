//! Which sections and grids show a summary; text and Markdown lay the same ones out.

pub(crate) mod ceilings;
pub(crate) mod comparisons;
pub(crate) mod corrections;
pub(crate) mod effects;
pub(crate) mod latencies;
mod levels;
pub(crate) mod metrics;
pub(crate) mod outcome;
mod record;
mod run;
pub(crate) mod scripts;

pub(crate) use record::{record_sections, rest_of_record};
pub(crate) use run::run_sections;

use crate::number::ABSENT;

/// Writes a value or, when it is absent, a dash.
pub(crate) fn or_dash<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), write)
}

/// Writes a stored moment to the second; text of another shape stays as it is.
pub(crate) fn moment(at: &str) -> String {
    match (at.split_once('.'), at.strip_suffix('Z')) {
        (Some((seconds, fraction)), Some(_))
            if fraction.trim_end_matches('Z').bytes().all(|b| b.is_ascii_digit()) =>
        {
            format!("{seconds}Z")
        }
        _ => at.to_owned(),
    }
}

/// The last part of a path; a URL, or a path that ends in a slash, as a whole.
pub(crate) fn file_name(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() && !path.contains("://") => name,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{file_name, moment};

    #[test]
    fn a_path_is_named_by_its_end_and_a_url_by_all_of_it() {
        let names = ["/a/b.db", "b.db", "/data/", "postgres://u@h/db"].map(file_name);
        assert_eq!(names, ["b.db", "b.db", "/data/", "postgres://u@h/db"]);
    }

    #[test]
    fn moments_are_written_to_the_second() {
        assert_eq!(moment("2026-11-20T12:09:34.104736874Z"), "2026-11-20T12:09:34Z");
        assert_eq!(moment("2026-11-20T12:09:34Z"), "2026-11-20T12:09:34Z");
        assert_eq!(moment("on a Friday. Z"), "on a Friday. Z");
    }
}
