//! The engines of this program: the only list.

use lab::engine::{Engine, engine_of_address};
use results::EngineId;

/// Engines of the laboratory, in the order in which messages and listings name them.
pub(crate) static ENGINES: [&Engine; 3] =
    [&lab::engine::sqlite::ENGINE, &lab::engine::postgres::ENGINE, &lab::engine::noop::ENGINE];

/// The engine that a user names, or whose URL this is.
pub(crate) fn target(text: &str) -> Option<&'static Engine> {
    let is_meant = |engine: &&&'static Engine| {
        engine.has_url(text) || EngineId::typed(text).is_some_and(|id| id == engine.id)
    };
    ENGINES.iter().find(is_meant).copied()
}

/// The engine whose server has this address.
pub(crate) fn of_address(address: &str) -> Option<&'static Engine> {
    engine_of_address(&ENGINES, address)
}

/// Is this the URL of a server of one of the engines?
pub(crate) fn is_url(text: &str) -> bool {
    ENGINES.iter().any(|engine| engine.has_url(text))
}

/// An address as messages show it.
pub(crate) fn url_example() -> String {
    ENGINES.iter().find_map(|engine| engine.url_example()).unwrap_or_default()
}

/// What `--target` takes, for a hint: `sqlite, postgres, noop or a URL such as postgres://user@host/database`.
pub(crate) fn target_words() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.id.name()).collect();
    format!("{} or a URL such as {}", names.join(", "), url_example())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_engine_that_a_spec_may_name() {
        let mut listed: Vec<EngineId> = ENGINES.iter().map(|engine| engine.id).collect();
        listed.sort_unstable();
        assert_eq!(listed, EngineId::targets().collect::<Vec<_>>());
    }

    #[test]
    fn a_target_is_named_by_its_id_an_alias_or_a_url() {
        let id = |text: &str| target(text).map(|engine| engine.id);
        assert_eq!(id("noop"), Some(EngineId::Noop));
        for text in ["postgres", "postgresql", "postgres://me@host/db", "postgresql://"] {
            assert_eq!(id(text), Some(EngineId::Postgres), "{text}");
        }
        for text in ["", "sqlserver", "postgres:", "sqlite://x", "mysql://x"] {
            assert_eq!(id(text), None, "{text}");
        }
    }
}
