//! The file or device that is measured, and the rule that nothing is overwritten which fathom did not make.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FallocateFlags, OFlags};
use serde::{Deserialize, Serialize};

use super::error::BaselineError;
use super::job::stamp;
use super::matrix::Matrix;
use crate::backend::{BackendOptions, Completion, Operation, Request, open_backend};
use crate::buffer::fill_incompressible;
use crate::facts::{DeviceNumber, StorageFacts, storage_behind};
use crate::file::{Access, CacheMode, OpenFile};
use crate::space::require_free;

/// The size of the writes that fill a new file.
const FILL_BYTES: usize = 1 << 20;

/// How many of them are under way.
const FILL_DEPTH: usize = 8;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A file that fathom made in the directory, and that is gone when it ends.
    MadeFile,
    /// A file that was there.
    ExistingFile,
    /// A block device.
    BlockDevice,
}

/// What is known of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// The path as given.
    pub path: String,
    /// What it is.
    pub kind: TargetKind,
    /// The part that is used, from the start, in bytes.
    pub size_bytes: u64,
    /// Whether transfers go past the page cache.
    pub cache: CacheMode,
    /// Lengths and places of direct transfers are multiples of this.
    pub alignment_bytes: u64,
    /// What lies behind the directory of the file; absent for a block device.
    pub storage: Option<StorageFacts>,
    /// The block device whose counters verify the transfers; absent where there is none.
    pub counted_device: Option<String>,
    /// Whether parts of an existing file have no place on the device: reads of them do not reach it.
    pub is_sparse: bool,
}

/// An open target.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: Arc<File>,
    pub(super) facts: TargetFacts,
}

