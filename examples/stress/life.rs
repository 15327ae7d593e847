//! One runtime from its making to its end, and the threads around it.

use super::ledger::{Ledger, Outcome};
use super::sockets;
use super::tasks::World;
use fastrand::Rng;
use liten::net::TcpListener;
use liten::runtime::{Builder, Handle, Runtime};
use liten::task::JoinHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Spawners pause while so many tasks are alive: the point is the mixture and not the memory.
const CROWD: usize = 1_000;
const SPAWNERS: usize = 3;

/// Runs one runtime for `length`, and ends it.
pub(crate) fn live(ledger: &Arc<Ledger>, mut rng: Rng, length: Duration) {
    ledger.lives.add(1);
    let runtime = Builder::new_multi_thread()
        .worker_threads(rng.usize(1..5))
        .thread_name("stress")
        .build()
        .expect("a runtime");
    let listener = runtime.block_on(async { TcpListener::bind("127.0.0.1:0").await });
    let listener = listener.expect("a port");
    let world = World {
        ledger: ledger.clone(),
        wakers: Arc::default(),
        lock: Arc::default(),
        server: listener.local_addr().expect("bound"),
    };
    drop(runtime.spawn(sockets::serve(listener)));
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        let (world, over, handle) = (&world, &over, runtime.handle().clone());
        for _ in 0..SPAWNERS {
            let (rng, handle) = (rng.fork(), handle.clone());
            threads.spawn(move || spawns(world, &handle, rng, over));
        }
        threads.spawn(|| wakes(world, over));
        let resizer = (rng.fork(), handle);
        threads.spawn(|| resizes(world, resizer.1, resizer.0, over));
        // The root takes part as well.
        let end = Instant::now() + length;
        runtime.block_on(async {
            while Instant::now() < end {
                let (task, outcome) = world.spawn(&Handle::current(), rng.fork(), 0);
                outcome.compare(ledger, task.await);
                liten::time::sleep(Duration::from_micros(rng.u64(..500))).await;
            }
        });
        finish(ledger, runtime, &mut rng);
        // The threads around it go on for a moment: they find a runtime that has ended.
        thread::sleep(Duration::from_millis(2));
        over.store(true, Ordering::SeqCst);
    });
    // Wakers outlive the tasks, and here the runtime.
    world.wakers.lock().expect("no panic under it").drain(..).for_each(|waker| waker.wake());
}

/// Ends the runtime in one of the ways there are.
fn finish(ledger: &Ledger, runtime: Runtime, rng: &mut Rng) {
    match rng.u32(..4) {
        0 => drop(runtime),
        1 => runtime.shutdown_background(),
        2 => {
            let left = runtime.shutdown_timeout(Duration::from_micros(rng.u64(..2000)));
            ledger.left_behind.add(left.len() as u64);
        }
        _ => {
            // In a task of its own, which the end drops.
            let handle = runtime.handle().clone();
            drop(handle.spawn(async move { drop(runtime) }));
        }
    }
}

/// Spawns from a foreign thread; looks at some of the answers.
fn spawns(world: &World, handle: &Handle, mut rng: Rng, over: &AtomicBool) {
    let mut kept: Vec<(JoinHandle<()>, Outcome)> = Vec::new();
    while !over.load(Ordering::SeqCst) {
        if handle.metrics().num_alive_tasks() > CROWD {
            thread::sleep(Duration::from_micros(200));
            continue;
        }
        let task = world.spawn(handle, rng.fork(), 0);
        match rng.u32(..4) {
            0 => kept.push(task),
            1 => task.0.abort(),
            _ => {}
        }
        if kept.len() > 20 {
            let (task, outcome) = kept.swap_remove(rng.usize(..kept.len()));
            outcome.compare(&world.ledger, handle.block_on(task));
        }
    }
    for (task, outcome) in kept {
        outcome.compare(&world.ledger, handle.block_on(task));
    }
}

/// Wakes whatever has left its waker.
fn wakes(world: &World, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        let wakers = std::mem::take(&mut *world.wakers.lock().expect("no panic under it"));
        wakers.iter().for_each(|waker| waker.wake_by_ref());
        drop(wakers);
        thread::sleep(Duration::from_micros(100));
    }
}

/// Looks at the spares and, in every other life, changes the number of workers between 1 and 8, until the
/// runtime has ended.
fn resizes(world: &World, handle: Handle, mut rng: Rng, over: &AtomicBool) {
    let (changes, mut spares) = (rng.bool(), 0);
    while !over.load(Ordering::SeqCst) {
        if changes && handle.set_worker_threads(rng.usize(1..9)).is_ok() {
            world.ledger.resizes.add(1);
        }
        let now = handle.metrics().num_spare_workers() as u64;
        world.ledger.spares.add(now.saturating_sub(spares));
        spares = now;
        thread::sleep(Duration::from_micros(rng.u64(..5000)));
    }
}
