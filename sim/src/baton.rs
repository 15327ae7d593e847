//! The turn to run, which exactly one thread of a simulation has.
//!
//! Each thread of the program is born with a kernel thread and ends with it. That one waits at a
//! word:
//!
//! | word | meaning | next |
//! |---|---|---|
//! | `WAIT` | the kernel thread waits, or runs | `GO` by the thread that passes the turn; `DIE` by a crash; `TELL` by the thread that writes the report |
//! | `GO` | it goes on with its thread, which has the turn | `WAIT` by itself, before the thread runs |
//! | `DIE` | it ends, and its thread never goes on: no destructor runs | none |
//! | `TELL` | its thread writes down where it stands | `WAIT` by the thread itself |
//!
//! No wake is lost: the futex compares the word with `WAIT` under the kernel's lock before it puts
//! the thread to sleep, and the thread looks at the word again after each return.
//!
//! Where the processor allows it, the turn goes from thread to thread without the kernel. The
//! kernel thread that runs, the *carrier*, goes on with the stack, the registers and the
//! thread-local memory of the next thread: see [`fiber`]. A birth, an end and a thread that is
//! bound to its kernel thread need the word even then. Elsewhere each turn does, and each kernel
//! thread runs its own thread alone. Choices and hashes are the same.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::env;
use std::ffi::c_long;
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libc::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE, SYS_exit, SYS_futex, stack_t};

use crate::place;
use crate::real;
use crate::world::Inside;

mod fiber;

use fiber::Place;

const WAIT: u32 = 0;
const GO: u32 = 1;
const DIE: u32 = 2;
const TELL: u32 = 3;

/// The variable that lets each turn go through the kernel, with the value `kernel`.
const VARIABLE: &str = "LITEN_SIM_BATON";

/// How long, and how often, a thread that was asked is waited for: a second of real time.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: u32 = 5;

/// What the thread that was asked last has written down.
static TOLD: Mutex<Option<String>> = Mutex::new(None);

/// Whether turns go without the kernel. Set before the first of them.
static FIBERS: AtomicBool = AtomicBool::new(false);

/// The home of the carrier. Only the holder of the turn changes it.
static CARRIER: AtomicPtr<Home> = AtomicPtr::new(null_mut());

/// What belongs to one thread and to the kernel thread with which it was born.
#[repr(C)]
struct Home {
    word: AtomicU32,
    /// The kernel's number of the kernel thread.
    number: AtomicI32,
    /// Whether no other kernel thread may run the thread, and this one no other thread.
    is_bound: AtomicBool,
    place: Place,
}

