//! The loop of one worker thread: polls the clients whose descriptor has something, and nobody else.
//!
//! A general runtime pays for wakers, queues and budgets that a client's loop does not need: each client waits for
//! nothing but its own socket or its own timer. So every descriptor is registered once under its client's number, and
//! an event polls exactly that client. A client may be polled without reason; then it finds
//! nothing and waits again.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 256;

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

/// Where the clients of one worker wait.
#[derive(Debug)]
pub(super) struct Turnstile {
    epoll: OwnedFd,
}

/// One client's place: under this number its descriptors wake it.
#[derive(Clone, Copy, Debug)]
pub struct Seat<'a> {
    epoll: &'a OwnedFd,
    number: u64,
    is_alone: bool,
}

impl Seat<'_> {
    /// Is this the only client of its thread? Then it may simply block.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Has the client polled whenever something arrives at `descriptor`, until that is closed.
    pub fn watch(&self, descriptor: impl AsFd) -> io::Result<()> {
        // By level, not by edge: when an answer and the end of the connection arrive together there is one edge, and
        // a client that has read the answer would wait for ever.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        Ok(epoll::add(self.epoll, descriptor, epoll::EventData::new_u64(self.number), flags)?)
    }
}

impl Turnstile {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// The place of client `number` of `clients` on this thread.
    pub(super) fn seat(&self, number: usize, clients: usize) -> Seat<'_> {
        Seat { epoll: &self.epoll, number: number as u64, is_alone: clients == 1 }
    }

    /// Runs all tasks to their end; task `n` is woken by what seat `n` watches.
    pub(super) fn run(&self, tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) -> io::Result<()> {
        let mut left = tasks.len();
        let mut ready: VecDeque<usize> = (0..left).collect();
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
            }
        }
        Ok(())
    }

    /// Waits for events, or only looks when somebody could go on at once.
    fn wait(&self, events: &mut Vec<epoll::Event>, only_look: bool) -> io::Result<()> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = only_look.then_some(&at_once);
        match epoll::wait(&self.epoll, spare_capacity(events), timeout) {
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
        let turnstile = Turnstile::new().unwrap();
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let heard = Cell::new(0);
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for (number, (ours, _)) in pairs.iter().enumerate() {
            ours.set_nonblocking(true).unwrap();
            turnstile.seat(number, 3).watch(ours).unwrap();
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
        turnstile.run(tasks).unwrap();
        assert_eq!(heard.get(), 1 + 2 + 3);
    }

    #[test]
    fn an_answer_and_the_end_that_arrive_together_are_both_noticed() {
        let turnstile = Turnstile::new().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        turnstile.seat(0, 2).watch(&ours).unwrap();
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
        turnstile.run(vec![Box::pin(client)]).unwrap();
    }

    #[test]
    fn a_client_that_yields_lets_the_others_run_and_goes_on() {
        let turnstile = Turnstile::new().unwrap();
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
        turnstile.run(vec![task('a'), task('b')]).unwrap();
        assert_eq!(*order.borrow(), ['a', 'b', 'a', 'b']);
    }
}
