//! How often the system is asked: a poller for what an event brings, a socket for its peer. The functions
//! that mio and std call for it are the ones in here, which count and hand on.
#![allow(unsafe_code)]

use crate::scheduler::idle::play;
use crate::support::guard::{guarded, workers};
use crate::support::process::alone;
use liten::net::TcpSocket;
use liten::runtime::{Builder, LocalRuntime};
use std::cell::Cell;
use std::ffi::c_int;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
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
    /// How often this thread has asked a socket for its peer.
    static PEERS: Cell<u64> = const { Cell::new(0) };
}

/// Takes the place of the C library's function of this name in this program.
///
/// # Safety
///
/// As for that function: `address` points to room for `length` bytes.
// SAFETY: it does what that function does.
#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(
    socket: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    PEERS.set(PEERS.get() + 1);
    // SAFETY: the caller's promise; it is the same call.
    let result = unsafe { libc::syscall(libc::SYS_getpeername, socket, address, length) };
    // It is 0 or -1.
    result as c_int
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
    guarded(|| alone("scheduler::system_calls::an_event_costs_a_worker_one_wait", body));
}

#[test]
fn an_event_costs_a_local_runtime_one_wait() {
    let body = || {
        let runtime = LocalRuntime::new().unwrap();
        assert_one_wait_per_event(|| runtime.block_on(waits()));
    };
    guarded(|| alone("scheduler::system_calls::an_event_costs_a_local_runtime_one_wait", body));
}

#[test]
fn an_event_costs_a_current_thread_runtime_one_wait() {
    let body = || {
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_one_wait_per_event(|| runtime.block_on(runtime.spawn(waits())).unwrap());
    };
    guarded(|| {
        alone("scheduler::system_calls::an_event_costs_a_current_thread_runtime_one_wait", body)
    });
}

/// Whether the first poll of `connect` leaves it pending, and how often that poll asks for the peer.
async fn first_poll(mut connect: Pin<&mut impl Future>) -> (bool, u64) {
    let before = PEERS.get();
    let pending = poll_fn(|cx| connect.as_mut().poll(cx).is_pending().into()).await;
    (pending, PEERS.get() - before)
}

/// A connection is not there at once if the listener has no place for it, as if it were far away. It is asked
/// for its peer when it is made, and then when an event says that it is there.
#[test]
fn a_connection_that_takes_time_is_asked_for_its_peer_once_per_event() {
    let body = || {
        LocalRuntime::new().unwrap().block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            let listener = socket.listen(0).unwrap();
            let address = listener.local_addr().unwrap();
            let mut connected = Vec::new();
            let (late, asked) = loop {
                let mut connect = Box::pin(TcpSocket::new_v4().unwrap().connect(address));
                match first_poll(connect.as_mut()).await {
                    (true, asked) => break (connect, asked),
                    (false, asked) => connected.push(asked),
                }
            };
            assert!(connected.iter().all(|&asked| asked == 1), "{connected:?}");
            assert_eq!(asked, 1, "nothing has happened since the first answer");
            // Room for the late one, which the system tries again after a second.
            for _ in 0..connected.len() {
                listener.accept().await.unwrap();
            }
            let before = PEERS.get();
            late.await.unwrap();
            assert_eq!(PEERS.get() - before, 1);
        });
    };
    let name = "scheduler::system_calls::a_connection_that_takes_time_is_asked_for_its_peer_once_per_event";
    guarded(|| alone(name, body));
}
