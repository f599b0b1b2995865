//! The control side's way to run a future: its waits block the thread.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future to its end. It is made for sockets that block or poll(2) inside; another future is polled again and again.
pub(in super::super) fn complete<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}
