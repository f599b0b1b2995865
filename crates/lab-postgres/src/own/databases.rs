//! The database of a run, and databases kept aside from which it is copied.
//!
//! A copy is made file by file (`STRATEGY FILE_COPY`), whatever its size: copied through the log its pages would be in the
//! server's memory before the run, those of a small database and not those of a large one.

use lab::engine::TargetError;

use crate::control::{Control, identifier, literal};
use crate::external::own_database::set_comment;
use crate::server_side::ServerSide;
use crate::wire::Login;

/// First version with strategies of CREATE DATABASE.
const STRATEGY_VERSION: u32 = 150_000;

/// First version that can share blocks of the file system between copies.
const CLONE_VERSION: u32 = 180_000;

/// What the databases of a target are called, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNames {
    /// Database of the run.
    pub(crate) run: String,
    /// What stands before the names of kept ones.
    pub(crate) kept_prefix: String,
    /// Role that owns them, where it is not that of the control connection.
    pub(crate) owner: Option<String>,
    /// Comment that marks them; `None` where the whole cluster is ours.
    pub(crate) mark: Option<String>,
    /// Tablespace of the run's database; `None` is the cluster's own.
    pub(crate) tablespace: Option<String>,
}

impl OwnNames {
    /// The name of a kept database. Names of databases have at most 63 bytes; the server would truncate longer ones.
    fn kept(&self, name: &str) -> String {
        format!("{}{name}", self.kept_prefix)
    }
}

/// The databases of a target, while one of them is made.
pub(crate) struct Databases<'a> {
    pub(crate) side: &'a mut ServerSide,
    pub(crate) names: OwnNames,
    /// The control connection's way into the database of the run.
    pub(crate) login: Login,
}

impl Databases<'_> {
    /// Makes the database of the run, empty.
    pub(super) fn make_empty(&mut self) -> Result<(), TargetError> {
        self.require_role()?;
        let control = self.side.drop_run(&self.names.run)?;
        let mut create = self.names.create();
        create.push_str(&self.names.tablespace_clause());
        control.complete(&format!("could not create database \"{}\"", self.names.run), &create)?;
        self.enter()
    }

    /// Is there a kept database of this name?
    pub(super) fn is_kept(&mut self, name: &str) -> Result<bool, TargetError> {
        let kept = self.names.kept(name);
        let sql = format!("SELECT count(*) FROM pg_database WHERE datname = {}", literal(&kept));
        let context = format!("could not look for database \"{kept}\"");
        Ok(self.side.running()?.number::<u64>(&context, &sql)? > 0)
    }

    /// Cleans up the database of the run, and renames it.
    pub(super) fn keep(&mut self, name: &str) -> Result<(), TargetError> {
        let (run, kept) = (self.names.run.clone(), self.names.kept(name));
        let context = format!("could not keep database \"{run}\" as \"{kept}\"");
        let control = self.side.running()?;
        for statement in [
            // A vacuum cannot call rows visible to all while the log of their commit is on its way to the device.
            "BEGIN; SET LOCAL synchronous_commit = on; SELECT txid_current(); COMMIT",
            // No scan of a run sets a hint bit, and no run meets the analyze that its load was due.
            "VACUUM (FREEZE, ANALYZE)",
        ] {
            control.complete(&context, statement)?;
        }
        let control = self.side.leave();
        let control = control?;
        // Sessions of clients that ended a moment ago; the database is ours alone.
        let sessions = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}",
            literal(&run)
        );
        control.complete(&context, &format!("DROP DATABASE IF EXISTS {}", identifier(&kept)))?;
        control.complete(&context, &sessions)?;
        await_alone(control, &run)?;
        let rename = format!("ALTER DATABASE {} RENAME TO {}", identifier(&run), identifier(&kept));
        control.complete(&context, &rename)?;
        checkpoint(control);
        Ok(())
    }

    /// Makes the database of the run a copy of the kept one.
    pub(super) fn restore(&mut self, name: &str) -> Result<(), TargetError> {
        self.require_role()?;
        let version = self.side.capabilities.version_num;
        let (run, kept) = (self.names.run.clone(), self.names.kept(name));
        let control = self.side.drop_run(&run)?;
        let mut create = self.names.create();
        create.push_str(&format!(" TEMPLATE {}", identifier(&kept)));
        if version >= STRATEGY_VERSION {
            create.push_str(" STRATEGY file_copy");
        }
        create.push_str(&self.names.tablespace_clause());
        let context = format!("could not copy database \"{kept}\" to \"{run}\"");
        let is_cloned = version >= CLONE_VERSION && {
            // Not every file system is able to, and not every server was built for it.
            let is_cloned =
                control.query("SET file_copy_method = clone").is_ok() && control.work(&create).is_ok();
            control.rows(&context, "RESET file_copy_method")?;
            is_cloned
        };
        if !is_cloned {
            control.complete(&context, &create)?;
        }
        copy_settings(control, &kept, &run)?;
        checkpoint(control);
        self.enter()
    }

    /// Has the control connection work in the database of the run, marked where the cluster is not ours.
    fn enter(&mut self) -> Result<(), TargetError> {
        if let Some(mark) = self.names.mark.clone() {
            set_comment(self.side.running()?, &self.names.run, &mark)?;
        }
        self.side.enter(&self.login)
    }

    /// Makes the role that owns the databases, unless it is there.
    fn require_role(&mut self) -> Result<(), TargetError> {
        let Some(role) = &self.names.owner else { return Ok(()) };
        let context = format!("could not create role \"{role}\"");
        let control = self.side.running()?;
        let sql = format!("SELECT count(*) FROM pg_roles WHERE rolname = {}", literal(role));
        if control.number::<u64>(&context, &sql)? == 0 {
            let role = identifier(role);
            // It sees all statistics, for what is measured after a run, and reads and writes no file.
            let create = format!("CREATE ROLE {role} LOGIN; GRANT pg_monitor TO {role}");
            control.rows(&context, &create)?;
        }
        Ok(())
    }
}

