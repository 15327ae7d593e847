//! Threads and what they wait for.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use liten_sim::{Check, check};

#[test]
fn they_sleep_and_are_joined_in_virtual_time() {
    check(50, |sim| {
        sim.client("program", || {
            let begun = Instant::now();
            let (sender, receiver) = mpsc::channel();
            let threads: Vec<_> = (0..4)
                .map(|i| {
                    let sender = sender.clone();
                    thread::spawn(move || {
                        thread::sleep(Duration::from_secs(i));
                        sender.send(i).unwrap();
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
            let lasted = begun.elapsed();
            assert!(
                (Duration::from_secs(3)..Duration::from_secs(4)).contains(&lasted),
                "{lasted:?}"
            );
        });
    });
}

#[test]
fn locks_and_conditions_are_kept() {
    check(100, |sim| {
        sim.client("program", || {
            let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new(), RwLock::new(0)));
            let all_there = Arc::new(Barrier::new(3));
            for i in 0..3 {
                let (shared, all_there) = (shared.clone(), all_there.clone());
                thread::spawn(move || {
                    all_there.wait();
                    for n in 0..20 {
                        *shared.2.write().unwrap() += 1;
                        shared.0.lock().unwrap().push((i, n));
                        shared.1.notify_one();
                    }
                });
            }
            let guard = shared.0.lock().unwrap();
            let mut all = shared.1.wait_while(guard, |list| list.len() < 60).unwrap().clone();
            assert_eq!(*shared.2.read().unwrap(), 60);
            // Those of one thread stand in their order.
            all.sort_by_key(|(thread, _)| *thread);
            let expected: Vec<_> = (0..3).flat_map(|i| (0..20).map(move |n| (i, n))).collect();
            assert_eq!(all, expected);
        });
    });
}

#[test]
fn a_wait_with_a_timeout_ends_at_its_time_or_by_the_wake() {
    check(100, |sim| {
        sim.client("program", || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let begun = Instant::now();
            let guard = pair.0.lock().unwrap();
            let (guard, result) = pair.1.wait_timeout(guard, Duration::from_secs(5)).unwrap();
            assert!(result.timed_out() && begun.elapsed() >= Duration::from_secs(5));
            drop(guard);
            let other = pair.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(1));
                *other.0.lock().unwrap() = true;
                other.1.notify_all();
            });
            let guard = pair.0.lock().unwrap();
            let limit = Duration::from_secs(60);
            let (set, result) = pair.1.wait_timeout_while(guard, limit, |it| !*it).unwrap();
            assert!(!result.timed_out() && begun.elapsed() < Duration::from_secs(8));
            drop(set);
            thread::park_timeout(Duration::from_secs(1));
        });
    });
}

thread_local! {
    static LAST: Noted = const { Noted(Cell::new(None)) };
}

struct Noted(Cell<Option<&'static AtomicBool>>);

impl Drop for Noted {
    fn drop(&mut self) {
        // It blocks, as destructors may.
        thread::sleep(Duration::from_millis(10));
        if let Some(flag) = self.0.get() {
            flag.store(true, Ordering::SeqCst);
        }
    }
}

#[test]
fn destructors_of_thread_locals_run_before_a_thread_counts_as_ended() {
    check(50, |sim| {
        sim.client("program", || {
            static DROPPED: AtomicBool = AtomicBool::new(false);
            thread::spawn(|| LAST.with(|last| last.0.set(Some(&DROPPED)))).join().unwrap();
            assert!(DROPPED.load(Ordering::SeqCst));
        });
    });
}

#[test]
fn a_thread_that_spins_and_yields_waits_for_the_others() {
    check(50, |sim| {
        sim.client("program", || {
            let done = Arc::new(AtomicBool::new(false));
            let other = done.clone();
            let thread = thread::spawn(move || {
                thread::sleep(Duration::from_micros(50));
                other.store(true, Ordering::SeqCst);
            });
            while !done.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            thread.join().unwrap();
        });
    });
}

#[test]
fn the_order_of_threads_differs_from_seed_to_seed() {
    // Each order of three threads is that of some seed.
    for wanted in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let found = std::panic::catch_unwind(|| {
            let check = Check::new().seeds(300).minimise_for(Duration::ZERO);
            check.run(move |sim| {
                sim.client("program", move || {
                    let order = Arc::new(Mutex::new(Vec::new()));
                    let threads = [0, 1, 2].map(|i| {
                        let order = order.clone();
                        thread::spawn(move || order.lock().unwrap().push(i))
                    });
                    threads.into_iter().for_each(|thread| thread.join().unwrap());
                    assert_ne!(*order.lock().unwrap(), wanted);
                });
            });
        });
        assert!(found.is_err(), "no seed of 300 has the order {wanted:?}");
    }
}

#[test]
fn a_thread_that_asks_for_the_time_again_and_again_lets_others_run() {
    check(10, |sim| {
        sim.client("program", || {
            let done = Arc::new(AtomicBool::new(false));
            let other = done.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(2));
                other.store(true, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_secs(1));
            while !done.load(Ordering::SeqCst) {
                let _now = Instant::now();
            }
        });
        // From here on no thread is held up, so nothing but the end of its slice takes a turn from
        // it.
        sim.settle(Duration::from_secs(60));
    });
}

#[test]
fn a_wake_is_not_spent_on_a_wait_that_is_over_already() {
    check(300, |sim| {
        sim.client("program", || {
            let pair = Arc::new((Mutex::new(0), Condvar::new()));
            let waiting = |limit: Duration| {
                let pair = pair.clone();
                thread::spawn(move || {
                    let mut guard = pair.0.lock().unwrap();
                    *guard += 1;
                    !pair.1.wait_timeout(guard, limit).unwrap().1.timed_out()
                })
            };
            let long = waiting(Duration::from_secs(100));
            let short = waiting(Duration::from_millis(1));
            // A thread that has counted itself waits when the lock is free.
            while *pair.0.lock().unwrap() < 2 {
                thread::yield_now();
            }
            // The short wait ends during these calls, and its thread does not run yet.
            let until = Instant::now() + Duration::from_millis(1);
            while Instant::now() < until {}
            pair.1.notify_one();
            let (short, long) = (short.join().unwrap(), long.join().unwrap());
            assert!(short || long, "nobody was woken");
        });
    });
}

/// Where the threads of libtest had been faster or slower before the run, memory that they shared
/// with threads of the run was different.
#[cfg(target_env = "gnu")]
fn allocate_from_memory_of_their_own() {
    const THREADS: usize = 40;
    /// What the C library reserves for one arena, and at a multiple of which it lies.
    const ARENA: usize = 64 << 20;
    let all_have = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let all_have = all_have.clone();
            thread::spawn(move || {
                let memory = Box::new([0_u8; 100]);
                all_have.wait();
                std::ptr::from_ref(&*memory).addr() / ARENA
            })
        })
        .collect();
    let mut arenas: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    arenas.sort_unstable();
    arenas.dedup();
    assert_eq!(arenas.len(), THREADS);
}

#[cfg(target_env = "gnu")]
#[test]
fn they_allocate_from_memory_of_their_own() {
    check(2, |sim| sim.client("program", allocate_from_memory_of_their_own));
}
