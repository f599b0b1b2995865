//! Open files as SQLite sees them: the functions that read, write, flush and lock, with a clock around each.
//!
//! Every function finds the real file behind our head and calls the function of the same name there with the same
//! arguments; status and data come back unchanged, a short read with its zeros as well.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rusqlite::ffi;

use super::call_totals::{Call, FRAME_HEADER_BYTES, Role};
use super::timing::Timing;

/// Slot of the checkpoint lock among the locks in shared memory.
// EVIDENCE: sqlite walformat 2.3.1, WAL_CKPT_LOCK
const CHECKPOINT_LOCK_SLOT: c_int = 1;

/// Calls a method of the real file with the arguments of ours.
macro_rules! on_file {
    ($method:ident, $absent:expr, $file:ident $(, $argument:expr)*) => {{
        // SAFETY: SQLite calls methods of open files only, so the file behind our head is open and has its methods;
        // the arguments are SQLite's own, handed on unchanged.
        unsafe {
            let real = real_file($file);
            match (*(*real).pMethods).$method {
                Some(method) => method(real $(, $argument)*),
                None => $absent,
            }
        }
    }};
}

/// What stands before the real file in memory. Plain data: SQLite frees it without telling us.
#[repr(C)]
struct Head {
    base: ffi::sqlite3_file,
    vfs: &'static Timing,
    role: Role,
}

/// Bytes before the real file, a multiple of the alignment that SQLite gives to files.
pub(super) const HEAD_BYTES: usize = size_of::<Head>().next_multiple_of(16);

/// The file of the default VFS behind our head.
///
/// # Safety
/// `file` has at least `szOsFile` bytes of our table.
unsafe fn real_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the caller's promise keeps the sum inside the same piece of memory.
    unsafe { file.cast::<u8>().add(HEAD_BYTES).cast() }
}

/// Where the calls on `file` are noted, and as what.
///
/// # Safety
/// `file` was opened by `x_open` and is not closed.
unsafe fn noted_as(file: *mut ffi::sqlite3_file) -> (&'static Timing, Role) {
    // SAFETY: `x_open` wrote a whole head before SQLite could call any method; both fields are plain data.
    unsafe {
        let head = file.cast::<Head>();
        ((*head).vfs, (*head).role)
    }
}

/// Makes a file look closed, ours and the real one, and returns the real one.
///
/// # Safety
/// `file` has at least `szOsFile` bytes of our table and nobody else looks at them.
pub(super) unsafe fn clear(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: both heads lie inside these bytes. SQLite does not close a file that has no methods.
    unsafe {
        (*file).pMethods = ptr::null();
        let real = real_file(file);
        (*real).pMethods = ptr::null();
        real
    }
}

/// Puts our methods before those of the real file, if it has any, and returns its length.
///
/// # Safety
/// `file` was cleared, and then the real VFS asked to open the real one.
pub(super) unsafe fn dress(
    file: *mut ffi::sqlite3_file,
    vfs: &'static Timing,
    role: Role,
) -> Option<ffi::sqlite3_int64> {
    // SAFETY: the methods are null, or a static table: also after an error, in which case SQLite closes the file, and
    // so it does ours, because it has methods exactly when the real one does. The head fits into what was cleared.
    unsafe {
        let methods = (*real_file(file)).pMethods.as_ref()?;
        let base = ffi::sqlite3_file { pMethods: methods_like(methods) };
        file.cast::<Head>().write(Head { base, vfs, role });
    }
    let mut size_bytes = 0;
    let status = on_file!(xFileSize, ffi::SQLITE_IOERR_FSTAT, file, &raw mut size_bytes);
    (status == ffi::SQLITE_OK).then_some(size_bytes)
}

/// Runs the body of a function that C calls; a panic becomes `fallback`.
pub(super) fn guarded<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// Functions that only hand on.
macro_rules! hand_on {
    ($($name:ident => $method:ident($($argument:ident: $type:ty),*) -> $result:ty, or $absent:expr;)*) => {$(
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $type)*) -> $result {
            on_file!($method, $absent, file $(, $argument)*)
        }
    )*};
}

