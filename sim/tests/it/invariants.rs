//! What must hold at every moment of a run.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use liten_sim::{Check, Sim, always, check};

use crate::reports::{report, says};

/// Two accounts, of which the sum is 0.
#[derive(Default)]
struct Accounts([AtomicI64; 2]);

impl Accounts {
    fn change(&self, place: usize, by: i64) {
        self.0[place].fetch_add(by, Ordering::Relaxed);
    }

    fn are_balanced(&self) -> bool {
        self.0.iter().map(|account| account.load(Ordering::Relaxed)).sum::<i64>() == 0
    }
}

/// Moves an amount from one account to the other one, and sleeps before, between and afterwards.
fn moves(sim: Sim, accounts: &Arc<Accounts>) {
    let accounts = accounts.clone();
    sim.client("bank", move || {
        thread::sleep(Duration::from_secs(1));
        accounts.change(0, -5);
        thread::sleep(Duration::from_secs(1));
        accounts.change(1, 5);
        thread::sleep(Duration::from_secs(1));
        always!(accounts.are_balanced(), "the sum is wrong at the end");
    });
}

fn watch(sim: Sim, accounts: &Arc<Accounts>) {
    let accounts = accounts.clone();
    sim.invariant("the sum is 0", move || accounts.are_balanced());
}

#[test]
fn one_that_is_broken_only_between_two_steps_is_found() {
    check(10, |sim| moves(sim, &Arc::default()));
    let said = report(|| {
        check(1, |sim| {
            let accounts = Arc::default();
            watch(sim, &accounts);
            moves(sim, &accounts);
        });
    });
    says(&said, &["host bank, thread bank/main/1, ", "the invariant `the sum is 0` does not hold"]);
    says(&said, &[" at 1.0", " s, after bank/main/1 ran", "fails without any disturbance"]);
}

#[test]
fn one_that_is_broken_by_the_last_act_of_a_host() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            let accounts = Arc::default();
            watch(sim, &accounts);
            sim.client("bank", move || accounts.change(0, 1));
        });
    });
    says(&said, &["the invariant `the sum is 0` does not hold", "after bank/main/1 ran"]);
}

#[test]
fn one_that_is_broken_by_the_last_act_of_the_scenario() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            let accounts = Arc::default();
            watch(sim, &accounts);
            thread::sleep(Duration::from_secs(1));
            accounts.change(0, 1);
        });
    });
    says(&said, &["the invariant `the sum is 0` does not hold", "after scenario/main/1 ran"]);
}

#[test]
fn one_that_panics_also_where_a_thread_ends() {
    let said = report(|| {
        Check::new().seeds(1).minimise_for(Duration::ZERO).run(|sim| {
            let count = Arc::new(AtomicI64::new(0));
            let seen = count.clone();
            sim.invariant("few", move || {
                assert!(seen.load(Ordering::Relaxed) < 1, "there are too many");
                true
            });
            sim.client("program", move || {
                let count = count.clone();
                let other = thread::Builder::new().name("other".to_owned());
                let other = other.spawn(move || count.fetch_add(1, Ordering::Relaxed));
                other.unwrap().join().unwrap();
            });
        });
    });
    says(&said, &["the invariant `few` panicked", "there are too many"]);
    says(&said, &["after program/other/1 ran"]);
}

/// Threads that compete for a lock and use random numbers, and a run that fails at its end.
fn compete(sim: Sim, is_watched: bool) {
    let sums: Arc<Mutex<Vec<u64>>> = Arc::default();
    let calls = Arc::new(AtomicI64::new(0));
    if is_watched {
        let (sums, calls) = (sums.clone(), calls.clone());
        sim.invariant("at most 40", move || {
            calls.fetch_add(1, Ordering::Relaxed);
            // All this would be a step, or a disturbance, if a thread of the run did it.
            thread::yield_now();
            let _ = (std::time::Instant::now(), sim.now());
            let misbehaves = liten_sim::buggify!("never here");
            !misbehaves && sums.try_lock().map_or(true, |sums| sums.len() <= 40)
        });
    }
    for name in ["a", "b"] {
        let sums = sums.clone();
        sim.client(name, move || {
            let work = |_| {
                let sums = sums.clone();
                thread::spawn(move || {
                    for _ in 0..10 {
                        sums.lock().unwrap().push(sim.random_below(100));
                        thread::sleep(Duration::from_micros(sim.random_below(50)));
                    }
                })
            };
            let threads: Vec<_> = (0..2).map(work).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
    thread::sleep(Duration::from_secs(10));
    assert!(sim.has_ended("a") && sim.has_ended("b"));
    assert_eq!(is_watched, calls.load(Ordering::Relaxed) > 40, "whether the invariant is checked");
    sim.fail("at the end");
}

#[test]
fn a_run_with_one_is_the_same_as_without() {
    let said = |seed, is_watched| {
        report(move || {
            let check = Check::new().first_seed(seed).seeds(1).minimise_for(Duration::ZERO);
            check.run(move |sim| compete(sim, is_watched));
        })
    };
    // All reports first: in the child of a later check, earlier ones fail with a word only.
    let said: Vec<[String; 2]> =
        (0..5).map(|seed| [false, true].map(|is_watched| said(seed, is_watched))).collect();
    for [without, with] in said {
        let hash = |said: &str| {
            says(said, &["at the end", "reproducible: hash "]);
            let line = said.lines().find(|line| line.contains("reproducible: hash "));
            line.map(str::to_owned)
        };
        assert_eq!(hash(&without), hash(&with), "the hashes of one seed");
    }
}

#[test]
fn the_reason_of_a_failed_call_stays() {
    check(5, |sim| {
        sim.invariant("asks for a file that is not there", || std::fs::read("/nowhere").is_err());
        sim.client("program", || {
            // SAFETY: the place is this thread's, and the call takes no arguments.
            unsafe {
                *libc::__errno_location() = libc::EXDEV;
                libc::sched_yield();
                assert_eq!(*libc::__errno_location(), libc::EXDEV);
            }
        });
    });
}
