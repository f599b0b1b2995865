//! Who the sessions of a server are, asked over SQL, and which group each belongs to.

use std::collections::HashMap;

use super::super::control::Control;
use super::super::wire::WireError;
use super::events::Names;

/// Group of the sessions whose waits are the question.
pub(crate) const CLIENTS: &str = "clients";

/// Beginning of the names of all connections that fathom has beside its clients.
const OWN_PREFIX: &str = "fathom-control";

/// Rows accepted of one sample; PostgreSQL allows 262,143 connections, and a server with ten thousand is not known.
const SESSIONS_MAX: usize = 10_000;

/// Processes of which the group is remembered; a server that starts more of them starts over.
const GROUPS_MAX: usize = 100_000;

/// Longest name kept.
// EVIDENCE: PostgreSQL src/include/postmaster/bgworker.h, BGW_MAXLEN 96; other names have NAMEDATALEN, 64
const NAME_CHARS_MAX: usize = 96;

/// The function under the view, whose joins nobody needs here.
const SESSIONS: &str = "SELECT pid, wait_event_type, wait_event, backend_type, application_name, state \
                        FROM pg_stat_get_activity(NULL)";

/// Whose waits are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The clients of one run, by the name of their connections.
    Run(String),
    /// Every client of the server.
    Server,
}

/// One session or background process as the server lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) process_id: u32,
    /// Class and name of its wait, in the server's spelling.
    pub(super) wait: Option<(String, String)>,
    /// `None` when this role may not see it.
    pub(super) backend_type: Option<String>,
    pub(super) application_name: String,
}

/// Asks for all sessions. Costs the server 0.1 to 0.4 ms.
///
/// # Errors
/// The server is gone, has no such list, or one that is too long.
pub(super) fn ask(control: &mut Control) -> Result<Vec<Session>, WireError> {
    let rows = control.query(SESSIONS)?;
    if rows.len() > SESSIONS_MAX {
        let found = rows.len();
        return Err(WireError::Protocol(format!(
            "it lists {found} sessions, at most {SESSIONS_MAX} are read"
        )));
    }
    Ok(rows.into_iter().filter_map(session).collect())
}

/// A name, cut to the longest that a server has.
pub(super) fn name(text: String) -> String {
    match text.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    }
}

fn session(row: Vec<Option<String>>) -> Option<Session> {
    let mut fields = row.into_iter();
    let process_id = fields.next()??.parse().ok()?;
    let wait = fields.next()?.zip(fields.next()?).map(|(class, event)| (name(class), name(event)));
    let backend_type = fields.next()?.map(name);
    let application_name = name(fields.next()?.unwrap_or_default());
    Some(Session { process_id, wait, backend_type, application_name })
}

impl Session {
    /// Is it a connection of fathom's own, other than a client of a run?
    pub(super) fn is_own(&self) -> bool {
        self.application_name.starts_with(OWN_PREFIX)
    }

    /// Group of the session; `None` for fathom's own.
    fn group(&self, scope: &Scope) -> Option<String> {
        let backend_type = self.backend_type.as_deref().unwrap_or("sessions of other roles");
        if self.is_own() {
            return None;
        }
        Some(match (backend_type, scope) {
            ("client backend", Scope::Server) => CLIENTS.to_owned(),
            ("client backend", Scope::Run(name)) if self.application_name == *name => CLIENTS.to_owned(),
            ("client backend", Scope::Run(_)) => "other clients".to_owned(),
            (other, _) => other.to_owned(),
        })
    }
}

/// What is known of the sessions and of the names of waits, gathered by one thread for another.
#[derive(Debug)]
pub(super) struct Known {
    scope: Scope,
    pub(super) names: Names,
    groups: HashMap<u32, Option<String>>,
    /// Most sessions at one sample that this role may not see into.
    pub(super) hidden: usize,
}

impl Known {
    pub(super) fn new(scope: Scope, names: Names) -> Self {
        Self { scope, names, groups: HashMap::new(), hidden: 0 }
    }

