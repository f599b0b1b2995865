//! A cluster of our own: made, started, stopped and removed by fathom, and by nobody else.
//!
//! ```text
//! <base>/fathom-postgres-<id>/               the managed directory, see `managed_directory`
//!     data/                                  PGDATA
//!     server.log
//! <elsewhere>/fathom-postgres-<id>-<role>/   a part of them: tablespace or log
//! /tmp/fathom-pg-<id>/                       mode 0700, the socket
//! ```
//! The server listens on the socket alone, where everybody who can enter the directory is trusted: its owner and
//! root. Connections by TCP, which only tests switch on, need a password.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lab::engine::TargetError;
use lab::engine::managed_directory::ManagedDirectory;

use crate::control::Control;
use crate::server::discovery::ServerBinaries;
use crate::server::leftovers::{self, KIND, SOCKET_PREFIX};
use crate::server::process::{ServerProcess, Start, last_lines, run_tool};
use crate::server::user::ServerUser;
use crate::wire::{Endpoint, Login, Security};

mod kept;

/// Superuser of the cluster, and its only role.
pub(crate) const SUPERUSER: &str = "fathom";

/// Longest path of a socket, without its final zero byte.
// EVIDENCE: Linux unix(7), sun_path
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Time for one connection to it: on a busy machine thousands of clients may queue for the server's first process.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(60);

/// Time until a started server must accept connections: it may have to recover from a crash first.
const START_TIME_MAX: Duration = Duration::from_secs(120);

/// Pause between two attempts to connect to a server that starts.
const ATTEMPT_PERIOD: Duration = Duration::from_millis(5);

/// What a cluster is made from.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Binaries of the server.
    pub server: ServerBinaries,
    /// Existing directory in which the cluster's own directory is made.
    pub base: PathBuf,
    /// Further existing directories that will hold parts of it: leftovers are cleaned there too.
    pub elsewhere: Vec<PathBuf>,
    /// Number of the port; `None` takes one that is free.
    pub port: Option<u16>,
}

/// A cluster and, while it runs, its server. Dropped without [`Cluster::remove`] or [`Cluster::keep`] it removes
/// itself as well as it can.
#[derive(Debug)]
pub struct Cluster {
    server: ServerBinaries,
    user: Option<ServerUser>,
    /// `None` when the cluster was removed or kept.
    managed_directory: Option<ManagedDirectory>,
    parts: Vec<ManagedDirectory>,
    directory: PathBuf,
    socket_directory: PathBuf,
    port: u16,
    process: Option<ServerProcess>,
}

impl Cluster {
    /// Cleans leftovers of crashed runs in the same directories, then makes a cluster (`initdb`, about a second and
    /// 40 MB). No server runs yet.
    ///
    /// # Errors
    /// A directory that is missing, not writable or out of reach for the user that the server runs as; a port in
    /// use; `initdb` that fails, with what it said.
    pub fn create(options: &ClusterOptions) -> Result<Self, TargetError> {
        let base = canonical(&options.base)?;
        let mut places = vec![base.as_path()];
        places.extend(options.elsewhere.iter().map(PathBuf::as_path));
        leftovers::clean(&places);

        let user = ServerUser::for_this_process()?;
        if let Some(user) = &user {
            for place in &places {
                user.require_reach(place)?;
            }
            user.require_reach(&options.server.bin_dir)?;
            tracing::info!(user = user.name, "fathom runs as root, the server runs as another user");
        }
        let port = choose_port(options.port)?;
        let managed_directory = ManagedDirectory::create(&base, KIND)?;
        // From here on the value removes what was made when something does not work.
        let mut cluster = Self {
            server: options.server.clone(),
            user,
            directory: managed_directory.directory().to_path_buf(),
            managed_directory: Some(managed_directory),
            parts: Vec::new(),
            socket_directory: PathBuf::new(),
            port,
            process: None,
        };
        cluster.own(&cluster.directory)?;
        cluster.make_socket_directory()?;
        cluster.initialise()?;
        Ok(cluster)
    }

