//! A file system that hands out the files of a directory, except where a fault is planned.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, Request,
};

use crate::attributes::{attributes_of, errno};
use crate::fault::{Fault, Planned};
use crate::leftovers;

/// Names and attributes of files without faults are kept by the kernel for so long.
const TTL: Duration = Duration::from_secs(600);

/// A mounted directory; unmounted when it is dropped.
pub(crate) struct Mount {
    place: tempfile::TempDir,
    shared: Arc<Mutex<Shared>>,
    session: Option<BackgroundSession>,
}

impl Mount {
    /// Shows the files of `backing`; faults may be planned for those in `fragile`.
    pub(crate) fn new(backing: &Path, fragile: Vec<PathBuf>) -> io::Result<Mount> {
        leftovers::remove();
        let place = tempfile::Builder::new().prefix(leftovers::PREFIX).tempdir_in("/tmp")?;
        let shared = Arc::new(Mutex::new(Shared::new(backing, place.path(), fragile)));
        let files = Files { shared: Arc::clone(&shared) };
        let mut config = Config::default();
        config.acl = if rustix::process::geteuid().is_root() {
            fuser::SessionACL::All
        } else {
            fuser::SessionACL::Owner
        };
        let session = fuser::spawn_mount(files, place.path(), &config)?;
        Ok(Mount { place, shared, session: Some(session) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Puts this fault in place of the one before; everything is counted anew.
    pub(crate) fn plan(&self, planned: Option<Planned>) {
        let mut shared = lock(&self.shared);
        shared.planned = planned;
        shared.met.clear();
        shared.open_count = 0;
        shared.read_count = 0;
    }

    /// How often each file was opened and read.
    pub(crate) fn met(&self) -> HashMap<PathBuf, u64> {
        lock(&self.shared).met.clone()
    }

    /// How often the fault was met: the file opened, and its range read.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let shared = lock(&self.shared);
        (shared.open_count, shared.read_count)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            // Errors leave a mount behind, which the next line would not remove either.
            let _ = session.umount_and_join();
        }
    }
}

/// What the threads of the file system and the test share.
struct Shared {
    backing: PathBuf,
    place: PathBuf,
    fragile: Vec<PathBuf>,
    planned: Option<Planned>,
    open_count: u64,
    read_count: u64,
    met: HashMap<PathBuf, u64>,
    /// Paths below the directory, by inode number less one. A replaced file has a number of its own.
    paths: Vec<(PathBuf, bool)>,
    numbers: HashMap<(PathBuf, bool), u64>,
    handles: HashMap<u64, Handle>,
    handle_count: u64,
}

struct Handle {
    file: Arc<File>,
    path: PathBuf,
    is_other: bool,
}

impl Shared {
    fn new(backing: &Path, place: &Path, fragile: Vec<PathBuf>) -> Shared {
        let root = (PathBuf::new(), false);
        Shared {
            backing: backing.to_path_buf(),
            place: place.to_path_buf(),
            fragile,
            planned: None,
            open_count: 0,
            read_count: 0,
            met: HashMap::new(),
            numbers: HashMap::from([(root.clone(), 1)]),
            paths: vec![root],
            handles: HashMap::new(),
            handle_count: 0,
        }
    }

    /// How long the kernel may keep what it was told of a file: one that may be replaced must not be seen as it was.
    fn kept(&self, number: u64) -> Duration {
        let is_fragile = self.entry(INodeNo(number)).is_some_and(|(path, _)| self.fragile.contains(&path));
        if is_fragile { Duration::ZERO } else { TTL }
    }

    fn fault_of(&self, path: &Path) -> Option<&Planned> {
        self.planned.as_ref().filter(|planned| planned.path == path)
    }

    /// Whether the file is gone, or another one stands in its place, after what was opened and read so far.
    fn is_due(&self) -> bool {
        self.planned.as_ref().is_some_and(|planned| match planned.fault {
            Fault::Removed { after } | Fault::Replaced { after } | Fault::Cut { after, .. } => {
                self.open_count + self.read_count > after
            }
            _ => false,
        })
    }

    /// A symbolic link into the directory leads to the mounted one.
    fn led(&self, target: PathBuf) -> PathBuf {
        match target.strip_prefix(&self.backing) {
            Ok(below) => self.place.join(below),
            Err(_) => target,
        }
    }

    fn number(&mut self, path: PathBuf, is_other: bool) -> u64 {
        let key = (path, is_other);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.paths.push(key.clone());
        let number = self.paths.len() as u64;
        self.numbers.insert(key, number);
        number
    }

    fn entry(&self, number: INodeNo) -> Option<(PathBuf, bool)> {
        self.paths.get(usize::try_from(number.0).ok()?.checked_sub(1)?).cloned()
    }

    /// The attributes of a file as they are shown now.
    fn attributes(&self, path: &Path, is_other: bool, number: u64) -> io::Result<FileAttr> {
        let metadata = std::fs::symlink_metadata(self.backing.join(path))?;
        let mut attributes = attributes_of(&metadata, number);
        let is_due = self.is_due();
        match self.fault_of(path).map(|planned| &planned.fault) {
            Some(Fault::Cut { bytes, .. }) if is_due => attributes.size = attributes.size.min(*bytes),
            Some(Fault::Replaced { .. }) if is_other => attributes.mtime += Duration::from_secs(1),
            _ => {}
        }
        Ok(attributes)
    }

