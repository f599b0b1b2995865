//! Waits of real servers: names, known durations and counts, and what happens when there is nothing to see.
//!
//! Bounds are those that the samplers promise (10 %); since the machine that runs the tests may be busy with
//! something else, a measurement outside them is made once more before it counts.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{managed, newest, scratch, servers, work};
use crate::waits_support::{Server, Sql, assert_within_ten_percent, unless_overloaded};
use lab::engine::{Layout, Target};
use lab::gates::Limits;
use lab::observe::counted::{CLIENTS_COUNTED, WHOLE_SERVER};
use lab::observe::live::{LiveServer, LiveView, Way};
use lab::run::{Course, RunRequest, execute};
use lab::work::{Amount, Durability, Work};
use lab_postgres::LivePostgres;
use results::model::RunKey;
use results::observations::{How, WaitProfile, WaitRow};
use skips::{Capability, skip};

const EVENTS: &str = include_str!("../../src/waits/events.tsv");

/// Looks at the server while `workload` runs, and returns both results.
fn watch<T>(live: &mut LivePostgres, workload: impl FnOnce() -> T) -> (LiveView, T) {
    let interval = live.begin().unwrap();
    let outcome = workload();
    (interval.end(), outcome)
}

fn profile<'a>(waits: &'a [WaitProfile], group: &str) -> &'a WaitProfile {
    waits.iter().find(|profile| profile.group == group).unwrap_or_else(|| panic!("no {group} in {waits:?}"))
}

fn wait<'a>(profile: &'a WaitProfile, name: &str) -> Option<&'a WaitRow> {
    profile.rows.iter().find(|row| row.name == name)
}

#[test]
fn every_number_of_the_table_has_the_name_that_the_server_gives_it() {
    for server in servers() {
        let running = Server::start(&server, &[]);
        let (shown, asking) = (running.session(), running.session());
        let process_id = shown.number("SELECT pg_backend_pid()") as u32;
        let slot = Slot::find(process_id);
        // Until it waits for its client it may still write there itself.
        let is_idle =
            format!("SELECT wait_event = 'ClientRead' FROM pg_stat_activity WHERE pid = {process_id}");
        while asking.values(&is_idle) != ["t"] {}
        let column = server.major as usize - 14 + 2;
        let mut checked = 0;
        for line in EVENTS.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let Some((id, spelling)) = fields.get(column).and_then(|field| cell(field, fields[1])) else {
                continue;
            };
            slot.show(class_number(fields[0]) << 24 | id);
            let sql = format!(
                "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity WHERE pid = {process_id}"
            );
            assert_eq!(asking.values(&sql), [format!("{} {spelling}", fields[0])], "{}", server.version);
            checked += 1;
        }
        assert!(checked > 200, "{}: only {checked} lines", server.version);
        slot.show(class_number("Client") << 24);
    }
}

fn cell<'a>(field: &'a str, name: &'a str) -> Option<(u32, &'a str)> {
    let (id, spelling) = field.split_once(':').unwrap_or((field, name));
    Some((id.parse().ok()?, spelling))
}

fn class_number(class: &str) -> u32 {
    let numbers = [
        ("LWLock", 1),
        ("Lock", 3),
        ("BufferPin", 4),
        ("Activity", 5),
        ("Client", 6),
        ("Extension", 7),
        ("IPC", 8),
        ("Timeout", 9),
        ("IO", 10),
    ];
    numbers.iter().find(|(name, _)| *name == class).unwrap().1
}

/// The slot in which an idle session of the test's own server says what it waits for. Only this test writes there: it
/// is how the server is made to tell the name of any number.
struct Slot {
    memory: File,
    address: u64,
}

impl Slot {
    fn find(process_id: u32) -> Self {
        let memory = File::options().read(true).write(true).open(format!("/proc/{process_id}/mem")).unwrap();
        let program = std::fs::read_link(format!("/proc/{process_id}/exe")).unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let elf = object::File::parse(&*bytes).unwrap();
        use object::{Object, ObjectSymbol};
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name() == Ok("my_wait_event_info")).unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{process_id}/maps")).unwrap();
        let line = maps.lines().find(|line| line.ends_with(&*program.to_string_lossy())).unwrap();
        let base = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        let mut pointer = [0; 8];
        memory.read_exact_at(&mut pointer, base + symbol.address()).unwrap();
        Self { memory, address: u64::from_ne_bytes(pointer) }
    }

    fn show(&self, event: u32) {
        self.memory.write_all_at(&event.to_ne_bytes(), self.address).unwrap();
    }
}

