//! How often a poller is asked for what an event brings: once. The function that mio calls for it is the one
//! in here, which counts and hands on, so that nothing is slower than without it.
#![allow(unsafe_code)]

use crate::guard::{guarded, workers};
use crate::idle::play;
use crate::process::alone;
use liten::runtime::{Builder, LocalRuntime};
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A question and its answer each, which are two events.
const ROUNDS: u64 = 2_000;

/// By descriptor: how often this process has asked a poller. The test has a process of its own, where
/// descriptors are small numbers.
static WAITS: [AtomicU64; 1_024] = [const { AtomicU64::new(0) }; 1_024];

thread_local! {
    /// The last poller that this thread has asked.
    static POLLER: Cell<usize> = const { Cell::new(0) };
}

/// Takes the place of the C library's function of this name in this program.
///
/// # Safety
///
/// As for that function: `events` points to room for `most` events.
// SAFETY: it does what that function does.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    poller: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let index = usize::try_from(poller).unwrap_or(usize::MAX);
    if let Some(waits) = WAITS.get(index) {
        waits.fetch_add(1, Ordering::Relaxed);
    }
    POLLER.set(index);
    // SAFETY: the caller's promise; without a mask of signals it is the same call.
    unsafe { libc::epoll_pwait(poller, events, most, timeout, ptr::null()) }
}

/// How often the poller of the calling thread was asked during the play, by whatever thread.
async fn waits() -> u64 {
    // Until this thread has asked it.
    play(1).await;
    let waits = || WAITS[POLLER.get()].load(Ordering::Relaxed);
    let before = waits();
    play(ROUNDS).await;
    waits() - before
}

/// A busy machine adds looks into the poller, by the driver thread and before long polls: then once more.
fn assert_one_wait_per_event(mut measure: impl FnMut() -> u64) {
    let mut all = Vec::new();
    while all.last().is_none_or(|&waits| waits > 2 * ROUNDS + ROUNDS / 2) {
        assert!(all.len() < 20, "{ROUNDS} rounds of two events; waits: {all:?}");
        all.push(measure());
    }
    assert!(all[all.len() - 1] > ROUNDS / 2, "nothing was counted: {all:?}");
}

#[test]
fn an_event_costs_a_worker_one_wait() {
    let body = || {
        let runtime = workers(1);
        assert_one_wait_per_event(|| runtime.block_on(runtime.spawn(waits())).unwrap());
    };
    guarded(|| alone("calls::an_event_costs_a_worker_one_wait", body));
}

#[test]
fn an_event_costs_a_local_runtime_one_wait() {
    let body = || {
        let runtime = LocalRuntime::new().unwrap();
        assert_one_wait_per_event(|| runtime.block_on(waits()));
    };
    guarded(|| alone("calls::an_event_costs_a_local_runtime_one_wait", body));
}

#[test]
fn an_event_costs_a_current_thread_runtime_one_wait() {
    let body = || {
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_one_wait_per_event(|| runtime.block_on(runtime.spawn(waits())).unwrap());
    };
    guarded(|| alone("calls::an_event_costs_a_current_thread_runtime_one_wait", body));
}
