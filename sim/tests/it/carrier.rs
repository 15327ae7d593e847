//! What belongs to a thread stays with it, whichever kernel thread runs it.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use liten_sim::{Check, check};

use crate::reports::{report, says};

/// Runs `body` on some threads at once, each with its number.
fn on_threads(body: fn(usize)) {
    check(20, move |sim| {
        sim.client("program", move || {
            let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || body(i))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    });
}

/// Lets the others run, several times and in several ways.
fn others_run() {
    for _ in 0..5 {
        thread::yield_now();
        thread::sleep(Duration::from_micros(10));
    }
}

#[test]
fn errno_thread_locals_and_values_by_keys() {
    thread_local! { static NUMBER: Cell<usize> = const { Cell::new(0) }; }
    on_threads(|i| {
        NUMBER.set(i);
        // SAFETY: the places of `errno` and of the key are this thread's.
        unsafe {
            let mut key = 0;
            assert_eq!(libc::pthread_key_create(&raw mut key, None), 0);
            libc::pthread_setspecific(key, (i + 1) as *const _);
            let (own, place) = (libc::pthread_self(), libc::__errno_location());
            *place = i as c_int;
            others_run();
            assert_eq!(*libc::__errno_location(), i as c_int);
            assert_eq!((libc::pthread_self(), libc::__errno_location()), (own, place));
            assert_eq!(libc::pthread_getspecific(key) as usize, i + 1);
        }
        assert_eq!(NUMBER.get(), i);
    });
}

/// The control words of both units for floating point: SSE and x87.
#[cfg(target_arch = "x86_64")]
fn control_words() -> (u32, u16) {
    let (mut sse, mut x87) = (0_u32, 0_u16);
    let (to_sse, to_x87) = (&raw mut sse, &raw mut x87);
    // SAFETY: both places are ours.
    unsafe { std::arch::asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) to_sse, in(reg) to_x87) };
    (sse, x87)
}

/// # Safety
///
/// Both are valid, and the caller calculates nothing until they are as before.
#[cfg(target_arch = "x86_64")]
unsafe fn set_control_words((sse, x87): (u32, u16)) {
    let (from_sse, from_x87) = (&raw const sse, &raw const x87);
    // SAFETY: as above.
    unsafe { std::arch::asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) from_sse, in(reg) from_x87) };
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_direction_in_which_numbers_are_rounded() {
    on_threads(|i| {
        // Bits 13 and 14 of the one, 10 and 11 of the other.
        let own = (0x1f80 | (i as u32) << 13, 0x037f | (i as u16) << 10);
        let usual = control_words();
        // SAFETY: both pairs are valid, and what runs between does not calculate.
        let after = unsafe {
            set_control_words(own);
            others_run();
            let after = control_words();
            set_control_words(usual);
            after
        };
        // Calculations that were not exact set bits below.
        assert_eq!((after.0 & !0x3f, after.1), own);
    });
}

/// The calling thread's mask of signals, after `change` was made.
fn mask(change: Option<c_int>) -> bool {
    // SAFETY: the sets are ours. A null set changes nothing.
    unsafe {
        let (mut wanted, mut now): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
        libc::sigaddset(&raw mut wanted, libc::SIGUSR1);
        if let Some(how) = change {
            assert_eq!(libc::pthread_sigmask(how, &raw const wanted, null_mut()), 0);
        }
        assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, null(), &raw mut now), 0);
        libc::sigismember(&raw const now, libc::SIGUSR1) == 1
    }
}

#[test]
fn its_mask_of_signals_and_that_of_the_threads_that_it_creates() {
    on_threads(|i| {
        let blocks = i % 2 == 0;
        others_run();
        if blocks {
            assert!(mask(Some(libc::SIG_BLOCK)));
        }
        others_run();
        assert_eq!(mask(None), blocks);
        let child = thread::spawn(|| {
            others_run();
            mask(None)
        });
        others_run();
        assert_eq!(child.join().unwrap(), blocks);
        if i == 0 {
            assert!(!mask(Some(libc::SIG_UNBLOCK)));
            others_run();
            assert!(!mask(None));
        }
    });
}

#[test]
fn its_name_and_its_stack_for_handlers_of_signals() {
    on_threads(|i| {
        let name = [b'a' + i as u8, 0];
        let mut stack = MaybeUninit::<libc::stack_t>::uninit();
        // SAFETY: the name ends with a zero byte, and the places are ours.
        unsafe {
            assert_eq!(libc::sigaltstack(null(), stack.as_mut_ptr()), 0);
            let before = stack.assume_init();
            others_run();
            let own = libc::pthread_self();
            assert_eq!(libc::pthread_setname_np(own, name.as_ptr().cast()), 0);
            others_run();
            let mut found = [0; 16];
            assert_eq!(libc::pthread_getname_np(own, found.as_mut_ptr(), found.len()), 0);
            assert_eq!(CStr::from_ptr(found.as_ptr()).to_bytes(), &name[..1]);
            assert_eq!(libc::sigaltstack(null(), stack.as_mut_ptr()), 0);
            let after = stack.assume_init();
            // Rust's library gives each thread one.
            assert_eq!((before.ss_flags, after.ss_flags), (0, 0));
            assert_eq!(before.ss_sp, after.ss_sp);
        }
    });
}

/// A lock of the C library of some kind.
struct Lock(libc::pthread_mutex_t);

// SAFETY: it is only used by the C library's functions for locks.
unsafe impl Sync for Lock {}
// SAFETY: as above. It is made where it stays.
unsafe impl Send for Lock {}

