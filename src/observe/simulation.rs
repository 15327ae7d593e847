//! Tells a simulation of the whole program, if there is one, which task its thread is about to touch.
//!
//! The package `liten-sim` stands in for the C library, and decides in each call to the system which thread
//! goes on. A poll need not call the system. So a program under simulation announces each poll, and the
//! simulation may hold the thread up there. It announces spawns and wakes, too: the simulation then names its
//! decisions by the tasks that they concern. Such a name stays the same when the program changes elsewhere,
//! and "the ninth call of the second worker" does not.
//!
//! The simulation is found by asking the C library for a value that no system has. Outside of a simulation,
//! that is one call for each runtime with workers, and nothing after it.
//!
//! Rejected: a feature, which each package between the program and liten would have to hand on; and a symbol
//! that the simulation defines, because without a simulation it would be undefined.
#![allow(unsafe_code)]

use crate::engine::scheduler::TaskEvent;
use crate::engine::task::{Polled, RunningTask};

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

/// The simulation's function: what happens, the task's id, and for a new task the name of its future's type
/// with the name's length, and the size of the future. The name is not kept.
type Tell = unsafe extern "C" fn(u32, u64, *const u8, usize, usize);

#[derive(Clone, Copy)]
pub(super) struct Simulation(Tell);

impl Simulation {
    /// The simulation that this process is a part of.
    pub(super) fn of_process() -> Option<Self> {
        let address = address()?;
        // SAFETY: only the simulation answers the key, with the address of a function of this type.
        Some(Self(unsafe { std::mem::transmute::<std::num::NonZeroUsize, Tell>(address) }))
    }

    /// This thread is a worker's.
    pub(super) fn worker_begins(self) {
        // SAFETY: as in `tell`; the name is empty.
        unsafe { (self.0)(WORKER, 0, "".as_ptr(), 0, 0) };
    }

    /// Something has happened to a task on this thread.
    pub(super) fn happened(self, event: TaskEvent) {
        match event {
            TaskEvent::Spawned { task, future: (name, size) } => {
                self.tell(SPAWNED, task, name, size);
            }
            TaskEvent::Woken(task) => self.tell(WOKEN, task, "", 0),
            TaskEvent::Panicked(_) => {}
        }
    }

    /// A poll is about to begin. This returns when the simulation lets the thread go on.
    pub(super) fn poll_begins(self, task: RunningTask) {
        self.tell(POLLED, task, "", 0);
    }

    pub(super) fn poll_ends(self, task: RunningTask, outcome: Polled) {
        if outcome == Polled::Ready {
            self.tell(ENDED, task, "", 0);
        }
    }

    fn tell(self, what: u32, task: RunningTask, name: &str, size: usize) {
        // SAFETY: the name is readable for its length during the call. The function has no other conditions.
        unsafe { (self.0)(what, task.id().to_bits(), name.as_ptr(), name.len(), size) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
fn address() -> Option<std::num::NonZeroUsize> {
    // SAFETY: the call has no conditions. It returns 0 for a key that it does not know.
    let answer = unsafe { nix::libc::getauxval(KEY) };
    std::num::NonZeroUsize::new(usize::try_from(answer).ok()?)
}

/// Programs are simulated on Linux with glibc only.
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
fn address() -> Option<std::num::NonZeroUsize> {
    None
}
