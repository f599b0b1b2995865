//! What the user's own SQL may not do: touch other files, or change the pragmas that a run sets and reports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::workload::schema;

/// Pragmas that read, or change what belongs to the user: contents, checks, one connection's behaviour.
const PRAGMAS_ALLOWED: [&str; 44] = [
    "analysis_limit",
    "application_id",
    "automatic_index",
    "busy_timeout",
    "cache_spill",
    "case_sensitive_like",
    "cell_size_check",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "defer_foreign_keys",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "ignore_check_constraints",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "journal_size_limit",
    "legacy_alter_table",
    "module_list",
    "optimize",
    "page_count",
    "pragma_list",
    "query_only",
    "quick_check",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "shrink_memory",
    "table_info",
    "table_list",
    "table_xinfo",
    "temp_store",
    "threads",
    "trusted_schema",
    "user_version",
    "wal_checkpoint",
];

/// Pragmas that may be read; those that a spec sets under `sqlite.*` may be read, too.
const PRAGMAS_READ: [&str; 3] = ["encoding", "max_page_count", "schema_version"];

/// Functions that load code.
const FUNCTIONS_REFUSED: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// Modules of virtual tables that keep everything in the database: these, and those whose names begin so.
const MODULES_ALLOWED: [&str; 5] = ["fts3", "fts4", "fts5", "rtree", "geopoly"];

/// Rule and hint.
const STAYS: &str = "a script stays in the database of its run\n\
                     hint: leave out ATTACH and VACUUM INTO; temporary tables and ATTACH '' are allowed";

/// Why the last statement was refused, for the message: SQLite itself says `not authorized`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusal {
    reason: Arc<Mutex<Option<String>>>,
    has_own_timeout: Arc<AtomicBool>,
}

impl Refusal {
    /// Takes the reason.
    pub(super) fn take(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Did a script set `PRAGMA busy_timeout`?
    pub(super) fn has_own_timeout(&self) -> bool {
        self.has_own_timeout.load(Ordering::Relaxed)
    }

    fn note(&self, reason: String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// Confines a connection to its database: asked when a statement is prepared, never when it is executed.
///
/// # Errors
/// SQLite does not take the authorizer.
pub(crate) fn confine(connection: &mut Connection) -> rusqlite::Result<Refusal> {
    let refusal = Refusal::default();
    let noted = refusal.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Pragma { pragma_name, pragma_value: Some(_) } = context.action
            && pragma_name.eq_ignore_ascii_case("busy_timeout")
        {
            noted.has_own_timeout.store(true, Ordering::Relaxed);
        }
        match refused(&context.action) {
            None => Authorization::Allow,
            Some(reason) => {
                noted.note(reason);
                Authorization::Deny
            }
        }
    }))?;
    Ok(refusal)
}

/// VACUUM INTO attaches its file when it is executed, so that parsing alone would let it pass.
pub(super) fn refused_text(text: &str) -> Option<String> {
    let mut words =
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_vacuum = words.next().is_some_and(|word| word.eq_ignore_ascii_case("vacuum"));
    let is_into = words.take(2).any(|word| word.eq_ignore_ascii_case("into"));
    (is_vacuum && is_into).then(|| format!("cannot write a database with VACUUM INTO: {STAYS}"))
}

/// Why an action is refused, with a hint; `None` where it is not.
fn refused(action: &AuthAction<'_>) -> Option<String> {
    match action {
        // The empty name is a temporary database; VACUUM attaches one.
        AuthAction::Attach { filename: "" | ":memory:" } => None,
        AuthAction::Attach { filename } => {
            Some(format!("cannot attach or write database \"{filename}\": {STAYS}"))
        }
        AuthAction::Pragma { pragma_name, pragma_value } => pragma(pragma_name, *pragma_value),
        AuthAction::Function { function_name }
            if FUNCTIONS_REFUSED.iter().any(|name| function_name.eq_ignore_ascii_case(name)) =>
        {
            Some(format!("cannot call {function_name}: a script loads no code\nhint: leave it out"))
        }
        AuthAction::CreateVtable { module_name, .. } => {
            let module = module_name.to_ascii_lowercase();
            let is_allowed = MODULES_ALLOWED.iter().any(|allowed| module.starts_with(allowed));
            (!is_allowed).then(|| {
                format!(
                    "cannot create a virtual table with module \"{module_name}\": it may read other files\n\
                     hint: use one of {}",
                    MODULES_ALLOWED.join(", ")
                )
            })
        }
        AuthAction::Unknown { code: rusqlite::ffi::SQLITE_ATTACH, .. } => {
            Some(format!("cannot attach or write a database whose name is computed: {STAYS}"))
        }
        AuthAction::Unknown { code, .. } => {
            Some(format!("cannot execute the statement: its action {code} is unknown\nhint: leave it out"))
        }
        _ => None,
    }
}

fn pragma(name: &str, value: Option<&str>) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let is = |names: &[&str]| names.contains(&lower.as_str());
    let is_of_spec = schema::PRAGMAS.iter().any(|(known, _)| *known == lower);
    if is(&PRAGMAS_ALLOWED) || (value.is_none() && (is_of_spec || is(&PRAGMAS_READ))) {
        return None;
    }
    Some(if is_of_spec {
        format!(
            "cannot set pragma {lower} in a script: it is set for all connections of a run\n\
             hint: use the factor or parameter sqlite.{lower}"
        )
    } else {
        format!(
            "cannot execute pragma {lower}: it may change which files are used, or how\n\
             hint: leave it out"
        )
    })
}