impl Lock {
    fn new(kind: c_int, robust: c_int) -> Arc<Self> {
        let lock = Arc::new(Self(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the attributes are ours and made before they are used; no one has the lock yet.
        unsafe {
            let mut attributes = zeroed();
            libc::pthread_mutexattr_init(&raw mut attributes);
            libc::pthread_mutexattr_settype(&raw mut attributes, kind);
            libc::pthread_mutexattr_setrobust(&raw mut attributes, robust);
            assert_eq!(libc::pthread_mutex_init(lock.place(), &raw const attributes), 0);
        }
        lock
    }

    fn place(&self) -> *mut libc::pthread_mutex_t {
        (&raw const self.0).cast_mut()
    }

    fn lock(&self) -> c_int {
        // SAFETY: it is made.
        unsafe { libc::pthread_mutex_lock(self.place()) }
    }

    fn unlock(&self) -> c_int {
        // SAFETY: it is made.
        unsafe { libc::pthread_mutex_unlock(self.place()) }
    }
}

#[test]
fn a_lock_of_c_that_knows_its_owner() {
    check(20, |sim| {
        sim.client("program", || {
            let lock = Lock::new(libc::PTHREAD_MUTEX_ERRORCHECK, libc::PTHREAD_MUTEX_STALLED);
            assert_eq!(lock.lock(), 0);
            let other = lock.clone();
            let thread = thread::spawn(move || {
                others_run();
                other.unlock()
            });
            others_run();
            assert_eq!(thread.join().unwrap(), libc::EPERM);
            assert_eq!(lock.lock(), libc::EDEADLK);
            assert_eq!(lock.unlock(), 0);
        });
    });
}

#[test]
fn a_robust_lock_whose_owner_has_ended() {
    check(20, |sim| {
        sim.client("program", || {
            let lock = Lock::new(libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_ROBUST);
            let other = lock.clone();
            let thread = thread::spawn(move || {
                others_run();
                assert_eq!(other.lock(), 0);
                others_run();
            });
            others_run();
            thread.join().unwrap();
            assert_eq!(lock.lock(), libc::EOWNERDEAD);
        });
    });
}

#[test]
fn a_lock_of_c_that_another_thread_has_is_reported() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            sim.client("program", || {
                let lock = Lock::new(libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_STALLED);
                let other = lock.clone();
                thread::Builder::new()
                    .name("owner".to_owned())
                    .spawn(move || {
                        other.lock();
                        thread::sleep(Duration::from_secs(1));
                    })
                    .unwrap();
                thread::sleep(Duration::from_millis(500));
                lock.lock();
            });
        });
    });
    says(&said, &["program/main/1, which waits in the system call 202"]);
}

#[test]
fn the_user_of_all_threads_is_set_by_one() {
    on_threads(|_| {
        others_run();
        // SAFETY: the calls take numbers. The user stays the same.
        assert_eq!(unsafe { libc::setuid(libc::getuid()) }, 0);
        others_run();
    });
}

#[inline(never)]
fn recurses(depth: usize) -> usize {
    let room = std::hint::black_box([depth; 64]);
    if depth.is_multiple_of(16) {
        thread::yield_now();
    }
    if depth == std::hint::black_box(usize::MAX) { 0 } else { recurses(depth + 1) + room[63] }
}

extern "C" fn yields(_: *mut c_void) -> *mut c_void {
    loop {
        thread::yield_now();
    }
}

#[test]
fn a_stack_that_is_too_short_is_reported() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            sim.client("program", || {
                let deep = thread::Builder::new().name("deep".to_owned()).spawn(|| {
                    thread::sleep(Duration::from_millis(100));
                    recurses(0)
                });
                thread::sleep(Duration::from_millis(50));
                // The thread that was born last is the one on whose kernel thread the others run.
                // Rust's library knows nothing of this one and gives it no stack for handlers.
                let mut thread = 0;
                // SAFETY: the place is ours, and the function takes what it is given.
                let result =
                    unsafe { libc::pthread_create(&raw mut thread, null(), yields, null_mut()) };
                assert_eq!(result, 0);
                deep.unwrap().join().unwrap();
            });
        });
    });
    says(&said, &["signal 6", "thread 'deep'", "has overflowed its stack"]);
}

#[inline(never)]
fn traced() -> String {
    others_run();
    Backtrace::force_capture().to_string()
}

#[inline(never)]
fn untraced() {
    others_run();
}

#[test]
fn its_panics_and_stack_traces() {
    on_threads(|i| {
        if i % 2 == 0 {
            return untraced();
        }
        let trace = traced();
        assert!(trace.contains("carrier::traced") && !trace.contains("carrier::untraced"));
        let panics = thread::spawn(move || {
            let _catches = std::panic::catch_unwind(|| {
                others_run();
                panic!("{i}");
            });
            others_run();
            std::panic::panic_any(i);
        });
        let payload = panics.join().unwrap_err();
        assert_eq!(payload.downcast_ref::<usize>(), Some(&i));
    });
}

#[test]
fn scopes_join_threads_that_borrow() {
    on_threads(|i| {
        let mut all = [0; 3];
        thread::scope(|scope| {
            for (n, place) in all.iter_mut().enumerate() {
                scope.spawn(move || {
                    others_run();
                    *place = i + n;
                });
            }
            others_run();
        });
        assert_eq!(all, [i, i + 1, i + 2]);
    });
}
