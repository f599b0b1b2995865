//! Transfers through io_uring(7): one system call hands over a batch and waits for the next completion.
//!
//! Registered buffers spare the kernel the pinning of pages per transfer, registered files the counting of
//! references. Without the right to pin memory (`RLIMIT_MEMLOCK`) the same ring works without registration.

// The kernel writes to the buffers behind the compiler's back. The rules that make this sound are with each block;
// they rest on two facts: a slot has at most one request under way, and slices of a slot are only handed out while
// it has none.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use io_uring::{EnterFlags, IoUring, opcode, squeue, types};

use super::memory::QueueMemory;
use super::{Backend, BackendFacts, BackendOptions, Completion, Operation, Request, stride_bytes};

/// A ring with its buffers in one piece of memory.
pub struct UringBackend {
    ring: IoUring,
    /// All buffers. `None` only after they had to be leaked.
    memory: Option<QueueMemory>,
    /// The slots whose buffers are registered, from the first; all of them at once unless the memory grows.
    registered_count: usize,
    /// Whether buffers come one by one, each registered by itself.
    grows: bool,
    stride_bytes: usize,
    buffer_bytes: usize,
    files: Vec<Option<Arc<File>>>,
    /// For each slot: the index of the file of the request under way.
    under_way: Vec<Option<usize>>,
    in_flight: usize,
    facts: BackendFacts,
}

impl std::fmt::Debug for UringBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UringBackend")
            .field("facts", &self.facts)
            .field("in_flight", &self.in_flight)
            .finish()
    }
}

impl UringBackend {
    /// Makes a ring and its buffers.
    ///
    /// # Errors
    /// When the kernel has no io_uring, forbids it, or memory is short. That something cannot be registered is no
    /// error.
    pub fn new(options: &BackendOptions) -> io::Result<Self> {
        let ring = make_ring(options)?;
        let stride_bytes = stride_bytes(options.buffer_bytes);
        let memory = QueueMemory::new(stride_bytes * options.depth, stride_bytes, options.grows)?;
        let registered = match options.grows {
            // Registering brings memory in: each buffer comes when it is ready.
            true => ring.submitter().register_buffers_sparse(options.depth as u32),
            false => {
                let buffer = memory.buffer();
                let length_bytes = buffer.length_bytes();
                let whole =
                    libc::iovec { iov_base: buffer.part(0, length_bytes).cast(), iov_len: length_bytes };
                // SAFETY: the memory lives as long as the ring: `Drop` waits for the kernel before either goes, and
                // leaks the memory when it cannot.
                unsafe { ring.submitter().register_buffers(&[whole]) }
            }
        };
        let registered = registered.and_then(|()| match options.grows {
            true => register_slot(&ring, &memory, 0, stride_bytes),
            false => Ok(()),
        });
        let file_count = u32::try_from(options.file_count_max).map_err(io::Error::other)?;
        let registered_files =
            options.register_files && ring.submitter().register_files_sparse(file_count).is_ok();
        Ok(UringBackend {
            ring,
            memory: Some(memory),
            registered_count: if options.grows { 1 } else { options.depth },
            grows: options.grows,
            stride_bytes,
            buffer_bytes: options.buffer_bytes,
            files: vec![None; options.file_count_max],
            under_way: vec![None; options.depth],
            in_flight: 0,
            facts: BackendFacts {
                engine: "io_uring".to_owned(),
                registered_buffers: registered.is_ok(),
                registered_files,
                polled: options.poll,
                fallback_reason: registered.err().map(|error| format!("buffers are not registered: {error}")),
            },
        })
    }

    /// The address of the buffer of a slot.
    fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.under_way.len(), "a slot is below the depth");
        let memory = self.memory.as_ref().expect("buffers are leaked only in drop");
        memory.buffer().part(slot * self.stride_bytes, self.stride_bytes)
    }

    fn entry(&self, request: &Request) -> squeue::Entry {
        // A registered file is named by its index in the place of the descriptor, and by a flag.
        let (file, flags) = match self.facts.registered_files {
            true => {
                let index = i32::try_from(request.file_index).expect("the count of files was accepted");
                (types::Fd(index), squeue::Flags::FIXED_FILE)
            }
            false => {
                let file = self.files[request.file_index].as_ref().expect("the file of a request was set");
                (types::Fd(file.as_raw_fd()), squeue::Flags::empty())
            }
        };
        let address = self.address(request.slot);
        let length_bytes = u32::try_from(request.length_bytes).expect("a buffer is below 4 GiB");
        let offset_bytes = request.offset_bytes;
        let is_registered = self.facts.registered_buffers && request.slot < self.registered_count;
        // Buffers that came one by one have their own numbers.
        let buffer_index = if self.grows { request.slot as u16 } else { 0 };
        let entry = match (request.operation, is_registered) {
            (Operation::Read, true) => {
                opcode::ReadFixed::new(file, address, length_bytes, buffer_index).offset(offset_bytes).build()
            }
            (Operation::Read, false) => {
                opcode::Read::new(file, address, length_bytes).offset(offset_bytes).build()
            }
            (Operation::Write, true) => opcode::WriteFixed::new(file, address, length_bytes, buffer_index)
                .offset(offset_bytes)
                .build(),
            (Operation::Write, false) => {
                opcode::Write::new(file, address, length_bytes).offset(offset_bytes).build()
            }
            (Operation::FlushData, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        };
        entry.flags(flags).user_data(request.slot as u64)
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            let slot = usize::try_from(entry.user_data()).expect("user data is a slot");
            let was_under_way = self.under_way[slot].take().is_some();
            assert!(was_under_way, "the kernel completes a request once");
            self.in_flight -= 1;
            let outcome = match entry.result() {
                error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
                bytes => Ok(bytes as usize),
            };
            completions.push(Completion { slot, outcome });
        }
    }
}

