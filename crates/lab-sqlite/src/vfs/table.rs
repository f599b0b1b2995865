//! The table of functions around files: opening, removing, sleeping. Timed where it waits, handed on where it does not.
//!
//! A file of ours is a small head that SQLite sees, with the file of the default VFS right behind it in the same piece
//! of memory, as the size that the table asks for allows; `file` has the functions of open ones.
//!
//! No panic leaves through C: what is more than a call runs under `catch_unwind` and becomes an error.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::ffi;

use super::call_totals::{Call, Role};
use super::file::{self, HEAD_BYTES, guarded};
use super::meter::Meter;
use super::timing::Timing;

/// Number in the name of the next registered table.
static NUMBER_NEXT: AtomicU32 = AtomicU32::new(0);

/// A registered table and what it measured. Lives as long as the process.
#[derive(Debug)]
pub(super) struct TimedVfs {
    name: CString,
    timing: Timing,
    real: RealVfs,
}

/// The default VFS.
#[derive(Clone, Copy, Debug)]
struct RealVfs(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite calls a VFS from any thread; the default one is a static table that is never unregistered here.
unsafe impl Send for RealVfs {}
// SAFETY: as above; we only read its function pointers, and only SQLite changes its links, under its own mutex.
unsafe impl Sync for RealVfs {}

impl TimedVfs {
    /// Registers a table around the default VFS, under a name of its own and not as default.
    pub(super) fn register() -> Result<&'static Self, String> {
        // SAFETY: no arguments to get wrong; a null name asks for the default VFS. Initialises SQLite when needed.
        let real = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
        if real.is_null() {
            return Err("SQLite has no default VFS".to_owned());
        }
        let number = NUMBER_NEXT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("fathom-{number}")).expect("the name has no zero byte");
        let vfs: &'static Self =
            Box::leak(Box::new(Self { name, timing: Timing::new(), real: RealVfs(real) }));
        // SAFETY: `real` was just found and stays registered; its fields are set once, before registration.
        let table = unsafe { table(vfs, &*real) };
        // SQLite links the table into its list and writes to it, so it is never seen as a reference again.
        let table: *mut ffi::sqlite3_vfs = Box::into_raw(Box::new(table));
        // SAFETY: the table is complete, lives for ever, and its name does too.
        let status = unsafe { ffi::sqlite3_vfs_register(table, 0) };
        if status != ffi::SQLITE_OK {
            return Err(format!("could not register VFS \"fathom-{number}\": status {status}"));
        }
        Ok(vfs)
    }

    pub(super) fn name(&'static self) -> &'static CStr {
        &self.name
    }

    pub(super) fn meter(&'static self) -> &'static Meter {
        &self.timing.meter
    }

    #[cfg(test)]
    pub(super) fn delay_syncs(&self, delay: std::time::Duration) {
        self.timing.delay_syncs(delay);
    }
}

/// The table for `vfs`: sizes as the real one needs them, plus our head.
fn table(vfs: &'static TimedVfs, real: &ffi::sqlite3_vfs) -> ffi::sqlite3_vfs {
    ffi::sqlite3_vfs {
        // Version 3 adds functions that replace system calls; they stay with the default VFS.
        iVersion: real.iVersion.min(2),
        szOsFile: real.szOsFile + HEAD_BYTES as c_int,
        mxPathname: real.mxPathname,
        pNext: ptr::null_mut(),
        zName: vfs.name.as_ptr(),
        pAppData: ptr::from_ref(vfs).cast_mut().cast(),
        xOpen: Some(x_open),
        xDelete: Some(x_delete),
        xAccess: Some(x_access),
        xFullPathname: Some(x_full_pathname),
        xDlOpen: Some(x_dl_open),
        xDlError: Some(x_dl_error),
        xDlSym: Some(x_dl_sym),
        xDlClose: Some(x_dl_close),
        xRandomness: Some(x_randomness),
        xSleep: Some(x_sleep),
        xCurrentTime: Some(x_current_time),
        xGetLastError: Some(x_get_last_error),
        xCurrentTimeInt64: real.xCurrentTimeInt64.map(|_| x_current_time_int64 as _),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// The table that belongs to `vfs`.
///
/// # Safety
/// `vfs` is the table that `register` made: SQLite calls our functions with no other.
unsafe fn timed_vfs(vfs: *mut ffi::sqlite3_vfs) -> &'static TimedVfs {
    // SAFETY: `pAppData` was set to a leaked `TimedVfs` before registration and never changes.
    unsafe { &*(*vfs).pAppData.cast::<TimedVfs>() }
}

/// Calls a function of the real VFS with the arguments of ours.
macro_rules! on_vfs {
    ($function:ident, $absent:expr, $vfs:ident $(, $argument:expr)*) => {{
        // SAFETY: `$vfs` is our table, the real one is never unregistered, and the arguments are SQLite's own.
        unsafe {
            let real = timed_vfs($vfs).real.0;
            match (*real).$function {
                Some(function) => function(real $(, $argument)*),
                None => $absent,
            }
        }
    }};
}

/// Functions that only hand on.
macro_rules! hand_on {
    ($($name:ident => $function:ident($($argument:ident: $type:ty),*) -> $result:ty, or $absent:expr;)*) => {$(
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs $(, $argument: $type)*) -> $result {
            on_vfs!($function, $absent, vfs $(, $argument)*)
        }
    )*};
}

type Symbol = unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char);

