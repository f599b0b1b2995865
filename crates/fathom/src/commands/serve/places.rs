//! A bounded number of places, each taken by one and given back when it is dropped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Places, some of them free.
#[derive(Debug)]
pub(super) struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Places {
    /// So many places, all free.
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(count), freed: Condvar::new() })
    }

    /// Takes a place; `None` where none is free.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        self.wait(Duration::ZERO)
    }

    /// Takes a place, and waits so long for one.
    pub(super) fn wait(self: &Arc<Self>, time: Duration) -> Option<Place> {
        let deadline = Instant::now() + time;
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            free = self.freed.wait_timeout(free, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Place(Arc::clone(self)))
    }
}

/// A taken place.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_place_that_is_given_back_goes_to_the_one_that_waits() {
        let places = Places::new(1);
        let place = places.take().unwrap();
        assert!(places.take().is_none() && places.wait(Duration::from_millis(1)).is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| places.wait(Duration::from_secs(60)).is_some());
            drop(place);
            assert!(waits.join().unwrap());
        });
        assert!(places.take().is_some());
    }
}
