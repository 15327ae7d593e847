//! The queue of one worker, from which thieves take half; its next slot; and the *injector*, to which every
//! thread may push: tasks spawned outside the workers, woken tasks that no worker has run yet, and what a
//! worker leaves behind that retires or blocks in place.
//!
//! The queue is a thin layer over crossbeam's FIFO deque (Chase-Lev with epoch reclamation). It grows by
//! doubling from 64 slots, so there is no limit to run into and no overflow path to get wrong; a burst of a
//! million spawns costs 14 doublings. The injector is one over crossbeam's block list. crossbeam-deque cannot
//! run under loom: the models see locked queues with the same interfaces instead.
#![allow(unsafe_code)]

use super::wake_channel::{Link, Linked};
use crate::engine::sync_shim::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Mutex;

#[cfg(not(all(test, liten_loom)))]
mod imp {
    use crate::engine::sync_shim::deque::{Injector as Shared, Steal, Stealer as Thief, Worker};
    use std::cell::Cell;

    /// How often a thief that lost a race tries the same victim again before it goes on to the next.
    const RETRIES: usize = 2;

    /// The most a thief takes at once: half of a queue, but no more than it will be busy with for some
    /// microseconds.
    const BATCH: usize = 128;

    /// The most tasks that one steal takes: a whole block of crossbeam's list holds 63. `move_into` steals
    /// again until it has what it wants.
    const INJECTED_BATCH: usize = 64;

    /// The owner's end. Not `Sync`: one thread pushes and pops.
    #[derive(Debug)]
    pub(crate) struct Local<T> {
        deque: Worker<T>,
        /// Nothing has been put in since a pop found nothing. To learn that from the deque costs a call and
        /// ten instructions, and a worker asks it about one of its two deques in nearly every tick.
        is_drained: Cell<bool>,
    }

    /// A thief's end.
    #[derive(Debug, Clone)]
    pub(crate) struct Stealer<T>(Thief<T>);

    impl<T> Local<T> {
        pub(crate) fn new() -> Self {
            Self { deque: Worker::new_fifo(), is_drained: Cell::new(true) }
        }

        #[inline]
        pub(crate) fn push(&self, item: T) {
            self.deque.push(item);
            self.is_drained.set(false);
        }

        #[inline]
        pub(crate) fn pop(&self) -> Option<T> {
            if self.is_drained.get() {
                return None;
            }
            let item = self.deque.pop();
            if item.is_none() {
                self.is_drained.set(true);
            }
            item
        }

        /// Whether the owner knows that a pop would find nothing. `false` says nothing: thieves may have
        /// taken all.
        #[inline]
        pub(crate) fn is_drained(&self) -> bool {
            self.is_drained.get()
        }

        #[inline]
        pub(crate) fn len(&self) -> usize {
            self.deque.len()
        }

        pub(crate) fn stealer(&self) -> Stealer<T> {
            Stealer(self.deque.stealer())
        }

        /// The deque, for a batch to be put in.
        fn to_fill(&self) -> &Worker<T> {
            self.is_drained.set(false);
            &self.deque
        }
    }