hand_on! {
    x_access => xAccess(path: *const c_char, flags: c_int, result: *mut c_int) -> c_int, or ffi::SQLITE_ERROR;
    x_full_pathname => xFullPathname(path: *const c_char, size: c_int, out: *mut c_char) -> c_int,
        or ffi::SQLITE_ERROR;
    x_dl_open => xDlOpen(path: *const c_char) -> *mut c_void, or ptr::null_mut();
    x_dl_error => xDlError(size: c_int, message: *mut c_char) -> (), or ();
    x_dl_sym => xDlSym(library: *mut c_void, symbol: *const c_char) -> Option<Symbol>, or None;
    x_dl_close => xDlClose(library: *mut c_void) -> (), or ();
    x_randomness => xRandomness(size: c_int, out: *mut c_char) -> c_int, or 0;
    x_current_time => xCurrentTime(out: *mut f64) -> c_int, or ffi::SQLITE_ERROR;
    x_get_last_error => xGetLastError(size: c_int, out: *mut c_char) -> c_int, or 0;
    x_current_time_int64 => xCurrentTimeInt64(out: *mut ffi::sqlite3_int64) -> c_int, or ffi::SQLITE_ERROR;
}

unsafe extern "C" fn x_open(
    vfs: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` bytes and does not look at them before we return.
    let real = unsafe { file::clear(file) };
    guarded(ffi::SQLITE_CANTOPEN, || {
        // SAFETY: `vfs` is ours.
        let timed = unsafe { timed_vfs(vfs) };
        let role = role(flags);
        let began = timed.timing.meter.now();
        let status = on_vfs!(xOpen, ffi::SQLITE_CANTOPEN, vfs, path, real, flags, flags_out);
        timed.timing.meter.add(role, Call::Open, began, 0);
        // SAFETY: the real file was just opened, or not, behind the head that we cleared.
        let size_bytes = unsafe { file::dress(file, &timed.timing, role) };
        if role == Role::Log && size_bytes == Some(0) {
            timed.timing.meter.log_size_is(0);
        }
        if let (Role::Database, Some(size_bytes)) = (role, size_bytes) {
            timed.timing.meter.database_size_is(size_bytes);
        }
        status
    })
}

unsafe extern "C" fn x_delete(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    sync_directory: c_int,
) -> c_int {
    guarded(ffi::SQLITE_IOERR_DELETE, || {
        // SAFETY: `vfs` is ours; SQLite passes the name of a file, ended by a zero byte.
        let (timed, role) = unsafe { (timed_vfs(vfs), role_by_name(CStr::from_ptr(path))) };
        let began = timed.timing.meter.now();
        let status = on_vfs!(xDelete, ffi::SQLITE_IOERR_DELETE, vfs, path, sync_directory);
        timed.timing.meter.add(role, Call::Delete, began, 0);
        status
    })
}

unsafe extern "C" fn x_sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    guarded(0, || {
        // SAFETY: `vfs` is ours.
        let timed = unsafe { timed_vfs(vfs) };
        let began = timed.timing.meter.now();
        let slept = on_vfs!(xSleep, 0, vfs, microseconds);
        timed.timing.meter.add(Role::Database, Call::Sleep, began, 0);
        slept
    })
}

fn role(flags: c_int) -> Role {
    if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        Role::Database
    } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
        Role::Log
    } else if flags & (ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL) != 0 {
        Role::Journal
    } else {
        Role::Temporary
    }
}

/// A file that is removed has no flags, only a name.
fn role_by_name(path: &CStr) -> Role {
    let name = path.to_bytes();
    if name.ends_with(b"-wal") {
        Role::Log
    } else if name.ends_with(b"-journal") || name.windows(4).any(|part| part == b"-mj") {
        Role::Journal
    } else {
        Role::Temporary
    }
}
