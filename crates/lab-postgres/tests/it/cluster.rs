//! The cluster that fathom makes: what crashed runs leave is removed, and what is not ours is never touched.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{managed, newest, ours_in, run, scratch, servers, work};
use lab::engine::{Layout, Residence, Target};
use lab::work::{Placement, Work};
use lab_postgres::cluster::{Cluster, ClusterOptions};
use lab_postgres::{ManagedOptions, ManagedPostgres, ServerBinaries};
use skips::{Capability, skip};

fn options(server: &ServerBinaries, base: &Path) -> ClusterOptions {
    ClusterOptions { server: server.clone(), base: base.to_path_buf(), elsewhere: Vec::new(), port: None }
}

/// Not a test of its own: in a process of its own, started by the tests below, it makes a cluster with a log apart,
/// says where, and waits to be killed.
#[test]
fn owner_that_is_killed() {
    let Some(base) = std::env::var_os("FATHOM_TEST_OWNER").map(PathBuf::from) else {
        return;
    };
    let server = newest().remove(0);
    let layout = Layout { data: vec![base.join("data")], log: Some(base.join("log")) };
    let mut target = managed(&server, &base, layout);
    target.prepare(&Work { placement: Placement::LogApart, ..work() }).unwrap();
    let socket = target.cluster().socket_directory().display().to_string();
    println!("READY {} {socket}", target.server_process_id().unwrap());
    std::io::stdout().flush().unwrap();
    // Until the other end is closed, which it is not before this process is dead.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Starts `owner_that_is_killed`; returns it with the server's process id and the socket's directory.
fn start_owner(base: &Path, path: Option<&str>) -> (Child, i32, PathBuf) {
    for name in ["data", "log"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "cluster::owner_that_is_killed", "--nocapture"])
        .env("FATHOM_TEST_OWNER", base)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut owner = command.spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let ready = lines.map(Result::unwrap).find(|line| line.contains("READY ")).unwrap();
    let mut words = ready.split("READY ").nth(1).unwrap().split(' ');
    let server_id = words.next().unwrap().parse().unwrap();
    (owner, server_id, PathBuf::from(words.next().unwrap()))
}

fn is_gone(process_id: i32) -> bool {
    // A zombie whose parent died is collected by the first process; it no longer has a command line.
    std::fs::read(format!("/proc/{process_id}/cmdline")).map_or(true, |text| text.is_empty())
}

#[test]
fn what_a_killed_owner_left_is_stopped_and_removed_by_the_next_start() {
    // Without setpriv in PATH nothing stops the server when its owner dies: it still runs at the next start.
    for path in [None, Some("/nowhere")] {
        let Some(server) = newest().into_iter().next() else { return };
        let scratch = scratch();
        let (mut owner, server_id, socket) = start_owner(scratch.path(), path);
        let (data, log) = (scratch.path().join("data"), scratch.path().join("log"));
        assert_eq!((ours_in(&data).len(), ours_in(&log).len()), (1, 1));
        owner.kill().unwrap();
        owner.wait().unwrap();
        if path.is_some() {
            assert!(!is_gone(server_id), "the server outlives its owner without setpriv");
        }
        let mut options = options(&server, &data);
        options.elsewhere = vec![log.clone()];
        let next = Cluster::create(&options).unwrap();
        assert!(is_gone(server_id));
        assert!(!socket.exists());
        assert_eq!(ours_in(&data), [next.directory().to_path_buf()]);
        assert_eq!(ours_in(&log), Vec::<PathBuf>::new());
        next.remove().unwrap();
    }
}

#[test]
fn a_living_cluster_a_kept_one_and_a_foreign_directory_are_left_alone() {
    for server in newest() {
        let scratch = scratch();
        let foreign = scratch.path().join("fathom-postgres-foreign");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("precious"), "x").unwrap();
        let kept = Cluster::create(&options(&server, scratch.path())).unwrap().keep().unwrap();
        let mut living = Cluster::create(&options(&server, scratch.path())).unwrap();
        living.start(&[]).unwrap();
        let living_id = living.process_id().unwrap() as i32;

        let next = Cluster::create(&options(&server, scratch.path())).unwrap();
        next.remove().unwrap();

        assert!(!is_gone(living_id));
        assert!(foreign.join("precious").is_file());
        assert!(kept.join("data/PG_VERSION").is_file());
        living.remove().unwrap();
        assert!(is_gone(living_id));
        assert_eq!(ours_in(scratch.path()).len(), 2, "the foreign directory and the kept one");
    }
}

#[test]
fn several_clusters_run_side_by_side() {
    let scratch = scratch();
    let servers: Vec<_> = servers().into_iter().take(2).collect();
    let mut targets: Vec<ManagedPostgres> =
        servers.iter().map(|server| managed(server, scratch.path(), Layout::default())).collect();
    for target in &mut targets {
        assert_eq!(run(target, &work()).post_run_state.rows, Some(50));
    }
    let ids: Vec<_> = targets.iter().map(Residence::server_process_id).collect();
    assert!(ids.iter().all(Option::is_some));
    for mut target in targets {
        target.stop(false).unwrap();
    }
}

#[test]
fn a_port_in_use_and_a_missing_directory_are_refused_by_name() {
    for server in newest() {
        let scratch = scratch();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = Cluster::create(&ClusterOptions { port: Some(port), ..options(&server, scratch.path()) })
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("cannot use port {port}: ")), "{error}");
        let missing = scratch.path().join("missing");
        let error = Cluster::create(&options(&server, &missing)).unwrap_err().to_string();
        assert!(error.contains(&missing.display().to_string()), "{error}");
        assert_eq!(ours_in(scratch.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn as_root_a_directory_that_the_server_cannot_reach_is_refused_before_anything_is_made() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return skip(Capability::Root, "only root runs the server as another user");
    }
    for server in newest() {
        let scratch = scratch();
        let closed = scratch.path().join("closed");
        let base = closed.join("base");
        std::fs::create_dir_all(&base).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        let options = ManagedOptions { server, base: base.clone(), layout: Layout::default(), port: None };
        let error = ManagedPostgres::create(&options).unwrap_err().to_string();
        assert!(error.contains("cannot reach") && error.contains("hint: "), "{error}");
        assert_eq!(ours_in(&base), Vec::<PathBuf>::new());
    }
}