    /// Takes in who the sessions are.
    pub(super) fn learn(&mut self, sessions: &[Session]) {
        if self.groups.len() > GROUPS_MAX {
            self.groups.clear();
        }
        for session in sessions {
            self.groups.insert(session.process_id, session.group(&self.scope));
        }
        let hidden = sessions.iter().filter(|session| session.backend_type.is_none()).count();
        self.hidden = self.hidden.max(hidden);
    }

    /// Group of a process; `None` for fathom's own. A process that ended before it was listed is known by its title,
    /// when somebody read that.
    pub(super) fn group(&self, process_id: u32, titles: &HashMap<u32, String>) -> Option<String> {
        match self.groups.get(&process_id) {
            Some(group) => group.clone(),
            None => Some(group_by_title(titles.get(&process_id).map_or("", String::as_str), &self.scope)),
        }
    }
}

/// Titles of processes that belong to no user, as `/proc/PID/cmdline` has them, and what the server calls the type.
const BACKGROUND_TITLES: [(&str, &str); 14] = [
    ("checkpointer", "checkpointer"),
    ("background writer", "background writer"),
    ("walwriter", "walwriter"),
    ("autovacuum launcher", "autovacuum launcher"),
    ("autovacuum worker", "autovacuum worker"),
    ("parallel worker", "parallel worker"),
    ("logical replication launcher", "logical replication launcher"),
    ("logical replication", "logical replication worker"),
    ("io worker", "io worker"),
    ("walsender", "walsender"),
    ("walreceiver", "walreceiver"),
    ("archiver", "archiver"),
    ("startup", "startup"),
    ("stats collector", "stats collector"),
];

/// A title begins with the program's name and, where one is set, the cluster's: `postgres: 15/main: walwriter`.
fn group_by_title(title: &str, scope: &Scope) -> String {
    let known = BACKGROUND_TITLES.iter().find(|(word, _)| {
        title.split(": ").skip(1).any(|part| part.trim_end_matches(['\0', ' ']).starts_with(word))
    });
    match (known, scope) {
        (Some((_, group)), _) => (*group).to_owned(),
        (None, Scope::Server) => CLIENTS.to_owned(),
        (None, Scope::Run(_)) => "other clients".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(process_id: u32, backend_type: Option<&str>, application_name: &str) -> Session {
        Session {
            process_id,
            wait: None,
            backend_type: backend_type.map(str::to_owned),
            application_name: application_name.to_owned(),
        }
    }

    #[test]
    fn clients_of_the_run_background_processes_and_our_own_are_told_apart() {
        let mut known = Known::new(Scope::Run("fathom-client-1".to_owned()), Names::default());
        known.learn(&[
            listed(1, Some("client backend"), "fathom-client-1"),
            listed(2, Some("client backend"), "psql"),
            listed(3, Some("client backend"), "fathom-control-waits"),
            listed(4, Some("checkpointer"), ""),
            listed(5, None, ""),
        ]);
        let titles = HashMap::from([(6, "postgres: 15/main: walwriter \0\0".to_owned())]);
        let groups: Vec<Option<String>> = (1..8).map(|id| known.group(id, &titles)).collect();
        let words = groups.iter().map(|group| group.as_deref().unwrap_or("-")).collect::<Vec<_>>();
        assert_eq!(
            words,
            [
                "clients",
                "other clients",
                "-",
                "checkpointer",
                "sessions of other roles",
                "walwriter",
                "other clients"
            ]
        );
        assert_eq!(known.hidden, 1);
    }

    #[test]
    fn a_user_called_as_a_process_is_no_background_process() {
        let scope = Scope::Server;
        assert_eq!(group_by_title("postgres: karl walwriter [local] idle", &scope), "clients");
        assert_eq!(group_by_title("postgres: autovacuum worker orders", &scope), "autovacuum worker");
        assert_eq!(group_by_title("", &scope), "clients");
    }
}
