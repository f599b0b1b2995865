//! The database that fathom makes on somebody else's server, and the mark that says so.
//!
//! As long as a fathom lives it holds a connection to its database; a marked database without any connection is
//! what a crashed run left, and is dropped at the next start.

use lab::engine::TargetError;

use crate::control::{Control, identifier, literal};
use crate::wire::Login;

/// Comment on a database in use; what begins with [`MARK`] may be dropped by a later fathom.
pub(crate) const MARK: &str = "made by fathom";

/// Comment on a database that was kept on purpose.
pub(crate) const KEPT_MARK: &str = "kept by fathom";

/// Comment on a database that belongs to another one of ours; behind it stands the name of that one.
const PART_MARK: &str = "belongs to the database of fathom: ";

/// Comment on a database that belongs to `owner`, which is dropped before `owner` is.
pub(crate) fn part_mark(owner: &str) -> String {
    format!("{PART_MARK}{owner}")
}

/// Databases of crashed runs that are dropped at one start.
const LEFTOVERS_MAX: usize = 100;

fn comment_of(maintenance: &mut Control, name: &str) -> Result<Option<Option<String>>, TargetError> {
    let sql = format!(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = {}",
        literal(name)
    );
    let rows = maintenance.rows(&format!("could not look for database \"{name}\""), &sql)?;
    Ok(rows.into_iter().next().map(|row| row.into_iter().next().flatten()))
}

/// Makes the name free: refuses a database that is not marked or is in use, drops a marked one that is not in use.
pub(crate) fn make_way(maintenance: &mut Control, name: &str) -> Result<(), TargetError> {
    match comment_of(maintenance, name)? {
        None => Ok(()),
        Some(Some(comment)) if comment.starts_with(MARK) => {
            let in_use = |reason: String| {
                TargetError::refused(
                    format!("cannot use database \"{name}\": another fathom works in it{reason}"),
                    "wait for it to end, or name another database",
                )
            };
            // Asked first: the server would wait five seconds for the others to leave before it refuses.
            let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = {}", literal(name));
            if maintenance.probe(&sessions).is_some_and(|count| count != "0") {
                return Err(in_use(String::new()));
            }
            let sql = format!("DROP DATABASE {}", identifier(name));
            maintenance.work(&sql).map(drop).map_err(|error| in_use(format!(" ({error})")))
        }
        Some(_) => Err(TargetError::refused(
            format!("cannot use database \"{name}\": it exists and was not made by fathom"),
            "name a database that does not exist; fathom makes and drops its own",
        )),
    }
}

pub(crate) fn create_database(
    maintenance: &mut Control,
    login: &Login,
    name: &str,
) -> Result<(), TargetError> {
    maintenance.work(&format!("CREATE DATABASE {}", identifier(name))).map(drop).map_err(|error| {
        if error.code() == Some("42501") {
            TargetError::refused(
                format!("user \"{}\" may not create a database at {}", login.user, login.endpoint),
                format!("let an administrator run: ALTER ROLE {} CREATEDB", identifier(&login.user)),
            )
        } else {
            TargetError::engine(format!("could not create database \"{name}\" at {}", login.endpoint), error)
        }
    })
}

pub(crate) fn set_comment(control: &mut Control, name: &str, text: &str) -> Result<(), TargetError> {
    control
        .rows(
            &format!("could not mark database \"{name}\""),
            &format!("COMMENT ON DATABASE {} IS {}", identifier(name), literal(text)),
        )
        .map(drop)
}

/// Drops a database of ours with the sessions in it, where it is there.
///
/// # Errors
/// The server refuses it.
pub(crate) fn drop_database(control: &mut Control, name: &str) -> Result<(), TargetError> {
    let drop = format!("DROP DATABASE IF EXISTS {}", identifier(name));
    // FORCE ends sessions in our own database only: clients of a run that failed.
    let outcome = control.work(&format!("{drop} WITH (FORCE)")).or_else(|_| control.work(&drop));
    let context = || format!("could not drop our database \"{name}\"");
    outcome.map(std::mem::drop).map_err(|error| TargetError::engine(context(), error))
}

/// Drops all databases that belong to `owner`. What cannot be dropped is left and logged.
pub(crate) fn drop_parts(maintenance: &mut Control, owner: &str) {
    let sql = format!(
        "SELECT datname FROM pg_database WHERE shobj_description(oid, 'pg_database') = {}",
        literal(&part_mark(owner))
    );
    let rows = maintenance.query(&sql).unwrap_or_default();
    for name in rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        if let Err(error) = drop_database(maintenance, &name) {
            tracing::warn!(database = name, %error, "could not drop a database of ours");
        }
    }
    let sql = format!(
        "SELECT rolname FROM pg_roles WHERE shobj_description(oid, 'pg_authid') = {}",
        literal(&part_mark(owner))
    );
    let rows = maintenance.query(&sql).unwrap_or_default();
    for name in rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        drop_role(maintenance, &name);
    }
}

/// Drops a role of ours whose databases were dropped before.
pub(crate) fn drop_role(maintenance: &mut Control, name: &str) {
    if let Err(error) = maintenance.query(&format!("DROP ROLE IF EXISTS {}", identifier(name))) {
        tracing::warn!(role = name, %error, "could not drop a role of ours");
    }
}

/// Drops marked databases without sessions, and those that belong to them. What cannot be dropped is left and logged.
pub(crate) fn drop_leftovers(maintenance: &mut Control) {
    let sql = format!(
        "SELECT datname FROM pg_database AS d WHERE shobj_description(oid, 'pg_database') LIKE '{MARK}%' \
         AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.datname = d.datname) LIMIT {LEFTOVERS_MAX}"
    );
    let Ok(rows) = maintenance.query(&sql) else {
        return;
    };
    drop_orphans(maintenance);
    for name in rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        // Without FORCE: should somebody have connected since, the server refuses.
        match maintenance.work(&format!("DROP DATABASE {}", identifier(&name))) {
            Ok(_) => tracing::info!(database = name, "dropped what a crashed run left"),
            Err(error) => tracing::warn!(database = name, %error, "could not drop what a crashed run left"),
        }
    }
}

/// Drops databases that belong to one without sessions, or to one that is not there any more.
fn drop_orphans(maintenance: &mut Control) {
    let sql = format!(
        "SELECT datname FROM pg_database AS d WHERE shobj_description(oid, 'pg_database') LIKE '{PART_MARK}%' \
         AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.datname = d.datname \
         OR a.datname = substr(shobj_description(d.oid, 'pg_database'), {})) LIMIT {LEFTOVERS_MAX}",
        PART_MARK.len() + 1
    );
    let rows = maintenance.query(&sql).unwrap_or_default();
    for name in rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        match maintenance.work(&format!("DROP DATABASE {}", identifier(&name))) {
            Ok(_) => tracing::info!(database = name, "dropped what a crashed run left"),
            Err(error) => tracing::warn!(database = name, %error, "could not drop what a crashed run left"),
        }
    }
    let sql = format!(
        "SELECT rolname FROM pg_roles AS r WHERE shobj_description(oid, 'pg_authid') LIKE '{PART_MARK}%' \
         AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a \
         WHERE a.datname = substr(shobj_description(r.oid, 'pg_authid'), {})) LIMIT {LEFTOVERS_MAX}",
        PART_MARK.len() + 1
    );
    let rows = maintenance.query(&sql).unwrap_or_default();
    for name in rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        drop_role(maintenance, &name);
    }
}