impl Backend for UringBackend {
    fn facts(&self) -> BackendFacts {
        self.facts.clone()
    }

    fn depth(&self) -> usize {
        self.under_way.len()
    }

    fn ready_slots(&self) -> usize {
        let ready_bytes = self.memory.as_ref().map_or(0, QueueMemory::ready_bytes);
        (ready_bytes / self.stride_bytes).min(self.depth())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn set_file(&mut self, file_index: usize, file: Arc<File>) -> io::Result<()> {
        // A queued entry holds a bare descriptor until the kernel has taken it.
        assert!(!self.under_way.contains(&Some(file_index)), "no request for the file is under way");
        if self.facts.registered_files {
            let descriptors: [RawFd; 1] = [file.as_raw_fd()];
            let first = u32::try_from(file_index).map_err(io::Error::other)?;
            self.ring.submitter().register_files_update(first, &descriptors)?;
        }
        self.files[file_index] = Some(file);
        Ok(())
    }

    fn start(&mut self, request: Request) {
        assert!(self.under_way[request.slot].is_none(), "nothing is under way in the slot");
        assert!(request.length_bytes <= self.buffer_bytes, "a transfer fits its buffer");
        assert!(self.files[request.file_index].is_some(), "the file of a request was set");
        assert!(request.slot < self.ready_slots(), "the buffer of a slot is in memory");
        if request.slot == self.registered_count && self.facts.registered_buffers {
            let memory = self.memory.as_ref().expect("buffers are leaked only in drop");
            // Without registration a transfer costs a little more, no less.
            if register_slot(&self.ring, memory, request.slot, self.stride_bytes).is_ok() {
                self.registered_count += 1;
            }
        }
        let entry = self.entry(&request);
        self.under_way[request.slot] = Some(request.file_index);
        self.in_flight += 1;
        // SAFETY: the buffer of the slot stays in place until the completion (it is freed only by `drop`, which
        // waits), no slice of it exists (`self` is borrowed mutably here, and `buffer` refuses a slot under way),
        // the length fits (asserted), and the file stays open because `files` holds it until `set_file`, which
        // refuses while the request is under way.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the submission queue has room for every slot");
    }

    fn submit(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Ok(_) => Ok(()),
            // What was not taken stays queued for the next time.
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn wait(&mut self, completions: &mut Vec<Completion>) -> io::Result<()> {
        let count_before = completions.len();
        while self.in_flight > 0 && completions.len() == count_before {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
            self.reap(completions);
        }
        Ok(())
    }

    fn buffer(&self, slot: usize) -> &[u8] {
        assert!(self.under_way[slot].is_none(), "nothing is under way in the slot");
        // SAFETY: nothing is under way in the slot, so the kernel does not write to it; `start` needs `&mut self`
        // and so cannot run while this slice lives. The memory is initialised.
        unsafe { std::slice::from_raw_parts(self.address(slot), self.buffer_bytes) }
    }

    fn buffer_mut(&mut self, slot: usize) -> &mut [u8] {
        assert!(self.under_way[slot].is_none(), "nothing is under way in the slot");
        // SAFETY: as in `buffer`, and `self` is borrowed for this slice alone.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.buffer_bytes) }
    }
}

impl Drop for UringBackend {
    fn drop(&mut self) {
        // What was queued and never handed over is dropped with the ring; only what the kernel has must end.
        let unsubmitted = self.ring.submission().len();
        let mut completions = Vec::new();
        while self.in_flight > unsubmitted {
            // SAFETY: no argument is passed, so nothing can be read through one.
            let entered =
                unsafe { self.ring.submitter().enter::<()>(0, 1, EnterFlags::GETEVENTS.bits(), None) };
            self.reap(&mut completions);
            match entered {
                Err(error) if is_passing(&error) => {}
                Err(_) => {
                    // The kernel may still write to the buffers: they must stay for ever.
                    std::mem::forget(self.memory.take());
                    return;
                }
                Ok(_) => {}
            }
        }
    }
}

/// Registers the buffer of one slot under the number of the slot.
fn register_slot(ring: &IoUring, memory: &QueueMemory, slot: usize, stride_bytes: usize) -> io::Result<()> {
    let part = memory.buffer().part(slot * stride_bytes, stride_bytes);
    let part = libc::iovec { iov_base: part.cast(), iov_len: stride_bytes };
    // SAFETY: as for all buffers at once: the memory lives as long as the ring. The address was made without a slice:
    // the kernel may be writing to the buffers of other slots.
    unsafe { ring.submitter().register_buffers_update(slot as u32, &[part], None) }.map(|_| ())
}

/// A signal, no memory for the moment, or completions that have to be reaped first.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// Makes a ring with the cheapest way of completion that this kernel has: completions run when the owner waits
/// (Linux 6.1), or without interrupting it (5.19), or as they come.
fn make_ring(options: &BackendOptions) -> io::Result<IoUring> {
    let entries = u32::try_from(options.depth.next_power_of_two()).map_err(io::Error::other)?;
    let build = |single_issuer: bool, cooperative: bool| {
        let mut builder = IoUring::builder();
        if options.poll {
            builder.setup_iopoll();
        }
        if single_issuer {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if cooperative {
            builder.setup_coop_taskrun();
        }
        builder.build(entries)
    };
    let is_refused = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    match build(true, false) {
        Err(error) if is_refused(&error) => match build(false, true) {
            Err(error) if is_refused(&error) => build(false, false),
            result => result,
        },
        result => result,
    }
}