#[test]
fn sleeps_of_known_length_are_found_on_every_major() {
    unless_overloaded(sleeps_of_known_length_are_found_on_every_major_when_quiet);
}

fn sleeps_of_known_length_are_found_on_every_major_when_quiet() {
    for server in servers() {
        let running = Server::start(&server, &[]);
        let session = running.session();
        session.values(
            "CREATE FUNCTION timed_sleeps(n int) RETURNS float8 LANGUAGE plpgsql AS $$ \
             DECLARE total float8 := 0; began timestamptz; BEGIN FOR i IN 1..n LOOP began := clock_timestamp(); \
             PERFORM pg_sleep(0.02); total := total + extract(epoch FROM clock_timestamp() - began); END LOOP; \
             RETURN total; END $$",
        );
        assert_within_ten_percent(|| {
            let mut live = running.live(Way::Best);
            let (view, truth) = watch(&mut live, || session.number("SELECT timed_sleeps(75)"));
            let record = &view.observations.samplers[0];
            assert_eq!((record.name.as_str(), &record.problem), ("postgres_waits_memory", &None));
            assert!(record.cpu_s > 0.0 && record.samples_expected > 100, "{record:?}");
            let clients = profile(&view.observations.waits, "clients");
            let sleep = wait(clients, "PgSleep").unwrap();
            assert!(sleep.is_idle && sleep.class == "Timeout" && sleep.count.is_none());
            assert_eq!(clients.session_count, 1, "fathom's own sessions are not among the clients");
            (sleep.wait_s, truth)
        });
    }
}

#[test]
fn lock_waits_of_known_length_are_found_with_what_was_waited_for() {
    unless_overloaded(lock_waits_of_known_length_are_found_with_what_was_waited_for_when_quiet);
}

fn lock_waits_of_known_length_are_found_with_what_was_waited_for_when_quiet() {
    for server in servers() {
        let running = Server::start(&server, &[]);
        let (holder, waiter) = (running.session(), running.session());
        holder.values(
            "CREATE TABLE contended (id int); CREATE FUNCTION timed_lock() RETURNS float8 LANGUAGE plpgsql AS $$ \
             DECLARE began timestamptz := clock_timestamp(); BEGIN LOCK TABLE contended; \
             RETURN extract(epoch FROM clock_timestamp() - began); END $$",
        );
        for way in [Way::Best, Way::Sql] {
            assert_within_ten_percent(|| {
                let mut live = running.live(way);
                let (view, truth) = watch(&mut live, || {
                    holder.values("BEGIN; LOCK TABLE contended");
                    std::thread::scope(|scope| {
                        let waited = scope.spawn(|| waiter.number("SELECT timed_lock()"));
                        let is_waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
                        while holder.number(is_waiting) < 1.0 {}
                        holder.values("SELECT pg_sleep(2); COMMIT");
                        waited.join().unwrap()
                    })
                });
                assert_lock_is_told(&view, way);
                (wait(profile(&view.observations.waits, "clients"), "relation").unwrap().wait_s, truth)
            });
        }
    }
}

fn assert_lock_is_told(view: &LiveView, way: Way) {
    let record = &view.observations.samplers[0];
    let row = wait(profile(&view.observations.waits, "clients"), "relation").unwrap();
    if way == Way::Sql {
        assert_eq!((record.name.as_str(), row.resource_s, row.signal_s), ("postgres_waits_sql", None, None));
        assert!(record.problem.as_ref().unwrap().contains("10 Hz"), "{record:?}");
    } else {
        let (resource_s, signal_s) = (row.resource_s.unwrap(), row.signal_s.unwrap());
        assert!((row.wait_s - resource_s - signal_s).abs() < 1e-9, "{row:?}");
        assert!(signal_s <= 0.1 * row.wait_s, "a lock is waited for off the processor: {row:?}");
    }
    let task = view.observations.tasks.iter().find(|task| task.wait == "Lock:relation").unwrap();
    assert_eq!((task.resource.as_str(), task.blocked_by.len()), ("relation contended", 1));
    assert!(task.waited_s.unwrap() > 0.0 && task.at_ns > 0, "{task:?}");
}

