//! Which system calls an event costs, counted by a tracer: none beside those of the sockets and one wait.
#![allow(unsafe_code)]

use crate::guard::{guarded, workers};
use crate::idle::play;
use crate::process::{child, is_child};
use liten::runtime::{Builder, LocalRuntime};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getppid};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

/// A question and its answer each, which are two events.
const ROUNDS: u64 = 300;

/// The measurement is repeated, because a machine that is busy with something else adds calls: the system may
/// let the threads of a runtime run so late that another one takes part.
const PARTS: usize = 30;

/// How the C library calls the system for `epoll_wait`.
#[cfg(target_arch = "x86_64")]
const WAIT: i64 = libc::SYS_epoll_wait;
#[cfg(not(target_arch = "x86_64"))]
const WAIT: i64 = libc::SYS_epoll_pwait;

/// How often a thread has made each call.
type Calls = BTreeMap<i64, u64>;

/// A call that nothing makes but this: the tracer counts the calls of a thread from one mark to the next.
fn mark() {
    getppid();
}

async fn marked_play() {
    mark();
    play(ROUNDS).await;
    mark();
}

fn on_a_worker() {
    let runtime = workers(1);
    for _ in 0..PARTS {
        runtime.block_on(runtime.spawn(marked_play())).unwrap();
    }
}

fn in_a_local_runtime() {
    let runtime = LocalRuntime::new().unwrap();
    for _ in 0..PARTS {
        runtime.block_on(marked_play());
    }
}

fn in_a_current_thread_runtime() {
    let runtime = Builder::new_current_thread().build().unwrap();
    for _ in 0..PARTS {
        runtime.block_on(runtime.spawn(marked_play())).unwrap();
    }
}

/// The threads of a process that is traced.
#[derive(Default)]
struct Tracer {
    /// What each thread that is between two marks has called since the first of them.
    counting: HashMap<Pid, Calls>,
    parts: Vec<Calls>,
}

impl Tracer {
    /// A thread has begun a call.
    fn count(&mut self, thread: Pid, call: i64) {
        if call == libc::SYS_getppid {
            match self.counting.remove(&thread) {
                Some(calls) => self.parts.push(calls),
                None => drop(self.counting.insert(thread, Calls::new())),
            }
        } else if let Some(calls) = self.counting.get_mut(&thread) {
            *calls.entry(call).or_default() += 1;
        }
    }

    /// A thread has stopped; it goes on from one end of a call to the next.
    fn follow(&mut self, status: WaitStatus) -> nix::Result<()> {
        match status {
            WaitStatus::PtraceSyscall(thread) => {
                let info = ptrace::syscall_info(thread)?;
                if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
                    // SAFETY: by the operation this is the part of the union that the system has filled.
                    self.count(thread, unsafe { info.u.entry.nr } as i64);
                }
                ptrace::syscall(thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) | WaitStatus::Stopped(thread, Signal::SIGSTOP) => {
                ptrace::syscall(thread, None)
            }
            WaitStatus::Stopped(thread, signal) => ptrace::syscall(thread, signal),
            _ => Ok(()),
        }
    }
}

/// Runs the calling test in a process of its own, until one of its parts is `enough`, and returns what each
/// part has called.
fn traced(test: &str, enough: impl Fn(&Calls) -> bool) -> Vec<Calls> {
    let mut command = child(test, &[]);
    command.stdout(Stdio::null());
    // SAFETY: one system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(io::Error::from)) };
    let mut running = command.spawn().unwrap();
    let process = Pid::from_raw(running.id().try_into().unwrap());
    // It stops at its first instruction.
    assert_eq!(waitpid(process, None), Ok(WaitStatus::Stopped(process, Signal::SIGTRAP)));
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE;
    ptrace::setoptions(process, options | Options::PTRACE_O_EXITKILL).unwrap();
    ptrace::syscall(process, None).unwrap();
    let mut tracer = Tracer::default();
    // Of this thread only: other tests have children, too.
    let own = Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD);
    loop {
        let is_enough = tracer.parts.last().is_some_and(&enough);
        if is_enough {
            running.kill().unwrap();
        }
        match waitpid(None, own).unwrap() {
            WaitStatus::Exited(who, code) if who == process => {
                assert_eq!(code, 0, "{test}");
                return tracer.parts;
            }
            WaitStatus::Signaled(who, signal, _) if who == process => {
                assert!(is_enough, "{test}: {signal:?}");
                return tracer.parts;
            }
            status => match tracer.follow(status) {
                // A thread that the end of its process takes while it stands still is gone.
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(error) => panic!("{status:?}: {error}"),
            },
        }
    }
}

/// In each round both ends send once, receive, find that there is nothing more, and wait.
fn assert_no_detour(test: &str, body: fn()) {
    if is_child() {
        return body();
    }
    let (sends, receives, waits) = (2 * ROUNDS, 4 * ROUNDS, 2 * ROUNDS);
    // To make the sockets, to spawn, and to look around now and then.
    let others = ROUNDS / 4;
    let is_cheap = |calls: &Calls| {
        // Events that another thread has fetched do not count as cheap: their waits are not among these.
        let waited = calls.get(&WAIT).copied().unwrap_or_default();
        let all = calls.values().sum::<u64>();
        all <= sends + receives + waits + others && 8 * waited >= 7 * waits
    };
    let parts = traced(test, is_cheap);
    let last = parts.last().expect("it has begun");
    assert!(is_cheap(last), "{ROUNDS} rounds; how often each call was made: {parts:?}");
}

#[test]
fn an_event_costs_a_worker_no_call_but_one_wait() {
    guarded(|| {
        assert_no_detour("calls::an_event_costs_a_worker_no_call_but_one_wait", on_a_worker);
    });
}

#[test]
fn an_event_costs_a_local_runtime_no_call_but_one_wait() {
    let test = "calls::an_event_costs_a_local_runtime_no_call_but_one_wait";
    guarded(|| assert_no_detour(test, in_a_local_runtime));
}

#[test]
fn an_event_costs_a_current_thread_runtime_no_call_but_one_wait() {
    let test = "calls::an_event_costs_a_current_thread_runtime_no_call_but_one_wait";
    guarded(|| assert_no_detour(test, in_a_current_thread_runtime));
}
