//! The primitives that shuttle has of its own, with the interfaces of std and crossbeam; modelled.rs has the
//! rest.
//!
//! shuttle runs all threads of a schedule one at a time on one thread of the system, and changes between
//! them only where it is called: before each access to an atomic, at locks, parks, yields. What is kept per
//! thread is therefore kept by shuttle too. All orderings are sequentially consistent here; weaker ones are
//! loom's part.

use super::thread;
use shuttle::rand::{Rng, thread_rng};
pub(crate) use shuttle::sync::Arc;
use std::cell::Cell;
/// A flag that the whole process shares.
pub(crate) use std::sync::atomic::AtomicBool as ProcessFlag;
use std::time::Duration;

/// Whether the system is asked for the limits of the process: not where a schedule is to be replayed.
pub(crate) const HAS_LIMITS: bool = false;

/// A constant, so that a schedule can be replayed on another machine.
pub(crate) fn cpus() -> usize {
    2
}

/// A place for a value that is made with `make` when it is first asked for.
pub(crate) fn made_later<T>(_make: impl FnOnce() -> T) -> std::sync::OnceLock<T> {
    std::sync::OnceLock::new()
}

/// A place at which another thread may come in between.
fn interleave() {
    // shuttle has no time: its sleep only lets the others run.
    thread::sleep(Duration::ZERO);
}

/// A timed park may end at any moment, so it ends when the others have had a chance to run; or it is one
/// without a limit.
pub(crate) fn park_timeout(limit: Duration) {
    if clock::stands_still() { thread::park() } else { pause(limit) }
}

pub(crate) fn pause(time: Duration) {
    // A yield, so that a schedule with priorities does not stay here for ever.
    thread::yield_now();
    clock::advance(time);
}

/// A timed wait tosses a coin. What ends without a signal may therefore be reported as a deadlock: nothing
/// may count on a timeout.
pub(super) fn times_out() -> bool {
    !clock::stands_still() && thread_rng().r#gen()
}

/// Calls `wait`, which blocks in the system for `limit` at most; its `true` says that something came.
pub(crate) fn block<E>(
    limit: Option<Duration>,
    mut wait: impl FnMut(Option<Duration>) -> Result<bool, E>,
) -> Result<(), E> {
    wait(limit).map(drop)
}

/// Time passes when a thread has waited for it and in no other way, so it is the same at each replay. It can
/// be made to stand still: then no timed wait ends by itself, and what does not need time has to do without.
pub(crate) mod clock {
    use super::Cell;
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    static START: OnceLock<Instant> = OnceLock::new();

    std::thread_local! {
        /// A thread-local of the system's thread, on which all threads of the schedule run.
        static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
        static STANDS_STILL: Cell<bool> = const { Cell::new(false) };
    }

    /// A wait that has begun is as it was when it began.
    pub(crate) fn stand_still(yes: bool) {
        STANDS_STILL.set(yes);
    }

    pub(crate) fn stands_still() -> bool {
        STANDS_STILL.get()
    }

    pub(crate) fn now() -> Instant {
        *START.get_or_init(Instant::now) + PASSED.get()
    }

    pub(crate) fn advance(time: Duration) {
        PASSED.set(PASSED.get() + time);
    }
}

/// A thread-local of a schedule's thread. A macro of its own, because shuttle's has no `get` and `set`.
macro_rules! thread_local_of_shuttle {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const $init:block;)*) => {
        $(
            $(#[$meta])*
            $vis static $name: $crate::engine::sync_shim::LocalKey<$type> =
                $crate::engine::sync_shim::LocalKey::new(|| $init);
        )*
    };
}
pub(crate) use thread_local_of_shuttle as thread_local;
pub(crate) use thread_local_of_shuttle as modelled_thread_local;

pub(crate) struct LocalKey<T: 'static>(thread::LocalKey<T>);