#[test]
fn a_known_number_of_commits_is_found_with_its_flushes_and_all_samples_are_there() {
    unless_overloaded(
        a_known_number_of_commits_is_found_with_its_flushes_and_all_samples_are_there_when_quiet,
    );
}

fn a_known_number_of_commits_is_found_with_its_flushes_and_all_samples_are_there_when_quiet() {
    const COMMITS: u64 = 150;
    for server in servers() {
        let scratch = scratch();
        let mut target = managed(&server, scratch.path(), Layout::default());
        let work = Work {
            amount: Amount::Rows(COMMITS),
            batch_size: 1,
            connections: 1,
            durability: Durability::Full,
            ..work()
        };
        assert_within_ten_percent(|| {
            let request = RunRequest {
                work: &work,
                key: RunKey { block_index: 0, cell_index: 0, attempt: 0 },
                position: 0,
                limits: Limits::default(),
                samplers: &[],
            };
            let run = execute(&mut target, request, &mut |_| Course::Continue).unwrap();
            let seen = &run.observations;
            let clients = profile(&seen.waits, "clients");
            assert_eq!(clients.session_count, work.connections);
            assert_accounts_add_up(clients);
            for group in ["checkpointer", "background writer", "walwriter"] {
                assert_eq!(profile(&seen.waits, group).session_count, 1);
            }
            let flushes = wait(profile(&seen.waits, WHOLE_SERVER), "WalSync").unwrap();
            assert!(flushes.how == How::Exact && flushes.wait_s > 0.0, "{flushes:?}");
            let counted = seen.waits.iter().find(|profile| profile.group == CLIENTS_COUNTED);
            assert_eq!(counted.is_some(), server.major >= 18, "{:?}", server.version);
            if let Some(counted) = counted {
                let own = wait(counted, "WalSync").unwrap();
                assert!(own.count.unwrap() > 0 && own.count <= flushes.count, "{own:?} {flushes:?}");
                // Sums of the same times, in different orders.
                let is_part = own.wait_s <= flushes.wait_s + 1e-9;
                assert!(own.how == How::Exact && is_part, "{own:?} {flushes:?}");
                // The row, its entry in the index and the commit, of each transaction.
                let records = run.metric("client_log_records").unwrap() / COMMITS as f64;
                assert!((3.0..5.0).contains(&records), "{records}");
            }
            (flushes.count.unwrap() as f64, COMMITS as f64)
        });
        target.stop(false).unwrap();
    }
}

fn assert_accounts_add_up(clients: &WaitProfile) {
    let split = clients.rows.iter().filter(|row| !row.is_idle);
    for row in split {
        assert!((row.wait_s - row.resource_s.unwrap() - row.signal_s.unwrap()).abs() < 1e-9, "{row:?}");
        assert_eq!(row.count, None, "a part of a count is not exact");
    }
    let waited: f64 = clients.rows.iter().map(|row| row.wait_s).sum();
    assert!(waited <= clients.session_s * 1.0001, "{clients:?}");
    assert!(clients.on_cpu_s.unwrap() > 0.0 && clients.run_delay_s.is_some(), "{clients:?}");
}

#[test]
fn a_session_that_vanishes_and_one_that_appears_disturb_nobody() {
    unless_overloaded(a_session_that_vanishes_and_one_that_appears_disturb_nobody_when_quiet);
}