impl Target {
    /// Opens `path` for `matrix`; makes a file when it is a directory.
    pub(super) fn open(path: &Path, matrix: &Matrix) -> Result<Self, BaselineError> {
        let open_error = |source| BaselineError::Open { path: path.to_path_buf(), source };
        let metadata = path.metadata().map_err(open_error)?;
        let kind = metadata.file_type();
        let other = crate::regular::other_kind(kind).filter(|_| !kind.is_dir() && !kind.is_block_device());
        if let Some(other) = other {
            let reason = format!("it is {other}, neither a directory nor a regular file nor a block device");
            return Err(open_error(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        let (open, kind) = match metadata.is_dir() {
            true => (make_file(path, matrix)?, TargetKind::MadeFile),
            false => {
                let is_device = metadata.file_type().is_block_device();
                let kind = if is_device { TargetKind::BlockDevice } else { TargetKind::ExistingFile };
                (open_existing(path, kind, matrix)?, kind)
            }
        };
        let storage = match kind {
            TargetKind::MadeFile => storage_behind(path).ok(),
            TargetKind::ExistingFile => {
                let absolute = path.canonicalize().map_err(open_error)?;
                absolute.parent().and_then(|parent| storage_behind(parent).ok())
            }
            TargetKind::BlockDevice => None,
        };
        let counted_device = match kind {
            TargetKind::BlockDevice => name_of_device(DeviceNumber::from_raw(metadata.rdev())),
            _ => storage
                .as_ref()
                .and_then(|facts| facts.block_devices.first())
                .map(|device| device.name.clone()),
        };
        let facts = TargetFacts {
            path: path.to_string_lossy().into_owned(),
            kind,
            size_bytes: open.size_bytes.min(matrix.size_bytes),
            cache: open.cache,
            alignment_bytes: open.alignment_bytes as u64,
            storage,
            counted_device,
            is_sparse: open.allocated_bytes.is_some_and(|allocated| allocated < open.size_bytes),
        };
        Ok(Target { file: open.file, facts })
    }
}

/// Opens a file or device that was there before. For reading only, unless its name was repeated.
fn open_existing(path: &Path, kind: TargetKind, matrix: &Matrix) -> Result<OpenFile, BaselineError> {
    let open_error = |source| BaselineError::Open { path: path.to_path_buf(), source };
    if !matrix.writes() {
        return OpenFile::open(path, Access::Read, matrix.want_direct).map_err(open_error);
    }
    let is_named = matrix.destroy_contents.as_deref().is_some_and(|name| Path::new(name) == path);
    if !is_named {
        return Err(BaselineError::WouldDestroy { path: path.to_path_buf() });
    }
    if kind == TargetKind::BlockDevice {
        // Without O_CREAT, O_EXCL on a block device fails while it is mounted or otherwise in use (open(2)).
        let flags = i32::try_from(OFlags::EXCL.bits()).expect("flags of open are below 2^31");
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(open_error)?;
    }
    OpenFile::open(path, Access::ReadWrite, matrix.want_direct).map_err(open_error)
}

/// Makes a file in `directory`, writes it whole, and flushes it. It loses its name before it is filled: its space is free
/// when the process ends, however it ends.
fn make_file(directory: &Path, matrix: &Matrix) -> Result<OpenFile, BaselineError> {
    // A whole number of fills, so that every byte is written by an aligned transfer.
    let size_bytes = matrix.size_bytes.next_multiple_of(FILL_BYTES as u64);
    require_free(directory, size_bytes)?;
    let named = NamedFile::create_in(directory)?;
    let path = &named.path;
    let error = |action| move |source| BaselineError::Io { action, path: path.clone(), source };
    // One stretch on the device where the file system can reserve; where not, the writes find their places.
    let _unsupported = rustix::fs::fallocate(&named.file, FallocateFlags::empty(), 0, size_bytes);
    let open = OpenFile::open(path, Access::ReadWrite, matrix.want_direct).map_err(error("open"))?;
    std::fs::remove_file(path).map_err(error("take the name of"))?;
    fill(&open.file, size_bytes, matrix).map_err(error("write"))?;
    open.file.sync_all().map_err(error("flush"))?;
    let allocated_bytes = open.file.metadata().map(|metadata| metadata.blocks().saturating_mul(512)).ok();
    Ok(OpenFile { size_bytes: matrix.size_bytes, allocated_bytes, ..open })
}

fn fill(file: &Arc<File>, size_bytes: u64, matrix: &Matrix) -> io::Result<()> {
    let options = BackendOptions {
        depth: FILL_DEPTH,
        buffer_bytes: FILL_BYTES,
        file_count_max: 1,
        register_files: false,
        poll: false,
        grows: false,
        no_uring_reason: None,
    };
    let mut backend = open_backend(matrix.backend, &options).map_err(io::Error::other)?;
    backend.set_file(0, Arc::clone(file))?;
    let mut free: Vec<usize> = (0..FILL_DEPTH).collect();
    free.iter().for_each(|&slot| {
        fill_incompressible(backend.buffer_mut(slot), matrix.seed.wrapping_add(slot as u64))
    });
    let mut next_bytes = 0;
    let mut completions: Vec<Completion> = Vec::new();
    loop {
        while let Some(slot) = free.pop_if(|_| next_bytes < size_bytes) {
            stamp(backend.buffer_mut(slot), next_bytes);
            let (offset_bytes, length_bytes) = (next_bytes, FILL_BYTES);
            backend.start(Request {
                slot,
                operation: Operation::Write,
                file_index: 0,
                offset_bytes,
                length_bytes,
            });
            next_bytes += FILL_BYTES as u64;
        }
        if backend.in_flight() == 0 {
            return Ok(());
        }
        backend.wait(&mut completions)?;
        for completion in completions.drain(..) {
            if completion.outcome? < FILL_BYTES {
                return Err(io::Error::new(io::ErrorKind::WriteZero, "a short write"));
            }
            free.push(completion.slot);
        }
    }
}

/// A new file that loses its name when it goes out of scope.
#[derive(Debug)]
struct NamedFile {
    file: File,
    path: PathBuf,
}

impl NamedFile {
    fn create_in(directory: &Path) -> Result<Self, BaselineError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".fathom-io-{}-{serial}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Ok(NamedFile { file, path }),
            Err(source) => Err(BaselineError::Io { action: "create", path, source }),
        }
    }
}

impl Drop for NamedFile {
    fn drop(&mut self) {
        // Nothing can be done about a failure, and what is measured is not touched by it.
        let _unremoved = std::fs::remove_file(&self.path);
    }
}

fn name_of_device(number: DeviceNumber) -> Option<String> {
    let directory = std::fs::canonicalize(format!("/sys/dev/block/{number}")).ok()?;
    Some(directory.file_name()?.to_string_lossy().replace('!', "/"))
}
