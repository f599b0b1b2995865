//! Who waits for what, once a second over SQL, kept as it was seen.
//!
//! The same statement tells who the sessions are, and checks the names of waits: where a number in shared memory was
//! the same before and after the statement, the name that the server gave belongs to it.
//!
//! PostgreSQL does not say which page a wait for a page latch (`LWLock:BufferContent`) is for. Where the extension
//! pg_buffercache is there, the page that most backends hold pinned at that moment is taken, if it is pinned more
//! often than half of the waiters; every waiter holds a pin on its page. Asked at most every two seconds: it reads
//! the headers of all buffers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use results::observations::WaitingTask;

use super::super::control::Control;
use super::events::{is_idle_class, normalise};
use super::server_memory::{ReadPlan, ServerMemory};
use super::sessions::{self, Known, Session};

/// Time between two samples.
pub(super) const PERIOD: Duration = Duration::from_secs(1);

/// Time between two searches for the hot page.
const HOT_PAGE_PERIOD: Duration = Duration::from_secs(2);

/// Waits for a page latch from which on a page is worth being searched for.
const HOT_PAGE_WAITERS_MIN: usize = 2;

/// Tasks kept of one sample, so that ten thousand waiting sessions do not fill the results.
const TASKS_MAX: usize = 2000;

/// Tasks kept of all samples: an hour with 55 waiting sessions.
const TASKS_KEPT_MAX: usize = 200_000;

/// Sessions kept of those that one waits for.
const BLOCKERS_MAX: usize = 16;

/// Locks that somebody waits for, with what the server knows of the wait. Takes the lock table's latches: 1 to 3 ms
/// with 64 waiters.
const LOCKS: &str = "SELECT l.pid, l.locktype, \
    coalesce((SELECT c.relname FROM pg_class c JOIN pg_database d ON d.datname = current_database() \
              WHERE c.oid = l.relation AND l.database IN (d.oid, 0)), l.relation::text), \
    l.page, l.tuple, coalesce(l.transactionid::text, l.virtualxid), \
    concat_ws(' ', l.classid, l.objid, nullif(l.objsubid, 0)), \
    extract(epoch FROM clock_timestamp() - l.waitstart), array_to_string(pg_blocking_pids(l.pid), ',') \
    FROM pg_locks l WHERE NOT l.granted";

const HOT_PAGE: &str = "SELECT coalesce((SELECT c.relname FROM pg_class c \
        WHERE pg_relation_filenode(c.oid) = b.relfilenode LIMIT 1), b.relfilenode::text), \
    b.relforknumber, b.relblocknumber, b.pinning_backends \
    FROM (SELECT * FROM pg_buffercache WHERE pinning_backends > 1 AND reldatabase = \
        (SELECT oid FROM pg_database WHERE datname = current_database()) \
        ORDER BY pinning_backends DESC LIMIT 1) b";

/// A connection that samples waiting tasks, and what it saw.
#[derive(Debug)]
pub(super) struct TaskProbe {
    control: Control,
    known: Arc<Mutex<Known>>,
    bracket: Option<Bracket>,
    has_buffercache: bool,
    hot_page_asked: Option<Instant>,
    pub(super) samples: Vec<Instant>,
    pub(super) tasks: Vec<(Instant, WaitingTask)>,
}

