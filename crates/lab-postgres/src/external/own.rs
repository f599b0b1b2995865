//! Databases of own workloads on an external server, beside the one that holds the mark of this fathom.
//!
//! Scripts must not reach the files or the programs of the server's machine. A role that may (a superuser) makes a role for
//! them that may not; where the server does not let that role in, scripts are refused.

use std::io::Read;

use lab::engine::TargetError;
use lab::work::Work;

use super::ExternalPostgres;
use super::own_database::{KEPT_MARK, drop_parts, drop_role, part_mark, set_comment};
use super::session_settings::setting_name;
use crate::control::{Control, identifier, literal};
use crate::own::{Databases, Own, OwnNames};
use crate::server_side::ServerSide;
use crate::wire::{Login, Secret};

/// Longest part of the name of our database in the names of those beside it: the server truncates names to 63 bytes.
const NAME_CHARS_MAX: usize = 32;

/// Bytes of the password of a role for scripts.
const PASSWORD_BYTES: usize = 16;

/// May the role read or write files of the server's machine, or run programs there?
const REACHES_FILES: &str = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user AND (rolsuper OR EXISTS \
     (SELECT 1 FROM pg_roles AS able WHERE able.rolname IN ('pg_read_server_files', 'pg_write_server_files', \
     'pg_execute_server_program') AND pg_has_role(current_user, able.oid, 'MEMBER')))";

impl ExternalPostgres {
    /// What the names of the databases beside ours begin with.
    fn own_prefix(&self) -> String {
        self.login.database.chars().take(NAME_CHARS_MAX).collect()
    }

    /// Name of the database of a run, and of the role for its scripts where there is one.
    pub(super) fn run_database(&self) -> String {
        format!("{}_own", self.own_prefix())
    }

    /// Sees to it that scripts are executed as a role that reaches no files, with the settings of the work; the clients need
    /// no first statements then.
    ///
    /// # Errors
    /// The role of the URL reaches files, and no other one can be made or let in.
    pub(super) fn provide_role(&mut self, work: &Work, clients: &mut Vec<String>) -> Result<(), TargetError> {
        let user = self.login.user.clone();
        if self.script_role.is_none() {
            let reaches = self.side.running()?.query(REACHES_FILES).unwrap_or_default();
            let Some(is_superuser) = crate::control::first_value(reaches) else { return Ok(()) };
            let what = "scripts could read and write the files of the server";
            if !matches!(is_superuser.as_str(), "t" | "true") {
                return Err(unsafe_role(&user, &format!("is a member of a role that reaches files: {what}")));
            }
            self.script_role = Some(self.make_role().map_err(|error| {
                unsafe_role(&user, &format!("is a superuser, {what}, and no other role can be used: {error}"))
            })?);
        }
        let Some(role) = &self.script_role else { return Ok(()) };
        let role = identifier(&role.user);
        let synchronous = clients.iter().filter_map(|statement| statement.strip_prefix("SET synchronous"));
        let mut statements = vec![format!("ALTER ROLE {role} RESET ALL")];
        statements.extend(synchronous.map(|rest| format!("ALTER ROLE {role} SET synchronous{rest}")));
        statements.extend(work.settings.iter().map(|(name, value)| {
            format!("ALTER ROLE {role} SET {} = {}", setting_name(name), literal(value))
        }));
        for statement in statements {
            self.side.running()?.rows("could not give the role of the scripts its settings", &statement)?;
        }
        clients.clear();
        Ok(())
    }

    /// Makes a role without any rights, and logs in as it.
    fn make_role(&mut self) -> Result<Login, TargetError> {
        let password = random_password()
            .map_err(|error| TargetError::engine("could not make a password from /dev/urandom", error))?;
        let login = Login {
            user: self.run_database(),
            password: Some(Secret::new(password.clone())),
            ..self.login.clone()
        };
        let role = identifier(&login.user);
        // The server stores this form of the password anyway; so it is in no log of statements either.
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        let mark = literal(&part_mark(&self.login.database));
        let control = self.side.running()?;
        let context = format!("could not create role {role}");
        for statement in [
            format!("CREATE ROLE {role} LOGIN PASSWORD {}", literal(&verifier)),
            format!("COMMENT ON ROLE {role} IS {mark}"),
            format!("GRANT pg_monitor TO {role}"),
        ] {
            control.rows(&context, &statement)?;
        }
        match Control::connect(&login) {
            Ok(connected) => {
                connected.close();
                Ok(login)
            }
            Err(error) => {
                drop_role(control, &login.user);
                let database = &self.login.database;
                let text = format!("could not connect to database \"{database}\" as role {role}");
                Err(TargetError::engine(text, error))
            }
        }
    }

    /// Leaves the databases where they are for good; those that only runs were copied from are dropped.
    pub(super) fn keep_databases(&mut self) -> Result<(), TargetError> {
        let (run, name) = (self.side.run_database.clone(), self.login.database.clone());
        if let (Some(_), Some(role)) = (&run, &self.script_role) {
            let role = identifier(&role.user);
            let owned = format!("REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}");
            self.side.running()?.complete("could not take over what the scripts made", &owned)?;
        }
        let control = self.side.leave()?;
        for database in run.iter().chain([&name]) {
            set_comment(control, database, KEPT_MARK)?;
        }
        drop_parts(control, &name);
        self.side.disconnect();
        self.side.kept_run = run;
        Ok(())
    }
}

impl Own for ExternalPostgres {
    fn side(&self) -> &ServerSide {
        &self.side
    }

    fn side_mut(&mut self) -> &mut ServerSide {
        &mut self.side
    }

    fn databases(&mut self) -> Result<Databases<'_>, TargetError> {
        let names = OwnNames {
            run: self.run_database(),
            kept_prefix: format!("{}_kept_", self.own_prefix()),
            owner: self.script_role.as_ref().map(|role| role.user.clone()),
            mark: Some(part_mark(&self.login.database)),
            tablespace: None,
        };
        let login = Login { database: names.run.clone(), ..self.login.clone() };
        Ok(Databases { side: &mut self.side, names, login })
    }

    fn script_login(&self, application_name: &str) -> Login {
        Login {
            database: self.run_database(),
            application_name: application_name.to_owned(),
            ..self.script_role.as_ref().unwrap_or(&self.login).clone()
        }
    }
}

fn unsafe_role(user: &str, reason: &str) -> TargetError {
    TargetError::refused(
        format!("cannot execute scripts as user \"{user}\": it {reason}"),
        "connect as a role that is no superuser and may create databases: CREATE ROLE bench LOGIN CREATEDB",
    )
}

/// A random password, as hexadecimal digits.
fn random_password() -> std::io::Result<String> {
    let mut bytes = [0_u8; PASSWORD_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