hand_on! {
    x_close => xClose() -> c_int, or ffi::SQLITE_OK;
    x_file_size => xFileSize(size: *mut ffi::sqlite3_int64) -> c_int, or ffi::SQLITE_IOERR_FSTAT;
    x_check_reserved_lock => xCheckReservedLock(result: *mut c_int) -> c_int,
        or ffi::SQLITE_IOERR_CHECKRESERVEDLOCK;
    x_file_control => xFileControl(operation: c_int, argument: *mut c_void) -> c_int, or ffi::SQLITE_NOTFOUND;
    x_sector_size => xSectorSize() -> c_int, or 0;
    x_device_characteristics => xDeviceCharacteristics() -> c_int, or 0;
    x_shm_barrier => xShmBarrier() -> (), or ();
    x_shm_unmap => xShmUnmap(delete: c_int) -> c_int, or ffi::SQLITE_OK;
    x_fetch => xFetch(offset: ffi::sqlite3_int64, size: c_int, out: *mut *mut c_void) -> c_int,
        or ffi::SQLITE_IOERR;
    x_unfetch => xUnfetch(offset: ffi::sqlite3_int64, page: *mut c_void) -> c_int, or ffi::SQLITE_IOERR;
}

unsafe extern "C" fn x_read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    size: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    guarded(ffi::SQLITE_IOERR_READ, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xRead, ffi::SQLITE_IOERR_READ, file, buffer, size, offset);
        timed.meter.add(role, Call::Read, began, bytes_moved(status, size));
        status
    })
}

unsafe extern "C" fn x_write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    size: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    guarded(ffi::SQLITE_IOERR_WRITE, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xWrite, ffi::SQLITE_IOERR_WRITE, file, buffer, size, offset);
        timed.meter.add_write(role, began, offset, bytes_moved(status, size));
        if role == Role::Log && status == ffi::SQLITE_OK && i64::from(size) == FRAME_HEADER_BYTES as i64 {
            // SAFETY: SQLite hands over `size` bytes to write, and these are as many as the header of a frame has.
            let header = unsafe { buffer.cast::<[u8; FRAME_HEADER_BYTES as usize]>().read_unaligned() };
            timed.meter.add_frame(&header);
        }
        status
    })
}

unsafe extern "C" fn x_truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    guarded(ffi::SQLITE_IOERR_TRUNCATE, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xTruncate, ffi::SQLITE_IOERR_TRUNCATE, file, size);
        timed.meter.add(role, Call::Truncate, began, 0);
        if role == Role::Log && status == ffi::SQLITE_OK {
            timed.meter.log_size_is(size);
        }
        status
    })
}

unsafe extern "C" fn x_sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    guarded(ffi::SQLITE_IOERR_FSYNC, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        timed.pause_before_sync();
        let status = on_file!(xSync, ffi::SQLITE_IOERR_FSYNC, file, flags);
        timed.meter.add_sync(role, began);
        status
    })
}

unsafe extern "C" fn x_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    guarded(ffi::SQLITE_IOERR_LOCK, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xLock, ffi::SQLITE_IOERR_LOCK, file, level);
        timed.meter.add(role, Call::Lock, began, 0);
        status
    })
}

unsafe extern "C" fn x_unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    guarded(ffi::SQLITE_IOERR_UNLOCK, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xUnlock, ffi::SQLITE_IOERR_UNLOCK, file, level);
        timed.meter.add(role, Call::Unlock, began, 0);
        status
    })
}

unsafe extern "C" fn x_shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    guarded(ffi::SQLITE_IOERR_SHMMAP, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let began = timed.meter.now();
        let status = on_file!(xShmMap, ffi::SQLITE_IOERR_SHMMAP, file, region, size, extend, out);
        timed.meter.add(role, Call::SharedMap, began, 0);
        status
    })
}

unsafe extern "C" fn x_shm_lock(
    file: *mut ffi::sqlite3_file,
    slot: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    guarded(ffi::SQLITE_IOERR_SHMLOCK, || {
        // SAFETY: SQLite calls methods of open files only.
        let (timed, role) = unsafe { noted_as(file) };
        let releases = flags & ffi::SQLITE_SHM_UNLOCK != 0;
        let began = timed.meter.now();
        let status = on_file!(xShmLock, ffi::SQLITE_IOERR_SHMLOCK, file, slot, count, flags);
        let call = if releases { Call::SharedUnlock } else { Call::SharedLock };
        timed.meter.add(role, call, began, 0);
        // Recovery takes this slot together with others.
        if slot == CHECKPOINT_LOCK_SLOT && count == 1 && status == ffi::SQLITE_OK {
            if releases { timed.meter.checkpoint_ends() } else { timed.meter.checkpoint_begins() }
        }
        status
    })
}

