//! Tasks that yield, on the one thread that runs the root and the driver too: each of them has one turn,
//! then the root has its own, and soon after that the driver.

use crate::support::guard::guarded;
use liten::net::TcpListener;
use liten::runtime::{Builder, LocalRuntime};
use liten::task::{LocalSet, spawn_local, yield_now};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Spawns tasks that yield for ever, and then yields itself.
async fn takes_turns() {
    const TASKS: usize = 3;
    let polls = Rc::new(Cell::new(0));
    let tasks = [(); TASKS].map(|()| {
        let polls = polls.clone();
        spawn_local(async move {
            loop {
                polls.set(polls.get() + 1);
                yield_now().await;
            }
        })
    });
    for turn in 1..=20 {
        yield_now().await;
        assert_eq!(polls.get(), turn * TASKS);
    }
    tasks.iter().for_each(|task| task.abort());
}

#[test]
fn a_root_that_yields_waits_for_one_poll_of_each_task() {
    guarded(|| {
        LocalRuntime::new().unwrap().block_on(takes_turns());
        liten::block_on(LocalSet::new().run_until(takes_turns()));
    });
}

/// As above, where the tasks are `Send`.
#[test]
fn the_root_of_a_current_thread_runtime_has_its_turn_as_often_as_a_task() {
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let polls = Arc::new(AtomicUsize::new(0));
            let theirs = polls.clone();
            liten::spawn(async move {
                loop {
                    theirs.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            });
            for turn in 1..=20 {
                yield_now().await;
                assert_eq!(polls.load(Ordering::Relaxed), turn);
            }
        });
    });
}

/// What is ready runs before, and what yields still has its turn.
#[test]
fn ready_tasks_and_those_that_yield_do_not_starve_each_other() {
    guarded(|| {
        LocalRuntime::new().unwrap().block_on(async {
            let polls = Rc::new([Cell::new(0), Cell::new(0)]);
            let yields = polls.clone();
            spawn_local(async move {
                loop {
                    yields[0].set(yields[0].get() + 1);
                    yield_now().await;
                }
            });
            // Each of these is ready when the one before it has run: the queue never runs dry.
            fn chain(polls: Rc<[Cell<usize>; 2]>) {
                spawn_local(async move {
                    polls[1].set(polls[1].get() + 1);
                    chain(polls);
                });
            }
            chain(polls.clone());
            let least = |polls: &[Cell<usize>; 2]| polls.iter().map(Cell::get).min().unwrap();
            while least(&polls) < 100 {
                yield_now().await;
            }
        });
    });
}

/// The connection is there before the task yields for the first time.
#[cfg(unix)]
#[test]
fn an_event_is_fetched_after_a_few_turns_of_a_task_that_only_yields() {
    const MOST: usize = 16;
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let is_there = Arc::new(AtomicBool::new(false));
            let accepted = is_there.clone();
            let accepting = liten::spawn(async move {
                listener.accept().await.unwrap();
                accepted.store(true, Ordering::Relaxed);
            });
            let yielding = liten::spawn(async move {
                let _client = std::net::TcpStream::connect(address).unwrap();
                let mut turns = 0;
                while !is_there.load(Ordering::Relaxed) && turns < 1_000 {
                    turns += 1;
                    yield_now().await;
                }
                turns
            });
            let turns = yielding.await.unwrap();
            assert!(turns <= MOST, "{turns} turns");
            accepting.await.unwrap();
        });
    });
}
