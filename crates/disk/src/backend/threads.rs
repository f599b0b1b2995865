//! Transfers by threads with pread(2) and pwrite(2), for kernels and containers without io_uring.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::{Backend, BackendFacts, BackendOptions, Completion, Operation, Request};
use crate::buffer::AlignedBuffer;
use crate::input::again_if_interrupted;

/// The stack of a thread. It makes one system call at a time.
const STACK_BYTES: usize = 64 << 10;

/// One thread per slot. With one slot there is no thread: the transfer happens in `wait`.
#[derive(Debug)]
pub struct ThreadBackend {
    /// The buffer of each slot; away while a request is under way.
    buffers: Vec<Option<AlignedBuffer>>,
    files: Vec<Option<Arc<File>>>,
    /// Requests not handed over yet.
    queued: Vec<Job>,
    in_flight: usize,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    fallback_reason: Option<String>,
}

#[derive(Debug)]
struct Job {
    request: Request,
    file: Arc<File>,
    buffer: AlignedBuffer,
}

#[derive(Debug)]
struct Done {
    slot: usize,
    buffer: AlignedBuffer,
    outcome: io::Result<usize>,
}

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    work: Condvar,
    done: Mutex<Vec<Done>>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    jobs: VecDeque<Job>,
    closing: bool,
}

impl ThreadBackend {
    /// Makes `options.depth` buffers and as many threads.
    ///
    /// # Errors
    /// When there is no memory or no thread to be had.
    pub fn new(options: &BackendOptions, fallback_reason: Option<String>) -> io::Result<Self> {
        let buffers = (0..options.depth)
            .map(|_| AlignedBuffer::new(options.buffer_bytes).map(Some))
            .collect::<Result<_, _>>()?;
        let mut backend = ThreadBackend {
            buffers,
            files: vec![None; options.file_count_max],
            queued: Vec::with_capacity(options.depth),
            in_flight: 0,
            shared: Arc::default(),
            threads: Vec::new(),
            fallback_reason,
        };
        if options.depth > 1 {
            // Threads made before a failure are joined when `backend` goes out of scope.
            for _ in 0..options.depth {
                let shared = Arc::clone(&backend.shared);
                let builder = thread::Builder::new().name("disk-transfer".to_owned()).stack_size(STACK_BYTES);
                backend.threads.push(builder.spawn(move || transfer_until_closed(&shared))?);
            }
        }
        Ok(backend)
    }

    fn take_back(&mut self, done: Done, completions: &mut Vec<Completion>) {
        self.buffers[done.slot] = Some(done.buffer);
        self.in_flight -= 1;
        completions.push(Completion { slot: done.slot, outcome: done.outcome });
    }
}

impl Backend for ThreadBackend {
    fn facts(&self) -> BackendFacts {
        BackendFacts {
            engine: "pread threads".to_owned(),
            registered_buffers: false,
            registered_files: false,
            polled: false,
            fallback_reason: self.fallback_reason.clone(),
        }
    }

    fn depth(&self) -> usize {
        self.buffers.len()
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn set_file(&mut self, file_index: usize, file: Arc<File>) -> io::Result<()> {
        self.files[file_index] = Some(file);
        Ok(())
    }

    fn start(&mut self, request: Request) {
        let buffer = self.buffers[request.slot].take().expect("nothing is under way in the slot");
        assert!(request.length_bytes <= buffer.length_bytes(), "a transfer fits its buffer");
        let file = self.files[request.file_index].clone().expect("the file of a request was set");
        self.in_flight += 1;
        self.queued.push(Job { request, file, buffer });
    }

    fn submit(&mut self) -> io::Result<()> {
        // Without threads the transfer happens in `wait`.
        match if self.threads.is_empty() { 0 } else { self.queued.len() } {
            0 => {}
            1 => {
                lock(&self.shared.open).jobs.extend(self.queued.pop());
                self.shared.work.notify_one();
            }
            _ => {
                lock(&self.shared.open).jobs.extend(self.queued.drain(..));
                self.shared.work.notify_all();
            }
        }
        Ok(())
    }

    fn wait(&mut self, completions: &mut Vec<Completion>) -> io::Result<()> {
        if self.in_flight == 0 {
            return Ok(());
        }
        if self.threads.is_empty() {
            let job = self.queued.pop().expect("the request under way waits here");
            self.take_back(transfer(job), completions);
            return Ok(());
        }
        self.submit()?;
        let shared = Arc::clone(&self.shared);
        let waiting = shared.finished.wait_while(lock(&shared.done), |done| done.is_empty());
        let mut done = waiting.unwrap_or_else(PoisonError::into_inner);
        done.drain(..).for_each(|done| self.take_back(done, completions));
        Ok(())
    }

    fn buffer(&self, slot: usize) -> &[u8] {
        self.buffers[slot].as_ref().expect("nothing is under way in the slot").as_slice()
    }

    fn buffer_mut(&mut self, slot: usize) -> &mut [u8] {
        self.buffers[slot].as_mut().expect("nothing is under way in the slot").as_mut_slice()
    }
}

impl Drop for ThreadBackend {
    fn drop(&mut self) {
        let mut open = lock(&self.shared.open);
        open.jobs.clear();
        open.closing = true;
        drop(open);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of a transfer thread has nothing to add here.
            let _panic = thread.join();
        }
    }
}

/// What is guarded stays whole between two statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn transfer_until_closed(shared: &Shared) {
    loop {
        let waiting =
            shared.work.wait_while(lock(&shared.open), |open| open.jobs.is_empty() && !open.closing);
        let mut open = waiting.unwrap_or_else(PoisonError::into_inner);
        let Some(job) = open.jobs.pop_front() else { return };
        drop(open);
        let done = transfer(job);
        lock(&shared.done).push(done);
        shared.finished.notify_one();
    }
}

fn transfer(job: Job) -> Done {
    let Job { request, file, mut buffer } = job;
    let bytes = &mut buffer.as_mut_slice()[..request.length_bytes];
    // A signal transfers nothing.
    let outcome = again_if_interrupted(|| match request.operation {
        Operation::Read => file.read_at(bytes, request.offset_bytes),
        Operation::Write => file.write_at(bytes, request.offset_bytes),
        Operation::FlushData => file.sync_data().map(|()| 0),
    });
    Done { slot: request.slot, buffer, outcome }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn buffers_go_to_the_threads_and_come_back_with_their_bytes() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), [1, 2, 3, 4].map(|byte| [byte; 512]).concat()).unwrap();
        let options = BackendOptions {
            depth: 4,
            buffer_bytes: 512,
            file_count_max: 1,
            register_files: false,
            poll: false,
            grows: false,
            no_uring_reason: None,
        };
        let mut backend = ThreadBackend::new(&options, None).unwrap();
        backend.set_file(0, Arc::new(File::open(path.path()).unwrap())).unwrap();
        let read = |slot: usize| Request {
            slot,
            operation: Operation::Read,
            file_index: 0,
            offset_bytes: slot as u64 * 512,
            length_bytes: 512,
        };
        (0..4).for_each(|slot| backend.start(read(slot)));
        let mut completions = Vec::new();
        while backend.in_flight() > 0 {
            backend.wait(&mut completions).unwrap();
        }
        assert!(completions.drain(..).all(|completion| completion.outcome.unwrap() == 512));
        for slot in 0..4 {
            assert!(backend.buffer(slot).iter().all(|byte| usize::from(*byte) == slot + 1));
            backend.buffer_mut(slot).fill(0);
        }
        // It goes while requests are under way.
        (0..3).for_each(|slot| backend.start(read(slot)));
        backend.submit().unwrap();
    }
}
