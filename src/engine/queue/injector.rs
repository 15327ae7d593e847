//! The queue that every thread may push to: tasks spawned outside the workers, woken tasks that no worker has
//! run yet, and what a worker leaves behind that retires or blocks in place.
//!
//! A thin layer over crossbeam's block list. A worker takes a batch at a time, so the shared lines are
//! touched once per batch and not once per task.

#[cfg(not(all(test, liten_loom)))]
mod imp {
    use super::super::local::{Local, until_decided};
    use crate::engine::sync_shim::deque::{Injector as Queue, Steal};

    /// The most tasks that one steal takes: a whole block of crossbeam's list holds 63. `move_into` steals
    /// again until it has what it wants.
    const BATCH: usize = 64;

    #[derive(Debug)]
    pub(crate) struct Injector<T>(Queue<T>);

    impl<T> Injector<T> {
        pub(crate) fn new() -> Self {
            Self(Queue::new())
        }

        pub(crate) fn push(&self, item: T) {
            self.0.push(item);
        }

        /// Moves a batch into `dest` and returns the oldest of it.
        pub(crate) fn steal_into(&self, dest: &Local<T>) -> Option<T> {
            // Stealing from an empty queue costs more than asking.
            if self.is_empty() {
                return None;
            }
            loop {
                match self.0.steal_batch_with_limit_and_pop(dest.to_fill(), BATCH) {
                    Steal::Success(item) => return Some(item),
                    Steal::Empty => return None,
                    // Another worker took a batch in between: there is progress, and the queue is
                    // shorter now.
                    Steal::Retry => std::hint::spin_loop(),
                }
            }
        }

        /// Moves some to the back of `dest`, `limit` at most. `false`: there was nothing.
        pub(crate) fn move_into(&self, dest: &Local<T>, limit: usize) -> bool {
            // Stealing from an empty queue costs more than asking.
            if self.is_empty() {
                return false;
            }
            let (mut found, mut left) = (false, limit);
            while left > 0 {
                // It does not say how many it took: a short batch counts as a full one.
                let batch = left.min(BATCH);
                left -= batch;
                match self.0.steal_batch_with_limit(dest.to_fill(), batch) {
                    Steal::Success(()) => found = true,
                    Steal::Empty => return found,
                    // A lost race is no matter: the caller comes again.
                    Steal::Retry => return true,
                }
            }
            found
        }

        pub(crate) fn pop(&self) -> Option<T> {
            until_decided(|| self.0.steal())
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }
    }
}

#[cfg(all(test, liten_loom))]
mod imp {
    use super::super::local::Local;
    use crate::engine::sync_shim::Mutex;
    use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
    use std::collections::VecDeque;

    /// A look takes no lock, which would order more than the queue that it stands for.
    pub(crate) struct Injector<T> {
        queue: Mutex<VecDeque<T>>,
        len: AtomicUsize,
    }

    impl<T> Injector<T> {
        pub(crate) fn new() -> Self {
            Self { queue: Mutex::new(VecDeque::new()), len: AtomicUsize::new(0) }
        }

        pub(crate) fn push(&self, item: T) {
            let mut queue = self.queue.lock();
            queue.push_back(item);
            self.count(queue.len());
        }

        pub(crate) fn steal_into(&self, _dest: &Local<T>) -> Option<T> {
            self.pop()
        }

        pub(crate) fn move_into(&self, dest: &Local<T>, _limit: usize) -> bool {
            let item = self.pop();
            let found = item.is_some();
            item.into_iter().for_each(|item| dest.push(item));
            found
        }

        pub(crate) fn pop(&self) -> Option<T> {
            if self.is_empty() {
                return None;
            }
            let mut queue = self.queue.lock();
            let item = queue.pop_front();
            self.count(queue.len());
            item
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.len() == 0
        }

        pub(crate) fn len(&self) -> usize {
            // Ordering: Relaxed, less than the real queue has.
            self.len.load(Ordering::Relaxed)
        }

        /// Under the lock.
        fn count(&self, len: usize) {
            // Ordering: Relaxed, see `len`.
            self.len.store(len, Ordering::Relaxed);
        }
    }
}

pub(crate) use imp::Injector;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::Injector;
    use crate::engine::queue::local::Local;

    #[test]
    fn a_deque_that_was_found_empty_gives_out_what_is_put_in_later() {
        type Fill = fn(&Local<u32>, &Local<u32>, &Injector<u32>) -> bool;
        let local = Local::new();
        assert!(local.pop().is_none() && local.is_drained());
        local.push(0);
        assert_eq!((local.is_drained(), local.pop(), local.pop()), (false, Some(0), None));
        let fills: [Fill; 4] = [
            |local, other, _| other.stealer().move_into(local, 1),
            |local, other, _| other.stealer().steal_into(local).is_some(),
            |local, _, injector| injector.move_into(local, 1),
            |local, _, injector| injector.steal_into(local).is_some(),
        ];
        for fill in fills {
            let (other, injector) = (Local::new(), Injector::new());
            for item in 0..4 {
                other.push(item);
                injector.push(item);
            }
            assert!(fill(&local, &other, &injector));
            assert!(local.pop().is_some(), "what a batch has brought");
            while local.pop().is_some() {}
            assert!(local.is_drained());
        }
    }
}
