//! A monkey at the controls: anything that may be done to a runtime, in any order, from several threads.
//!
//! What is checked is little and holds always: every task is dropped exactly once, every handle gets an
//! answer, and the runtime ends.

use crate::support::guard::{guarded, workers};
use crate::support::probe::{Bell, Count, OnDrop};
use liten::runtime::Handle;
use liten::task::{JoinHandle, yield_now};
use liten::time::{Duration, sleep, timeout};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

/// Numbers without rhyme or reason, the same ones for the same seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What all monkeys of a runtime share.
#[derive(Clone, Default)]
struct Cage {
    made: Count,
    dropped: Count,
    /// Wakers of tasks that may be gone.
    wakers: Arc<Mutex<Vec<Waker>>>,
    bell: Bell,
}

impl Cage {
    fn guard(&self) -> OnDrop {
        self.made.add();
        OnDrop(self.dropped.clone())
    }

    /// A task that waits, works, or ends in one of many ways.
    async fn task(self, mut dice: Dice, guard: OnDrop) -> OnDrop {
        for _ in 0..1 + dice.below(4) {
            match dice.below(9) {
                0 => yield_now().await,
                1 => sleep(Duration::from_micros(dice.below(400))).await,
                2 => drop(timeout(Duration::from_micros(200), self.bell.wait()).await),
                3 => {
                    let mut polls = 0;
                    poll_fn(|cx| {
                        polls += 1;
                        self.wakers.lock().unwrap().push(cx.waker().clone());
                        if polls > 1 { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                }
                4 => thread::sleep(Duration::from_micros(dice.below(300))),
                5 => {
                    let inner = self.guard();
                    drop(liten::spawn(async move { drop(inner) }).await);
                }
                6 => {
                    let inner = self.guard();
                    drop(liten::spawn_blocking(move || drop(inner)).await);
                }
                7 if dice.below(20) == 0 => std::panic::resume_unwind(Box::new("a banana")),
                _ => {
                    let (first, second) =
                        (yield_now(), sleep(Duration::from_micros(dice.below(50))));
                    liten::join!(first, second);
                }
            }
        }
        guard
    }
}

/// Does a number of things, and returns the handles of the tasks that are still of interest.
fn play(handle: &Handle, cage: &Cage, seed: u64) -> Vec<JoinHandle<OnDrop>> {
    let (mut dice, mut tasks) = (Dice(seed), Vec::new());
    for _ in 0..400 {
        match dice.below(12) {
            0..=5 => {
                let task = cage.clone().task(Dice(dice.below(1 << 40) + 1), cage.guard());
                tasks.push(handle.spawn(task));
            }
            6 if !tasks.is_empty() => {
                let index = dice.below(tasks.len() as u64) as usize;
                tasks[index].abort();
            }
            7 if !tasks.is_empty() => {
                let index = dice.below(tasks.len() as u64) as usize;
                drop(tasks.swap_remove(index));
            }
            8 => drop(handle.set_worker_threads(1 + dice.below(6) as usize)),
            9 => {
                let task = tasks.pop();
                // Tasks that wait for a wake need one, sooner or later.
                wake_some(cage, &mut dice);
                if let Some(task) = task {
                    task.abort();
                    drop(handle.block_on(task));
                }
            }
            _ => wake_some(cage, &mut dice),
        }
    }
    tasks
}

fn wake_some(cage: &Cage, dice: &mut Dice) {
    let wakers: Vec<_> = {
        let mut all = cage.wakers.lock().unwrap();
        let length = all.len();
        all.drain(length / (2 + dice.below(3) as usize)..).collect()
    };
    for waker in wakers {
        if dice.below(2) == 0 {
            waker.wake_by_ref();
        }
        waker.wake();
    }
}

#[test]
fn whatever_is_done_every_task_ends_once() {
    guarded(|| {
        for seed in 1..=12u64 {
            let (runtime, cage) = (workers(1 + seed as usize % 4), Cage::default());
            let tasks: Vec<_> = thread::scope(|scope| {
                let play = |thread| {
                    let (handle, cage) = (runtime.handle().clone(), cage.clone());
                    scope.spawn(move || play(&handle, &cage, seed * 7_919 + thread))
                };
                let threads: Vec<_> = (0..3).map(play).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            if seed % 3 != 0 {
                cage.bell.ring();
                while runtime.metrics().num_alive_tasks() > 0 {
                    wake_some(&cage, &mut Dice(seed));
                }
                runtime.block_until_completion();
            }
            // Or else in the middle of everything.
            drop(runtime);
            for task in tasks {
                assert!(task.is_finished());
                drop(smol::block_on(task));
            }
            wake_some(&cage, &mut Dice(seed));
            cage.wakers.lock().unwrap().clear();
            assert_eq!(cage.dropped.get(), cage.made.get(), "seed {seed}");
        }
    });
}