impl OwnNames {
    fn create(&self) -> String {
        let owner = self.owner.as_ref().map(|owner| format!(" OWNER {}", identifier(owner)));
        format!("CREATE DATABASE {}{}", identifier(&self.run), owner.unwrap_or_default())
    }

    fn tablespace_clause(&self) -> String {
        self.tablespace.as_ref().map_or_else(String::new, |name| format!(" TABLESPACE {}", identifier(name)))
    }
}

/// Waits, bounded, until no session is in the database.
fn await_alone(control: &mut Control, name: &str) -> Result<(), TargetError> {
    /// A hundredth of a second each.
    const LOOKS_MAX: u32 = 500;
    let context = format!("could not wait for the last session in database \"{name}\"");
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = {}", literal(name));
    for _ in 0..LOOKS_MAX {
        if control.number::<u64>(&context, &sessions)? == 0 {
            return Ok(());
        }
        control.rows(&context, "SELECT pg_sleep(0.01)")?;
    }
    Err(TargetError::engine(context, "a session does not end"))
}

/// Copies what ALTER DATABASE ... SET gave a database: CREATE DATABASE does not.
fn copy_settings(control: &mut Control, from: &str, to: &str) -> Result<(), TargetError> {
    let oid = |name: &str| format!("(SELECT oid FROM pg_database WHERE datname = {})", literal(name));
    let context = format!("could not copy the settings of database \"{from}\" to \"{to}\"");
    let settings = format!("FROM pg_db_role_setting WHERE setdatabase = {}", oid(from));
    if control.number::<u64>(&context, &format!("SELECT count(*) {settings}"))? == 0 {
        return Ok(());
    }
    // Written as they are: a list, as search_path has one, has no literal of its own.
    let insert = format!("INSERT INTO pg_db_role_setting SELECT {}, setrole, setconfig {settings}", oid(to));
    control.query(&insert).map(drop).map_err(|error| {
        TargetError::refused(
            format!("{context}: {error}"),
            "set them in each script, or connect as a superuser: the schema has ALTER DATABASE ... SET",
        )
    })
}

/// Brings all pages to the files, where the role may.
fn checkpoint(control: &mut Control) {
    let _ = control.work("CHECKPOINT");
}