/// One thread's home. It lives as long as the process: a kernel thread that a crash ends may look
/// at it to the last.
#[derive(Clone, Copy)]
pub(crate) struct Baton(&'static Home);

/// Decides how turns go in this run.
pub(crate) fn prepare() {
    let kernel = env::var_os(VARIABLE).is_some_and(|value| value == "kernel");
    // Relaxed: there is one thread of the run.
    FIBERS.store(!kernel && fiber::are_possible(), Ordering::Relaxed);
}

fn are_fibers() -> bool {
    // Relaxed: see `prepare`.
    FIBERS.load(Ordering::Relaxed)
}

/// The kernel's number of the carrier.
pub(crate) fn carrier_number() -> i32 {
    // Relaxed: the number alone is read, and it is written before the first turn of the thread.
    let carrier = CARRIER.load(Ordering::Relaxed);
    // SAFETY: it is null or the home of a thread, which is never freed.
    unsafe { carrier.as_ref() }.map_or(0, |home| home.number.load(Ordering::Relaxed))
}

impl Baton {
    pub(crate) fn new() -> Self {
        let layout = Layout::new::<Home>();
        // SAFETY: a home has a size, and zeroes are one: its word is `WAIT`. Nothing frees it.
        match unsafe { alloc_zeroed(layout).cast::<Home>().as_ref() } {
            Some(home) => Self(home),
            None => handle_alloc_error(layout),
        }
    }

    /// The caller is the first thread of the run, or a new one that has its first turn. It is on
    /// its own kernel thread.
    pub(crate) fn begin(self) {
        // SAFETY: the call takes no arguments.
        self.0.number.store(unsafe { real::gettid() }, Ordering::Relaxed);
        self.carry();
        if are_fibers() {
            self.0.place.begin();
        }
    }

    /// Gives the turn of the caller, whose baton this is, to `next`, and waits for it to come back.
    pub(crate) fn switch(self, next: Baton) {
        if !are_fibers() {
            next.pass();
            self.wait();
            return;
        }
        if !self.is_bound() && next.may_move() {
            // SAFETY: the caller is the thread of `self` and has the turn, and `next` is left.
            unsafe { fiber::switch(self.0, next.0) };
        } else {
            self.hand_over(next);
        }
        // Acquire: pairs with the Release of `set`. The thread that asks keeps the world, so that
        // no thread can have been given the turn meanwhile.
        while self.0.word.load(Ordering::Acquire) == TELL {
            self.tell();
            // SAFETY: the caller is on its own kernel thread, which was asked, and no thread goes
            // on with it but that one.
            unsafe { fiber::hand_over(self.0, None, self.0) };
        }
    }

    /// Makes the kernel thread with which the caller was born its carrier: the one that is to end
    /// with it, or whose state in the kernel it is about to use.
    pub(crate) fn go_home(self) {
        if are_fibers() && !self.is_carrier() {
            self.hand_over(self);
        }
    }

    /// The caller gives its kernel thread a state of its own, such as a mask of signals. From now
    /// on they belong together.
    pub(crate) fn bind(self) {
        self.go_home();
        // Relaxed: only the holder of the turn uses it.
        self.0.is_bound.store(true, Ordering::Relaxed);
    }

    /// The thread of this baton is created by that of `parent`, whose state in the kernel it has.
    pub(crate) fn inherit(self, parent: Baton) {
        // Relaxed: see `bind`.
        self.0.is_bound.store(parent.is_bound(), Ordering::Relaxed);
    }

    fn is_bound(self) -> bool {
        // Relaxed: see `bind`.
        self.0.is_bound.load(Ordering::Relaxed)
    }

    /// Gives the turn to `next` and ends the caller, whose baton this is, where it stands.
    pub(crate) fn leave(self, next: Baton) -> ! {
        if !are_fibers() || self.is_carrier() {
            next.pass();
            die();
        }
        // The caller's own kernel thread waits, and is not needed any more.
        self.kill();
        if next.may_move() {
            // SAFETY: the caller has the turn and is never gone on with, and `next` is left.
            unsafe { fiber::load(next.0) };
        }
        self.hand_over(next);
        unreachable!("a thread goes on after its end")
    }

    /// As `switch`, by the kernel thread of `next`. The carrier waits at the word of its own
    /// thread.
    fn hand_over(self, next: Baton) {
        // Relaxed: only the holder of the turn changes it.
        let carrier = CARRIER.load(Ordering::Relaxed);
        next.carry();
        // SAFETY: it is the home of a thread, which is never freed, and `begin` has set it.
        let carrier = unsafe { &*carrier };
        // SAFETY: the caller is the thread of `self`, has the turn, and runs on the carrier. The
        // kernel thread of `next` is another one, or `next` would be on its own already.
        unsafe { fiber::hand_over(self.0, Some(next.0), carrier) };
    }

    /// Whether the carrier may go on with the thread of this baton.
    fn may_move(self) -> bool {
        self.0.place.is_left() && !self.is_bound()
    }

    fn carry(self) {
        // Relaxed: see `carrier_number`.
        CARRIER.store(from_ref(self.0).cast_mut(), Ordering::Relaxed);
    }

    fn is_carrier(self) -> bool {
        // Relaxed: only the holder of the turn changes it.
        CARRIER.load(Ordering::Relaxed).cast_const() == from_ref(self.0)
    }

    /// Gives the turn to the kernel thread of this baton, which is not the caller's.
    pub(crate) fn pass(self) {
        self.carry();
        self.set(GO);
    }

    /// Ends the kernel thread of this baton, whose thread waits for a turn that it will never get.
    /// If it is the carrier, it ends when the turn goes to another kernel thread.
    pub(crate) fn kill(self) {
        self.set(DIE);
    }

    /// Waits until the turn is the caller's. Everything that earlier holders wrote is visible then.
    pub(crate) fn wait(self) {
        loop {
            // Acquire: pairs with the Release of `set`, so that what the last holder did is seen.
            match self.0.word.load(Ordering::Acquire) {
                GO => break,
                DIE => die(),
                TELL => self.tell(),
                _ => self.futex(FUTEX_WAIT, WAIT),
            }
        }
        // Relaxed: no thread writes the word of the one that has the turn.
        self.0.word.store(WAIT, Ordering::Relaxed);
    }

    /// Where the thread of this baton stands, which waits for its turn. `None` if it does not say
    /// so soon: it may need a lock for that which another waiting thread holds. The carrier says
    /// nothing, because it is running another thread.
    pub(crate) fn ask(self) -> Option<String> {
        if self.is_carrier() {
            return Some(String::new());
        }
        *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.set(TELL);
        for _ in 0..LOOKS {
            // Acquire: pairs with the Release of `tell`.
            if self.0.word.load(Ordering::Acquire) != TELL {
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
        self.0.word.store(WAIT, Ordering::Release);
        self.futex(FUTEX_WAKE, i32::MAX as u32);
    }

    /// Sets the caller's stack for handlers of signals, and returns the one before. `None` where
    /// that is the kernel's business.
    pub(crate) fn alternate(self, new: Option<stack_t>) -> Option<stack_t> {
        are_fibers().then(|| self.0.place.alternate(new))
    }

    fn set(self, word: u32) {
        // Release: see `wait`.
        self.0.word.store(word, Ordering::Release);
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
        let address = from_ref(&self.0.word) as c_long;
        let operation = c_long::from(operation | FUTEX_PRIVATE_FLAG);
        // SAFETY: the word is never freed. A null timeout means for ever.
        real::keeping_errno(|| unsafe {
            real::syscall(SYS_futex, address, operation, c_long::from(value), time, 0, 0);
        });
    }
}

/// Ends the calling kernel thread as a crash of its process would: no destructor runs, and the
/// stack stays as it is.
fn die() -> ! {
    // SAFETY: the system call ends this thread alone and does not return.
    unsafe { real::syscall(SYS_exit, 0, 0, 0, 0, 0, 0) };
    unreachable!("a thread goes on after its end")
}