    /// Steals until that is decided. A race that is lost means that another thread took something: there is
    /// progress.
    fn until_decided<T>(steal: impl Fn() -> Steal<T>) -> Option<T> {
        loop {
            match steal() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => std::hint::spin_loop(),
            }
        }
    }

    impl<T> Stealer<T> {
        /// Moves up to half of the victim's queue into `dest` and returns the oldest of it.
        pub(crate) fn steal_into(&self, dest: &Local<T>) -> Option<T> {
            if self.is_empty() {
                return None;
            }
            let steal = |_| self.0.steal_batch_with_limit_and_pop(dest.to_fill(), BATCH);
            (0..=RETRIES).map(steal).find(|steal| !steal.is_retry())?.success()
        }

        /// Takes the oldest item.
        pub(crate) fn steal(&self) -> Option<T> {
            until_decided(|| self.0.steal())
        }

        /// Moves up to half of the victim's queue, and no more than `limit`, to the back of `dest`.
        /// `false`: there was nothing.
        pub(crate) fn move_into(&self, dest: &Local<T>, limit: usize) -> bool {
            // A lost race is no matter: the caller comes again.
            limit > 0 && !self.0.steal_batch_with_limit(dest.to_fill(), limit).is_empty()
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }

        /// Whether there is nothing to steal. Executes a SeqCst fence: for the last look before parking, and
        /// before a steal, which costs more in an empty deque than this.
        pub(crate) fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    /// The queue that all workers share. A worker takes a batch at a time, so the shared lines are touched
    /// once per batch and not once per task.
    #[derive(Debug)]
    pub(crate) struct Injector<T>(Shared<T>);

    impl<T> Injector<T> {
        pub(crate) fn new() -> Self {
            Self(Shared::new())
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
            until_decided(|| self.0.steal_batch_with_limit_and_pop(dest.to_fill(), INJECTED_BATCH))
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
                let batch = left.min(INJECTED_BATCH);
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
    use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
    use crate::engine::sync_shim::{Arc, Mutex};
    use std::collections::VecDeque;

    pub(crate) struct Local<T>(Arc<Mutex<VecDeque<T>>>);

    pub(crate) struct Stealer<T>(Arc<Mutex<VecDeque<T>>>);

    impl<T> Clone for Stealer<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone())
        }
    }

    impl<T> Local<T> {
        pub(crate) fn new() -> Self {
            Self(Arc::new(Mutex::new(VecDeque::new())))
        }

        pub(crate) fn push(&self, item: T) {
            self.0.lock().push_back(item);
        }

        pub(crate) fn pop(&self) -> Option<T> {
            self.0.lock().pop_front()
        }

        /// Never known without a look.
        pub(crate) fn is_drained(&self) -> bool {
            false
        }

        pub(crate) fn len(&self) -> usize {
            self.0.lock().len()
        }

        pub(crate) fn stealer(&self) -> Stealer<T> {
            Stealer(self.0.clone())
        }
    }

    impl<T> Stealer<T> {
        pub(crate) fn steal_into(&self, dest: &Local<T>) -> Option<T> {
            let mut batch: VecDeque<T> = {
                let mut queue = self.0.lock();
                let half = queue.len().div_ceil(2);
                queue.drain(..half).collect()
            };
            let first = batch.pop_front()?;
            dest.0.lock().extend(batch);
            Some(first)
        }

        pub(crate) fn steal(&self) -> Option<T> {
            self.0.lock().pop_front()
        }

        pub(crate) fn move_into(&self, dest: &Local<T>, _limit: usize) -> bool {
            let first = self.steal_into(dest);
            let found = first.is_some();
            first.into_iter().for_each(|first| dest.push(first));
            found
        }

        pub(crate) fn len(&self) -> usize {
            self.0.lock().len()
        }

        pub(crate) fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }
    }

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

pub(crate) use imp::{Injector, Local, Stealer};

/// A place for one item that its owner fills and empties, and that a thief may empty too.
///
/// It is a worker's *next slot*; its models are in `task/loom.rs`. An atomic and not a plain cell, because
/// the task in it must not be stranded when its owner is stuck in a long poll: a thief may then take it. The
/// owner pays one swap on its own cache line per take, and a plain store to fill the empty slot.
pub(crate) struct NextSlot<T: Linked> {
    link: AtomicPtr<Link>,
    /// The items go from thread to thread, as they do through a lock.
    owns: PhantomData<Mutex<T>>,
}

impl<T: Linked> NextSlot<T> {
    pub(crate) fn new() -> Self {
        Self { link: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// Puts `item` in; returns the item that it displaces. For the owner only.
    pub(crate) fn put(&self, item: T) -> Option<T> {
        if self.is_empty() {
            // No RMW: thieves only ever empty the slot, so an empty one stays so until its owner fills it.
            // Ordering: Release as in `swap`.
            self.link.store(item.into_link().as_ptr(), Ordering::Release);
            return None;
        }
        self.swap(item.into_link().as_ptr())
    }

    /// Empties the slot.
    pub(crate) fn take(&self) -> Option<T> {
        if self.is_empty() { None } else { self.swap(ptr::null_mut()) }
    }

    /// Whether it is empty: a hint, unless the owner asks.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed, no item is taken on the strength of it: the swap decides. `put` stores if it is
        // true, which is right because only the owner fills the slot.
        self.link.load(Ordering::Relaxed).is_null()
    }

    /// Puts `new` in the place of what is there, and returns that.
    #[inline]
    fn swap(&self, new: *mut Link) -> Option<T> {
        // Ordering: AcqRel. Release hands the item's memory to the thread that takes it, Acquire is that
        // thread's end.
        let link = NonNull::new(self.link.swap(new, Ordering::AcqRel))?;
        // SAFETY: what is in the slot was given away by `into_link`, and a swap takes it out once.
        Some(unsafe { T::from_link(link) })
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{Injector, Local};

    #[test]
    fn the_owner_sees_the_order_in_which_it_pushed() {
        let local = Local::new();
        for i in 0..1_000 {
            local.push(i);
        }
        assert_eq!(local.len(), 1_000);
        for i in 0..1_000 {
            assert_eq!(local.pop(), Some(i));
        }
        assert!(local.pop().is_none());
    }

    #[test]
    fn a_thief_takes_the_oldest_and_no_more_than_half() {
        let victim = Local::new();
        let thief = Local::new();
        for i in 0..10 {
            victim.push(i);
        }
        assert_eq!(victim.stealer().steal_into(&thief), Some(0));
        assert!(victim.len() >= 5);
        assert_eq!(victim.len() + thief.len(), 9);
        let taken = thief.len() + 1;
        assert_eq!(victim.stealer().steal_into(&thief), Some(taken), "the oldest that is left");
    }
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
