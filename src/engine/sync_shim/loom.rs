//! The primitives that loom has of its own; modelled.rs has the rest.

use super::{atomic, thread};
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use num_cpus::get as cpus;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
/// Whether the system is asked for the limits of the process.
pub(crate) const HAS_LIMITS: bool = false;

/// std's, because loom's knows no `Weak`. What it costs: an object that is passed on by the last
/// drop alone, without any other synchronisation, would be reported as a race. Nothing here relies
/// on that.
pub(crate) use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
/// std's: no model follows what is kept per thread, but for `modelled_thread_local`.
pub(crate) use std::thread::LocalKey;
pub(crate) use std::thread_local;
use std::time::Duration;

/// A thread of a model yields after each attempt to lock: loom explores no loop that does not.
pub(super) const ATTEMPTS: u32 = 1;

pub(super) fn back_off(_attempt: u32) {}

/// The value is made at once: loom does not see that std's `OnceLock` orders its making before its use.
pub(crate) fn made_later<T>(make: impl FnOnce() -> T) -> std::sync::OnceLock<T> {
    std::sync::OnceLock::from(make())
}

/// loom knows no time: a timed park may end at any moment, so it ends at once.
pub(crate) fn park_timeout(_limit: Duration) {
    thread::yield_now();
}

pub(crate) fn pause(_time: Duration) {
    thread::yield_now();
}

/// It stands still: whatever depends on how long something took would differ between two runs of one
/// schedule, which loom compares.
pub(crate) mod clock {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(crate) fn now() -> Instant {
        static NOW: OnceLock<Instant> = OnceLock::new();
        *NOW.get_or_init(Instant::now)
    }
}

/// A timed wait waits without a limit.
pub(super) fn times_out() -> bool {
    false
}

/// A thread-local of a model's thread. A macro of its own, because loom's has no `get` and `set`.
macro_rules! thread_local_of_loom {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = const $init:block;)*) => {
        $(
            $(#[$meta])*
            $vis static $name: $crate::engine::sync_shim::ModelledKey<$type> =
                $crate::engine::sync_shim::ModelledKey::new(|| $init);
        )*
    };
}
pub(crate) use thread_local_of_loom as modelled_thread_local;

pub(crate) struct ModelledKey<T: 'static>(thread::LocalKey<T>);

impl<T: Copy + 'static> ModelledKey<Cell<T>> {
    pub(crate) const fn new(init: fn() -> Cell<T>) -> Self {
        Self(thread::LocalKey { init, _p: std::marker::PhantomData })
    }

    pub(crate) fn set(&'static self, value: T) {
        self.0.with(|cell| cell.set(value));
    }

    pub(crate) fn replace(&'static self, value: T) -> T {
        self.0.with(|cell| cell.replace(value))
    }

    pub(crate) fn get(&'static self) -> T {
        self.0.with(Cell::get)
    }
}

std::thread_local! {
    /// A thread-local of the system's thread, on which all threads of a model run.
    static FLAG: Cell<bool> = const { Cell::new(false) };
}

/// A flag that the whole process shares; there is only one. In models each test has its own, because others
/// run beside it, and it is set for all of the test's models or none: a model that finds it otherwise the
/// second time would take another way than loom expects.
pub(crate) struct ProcessFlag;

impl ProcessFlag {
    pub(crate) const fn new(_: bool) -> Self {
        Self
    }

    pub(crate) fn load(&self, _: atomic::Ordering) -> bool {
        FLAG.get()
    }

    pub(crate) fn store(&self, value: bool, _: atomic::Ordering) {
        assert_eq!(FLAG.get(), value, "explore in `while_set`");
    }

    /// Explores, in `f`, with the flag set.
    pub(crate) fn while_set(f: impl FnOnce()) {
        FLAG.set(true);
        f();
        FLAG.set(false);
    }
}

/// All threads of a model are one thread of the system, which must not block: asks again and again, and lets
/// the others go on in between. A wait with a limit may end at any moment, so it ends at once.
pub(crate) fn block<E>(
    limit: Option<Duration>,
    mut wait: impl FnMut(Option<Duration>) -> Result<bool, E>,
) -> Result<(), E> {
    while !wait(Some(Duration::ZERO))? && limit.is_none() {
        thread::yield_now();
    }
    Ok(())
}

/// Wakes a thread of the model; loom's own `block_on` is behind a feature that nothing else needs.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls `future` until it is ready. The thread sleeps for ever if the future is not woken, which loom
/// reports as a deadlock.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Explores `model` twice: with a thread that goes on at [`Way::here`], and with one that yields there.
///
/// loom looks for other orders at the last access of a word only. A thread that looks at a word before it
/// changes it therefore hides the look of another thread that came before, and some orders are never tried
/// when that thread is the first. Where both begin with a look, either has to be the first once. The first
/// way is not for nothing: to a thread that has yielded loom shows no value that it had seen before and
/// that has been replaced.
pub(crate) fn both_ways(model: impl Fn(Way) + Copy + Send + Sync + 'static) {
    for way in Way::BOTH {
        loom::model(move || model(way));
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Way {
    gives: bool,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self { gives: false }, Self { gives: true }];

    pub(crate) fn here(self) {
        if self.gives {
            thread::yield_now();
        }
    }
}
