//! Where the log is: inside the cluster, or in another directory behind a symbolic link at `pg_wal`. Changed only
//! while the server is stopped, between runs.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use lab::engine::TargetError;

use crate::server::cluster::Cluster;
use crate::server::user::ServerUser;

/// Name of the log's directory inside its part.
const LOG_DIRECTORY: &str = "pg_wal";

/// Depth of directories below `pg_wal` (`archive_status`, `summaries`); more is not ours.
const DEPTH_MAX: u32 = 3;

/// Moves the log into `apart`, or back into the cluster for `None`. Does nothing when it is there. The server must
/// be stopped in order.
pub(crate) fn place_log(cluster: &mut Cluster, apart: Option<&Path>) -> Result<(), TargetError> {
    let link = cluster.data().join("pg_wal");
    let now_apart = fs::read_link(&link).ok();
    let wanted = match apart {
        Some(place) => Some(cluster.part(place, "wal")?.join(LOG_DIRECTORY)),
        None => None,
    };
    match (now_apart, wanted) {
        (None, None) => Ok(()),
        (Some(from), Some(to)) if from == to => Ok(()),
        (None, Some(to)) => {
            move_directory(&link, &to, cluster.user())?;
            make_link(&to, &link, cluster.user())
        }
        (Some(from), None) => {
            fs::remove_file(&link).map_err(|source| io("remove link", &link, source))?;
            move_directory(&from, &link, cluster.user())
        }
        (Some(from), Some(to)) => {
            move_directory(&from, &to, cluster.user())?;
            fs::remove_file(&link).map_err(|source| io("remove link", &link, source))?;
            make_link(&to, &link, cluster.user())
        }
    }
}

fn make_link(target: &Path, link: &Path, user: Option<&ServerUser>) -> Result<(), TargetError> {
    symlink(target, link).map_err(|source| io("make link", link, source))?;
    user.map_or(Ok(()), |user| user.own(link))
}

/// Renames, or copies and removes where the two are on different file systems.
fn move_directory(from: &Path, to: &Path, user: Option<&ServerUser>) -> Result<(), TargetError> {
    match fs::rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            copy_directory(from, to, user, DEPTH_MAX)?;
            fs::remove_dir_all(from).map_err(|source| io("remove", from, source))
        }
        Err(source) => Err(io("move", from, source)),
    }
}

fn copy_directory(from: &Path, to: &Path, user: Option<&ServerUser>, depth: u32) -> Result<(), TargetError> {
    fs::DirBuilder::new().mode(0o700).create(to).map_err(|source| io("create directory", to, source))?;
    if let Some(user) = user {
        user.own(to)?;
    }
    for entry in fs::read_dir(from).map_err(|source| io("read directory", from, source))? {
        let entry = entry.map_err(|source| io("read directory", from, source))?;
        let (source_path, target): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|source| io("inspect", &source_path, source))?;
        if kind.is_dir() && depth > 0 {
            copy_directory(&source_path, &target, user, depth - 1)?;
        } else if kind.is_file() {
            fs::copy(&source_path, &target).map_err(|source| io("copy", &source_path, source))?;
            if let Some(user) = user {
                user.own(&target)?;
            }
        }
    }
    Ok(())
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> TargetError {
    TargetError::Io { action, path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_copied_log_has_all_files_of_all_directories() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        fs::create_dir_all(from.join("archive_status")).unwrap();
        fs::write(from.join("000000010000000000000001"), [7; 100]).unwrap();
        fs::write(from.join("archive_status/x.done"), "").unwrap();
        let to = scratch.path().join("to");
        copy_directory(&from, &to, None, DEPTH_MAX).unwrap();
        assert_eq!(fs::read(to.join("000000010000000000000001")).unwrap(), [7; 100]);
        assert!(to.join("archive_status/x.done").is_file());
    }
}