/// Raw reads around the statement.
#[derive(Debug)]
struct Bracket {
    memory: ServerMemory,
    /// Slots of the processes that were listed by the sample before.
    slots: HashMap<u32, u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Lock {
    resource: String,
    waited_s: Option<f64>,
    blocked_by: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct HotPage {
    resource: String,
    page_class: Option<String>,
    pins: usize,
}

impl TaskProbe {
    pub(super) fn new(mut control: Control, known: Arc<Mutex<Known>>, memory: Option<ServerMemory>) -> Self {
        let has_buffercache =
            control.probe("SELECT 1 FROM pg_extension WHERE extname = 'pg_buffercache'").is_some();
        Self {
            control,
            known,
            bracket: memory.map(|memory| Bracket { memory, slots: HashMap::new() }),
            has_buffercache,
            hot_page_asked: None,
            samples: Vec::new(),
            tasks: Vec::new(),
        }
    }

    /// Stops checking names.
    pub(super) fn forget_memory(&mut self) {
        self.bracket = None;
    }

    /// Asks who the sessions are, and lets the answer vote on names.
    ///
    /// # Errors
    /// The server is gone, or has no such list.
    pub(super) fn learn(&mut self) -> Result<Vec<Session>, String> {
        let failed = |error| format!("could not ask the server for its sessions: {error}");
        let Some(bracket) = &mut self.bracket else {
            let sessions = sessions::ask(&mut self.control).map_err(failed)?;
            self.known.lock().unwrap_or_else(PoisonError::into_inner).learn(&sessions);
            return Ok(sessions);
        };
        let mut processes: Vec<(u32, u64)> = bracket.slots.iter().map(|(id, slot)| (*id, *slot)).collect();
        processes.sort_unstable();
        let slots: Vec<u64> = processes.iter().map(|(_, slot)| *slot).collect();
        let mut plan = ReadPlan::new(&slots);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let is_read = bracket.memory.read(&mut plan, &mut before).is_ok();
        let sessions = sessions::ask(&mut self.control).map_err(failed)?;
        let is_read = is_read && bracket.memory.read(&mut plan, &mut after).is_ok();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.learn(&sessions);
        if is_read {
            for session in &sessions {
                let Ok(index) = processes.binary_search_by_key(&session.process_id, |(id, _)| *id) else {
                    continue;
                };
                let (event, wait) = (before[index], &session.wait);
                if let Some((class, name)) = wait.as_ref().filter(|_| event != 0 && event == after[index]) {
                    known.names.vote(event, class, name);
                }
            }
        }
        drop(known);
        bracket.slots = sessions
            .iter()
            .filter_map(|session| Some((session.process_id, bracket.memory.slot_of(session.process_id)?)))
            .collect();
        Ok(sessions)
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// The server is gone, or does not answer the question.
    pub(super) fn sample(&mut self) -> Result<(), String> {
        if self.tasks.len() > TASKS_KEPT_MAX {
            return Err(format!("more than {TASKS_KEPT_MAX} waiting tasks were seen: the list ends"));
        }
        let at = Instant::now();
        let sessions = self.learn()?;
        self.samples.push(at);
        let waiting: Vec<&Session> = sessions
            .iter()
            .filter(|session| session.wait.as_ref().is_some_and(|(class, _)| !is_idle_class(class)))
            .filter(|session| !session.is_own())
            .take(TASKS_MAX)
            .collect();
        let is_lock = |session: &&&Session| session.wait.as_ref().is_some_and(|(class, _)| class == "Lock");
        let locks =
            if waiting.iter().any(|session| is_lock(&session)) { self.locks()? } else { HashMap::new() };
        let latches = waiting.iter().filter(|session| is_page_latch(session)).count();
        let hot_page = self.hot_page(latches);
        for session in waiting {
            let Some((class, name)) = &session.wait else { continue };
            let (class, name) = normalise(class, name);
            let page = hot_page.as_ref().filter(|_| is_page_latch(session));
            let lock =
                locks.get(&session.process_id).filter(|_| class == "Lock").cloned().unwrap_or_default();
            let task = WaitingTask {
                at_ns: 0,
                session: session.process_id.to_string(),
                wait: format!("{class}:{name}"),
                resource: page.map_or(lock.resource, |page| page.resource.clone()),
                page_class: page.and_then(|page| page.page_class.clone()),
                waited_s: lock.waited_s,
                blocked_by: lock.blocked_by,
            };
            self.tasks.push((at, task));
        }
        Ok(())
    }

    fn locks(&mut self) -> Result<HashMap<u32, Lock>, String> {
        let rows = self
            .control
            .query(LOCKS)
            .map_err(|error| format!("could not ask the server for its locks: {error}"))?;
        Ok(rows.into_iter().filter_map(lock).collect())
    }

    fn hot_page(&mut self, waiters: usize) -> Option<HotPage> {
        let is_early = self.hot_page_asked.is_some_and(|asked| asked.elapsed() < HOT_PAGE_PERIOD);
        if !self.has_buffercache || waiters < HOT_PAGE_WAITERS_MIN || is_early {
            return None;
        }
        self.hot_page_asked = Some(Instant::now());
        let rows = self.control.query(HOT_PAGE).ok()?;
        rows.into_iter().find_map(hot_page).filter(|page| 2 * page.pins > waiters)
    }
}

fn is_page_latch(session: &Session) -> bool {
    session.wait.as_ref().is_some_and(|(class, name)| class == "LWLock" && name == "BufferContent")
}

fn lock(row: Vec<Option<String>>) -> Option<(u32, Lock)> {
    let mut fields = row.into_iter();
    let process_id = fields.next()??.parse().ok()?;
    let kind = sessions::name(fields.next()??);
    let mut any = || fields.next().flatten().unwrap_or_default();
    let mut text = || sessions::name(any());
    let (relation, page, tuple, transaction, object) = (text(), text(), text(), text(), text());
    let (waited, blockers) = (text(), any());
    let resource = match kind.as_str() {
        "page" => format!("{relation} page {page}"),
        "tuple" => format!("{relation} page {page} tuple {tuple}"),
        "transactionid" | "virtualxid" => format!("{kind} {transaction}"),
        "extend" | "relation" | "frozenid" => format!("{kind} {relation}"),
        _ => format!("{kind} {object}"),
    };
    let lock = Lock {
        resource: resource.trim_end().to_owned(),
        waited_s: waited.parse().ok().filter(|seconds: &f64| *seconds >= 0.0),
        blocked_by: blockers
            .split(',')
            .filter(|id| !id.is_empty())
            .take(BLOCKERS_MAX)
            .map(|id| sessions::name(id.to_owned()))
            .collect(),
    };
    Some((process_id, lock))
}

fn hot_page(row: Vec<Option<String>>) -> Option<HotPage> {
    let mut fields = row.into_iter().flatten();
    let relation = fields.next()?;
    // EVIDENCE: PostgreSQL src/include/common/relpath.h, enum ForkNumber
    let page_class = match fields.next()?.as_str() {
        "1" => Some("free space map".to_owned()),
        "2" => Some("visibility map".to_owned()),
        _ => None,
    };
    let page = fields.next()?;
    Some(HotPage {
        resource: format!("{relation} page {page}"),
        page_class,
        pins: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(fields: &[&str]) -> Vec<Option<String>> {
        fields.iter().map(|text| Some((*text).to_owned()).filter(|text| !text.is_empty())).collect()
    }

    #[test]
    fn each_kind_of_lock_names_what_is_waited_for() {
        for (fields, resource) in [
            (["9", "extend", "fathom_rows", "", "", "", "", "0.5", "7"], "extend fathom_rows"),
            (["9", "transactionid", "", "", "", "731", "", "0.5", "7"], "transactionid 731"),
            (["9", "tuple", "t", "12", "5", "", "", "0.5", "7"], "t page 12 tuple 5"),
            (["9", "page", "t_pkey", "5811", "", "", "", "0.5", "7"], "t_pkey page 5811"),
            (["9", "advisory", "", "", "", "", "0 42 1", "0.5", "7"], "advisory 0 42 1"),
            (["9", "virtualxid", "", "", "", "3/17", "", "0.5", "7"], "virtualxid 3/17"),
        ] {
            let (process_id, lock) = lock(row(&fields)).unwrap();
            assert_eq!((process_id, lock.resource.as_str()), (9, resource));
            assert_eq!((lock.waited_s, lock.blocked_by), (Some(0.5), vec!["7".to_owned()]));
        }
        let (_, lock) = lock(row(&["9", "extend", "t", "", "", "", "", "", ""])).unwrap();
        assert_eq!((lock.waited_s, lock.blocked_by.len()), (None, 0));
    }

    #[test]
    fn a_hot_page_has_its_class_where_the_fork_says_it() {
        let page = hot_page(row(&["useq_pkey", "0", "5811", "43"])).unwrap();
        assert_eq!((page.resource.as_str(), page.page_class, page.pins), ("useq_pkey page 5811", None, 43));
        let map = hot_page(row(&["t", "1", "2", "9"])).unwrap();
        assert_eq!(map.page_class.as_deref(), Some("free space map"));
    }
}