    /// Starts the server with these settings after our own, and waits until it accepts connections.
    ///
    /// The calling thread must live as long as the server is wanted (see the `process` module).
    ///
    /// # Errors
    /// The server ends instead: the last lines of its log are quoted.
    pub fn start(&mut self, settings: &[(String, String)]) -> Result<(), TargetError> {
        self.stop();
        let log = self.directory.join("server.log");
        let log_start = std::fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let mut all = self.own_settings();
        all.extend_from_slice(settings);
        let mut process = ServerProcess::spawn(&Start {
            bin_dir: &self.server.bin_dir,
            user: self.user.as_ref(),
            data: &self.data(),
            log: &log,
            settings: &all,
        })?;
        let deadline = Instant::now() + START_TIME_MAX;
        loop {
            let reason = match Control::connect(&self.login("postgres", "fathom-control")) {
                Ok(control) => {
                    control.close();
                    self.process = Some(process);
                    return Ok(());
                }
                Err(error) => error,
            };
            if let Some(status) = process.ended() {
                return Err(TargetError::engine(
                    "could not start the server",
                    format!("{} ({status})", last_lines(&text_after(&log, log_start))),
                ));
            }
            if Instant::now() > deadline {
                process.stop();
                return Err(TargetError::engine(
                    format!("could not reach the server within {} s", START_TIME_MAX.as_secs()),
                    reason,
                ));
            }
            std::thread::sleep(ATTEMPT_PERIOD);
        }
    }

