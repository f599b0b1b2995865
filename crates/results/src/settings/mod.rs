//! Which settings of an engine are recorded with their value: a list of those that matter for performance and
//! durability. Of every other one the name alone is recorded, because its value may be a password or a command.

mod postgres;
mod sqlite;

use std::borrow::Cow;

use crate::model::Setting;
use crate::redaction::redacted;

/// Stands in place of a value that is not recorded.
pub const NOT_RECORDED: &str = "(value not recorded)";

/// The setting as it may be recorded: with its value when it is on the list, with [`NOT_RECORDED`] otherwise.
///
/// Names compare without case. Settings of extensions (with a dot) and settings that are on no list lose their value.
pub fn recorded(setting: Setting) -> Setting {
    let value = if is_on_the_list(&setting.name) {
        match redacted(&setting.value) {
            Cow::Borrowed(_) => setting.value,
            Cow::Owned(value) => value,
        }
    } else {
        NOT_RECORDED.to_owned()
    };
    Setting { value, ..setting }
}

/// Is the value of the setting with this name recorded?
pub fn is_on_the_list(name: &str) -> bool {
    postgres::recorded_names().chain(sqlite::RECORDED).any(|known| known.eq_ignore_ascii_case(name))
}

/// Is the name on one of the two lists, with or without its value? A test holds this against every server.
pub fn is_classified(name: &str) -> bool {
    is_on_the_list(name) || postgres::other_names().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn value_of(name: &str, value: &str) -> String {
        let source = "configuration file".to_owned();
        recorded(Setting { name: name.to_owned(), value: value.to_owned(), source }).value
    }

    #[test]
    fn settings_that_matter_keep_their_value_and_others_only_their_name() {
        assert_eq!(value_of("shared_buffers", "64MB"), "64MB");
        assert_eq!(value_of("WAL_LEVEL", "minimal"), "minimal");
        assert_eq!(value_of("journal_mode", "wal"), "wal");
        for name in [
            "primary_conninfo",
            "archive_command",
            "restore_command",
            "archive_cleanup_command",
            "recovery_end_command",
            "ssl_passphrase_command",
            "anon.salt",
            "shared_buffers.x",
            "a_setting_of_the_next_version",
            "",
        ] {
            assert_eq!(value_of(name, "geheim"), NOT_RECORDED, "{name}");
        }
    }

    #[test]
    fn no_name_is_on_both_lists_or_twice_on_one() {
        let mut names: Vec<&str> =
            postgres::recorded_names().chain(postgres::other_names()).chain(sqlite::RECORDED).collect();
        let count = names.len();
        names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
        names.dedup_by_key(|name| name.to_ascii_lowercase());
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_value_that_is_recorded_loses_a_password_all_the_same() {
        assert_eq!(value_of("synchronous_standby_names", "password=geheim"), "password=***");
    }
}
