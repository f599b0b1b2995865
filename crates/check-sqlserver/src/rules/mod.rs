//! The rules about SQL Server files: the source of `explain` and of the documentation.

mod files;
mod pages;
mod rows;

use formats::sqlserver::Fault;

use results::engine::EngineId;

use check::rule::{Rule, RuleSet};

pub(crate) use crate::rules::files::*;
pub(crate) use crate::rules::pages::*;
pub(crate) use crate::rules::rows::*;

/// All rules about SQL Server files.
pub static RULES: RuleSet = RuleSet {
    engine: EngineId::Sqlserver,
    page_word: "page",
    slot_word: "slot",
    rebuild: "ALTER INDEX ... REBUILD",
    messages_word: "DBCC",
    tables: &[files::TABLE, pages::TABLE, rows::TABLE],
    is_of_one_database: |_| false,
    explains: |_, _| true,
};

/// The rule of a fault that the page views see.
pub(super) fn of(fault: Fault) -> &'static Rule {
    match fault {
        Fault::Checksum => &PAGE_CHECKSUM,
        Fault::TornSector => &PAGE_TORN,
        Fault::SlotOffset => &SLOT,
        Fault::RecordKind
        | Fault::FixedLength
        | Fault::ColumnCount
        | Fault::VariableOffset
        | Fault::RecordEnd => &RECORD_BOUNDS,
        Fault::RecordOverlap => &RECORD_OVERLAP,
        Fault::FreeCount => &FREE_COUNT,
        Fault::GhostCount => &GHOST_COUNT,
        Fault::LobRecord => &LOB_RECORD,
        Fault::MapRecord => &MAP_PAGE,
        _ => &PAGE_HEADER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(rule: &str) -> Option<&'static str> {
        RULES.get(rule)?.messages
    }

    #[test]
    fn numbers_of_messages_stand_beside_their_rule() {
        assert_eq!(messages("mssql-row-without-entry"), Some("8951"));
        assert_eq!(messages("mssql-page-id"), Some("8909"));
        assert_eq!(messages("mssql-file-header"), None);
        assert_eq!(messages("pg-page-id"), None);
    }
}
