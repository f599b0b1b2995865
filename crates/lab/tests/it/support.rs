//! What tests on real engines share.

use lab::work::{Amount, Durability, Work};
use lab_postgres::{ServerBinaries, find_servers};
use skips::{Capability, skip};

/// The two ends of the majors that are installed; empty, and a skip that is counted, when there is none.
pub(crate) fn oldest_and_newest() -> Vec<ServerBinaries> {
    let mut servers = find_servers(&[]);
    servers.dedup_by_key(|server| server.major);
    if servers.is_empty() {
        let remedy = "install postgresql, or run scripts/fetch-postgres.sh";
        skip(Capability::Postgres, format!("no PostgreSQL server binaries ({remedy})"));
    }
    if servers.len() > 2 {
        servers.drain(1..servers.len() - 1);
    }
    servers
}

/// A directory that the server's user can reach, also when the tests run as root.
pub(crate) fn scratch() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::Builder::new().prefix("fathom-test-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// Fifty rows by two clients, not durable.
pub(crate) fn work() -> Work {
    Work {
        amount: Amount::Rows(50),
        batch_size: 10,
        durability: Durability::None,
        seed: 7,
        ..Work::example()
    }
}
