//! The event loop of one worker thread: polls the clients whose descriptor has something, and no other.
//!
//! A general runtime pays for wakers, queues and budgets that a client's loop does not need: each client waits for
//! nothing but its own socket or its own timer. So every descriptor is registered once under its client's number, and
//! an event polls exactly that client. A client may be polled without reason; then it finds
//! nothing and waits again.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use results::scripts::transactions::{LoggedTransaction, Outcome};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::progress::Progress;
use super::tally::Tally;

/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 256;

/// Something arrived, or the other side closed. By level, not by edge: when an answer and the end of the connection
/// arrive together there is one edge, and a client that has read the answer would wait for ever.
const READABLE: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);

thread_local! {
    /// Did the client that was just polled give up its turn without waiting for anything?
    static YIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the other clients of this thread run, without waiting for anything.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|_| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        YIELDED.set(true);
        Poll::Pending
    })
    .await;
}

/// The event loop of one worker thread.
#[derive(Debug)]
pub struct EventLoop {
    epoll: OwnedFd,
    /// When all tasks are polled next, whatever happens before.
    wake_at: Cell<Option<Instant>>,
    /// What clients of scripts count together.
    tally: RefCell<Option<Rc<RefCell<Tally>>>>,
    /// Says when to stop.
    progress: Option<Arc<Progress>>,
}

/// One client's place in the loop: under this number its descriptors wake it.
#[derive(Clone, Copy, Debug)]
pub struct Registration<'a> {
    event_loop: &'a EventLoop,
    number: u64,
    is_alone: bool,
    lag_ns: Option<u64>,
}

impl Registration<'_> {
    /// Is this the only client of its thread? Then it may simply block.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Has the client polled whenever something arrives at `descriptor`, until that is closed.
    pub fn watch(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.event_loop.epoll, descriptor, self.data(), READABLE)?)
    }

    /// Has the client polled when `descriptor`, a socket that connects, is ready to be written. [`Self::watch_answers`]
    /// comes next.
    pub fn watch_connecting(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.event_loop.epoll, descriptor, self.data(), epoll::EventFlags::OUT)?)
    }

    /// From here on as [`Self::watch`], for a socket that was watched while it connected.
    pub fn watch_answers(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(epoll::modify(&self.event_loop.epoll, descriptor, self.data(), READABLE)?)
    }

    /// The descriptor wakes no client any more.
    pub fn forget(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.event_loop.epoll, descriptor)?)
    }

    /// Has the client polled at this time, if nothing wakes it before; it asks again when it still waits then.
    pub fn wake_at(&self, time: Instant) {
        let earliest = self.event_loop.wake_at.get().map_or(time, |other| other.min(time));
        self.event_loop.wake_at.set(Some(earliest));
    }

    /// The future's output, or `None` when `deadline` passes first.
    pub async fn within<T>(&self, deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            match deadline {
                Some(deadline) if Instant::now() >= deadline => return Poll::Ready(None),
                Some(deadline) => self.wake_at(deadline),
                None => {}
            }
            Poll::Pending
        })
        .await
    }

    /// Lets the others run until this time.
    pub async fn sleep_until(&self, time: Instant) {
        self.within(Some(time), std::future::pending::<()>()).await;
    }

    /// What the clients of this thread count together; made by the first one.
    pub fn tally(&self, make: impl FnOnce() -> Tally) -> Rc<RefCell<Tally>> {
        let mut tally = self.event_loop.tally.borrow_mut();
        Rc::clone(tally.get_or_insert_with(|| Rc::new(RefCell::new(make()))))
    }

    /// Lets the other clients of this thread run.
    pub async fn yield_now(&self) {
        yield_now().await;
    }

    /// The same place, for a transaction that begins so long after its intended start.
    pub(crate) fn with_lag(self, lag_ns: u64) -> Self {
        Self { lag_ns: Some(lag_ns), ..self }
    }

    /// Nanoseconds from the intended start of the transaction to the real one; `None` without a rate.
    pub fn lag_ns(&self) -> Option<u64> {
        self.lag_ns
    }

    /// Logs a transaction that was skipped, where the thread logs them.
    pub(crate) fn log_skipped(&self, client: u32, lag_ns: u64) {
        if let Some(tally) = self.event_loop.tally.borrow().as_ref() {
            tally.borrow_mut().log(|| LoggedTransaction {
                client,
                script: 0,
                end_ns: 0,
                outcome: Outcome::Skipped,
                lag_ns: Some(lag_ns),
                retries: 0,
            });
        }
    }

    /// Is the run to end?
    pub fn is_stopped(&self) -> bool {
        self.event_loop.progress.as_ref().is_some_and(|progress| progress.is_stopped())
    }

    fn data(&self) -> epoll::EventData {
        epoll::EventData::new_u64(self.number)
    }
}

