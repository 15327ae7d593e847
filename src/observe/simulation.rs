//! Tells a simulation of the whole program, if there is one, which task its thread is about to touch.
//!
//! The package `liten-sim` stands in for the C library, and decides in each call to the system which thread
//! goes on. A poll need not call the system. So a program under simulation announces each poll, and the
//! simulation may hold the thread up there. It announces spawns and wakes, too: the simulation then names its
//! decisions by the tasks that they concern. Such a name stays the same when the program changes elsewhere,
//! and "the ninth call of the second worker" does not.
//!
//! The simulation is found by asking the C library for a value that no system has. Outside of a simulation,
//! that is a call or two for each runtime, and nothing after it.
//!
//! Rejected: a feature, which each package between the program and liten would have to hand on; and a symbol
//! that the simulation defines, because without a simulation it would be undefined.
#![allow(unsafe_code)]

#[cfg_attr(not(feature = "insight"), allow(dead_code, reason = "only insight looks at roots"))]
mod root;

use crate::engine::scheduler::TaskEvent;
use crate::engine::task::header::FutureType;
use crate::engine::task::{Polled, RunningTask};
pub(crate) use root::SimulatedRoot;
use std::ffi::c_void;

/// What is asked for: "litensim" in ASCII. `sim/src/interpose/task.rs` answers it.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const KEY: std::ffi::c_ulong = 0x6c69_7465_6e73_696d_u64 as std::ffi::c_ulong;

/// What happens to the task, as the simulation numbers it.
const SPAWNED: u32 = 0;
const WOKEN: u32 = 1;
const POLLED: u32 = 2;
const ENDED: u32 = 3;
/// No task: the thread polls tasks from now on.
const WORKER: u32 = 4;
/// No task: the thread is about to poll the future of a `block_on`.
const ROOT: u32 = 5;

/// The simulation's functions.
#[repr(C)]
struct Calls {
    /// What happens, the task's id, and for a new task the name of its future's type with the name's length,
    /// and the size of the future. The name is not kept.
    tell: unsafe extern "C" fn(u32, u64, *const u8, usize, usize),
    /// What to call, and with what, when the run is to be looked at: any number of times, on a thread of the
    /// program.
    offer: unsafe extern "C" fn(Look, *const c_void),
}

/// Writes what there is to see to standard error. The argument is the one that it was offered with.
type Look = unsafe extern "C" fn(*const c_void);

/// The simulation that this process is a part of, if it is. Otherwise nothing happens here.
#[derive(Clone, Copy)]
pub(crate) struct Simulation(Option<&'static Calls>);

impl Simulation {
    /// Tells nothing.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn of_process() -> Self {
        let calls = std::ptr::with_exposed_provenance::<Calls>(address());
        // SAFETY: the address is null, or the simulation has answered the key, with that of a static of this
        // type.
        Self(unsafe { calls.as_ref() })
    }

    pub(crate) fn is_there(self) -> bool {
        self.0.is_some()
    }

    /// This thread is a worker's.
    pub(super) fn worker_begins(self) {
        self.tell(WORKER, 0, "", 0);
    }

    pub(super) fn happened(self, event: TaskEvent) {
        if let TaskEvent::Woken(task) = event {
            self.tell(WOKEN, task.id().to_bits(), "", 0);
        }
    }

    pub(super) fn spawned(self, task: RunningTask, future: FutureType) {
        self.tell(SPAWNED, task.id().to_bits(), future.name(), future.size());
    }

    /// A poll is about to begin. This returns when the simulation lets the thread go on.
    pub(super) fn poll_begins(self, task: RunningTask) {
        self.tell(POLLED, task.id().to_bits(), "", 0);
    }

    pub(super) fn poll_ends(self, task: RunningTask, outcome: Polled) {
        if outcome == Polled::Ready {
            self.tell(ENDED, task.id().to_bits(), "", 0);
        }
    }

    /// The thread is about to poll the future of a `block_on`. A root that waits by yielding makes no call to
    /// the system: the thread that it waits for would never get its turn.
    pub(crate) fn root_is_polled(self) {
        self.tell(ROOT, 0, "", 0);
    }

    /// `print` is called with `subject` when the run is to be looked at.
    #[cfg_attr(
        not(feature = "insight"),
        expect(dead_code, reason = "only insight has something to show")
    )]
    pub(crate) fn offer<T: Send + Sync + 'static>(self, subject: T, print: fn(&T)) {
        /// What one offer is about. It is never freed, because the simulation ends with the process.
        struct Offer<T>(T, fn(&T));
        /// # Safety
        ///
        /// `offer` is the address of an `Offer<T>` that is never freed.
        unsafe extern "C" fn look<T>(offer: *const c_void) {
            // SAFETY: the caller's promise.
            let Offer(subject, print) = unsafe { &*offer.cast::<Offer<T>>() };
            print(subject);
        }
        let Some(calls) = self.0 else { return };
        let offer = Box::leak(Box::new(Offer(subject, print)));
        // SAFETY: the offer is leaked, so `look` may be called with its address at any time.
        unsafe { (calls.offer)(look::<T>, std::ptr::from_ref(offer).cast()) };
    }

    fn tell(self, what: u32, task: u64, name: &str, size: usize) {
        let Some(calls) = self.0 else { return };
        // SAFETY: the name is readable for its length during the call. The function has no other conditions.
        unsafe { (calls.tell)(what, task, name.as_ptr(), name.len(), size) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
fn address() -> usize {
    // SAFETY: the call has no conditions. It returns 0 for a key that it does not know.
    let answer = unsafe { nix::libc::getauxval(KEY) };
    usize::try_from(answer).unwrap_or(0)
}

/// Programs are simulated on Linux with glibc only.
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
fn address() -> usize {
    0
}
