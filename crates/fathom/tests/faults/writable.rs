//! A file system that can be written, in front of a directory, whose device begins to fail when it is told to.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::attributes::{attributes_of, errno};
use crate::leftovers;

/// Nothing is kept by the kernel: files are removed and made again under the same name.
const TTL: Duration = Duration::ZERO;

/// What a device refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Writes,
    Syncs,
    Everything,
}

/// A mounted directory; unmounted when it is dropped.
pub(crate) struct Writable {
    place: tempfile::TempDir,
    shared: Arc<Mutex<Shared>>,
    session: Option<BackgroundSession>,
}

impl Writable {
    pub(crate) fn new(backing: &Path) -> io::Result<Writable> {
        leftovers::remove();
        let place = tempfile::Builder::new().prefix(leftovers::PREFIX).tempdir_in("/tmp")?;
        let shared = Arc::new(Mutex::new(Shared {
            backing: backing.to_path_buf(),
            refused: None,
            paths: vec![PathBuf::new()],
            numbers: HashMap::from([(PathBuf::new(), 1)]),
            handles: HashMap::new(),
            handle_count: 0,
        }));
        let files = Files { shared: Arc::clone(&shared) };
        let session = fuser::spawn_mount(files, place.path(), &Config::default())?;
        Ok(Writable { place, shared, session: Some(session) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// From now on this is refused with this error number, or nothing.
    pub(crate) fn refuse(&self, refused: Option<(Refused, i32)>) {
        lock(&self.shared).refused = refused;
    }
}

impl Drop for Writable {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            // Errors leave a mount behind, which the next run removes.
            let _ = session.umount_and_join();
        }
    }
}

struct Shared {
    backing: PathBuf,
    refused: Option<(Refused, i32)>,
    /// Paths below the directory, by inode number less one.
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    handles: HashMap<u64, Arc<File>>,
    handle_count: u64,
}

impl Shared {
    fn path(&self, number: INodeNo) -> io::Result<PathBuf> {
        let place = number.0.checked_sub(1).and_then(|index| self.paths.get(index as usize));
        place.cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    fn backed(&self, number: INodeNo) -> io::Result<PathBuf> {
        Ok(self.backing.join(self.path(number)?))
    }

    fn attributes(&mut self, path: PathBuf) -> io::Result<FileAttr> {
        let metadata = std::fs::symlink_metadata(self.backing.join(&path))?;
        let number = match self.numbers.get(&path) {
            Some(number) => *number,
            None => {
                self.paths.push(path.clone());
                self.numbers.insert(path, self.paths.len() as u64);
                self.paths.len() as u64
            }
        };
        Ok(attributes_of(&metadata, number))
    }

    /// A name that is gone: what has it next is another file.
    fn forget(&mut self, path: &Path) {
        self.numbers.remove(path);
    }

    fn keep(&mut self, file: File) -> FileHandle {
        self.handle_count += 1;
        self.handles.insert(self.handle_count, Arc::new(file));
        FileHandle(self.handle_count)
    }

    fn handle(&self, handle: FileHandle) -> io::Result<Arc<File>> {
        self.handles.get(&handle.0).cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    /// The error of the device, if it refuses this now.
    fn allow(&self, what: Refused) -> io::Result<()> {
        match self.refused {
            Some((refused, errno)) if refused == what || refused == Refused::Everything => {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }

    fn create(&mut self, parent: INodeNo, name: &OsStr, mode: u32) -> io::Result<(FileAttr, FileHandle)> {
        self.allow(Refused::Writes)?;
        let path = self.path(parent)?.join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(mode);
        let handle = file.open(self.backing.join(&path)).map(|file| self.keep(file))?;
        Ok((self.attributes(path)?, handle))
    }

    fn change(&mut self, number: INodeNo, mode: Option<u32>, size: Option<u64>) -> io::Result<FileAttr> {
        let path = self.path(number)?;
        let backed = self.backing.join(&path);
        if let Some(size) = size {
            self.allow(Refused::Writes)?;
            OpenOptions::new().write(true).open(&backed)?.set_len(size)?;
        }
        if let Some(mode) = mode {
            std::fs::set_permissions(&backed, std::fs::Permissions::from_mode(mode))?;
        }
        self.attributes(path)
    }

    fn read(&self, handle: FileHandle, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        self.allow(Refused::Everything)?;
        let file = self.handle(handle)?;
        let mut bytes = vec![0; size as usize];
        let mut done = 0;
        while done < bytes.len() {
            match file.read_at(&mut bytes[done..], offset + done as u64)? {
                0 => break,
                count => done += count,
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    fn write(&self, handle: FileHandle, offset: u64, bytes: &[u8]) -> io::Result<u32> {
        self.allow(Refused::Writes)?;
        self.handle(handle)?.write_all_at(bytes, offset)?;
        Ok(bytes.len() as u32)
    }

    fn unlink(&mut self, parent: INodeNo, name: &OsStr) -> io::Result<()> {
        self.allow(Refused::Writes)?;
        let path = self.path(parent)?.join(name);
        std::fs::remove_file(self.backing.join(&path))?;
        self.forget(&path);
        Ok(())
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) -> io::Result<()> {
        self.allow(Refused::Writes)?;
        std::fs::rename(self.backing.join(&from), self.backing.join(&to))?;
        self.forget(&from);
        self.forget(&to);
        Ok(())
    }
}

/// What the kernel asks.
struct Files {
    shared: Arc<Mutex<Shared>>,
}

/// Answers a question that has no value.
fn done(reply: ReplyEmpty, outcome: io::Result<()>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut shared = lock(&self.shared);
        let found = shared.path(parent).and_then(|parent| shared.attributes(parent.join(name)));
        match found {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let mut shared = lock(&self.shared);
        match shared.path(number).and_then(|path| shared.attributes(path)) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match lock(&self.shared).change(number, mode, size) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let mut shared = lock(&self.shared);
        let made = shared.allow(Refused::Writes).and_then(|()| {
            let path = shared.path(parent)?.join(name);
            std::fs::create_dir(shared.backing.join(&path))?;
            shared.attributes(path)
        });
        match made {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        match lock(&self.shared).create(parent, name, mode) {
            Ok((attributes, handle)) => {
                reply.created(&TTL, &attributes, Generation(0), handle, FopenFlags::empty());
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut shared = lock(&self.shared);
        let opened = shared
            .backed(number)
            .and_then(|path| OpenOptions::new().read(true).write(true).open(path))
            .map(|file| shared.keep(file));
        match opened {
            Ok(handle) => reply.opened(handle, FopenFlags::empty()),
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
        match lock(&self.shared).read(handle, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match lock(&self.shared).write(handle, offset, bytes) {
            Ok(count) => reply.written(count),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        done(reply, lock(&self.shared).allow(Refused::Syncs));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(reply, lock(&self.shared).unlink(parent, name));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut shared = lock(&self.shared);
        let paths = shared
            .path(parent)
            .and_then(|from| Ok((from.join(name), shared.path(new_parent)?.join(new_name))));
        done(reply, paths.and_then(|(from, to)| shared.rename(from, to)));
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

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut shared = lock(&self.shared);
        let Ok(path) = shared.path(number) else { return reply.error(Errno::ENOENT) };
        let entries = std::fs::read_dir(shared.backing.join(&path)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        for (index, name) in names.into_iter().enumerate().skip(offset as usize) {
            let Ok(attributes) = shared.attributes(path.join(&name)) else { continue };
            if reply.add(attributes.ino, index as u64 + 1, attributes.kind, &name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // Enough room: what is refused is refused when it is written.
        reply.statfs(1 << 24, 1 << 23, 1 << 23, 1 << 20, 1 << 20, 4096, 255, 4096);
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