impl EventLoop {
    /// An event loop without clients.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            wake_at: Cell::new(None),
            tally: RefCell::default(),
            progress: None,
        })
    }

    /// Clients of this loop learn from `progress` when to stop.
    pub(crate) fn with_progress(self, progress: Arc<Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Takes what the clients of scripts counted, and starts anew.
    pub(crate) fn take_tally(&self) -> Option<Tally> {
        let tally = self.tally.borrow();
        let tally = tally.as_ref()?;
        let fresh = tally.borrow().cleared();
        Some(tally.replace(fresh))
    }

    /// The place of client `number` of `clients` on this thread.
    pub fn registration(&self, number: usize, clients: usize) -> Registration<'_> {
        Registration { event_loop: self, number: number as u64, is_alone: clients == 1, lag_ns: None }
    }

    /// Runs all tasks to their end; task `n` is woken by what registration `n` watches.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn run(&self, tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) -> io::Result<()> {
        let count = tasks.len();
        let mut left = count;
        let mut ready: VecDeque<usize> = (0..count).collect();
        let mut tasks: Vec<_> = tasks.into_iter().map(Some).collect();
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS_MAX);
        let mut context = Context::from_waker(Waker::noop());
        while left > 0 {
            for _ in 0..ready.len() {
                let Some(number) = ready.pop_front() else { break };
                let Some(task) = tasks.get_mut(number) else { continue };
                let Some(running) = task else { continue };
                YIELDED.set(false);
                if running.as_mut().poll(&mut context).is_ready() {
                    *task = None;
                    left -= 1;
                } else if YIELDED.get() {
                    ready.push_back(number);
                }
            }
            if left > 0 {
                self.wait(&mut events, !ready.is_empty())?;
                ready.extend(events.drain(..).map(|event| event.data.u64() as usize));
                if self.wake_at.get().is_some_and(|time| Instant::now() >= time) {
                    self.wake_at.set(None);
                    ready = (0..count).collect();
                }
            }
        }
        self.wake_at.set(None);
        Ok(())
    }

    /// Waits for events or the next time to wake, or only takes what is there when a client can continue at once.
    fn wait(&self, events: &mut Vec<epoll::Event>, is_busy: bool) -> io::Result<()> {
        let time = if is_busy {
            Some(Duration::ZERO)
        } else {
            self.wake_at.get().map(|time| time.saturating_duration_since(Instant::now()))
        };
        let timeout = time
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) });
        match epoll::wait(&self.epoll, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    async fn receive(stream: &UnixStream) -> u8 {
        let mut byte = [0];
        std::future::poll_fn(|_| match (&mut &*stream).read(&mut byte) {
            Ok(_) => Poll::Ready(byte[0]),
            Err(_) => Poll::Pending,
        })
        .await
    }

    #[test]
    fn each_client_is_woken_by_its_own_descriptor() {
        let event_loop = EventLoop::new().unwrap();
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let heard = Cell::new(0);
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for (number, (ours, _)) in pairs.iter().enumerate() {
            ours.set_nonblocking(true).unwrap();
            event_loop.registration(number, 3).watch(ours).unwrap();
            let (heard, pairs) = (&heard, &pairs);
            tasks.push(Box::pin(async move {
                let byte = receive(ours).await;
                heard.set(heard.get() + u32::from(byte));
                if let Some((_, next)) = pairs.get(number + 1) {
                    (&mut &*next).write_all(&[byte + 1]).unwrap();
                }
            }));
        }
        (&mut &pairs[0].1).write_all(&[1]).unwrap();
        event_loop.run(tasks).unwrap();
        assert_eq!(heard.get(), 1 + 2 + 3);
    }

    #[test]
    fn an_answer_and_the_end_that_arrive_together_are_both_noticed() {
        let event_loop = EventLoop::new().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        event_loop.registration(0, 2).watch(&ours).unwrap();
        (&mut &theirs).write_all(&[7]).unwrap();
        drop(theirs);
        let client = async {
            assert_eq!(receive(&ours).await, 7);
            // As after a read that did not fill the buffer: wait for the next event first.
            let mut waits_first = true;
            let end = std::future::poll_fn(|_| match std::mem::take(&mut waits_first) {
                true => Poll::Pending,
                false => Poll::Ready((&mut &ours).read(&mut [0]).unwrap()),
            });
            assert_eq!(end.await, 0);
        };
        event_loop.run(vec![Box::pin(client)]).unwrap();
    }

    #[test]
    fn a_client_that_yields_lets_the_others_run_and_goes_on() {
        let event_loop = EventLoop::new().unwrap();
        let order = std::cell::RefCell::new(Vec::new());
        let task = |name: char| {
            let order = &order;
            Box::pin(async move {
                for _ in 0..2 {
                    order.borrow_mut().push(name);
                    yield_now().await;
                }
            }) as Pin<Box<dyn Future<Output = ()> + '_>>
        };
        event_loop.run(vec![task('a'), task('b')]).unwrap();
        assert_eq!(*order.borrow(), ['a', 'b', 'a', 'b']);
    }

    #[test]
    fn what_does_not_end_in_time_is_given_up_and_the_others_continue() {
        let event_loop = EventLoop::new().unwrap();
        let (silent, _other_end) = UnixStream::pair().unwrap();
        silent.set_nonblocking(true).unwrap();
        event_loop.registration(0, 3).watch(&silent).unwrap();
        let outcomes = std::cell::RefCell::new(Vec::new());
        let task = |number: usize, time_ms: u64| {
            let (event_loop, outcomes, silent) = (&event_loop, &outcomes, &silent);
            Box::pin(async move {
                let registration = event_loop.registration(number, 3);
                let deadline = Instant::now() + Duration::from_millis(time_ms);
                let heard = registration.within(Some(deadline), receive(silent)).await;
                assert!(heard.is_none() && Instant::now() >= deadline);
                outcomes.borrow_mut().push(number);
            }) as Pin<Box<dyn Future<Output = ()> + '_>>
        };
        event_loop.run(vec![task(0, 30), task(1, 5), task(2, 15)]).unwrap();
        assert_eq!(*outcomes.borrow(), [1, 2, 0]);
    }
}
