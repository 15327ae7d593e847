//! Signals to hosts.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use libc::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1, SIGUSR2, c_int};
use liten::signal::unix as liten_signal;
use liten_sim::check;
use tokio::signal::unix as tokio_signal;

use crate::reports::{report, says};

const SECOND: Duration = Duration::from_secs(1);

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: c_int) {
    HANDLED.fetch_add(1, SeqCst);
}

fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
    // SAFETY: the handler does what a handler may.
    let before = unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

#[test]
fn without_a_handler_a_host_ends() {
    check(5, |sim| {
        for (host, signal) in [("one", SIGTERM), ("two", SIGUSR2), ("three", SIGKILL)] {
            sim.host(host, || sleep(1_000 * SECOND));
            sleep(SECOND);
            sim.signal(host, signal);
            assert!(sim.has_ended(host), "{host}");
            // The dead hear nothing.
            sim.signal(host, signal);
        }
        sim.host("stays", || sleep(1_000 * SECOND));
        sleep(SECOND);
        sim.signal("stays", SIGCHLD);
        assert!(!sim.has_ended("stays"));
    });
}

#[test]
fn a_stopped_host_goes_on_when_it_is_told_to() {
    check(5, |sim| {
        sim.client("program", || {
            let begun = Instant::now();
            sleep(SECOND);
            assert!(begun.elapsed() > 4 * SECOND, "{:?}", begun.elapsed());
        });
        sleep(SECOND / 2);
        sim.signal("program", SIGSTOP);
        sleep(5 * SECOND);
        sim.signal("program", SIGCONT);
    });
}

/// Each of the waits takes ten seconds, in which two signals come.
fn a_wait_goes_on_after_a_handler(wait: fn()) {
    check(10, move |sim| {
        sim.client("program", move || {
            handle(SIGUSR1, count);
            let begun = Instant::now();
            wait();
            let waited = begun.elapsed();
            assert!(waited >= 10 * SECOND && waited < 11 * SECOND, "{waited:?}");
            assert_eq!(HANDLED.load(SeqCst), 2);
        });
        for _ in 0..2 {
            sleep(3 * SECOND);
            sim.signal("program", SIGUSR1);
        }
    });
}

#[test]
fn a_sleep_goes_on_after_a_handler() {
    a_wait_goes_on_after_a_handler(|| sleep(10 * SECOND));
}

#[test]
fn the_wait_for_a_thread_goes_on_after_a_handler() {
    a_wait_goes_on_after_a_handler(|| thread::spawn(|| sleep(10 * SECOND)).join().unwrap());
}

#[test]
fn the_wait_for_a_condition_goes_on_after_a_handler() {
    a_wait_goes_on_after_a_handler(|| {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let held = lock.lock().unwrap();
        let _ = condition.wait_timeout_while(held, 10 * SECOND, |()| true).unwrap();
    });
}

#[test]
fn the_wait_for_bytes_goes_on_after_a_handler() {
    a_wait_goes_on_after_a_handler(|| {
        let (mut one, _other) = UnixStream::pair().unwrap();
        one.set_read_timeout(Some(10 * SECOND)).unwrap();
        assert!(one.read(&mut [0]).is_err());
    });
}

#[test]
fn a_pipe_to_itself_wakes_the_thread_that_runs_the_handler() {
    static PIPE: AtomicI32 = AtomicI32::new(-1);
    extern "C" fn tell(_: c_int) {
        // SAFETY: the byte is there.
        unsafe { libc::write(PIPE.load(SeqCst), [7_u8].as_ptr().cast(), 1) };
    }
    check(20, |sim| {
        sim.client("program", || {
            let (mut receiver, sender) = UnixStream::pair().unwrap();
            PIPE.store(sender.as_raw_fd(), SeqCst);
            handle(SIGHUP, tell);
            let mut byte = [0];
            receiver.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [7]);
        });
        sleep(Duration::from_micros(100 + sim.random_below(1_000)));
        // Before the handler is there the signal ends the host.
        while PIPE.load(SeqCst) < 0 {
            sleep(SECOND / 10);
        }
        sleep(SECOND);
        sim.signal("program", SIGHUP);
    });
}

