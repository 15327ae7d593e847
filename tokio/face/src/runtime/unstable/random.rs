//! Numbers that a seed decides.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    /// The state of the generator that the `block_on` of a runtime with a seed has set on this thread.
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A seed for the choices at random in `select!` and its like, while a thread is in `block_on`. With workers
/// the order of tasks depends on threads all the same.
#[derive(Clone, Debug)]
pub struct RngSeed(u64);

impl RngSeed {
    /// Makes a seed from bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // FNV-1a.
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
    }
}

/// Seeds for each `block_on`, and the generator that all tasks share.
pub(super) struct Seeds {
    roots: Mutex<u64>,
    tasks: Mutex<u64>,
}

impl Seeds {
    pub(super) fn new(RngSeed(mut seed): RngSeed) -> Self {
        Self { tasks: Mutex::new(next(&mut seed)), roots: Mutex::new(seed) }
    }

    /// Has this thread choose by the next seed until the guard is dropped.
    pub(super) fn enter(&self) -> SeedGuard {
        SeedGuard(STATE.replace(Some(next(&mut lock(&self.roots)))))
    }

    /// Has this thread choose by the generator of the tasks until the guard is dropped: for a poll. With one
    /// worker the choices are the same each time. With more their order depends on threads.
    pub(super) fn enter_task(&self) -> TaskGuard<'_> {
        TaskGuard(self, STATE.replace(Some(next(&mut lock(&self.tasks)))))
    }
}

fn lock(state: &Mutex<u64>) -> MutexGuard<'_, u64> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the thread the generator back that it had before, and the tasks what this one has made of theirs.
pub(super) struct TaskGuard<'a>(&'a Seeds, Option<u64>);

impl Drop for TaskGuard<'_> {
    fn drop(&mut self) {
        if let Some(state) = STATE.replace(self.1) {
            *lock(&self.0.tasks) = state;
        }
    }
}

/// Gives the thread the generator back that it had before.
pub(crate) struct SeedGuard(Option<u64>);

impl Drop for SeedGuard {
    fn drop(&mut self) {
        STATE.set(self.0);
    }
}

/// A number below `n`, if this thread's choices have a seed.
pub(crate) fn below(n: u32) -> Option<u32> {
    let mut state = STATE.get()?;
    let number = next(&mut state) >> 32;
    STATE.set(Some(state));
    Some(((number * u64::from(n)) >> 32) as u32)
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