impl<T: 'static> LocalKey<T> {
    pub(crate) const fn new(init: fn() -> T) -> Self {
        Self(thread::LocalKey { init, _p: std::marker::PhantomData })
    }

    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with(f)
    }

    pub(crate) fn try_with<R>(
        &'static self,
        f: impl FnOnce(&T) -> R,
    ) -> Result<R, thread::AccessError> {
        self.0.try_with(f)
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    pub(crate) fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    pub(crate) fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }

    pub(crate) fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }
}

/// std's cell with loom's closure interface. Fails if a thread writes while another one is inside.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T> {
    value: std::cell::UnsafeCell<T>,
    /// How many read; -1: one writes.
    inside: Cell<isize>,
}

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { value: std::cell::UnsafeCell::new(value), inside: Cell::new(0) }
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        assert!(self.inside.get() >= 0, "a race: read while another thread writes");
        self.inside.set(self.inside.get() + 1);
        let result = f(self.value.get());
        self.inside.set(self.inside.get() - 1);
        result
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        assert!(self.inside.get() == 0, "a race: written while another thread reads or writes");
        self.inside.set(-1);
        let result = f(self.value.get());
        self.inside.set(0);
        result
    }
}

/// crossbeam's deques: each operation is one step, and other threads may come in between any two.
pub(crate) mod deque {
    use super::interleave;
    pub(crate) use crossbeam_deque::Steal;

    #[derive(Debug)]
    pub(crate) struct Worker<T>(crossbeam_deque::Worker<T>);

    #[derive(Debug, Clone)]
    pub(crate) struct Stealer<T>(crossbeam_deque::Stealer<T>);

    #[derive(Debug)]
    pub(crate) struct Injector<T>(crossbeam_deque::Injector<T>);

    impl<T> Worker<T> {
        pub(crate) fn new_fifo() -> Self {
            Self(crossbeam_deque::Worker::new_fifo())
        }

        pub(crate) fn push(&self, item: T) {
            interleave();
            self.0.push(item);
        }

        pub(crate) fn pop(&self) -> Option<T> {
            interleave();
            self.0.pop()
        }

        pub(crate) fn len(&self) -> usize {
            interleave();
            self.0.len()
        }

        pub(crate) fn stealer(&self) -> Stealer<T> {
            Stealer(self.0.stealer())
        }
    }

    impl<T> Stealer<T> {
        pub(crate) fn steal(&self) -> Steal<T> {
            interleave();
            self.0.steal()
        }

        pub(crate) fn steal_batch_with_limit(&self, dest: &Worker<T>, limit: usize) -> Steal<()> {
            interleave();
            self.0.steal_batch_with_limit(&dest.0, limit)
        }

        pub(crate) fn steal_batch_with_limit_and_pop(
            &self,
            dest: &Worker<T>,
            limit: usize,
        ) -> Steal<T> {
            interleave();
            self.0.steal_batch_with_limit_and_pop(&dest.0, limit)
        }

        pub(crate) fn len(&self) -> usize {
            interleave();
            self.0.len()
        }

        pub(crate) fn is_empty(&self) -> bool {
            interleave();
            self.0.is_empty()
        }
    }

    impl<T> Injector<T> {
        pub(crate) fn new() -> Self {
            Self(crossbeam_deque::Injector::new())
        }

        pub(crate) fn push(&self, item: T) {
            interleave();
            self.0.push(item);
        }

        pub(crate) fn steal(&self) -> Steal<T> {
            interleave();
            self.0.steal()
        }

        pub(crate) fn steal_batch_with_limit(&self, dest: &Worker<T>, limit: usize) -> Steal<()> {
            interleave();
            self.0.steal_batch_with_limit(&dest.0, limit)
        }

        pub(crate) fn steal_batch_with_limit_and_pop(
            &self,
            dest: &Worker<T>,
            limit: usize,
        ) -> Steal<T> {
            interleave();
            self.0.steal_batch_with_limit_and_pop(&dest.0, limit)
        }

        pub(crate) fn is_empty(&self) -> bool {
            interleave();
            self.0.is_empty()
        }

        pub(crate) fn len(&self) -> usize {
            interleave();
            self.0.len()
        }
    }
}