#[test]
fn a_handler_is_told_the_signal_and_may_be_taken_back() {
    static SEEN: AtomicI32 = AtomicI32::new(0);
    extern "C" fn see(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        assert!(!context.is_null());
        // SAFETY: the system gives a valid one.
        assert_eq!(signal, unsafe { (*info).si_signo });
        SEEN.store(signal, SeqCst);
    }
    check(5, |sim| {
        sim.host("program", || {
            // SAFETY: the places are ours, and the handler has the form that its flag says.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = see as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO;
                let null = std::ptr::null_mut();
                assert_eq!(libc::sigaction(SIGINT, &raw const action, null), 0);
                sleep(2 * SECOND);
                assert_eq!(SEEN.load(SeqCst), SIGINT);
                let mut known: libc::sigaction = std::mem::zeroed();
                assert_eq!(libc::sigaction(SIGINT, std::ptr::null(), &raw mut known), 0);
                assert_eq!(known.sa_sigaction, action.sa_sigaction);
                assert_eq!(libc::sigaction(SIGKILL, &raw const action, null), -1);
                libc::signal(SIGINT, libc::SIG_IGN);
                sleep(2 * SECOND);
                libc::signal(SIGINT, libc::SIG_DFL);
                sleep(1_000 * SECOND);
            }
        });
        for ends in [false, false, true] {
            sleep(SECOND);
            sim.signal("program", SIGINT);
            sleep(SECOND);
            assert_eq!(sim.has_ended("program"), ends);
        }
    });
}

/// Counts the ends in order, by tokio.
#[tokio::main]
async fn served_by_tokio(ended: &AtomicU32) {
    let mut signals = tokio_signal::signal(tokio_signal::SignalKind::terminate()).unwrap();
    signals.recv().await;
    ended.fetch_add(1, SeqCst);
}

#[test]
fn a_program_on_tokio_ends_in_order_also_after_a_restart() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    check(20, |sim| {
        sim.host("server", || served_by_tokio(&ENDED));
        sleep(SECOND);
        sim.crash("server");
        sim.restart("server");
        sleep(SECOND);
        sim.signal("server", SIGTERM);
        sleep(SECOND);
        assert!(sim.has_ended("server"));
        assert_eq!(ENDED.load(SeqCst), 1);
    });
}

/// As above, by liten. The signal comes to `one` alone.
#[liten::main(worker_threads = 2)]
async fn served_by_liten(ended: &AtomicU32) {
    let mut signals = liten_signal::signal(liten_signal::SignalKind::terminate()).unwrap();
    signals.recv().await;
    ended.fetch_add(1, SeqCst);
}

#[test]
fn a_signal_to_one_of_several_hosts_is_not_the_others() {
    static ENDED: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    check(20, |sim| {
        for (number, host) in ["one", "two", "three"].into_iter().enumerate() {
            sim.host(host, move || served_by_liten(&ENDED[number]));
        }
        sleep(SECOND);
        sim.signal("two", SIGTERM);
        sleep(SECOND);
        assert_eq!(ENDED.each_ref().map(|ended| ended.load(SeqCst)), [0, 1, 0]);
        sim.signal("one", SIGTERM);
        sleep(SECOND);
        assert_eq!(ENDED.each_ref().map(|ended| ended.load(SeqCst)), [1, 1, 0]);
    });
}

#[test]
fn a_program_signals_itself() {
    check(5, |sim| {
        sim.client("program", || {
            handle(SIGUSR2, count);
            // SAFETY: the calls take no pointers.
            unsafe {
                assert_eq!(libc::raise(SIGUSR2), 0);
                assert_eq!(HANDLED.load(SeqCst), 1);
                assert_eq!(libc::kill(libc::getpid(), SIGUSR2), 0);
                assert_eq!(HANDLED.load(SeqCst), 2);
                assert_eq!(libc::kill(libc::getpid(), 0), 0);
                assert_eq!(libc::raise(1_000), -1);
            }
            // SAFETY: as above.
            thread::spawn(|| unsafe { libc::raise(SIGUSR2) }).join().unwrap();
            assert_eq!(HANDLED.load(SeqCst), 3);
        });
        // SAFETY: as above. It is killed by it.
        sim.host("server", || assert_eq!(unsafe { libc::raise(SIGTERM) }, 1, "it lives"));
        sleep(SECOND);
        assert!(sim.has_ended("server"));
    });
}

#[test]
fn a_client_that_ends_itself_by_a_signal_fails() {
    let said = report(|| {
        check(1, |sim| {
            // SAFETY: the call takes no pointers.
            sim.client("program", || assert_eq!(unsafe { libc::raise(SIGTERM) }, 1, "it lives"));
        });
    });
    says(&said, &["host program", "the program ended itself by SIGTERM"]);
}

#[test]
fn a_signal_to_another_process_is_refused() {
    let said = report(|| {
        check(1, |sim| {
            // SAFETY: the call takes no pointers.
            sim.client("program", || {
                assert_eq!(unsafe { libc::kill(1, SIGTERM) }, 1, "it goes on")
            });
        });
    });
    says(&said, &["a signal to another process, which a simulation does not have"]);
}

#[test]
fn a_signal_is_a_fault_that_the_report_names() {
    let said = report(|| {
        check(5, |sim| {
            sim.host("server", || sleep(1_000 * SECOND));
            sleep(SECOND);
            sim.signal("server", SIGTERM);
            sim.client("client", move || assert!(!sim.has_ended("server"), "it is gone"));
        });
    });
    says(&said, &["it is gone", "1 of ", "fault: SIGTERM to server", "the run passes"]);
}