    /// Stops the server, if it runs, in order: it writes its pages and a checkpoint.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop();
        }
    }

    /// Stops the server and removes everything that was made.
    ///
    /// # Errors
    /// A directory that cannot be removed; the others are removed nevertheless.
    pub fn remove(mut self) -> Result<(), TargetError> {
        self.remove_all()
    }

    /// Stops the server and leaves the cluster where it is; no later run takes it for a leftover.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub fn keep(mut self) -> Result<PathBuf, TargetError> {
        self.stop();
        leftovers::remove_socket_directory(&self.socket_directory);
        for managed_directory in self.parts.drain(..).chain(self.managed_directory.take()) {
            managed_directory.keep()?;
        }
        Ok(self.directory.clone())
    }

    /// Main directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// PGDATA.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Binaries it runs on.
    pub fn server(&self) -> &ServerBinaries {
        &self.server
    }

    /// Directory of the socket.
    pub fn socket_directory(&self) -> &Path {
        &self.socket_directory
    }

    /// Number of the port, in the socket's name and for TCP.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id of the server, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::id)
    }

    /// User that the server runs as, when that is not the caller.
    pub(crate) fn user(&self) -> Option<&ServerUser> {
        self.user.as_ref()
    }

    /// Login as superuser over the socket.
    pub(crate) fn login(&self, database: &str, application_name: &str) -> Login {
        Login {
            endpoint: Endpoint::Unix { directory: self.socket_directory.clone(), port: self.port },
            user: SUPERUSER.to_owned(),
            password: None,
            database: database.to_owned(),
            application_name: application_name.to_owned(),
            options: None,
            security: Security::none(),
            connect_time_max: Some(CONNECT_TIME_MAX),
        }
    }

    /// Makes a marked directory of this cluster inside `place`, for `role`; one that exists already is returned.
    pub(crate) fn part(&mut self, place: &Path, role: &str) -> Result<PathBuf, TargetError> {
        let managed_directory =
            self.managed_directory.as_mut().expect("the directory lives as long as the cluster");
        let directory = managed_directory.part_directory(place, role)?;
        if !self.parts.iter().any(|part| part.directory() == directory) {
            let part = managed_directory.create_part(place, role)?;
            self.parts.push(part);
            self.own(&directory)?;
        }
        Ok(directory)
    }

    /// Gives a directory to the user that the server runs as.
    fn own(&self, directory: &Path) -> Result<(), TargetError> {
        self.user.as_ref().map_or(Ok(()), |user| user.own(directory))
    }

    /// Settings without which fathom could not reach or trust the server.
    fn own_settings(&self) -> Vec<(String, String)> {
        [
            ("listen_addresses", String::new()),
            ("port", self.port.to_string()),
            ("unix_socket_directories", self.socket_directory.display().to_string()),
            ("unix_socket_permissions", "0700".to_owned()),
            ("logging_collector", "off".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    fn make_socket_directory(&mut self) -> Result<(), TargetError> {
        let managed_directory =
            self.managed_directory.as_mut().expect("the directory lives as long as the cluster");
        let name = format!("{SOCKET_PREFIX}{}", managed_directory.mark().id);
        let file_bytes = format!("/.s.PGSQL.{}.lock", self.port).len();
        let fits =
            |parent: &Path| parent.as_os_str().len() + 1 + name.len() + file_bytes <= SOCKET_PATH_BYTES_MAX;
        let candidates = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        let mut reasons = Vec::new();
        for parent in candidates {
            if !fits(&parent) {
                reasons.push(format!("\"{}\" is too long for a socket", parent.display()));
                continue;
            }
            if let Some(Err(error)) = self.user.as_ref().map(|user| user.require_reach(&parent)) {
                reasons.push(error.to_string());
                continue;
            }
            let directory = parent.join(&name);
            match make_directory(&directory, self.user.as_ref()) {
                Ok(()) => {
                    self.socket_directory = directory.clone();
                    return managed_directory.update(|mark| mark.socket_directory = Some(directory));
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(TargetError::refused(
            format!("no directory for the server's socket: {}", reasons.join("; ")),
            "set TMPDIR to a short directory that you can write to",
        ))
    }

    fn initialise(&self) -> Result<(), TargetError> {
        let data = self.data();
        let mut arguments: Vec<&OsStr> = vec![OsStr::new("-D"), data.as_os_str()];
        arguments.extend(
            [
                "-U",
                SUPERUSER,
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--no-instructions",
            ]
            .map(OsStr::new),
        );
        run_tool(&self.server.bin_dir, "initdb", &arguments, self.user.as_ref(), &self.directory)
    }

    fn remove_all(&mut self) -> Result<(), TargetError> {
        self.stop();
        let mut first_error = None;
        if self.managed_directory.is_some() {
            leftovers::remove_socket_directory(&self.socket_directory);
        }
        for managed_directory in self.parts.drain(..).chain(self.managed_directory.take()) {
            if let Err(error) = managed_directory.remove() {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.managed_directory.is_some()
            && let Err(error) = self.remove_all()
        {
            tracing::warn!(%error, "could not remove the cluster");
        }
    }
}

fn canonical(directory: &Path) -> Result<PathBuf, TargetError> {
    directory.canonicalize().map_err(|source| TargetError::Io {
        action: "use directory",
        path: directory.to_path_buf(),
        source,
    })
}

/// Makes a directory that only the server's user may enter.
pub(crate) fn make_directory(directory: &Path, user: Option<&ServerUser>) -> Result<(), TargetError> {
    std::fs::DirBuilder::new().mode(0o700).create(directory).map_err(|source| TargetError::Io {
        action: "create directory",
        path: directory.to_path_buf(),
        source,
    })?;
    user.map_or(Ok(()), |user| user.own(directory))
}

/// A port that nobody listens on now. It only names the socket, whose directory is ours alone, so that it may be
/// taken later by somebody else does no harm.
fn choose_port(asked: Option<u16>) -> Result<u16, TargetError> {
    let port = asked.unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|error| {
        TargetError::refused(
            format!("cannot use port {port}: {error}"),
            "choose another port, or none to have a free one taken",
        )
    })?;
    listener
        .local_addr()
        .map(|address| address.port())
        .map_err(|error| TargetError::refused(format!("cannot find a free port: {error}"), "name a port"))
}

/// What was added to a log since it had `start_bytes`.
fn text_after(log: &Path, start_bytes: u64) -> String {
    use std::io::{Read, Seek, SeekFrom};
    /// Enough for the lines that an error quotes.
    const BYTES_MAX: u64 = 64 * 1024;
    let mut text = Vec::new();
    if let Ok(mut file) = std::fs::File::open(log) {
        let _ = file.seek(SeekFrom::Start(start_bytes));
        let _ = file.take(BYTES_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