fn a_session_that_vanishes_and_one_that_appears_disturb_nobody_when_quiet() {
    for server in newest() {
        let running = Server::start(&server, &[]);
        let (first, killer) = (running.session(), running.session());
        let victim = first.number("SELECT pg_backend_pid()");
        let mut live = running.live(Way::Best);
        let (view, ()) = watch(&mut live, || {
            killer.values("SELECT pg_sleep(0.3)");
            killer.values(&format!("SELECT pg_terminate_backend({victim})"));
            let late = running.session();
            late.values("SELECT pg_sleep(1)");
        });
        let record = &view.observations.samplers[0];
        assert_eq!((record.name.as_str(), &record.problem), ("postgres_waits_memory", &None));
        let clients = profile(&view.observations.waits, "clients");
        assert_eq!(clients.session_count, 3);
        assert!(clients.run_delay_s.is_some() && clients.on_cpu_s.is_some(), "{clients:?}");
        assert!(
            clients.session_s < 2.7 * view.elapsed_s,
            "the victim was there for a part only: {clients:?}"
        );
    }
}

#[test]
fn a_server_that_ends_and_starts_again_is_named_and_the_next_interval_works() {
    unless_overloaded(a_server_that_ends_and_starts_again_is_named_and_the_next_interval_works_when_quiet);
}

fn a_server_that_ends_and_starts_again_is_named_and_the_next_interval_works_when_quiet() {
    for server in newest() {
        for way in [Way::Best, Way::Sql] {
            let mut running = Server::start(&server, &[]);
            let mut live = running.live(way);
            let url = running.url();
            let (view, ()) = watch(&mut live, || {
                let session = Sql::connect(&url);
                session.values("SELECT pg_sleep(0.5)");
                // Ends the postmaster at once; all its sessions with it.
                let id = running.cluster.process_id().unwrap();
                let postmaster = rustix::process::Pid::from_raw(id as i32).unwrap();
                rustix::process::kill_process(postmaster, rustix::process::Signal::QUIT).unwrap();
                while !std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap().contains(") Z ") {}
                assert!(session.try_values("SELECT 1").is_err());
            });
            let problem = view.observations.samplers[0].problem.clone().unwrap();
            assert!(problem.contains("ended") || problem.contains("could not ask"), "{problem}");
            assert!(!view.observations.waits.is_empty(), "what was seen until then is kept");
            assert!(live.watch(Duration::ZERO, &AtomicBool::new(false)).is_err());
            running.cluster.start(&[]).unwrap();
            live.watch(Duration::ZERO, &AtomicBool::new(false)).unwrap();
        }
    }
}

/// Set for the copy of this test that runs as a user without rights: the URL of the server.
const URL_VARIABLE: &str = "FATHOM_TEST_WAITS_URL";

#[test]
fn a_user_without_rights_asks_over_sql_and_says_why() {
    if let Ok(url) = std::env::var(URL_VARIABLE) {
        let mut live = LivePostgres::attach(&url, Way::Best).unwrap();
        let view = live.watch(Duration::from_millis(500), &AtomicBool::new(false)).unwrap();
        let record = &view.observations.samplers[0];
        let problem = record.problem.as_ref().unwrap();
        assert_eq!(record.name, "postgres_waits_sql");
        assert!(problem.contains("cannot read the memory of process"), "{problem}");
        assert!(problem.contains("grant pg_monitor"), "{problem}");
        assert!(record.samples_taken > 0, "{record:?}");
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip(Capability::Root, "only root is able to become a user without rights");
    }
    for server in newest() {
        let running = Server::start(&server, &[("listen_addresses", "127.0.0.1")]);
        let session = running.session();
        session.values("CREATE ROLE nobodys LOGIN PASSWORD 'geheim-wort'");
        let url = format!("postgresql://nobodys:geheim-wort@127.0.0.1:{}/postgres", running.cluster.port());
        assert_child_passes(&url, Path::new("/"));
    }
}

/// Runs the test above as the user with the highest number, which owns nothing.
fn assert_child_passes(url: &str, directory: &Path) {
    use std::os::unix::process::CommandExt;
    let copy = scratch();
    let program = copy.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = std::process::Command::new(&program)
        .args(["--exact", "waits::a_user_without_rights_asks_over_sql_and_says_why", "--nocapture"])
        .env(URL_VARIABLE, url)
        .current_dir(directory)
        .uid(65_533)
        .gid(65_533)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stdout));
}