fn bytes_moved(status: c_int, size: c_int) -> u64 {
    if status == ffi::SQLITE_OK { u64::from(size.unsigned_abs()) } else { 0 }
}

/// Our methods in the version, and with the gaps, of the real ones: SQLite asks for shared memory and mapped pages
/// only where the table has them.
fn methods_like(real: &ffi::sqlite3_io_methods) -> &'static ffi::sqlite3_io_methods {
    match (real.iVersion, real.xShmMap.is_some()) {
        (3.., true) => &METHODS_ALL,
        (3.., false) => &METHODS_MAPPED_PAGES,
        (2, true) => &METHODS_SHARED_MEMORY,
        _ => &METHODS_PLAIN,
    }
}

static METHODS_ALL: ffi::sqlite3_io_methods = methods(3, true);
static METHODS_MAPPED_PAGES: ffi::sqlite3_io_methods = methods(3, false);
static METHODS_SHARED_MEMORY: ffi::sqlite3_io_methods = methods(2, true);
static METHODS_PLAIN: ffi::sqlite3_io_methods = methods(1, false);

const fn methods(version: c_int, has_shared_memory: bool) -> ffi::sqlite3_io_methods {
    let plain = ffi::sqlite3_io_methods {
        iVersion: version,
        xClose: Some(x_close),
        xRead: Some(x_read),
        xWrite: Some(x_write),
        xTruncate: Some(x_truncate),
        xSync: Some(x_sync),
        xFileSize: Some(x_file_size),
        xLock: Some(x_lock),
        xUnlock: Some(x_unlock),
        xCheckReservedLock: Some(x_check_reserved_lock),
        xFileControl: Some(x_file_control),
        xSectorSize: Some(x_sector_size),
        xDeviceCharacteristics: Some(x_device_characteristics),
        xShmMap: None,
        xShmLock: None,
        xShmBarrier: None,
        xShmUnmap: None,
        xFetch: Some(x_fetch),
        xUnfetch: Some(x_unfetch),
    };
    if !has_shared_memory {
        return plain;
    }
    ffi::sqlite3_io_methods {
        xShmMap: Some(x_shm_map),
        xShmLock: Some(x_shm_lock),
        xShmBarrier: Some(x_shm_barrier),
        xShmUnmap: Some(x_shm_unmap),
        ..plain
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::vfs::Instrument;

    #[test]
    fn a_panic_becomes_an_error_before_it_reaches_c() {
        assert_eq!(guarded(ffi::SQLITE_IOERR, || panic!("must not leave")), ffi::SQLITE_IOERR);
        assert_eq!(guarded(ffi::SQLITE_IOERR, || ffi::SQLITE_OK), ffi::SQLITE_OK);
    }

    #[test]
    fn a_short_read_keeps_its_status_its_data_and_its_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("short.db");
        std::fs::write(&path, b"abc").unwrap();
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let instrument = Instrument::take().unwrap();
        let before = instrument.meter().read();
        let mut found = [0xff_u8; 8];
        // SAFETY: the table is registered for ever; the memory is as large and aligned as the table asks for; a name
        // with two zero bytes behind it is what SQLite passes for a file without parameters.
        let statuses = unsafe {
            let vfs = ffi::sqlite3_vfs_find(instrument.name().as_ptr());
            let name =
                ffi::sqlite3_create_filename(path.as_ptr(), c"".as_ptr(), c"".as_ptr(), 0, ptr::null_mut());
            let mut memory = vec![0_u64; (*vfs).szOsFile as usize / 8 + 1];
            let file: *mut ffi::sqlite3_file = memory.as_mut_ptr().cast();
            let flags = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE;
            let opened = (*vfs).xOpen.unwrap()(vfs, name, file, flags, ptr::null_mut());
            let methods = &*(*file).pMethods;
            let read = methods.xRead.unwrap()(file, found.as_mut_ptr().cast(), 8, 0);
            let closed = methods.xClose.unwrap()(file);
            ffi::sqlite3_free_filename(name);
            [opened, read, closed]
        };
        assert_eq!(statuses, [ffi::SQLITE_OK, ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_OK]);
        assert_eq!(&found, b"abc\0\0\0\0\0");
        let seen = instrument.meter().read().since(&before);
        let reads = seen.of(Role::Database, Call::Read);
        assert_eq!((reads.count, reads.bytes), (1, 0));
    }
}
