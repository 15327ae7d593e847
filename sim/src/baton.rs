//! The turn to run, which exactly one thread of a simulation has.
//!
//! | word | meaning | next |
//! |---|---|---|
//! | `WAIT` | the thread waits, or has the turn already | `GO` by the thread that passes the turn; `DIE` by a crash; `TELL` by the thread that writes the report |
//! | `GO` | the turn is the thread's | `WAIT` by the thread itself, before it runs |
//! | `DIE` | the thread ends at once, without a destructor | none |
//! | `TELL` | the thread writes down where it stands | `WAIT` by the thread itself |
//!
//! No wake is lost: the futex compares the word with `WAIT` under the kernel's lock before it puts
//! the thread to sleep, and the thread looks at the word again after each return.

use std::ffi::c_long;
use std::ptr::from_ref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libc::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE, SYS_exit, SYS_futex};

use crate::place;
use crate::real;
use crate::world::Inside;

const WAIT: u32 = 0;
const GO: u32 = 1;
const DIE: u32 = 2;
const TELL: u32 = 3;

/// How long, and how often, a thread that was asked is waited for: a second of real time.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: u32 = 5;

/// What the thread that was asked last has written down.
static TOLD: Mutex<Option<String>> = Mutex::new(None);

/// One thread's word. It lives as long as the process: a thread that is ended by a crash may look
/// at it to the last.
#[derive(Clone, Copy)]
pub(crate) struct Baton(&'static AtomicU32);

impl Baton {
    pub(crate) fn new() -> Self {
        Self(Box::leak(Box::new(AtomicU32::new(WAIT))))
    }

    /// Gives the turn to the thread of this word.
    pub(crate) fn pass(self) {
        self.set(GO);
    }

    /// Ends the thread of this word, which waits for a turn that it will never get.
    pub(crate) fn kill(self) {
        self.set(DIE);
    }

    /// Waits until the turn is the caller's. Everything that earlier holders wrote is visible then.
    pub(crate) fn wait(self) {
        loop {
            // Acquire: pairs with the Release of `set`, so that what the last holder did is seen.
            match self.0.load(Ordering::Acquire) {
                GO => break,
                DIE => die(),
                TELL => self.tell(),
                _ => self.futex(FUTEX_WAIT, WAIT),
            }
        }
        // Relaxed: no thread writes the word of the one that has the turn.
        self.0.store(WAIT, Ordering::Relaxed);
    }

    /// Where the thread of this word stands, which waits for its turn. `None` if it does not say so
    /// soon: it may need a lock for that which another waiting thread holds.
    pub(crate) fn ask(self) -> Option<String> {
        *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.set(TELL);
        for _ in 0..LOOKS {
            // Acquire: pairs with the Release of `tell`.
            if self.0.load(Ordering::Acquire) != TELL {
                return TOLD.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
            self.futex_for(FUTEX_WAIT, TELL, Some(LOOK));
        }
        None
    }

    fn tell(self) {
        let _inside = Inside::new();
        let place = place::of_caller();
        *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        // Release: what is told is seen by the one that asked.
        self.0.store(WAIT, Ordering::Release);
        self.futex(FUTEX_WAKE, i32::MAX as u32);
    }

    fn set(self, word: u32) {
        // Release: see `wait`.
        self.0.store(word, Ordering::Release);
        self.futex(FUTEX_WAKE, 1);
    }

    fn futex(self, operation: i32, value: u32) {
        self.futex_for(operation, value, None);
    }

    /// With a time after which a wait is over.
    fn futex_for(self, operation: i32, value: u32, time: Option<Duration>) {
        let time =
            time.map(|time| libc::timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) });
        let time = time.as_ref().map_or(0, |time| from_ref(time) as c_long);
        let address = from_ref(self.0) as c_long;
        let operation = c_long::from(operation | FUTEX_PRIVATE_FLAG);
        // The thread may be between a failed call and its look at the reason. SAFETY: the word is
        // never freed. A null timeout means for ever. The place of `errno` is this thread's.
        unsafe {
            let place = libc::__errno_location();
            let errno = *place;
            real::syscall(SYS_futex, address, operation, c_long::from(value), time, 0, 0);
            *place = errno;
        }
    }
}

/// Ends the calling thread as a crash of its process would: no destructor runs, and its stack stays
/// as it is.
pub(crate) fn die() -> ! {
    // SAFETY: the system call ends this thread alone and does not return.
    unsafe { real::syscall(SYS_exit, 0, 0, 0, 0, 0, 0) };
    unreachable!("a thread goes on after its end")
}
