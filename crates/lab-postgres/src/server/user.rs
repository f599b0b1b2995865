//! Who the server runs as: PostgreSQL refuses to run as root, so fathom as root runs it as another user.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::engine::TargetError;

/// User and group of the server's processes and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUser {
    /// Name, e.g. `postgres`.
    pub(crate) name: String,
    uid: u32,
    gid: u32,
}

impl ServerUser {
    /// `None` when fathom does not run as root: then the server runs as the caller. As root: `postgres` when the
    /// machine has that user, else `nobody` (initdb wants a user that has a name).
    pub(crate) fn for_this_process() -> Result<Option<Self>, TargetError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let path = Path::new("/etc/passwd");
        let text = std::fs::read_to_string(path).map_err(|source| TargetError::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        })?;
        find_user(&text, "postgres").or_else(|| find_user(&text, "nobody")).map(Some).ok_or_else(|| {
            TargetError::refused(
                "PostgreSQL does not run as root, and there is neither a user \"postgres\" nor \"nobody\"",
                "run fathom as an ordinary user",
            )
        })
    }

    /// Makes the command run as this user, without other groups.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives a file or directory to this user.
    pub(crate) fn own(&self, path: &Path) -> Result<(), TargetError> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid)).map_err(|source| TargetError::Io {
            action: "change the owner of",
            path: path.to_path_buf(),
            source,
        })
    }

    /// Refuses a directory that this user cannot reach: one of its ancestors lets it not pass.
    pub(crate) fn require_reach(&self, dir: &Path) -> Result<(), TargetError> {
        match self.obstacle(dir) {
            None => Ok(()),
            Some(obstacle) => Err(TargetError::refused(
                format!(
                    "the server runs as user \"{}\" and cannot reach \"{}\": \"{}\" is closed to that user",
                    self.name,
                    dir.display(),
                    obstacle.display()
                ),
                format!(
                    "choose a directory that user \"{}\" can enter, e.g. below /var/tmp, or run fathom as an ordinary user",
                    self.name
                ),
            )),
        }
    }

    /// The first directory on the way to `dir`, itself included, that this user may not enter. Mode bits only:
    /// access control lists are left to the server's own error.
    fn obstacle(&self, dir: &Path) -> Option<PathBuf> {
        let mut chain: Vec<&Path> = dir.ancestors().collect();
        chain.reverse();
        for step in chain {
            let Ok(metadata) = std::fs::metadata(step) else {
                continue;
            };
            let execute = if metadata.uid() == self.uid {
                0o100
            } else if metadata.gid() == self.gid {
                0o010
            } else {
                0o001
            };
            if metadata.mode() & execute == 0 {
                return Some(step.to_path_buf());
            }
        }
        None
    }
}

fn find_user(passwd: &str, name: &str) -> Option<ServerUser> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        (uid != 0).then(|| ServerUser { name: name.to_owned(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name_and_never_root() {
        let text =
            "root:x:0:0::/root:/bin/sh\npostgresql:x:7:8::/:\npostgres:x:101:104:x,,,:/var:/bin/bash\n";
        assert_eq!(
            find_user(text, "postgres"),
            Some(ServerUser { name: "postgres".to_owned(), uid: 101, gid: 104 })
        );
        assert_eq!(find_user(text, "nobody"), None);
        assert_eq!(find_user(text, "root"), None);
        assert_eq!(find_user("postgres:x:abc:1::", "postgres"), None);
    }

    #[test]
    fn a_directory_behind_a_closed_one_is_refused_and_the_closed_one_named() {
        let scratch = tempfile::tempdir().unwrap();
        let closed = scratch.path().join("closed");
        let inside = closed.join("inside");
        std::fs::create_dir_all(&inside).unwrap();
        let user = ServerUser { name: "nobody".to_owned(), uid: 65_533, gid: 65_533 };
        for open in [scratch.path(), &inside] {
            std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        let error = user.require_reach(&inside).unwrap_err().to_string();
        assert!(error.contains(&format!("\"{}\" is closed", closed.display())), "{error}");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o711)).unwrap();
        user.require_reach(&inside).unwrap();
    }
}