    fn look_up(&mut self, parent: INodeNo, name: &OsStr) -> io::Result<FileAttr> {
        let (parent, _) = self.entry(parent).ok_or(io::ErrorKind::NotFound)?;
        let path = parent.join(name);
        let is_due = self.is_due();
        let mut is_other = false;
        match self.fault_of(&path).map(|planned| &planned.fault) {
            Some(Fault::Removed { .. }) if is_due => return Err(io::Error::from_raw_os_error(2)),
            Some(Fault::Replaced { .. }) => is_other = is_due,
            _ => {}
        }
        std::fs::symlink_metadata(self.backing.join(&path))?;
        let number = self.number(path.clone(), is_other);
        self.attributes(&path, is_other, number)
    }

    fn open(&mut self, number: INodeNo) -> io::Result<u64> {
        let (path, is_other) = self.entry(number).ok_or(io::ErrorKind::NotFound)?;
        *self.met.entry(path.clone()).or_default() += 1;
        let mut refused = None;
        if let Some(Planned { fault, .. }) = self.fault_of(&path) {
            if let Fault::OpenError { errno, from } = fault {
                refused = (self.open_count >= *from).then_some(*errno);
            }
            self.open_count += 1;
        }
        if let Some(errno) = refused {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let file = Arc::new(File::open(self.backing.join(&path))?);
        self.handle_count += 1;
        self.handles.insert(self.handle_count, Handle { file, path, is_other });
        Ok(self.handle_count)
    }

    /// Reads as the plan says.
    fn read(&mut self, handle: u64, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        let handle = self.handles.get(&handle).ok_or(io::ErrorKind::NotFound)?;
        let (file, path, is_other) = (Arc::clone(&handle.file), handle.path.clone(), handle.is_other);
        *self.met.entry(path.clone()).or_default() += 1;
        let mut bytes = vec![0; size as usize];
        let mut done = 0;
        while done < bytes.len() {
            match file.read_at(&mut bytes[done..], offset + done as u64)? {
                0 => break,
                count => done += count,
            }
        }
        bytes.truncate(done);
        let is_due = self.is_due();
        let Some(planned) = self.fault_of(&path).cloned() else { return Ok(bytes) };
        if is_other {
            // Other content of the same length.
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            return Ok(bytes);
        }
        if let Fault::Cut { bytes: length, .. } = planned.fault {
            self.read_count += 1;
            if is_due {
                bytes.truncate(usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX));
            }
            return Ok(bytes);
        }
        if matches!(planned.fault, Fault::Removed { .. } | Fault::Replaced { .. }) {
            self.read_count += 1;
            return Ok(bytes);
        }
        let is_touched = planned.range.start < offset + u64::from(size) && offset < planned.range.end;
        if !is_touched {
            return Ok(bytes);
        }
        let count = self.read_count;
        self.read_count += 1;
        planned.apply(count, offset, bytes)
    }
}

/// What the kernel asks.
struct Files {
    shared: Arc<Mutex<Shared>>,
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut shared = lock(&self.shared);
        match shared.look_up(parent, name) {
            Ok(attributes) => reply.entry(&shared.kept(attributes.ino.0), &attributes, Generation(0)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let shared = lock(&self.shared);
        let Some((path, is_other)) = shared.entry(number) else { return reply.error(Errno::ENOENT) };
        match shared.attributes(&path, is_other, number.0) {
            Ok(attributes) => reply.attr(&shared.kept(number.0), &attributes),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        use std::os::unix::ffi::OsStrExt as _;
        let shared = lock(&self.shared);
        let Some((path, _)) = shared.entry(number) else { return reply.error(Errno::ENOENT) };
        match std::fs::read_link(shared.backing.join(path)) {
            Ok(target) => reply.data(shared.led(target).as_os_str().as_bytes()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match lock(&self.shared).open(number) {
            // Past the page cache: each reading of the program is a reading of this.
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match lock(&self.shared).read(handle.0, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.shared).handles.remove(&handle.0);
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut shared = lock(&self.shared);
        let path = shared.entry(number).map(|(path, _)| path).unwrap_or_default();
        if let Some(Planned { fault: Fault::ListError { errno, opens: true }, .. }) = shared.fault_of(&path) {
            let errno = Errno::from_i32(*errno);
            shared.open_count += 1;
            return reply.error(errno);
        }
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut shared = lock(&self.shared);
        let Some((path, _)) = shared.entry(number) else { return reply.error(Errno::ENOENT) };
        if let Some(Planned { fault: Fault::ListError { errno, .. }, .. }) = shared.fault_of(&path) {
            let errno = Errno::from_i32(*errno);
            shared.open_count += 1;
            return reply.error(errno);
        }
        let is_due = shared.is_due();
        let gone = shared
            .planned
            .as_ref()
            .filter(|planned| is_due && matches!(planned.fault, Fault::Removed { .. }));
        let gone = gone.map(|planned| planned.path.clone());
        let mut names = match std::fs::read_dir(shared.backing.join(&path)) {
            Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect::<Vec<_>>(),
            Err(error) => return reply.error(errno(&error)),
        };
        names.sort();
        for (index, name) in names.into_iter().enumerate().skip(offset as usize) {
            let below = path.join(&name);
            if Some(&below) == gone.as_ref() {
                continue;
            }
            let number = shared.number(below.clone(), false);
            let Ok(attributes) = shared.attributes(&below, false, number) else { continue };
            if reply.add(INodeNo(number), index as u64 + 1, attributes.kind, &name) {
                break;
            }
        }
        reply.ok();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
