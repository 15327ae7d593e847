//! What the tasks do.

use super::ledger::{Ledger, Outcome, Witness};
use super::sockets;
use fastrand::Rng;
use liten::runtime::Handle;
use liten::task::{JoinHandle, JoinSet, yield_now};
use liten::time::{sleep, timeout};
use std::future::{Future, pending, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// The payload of a panic that belongs to the plan.
pub(crate) struct Expected;

/// Lets the panic hook pass over what was planned.
pub(crate) fn silence_expected_panics() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The second: a poll that a bounded shutdown has left behind, and that comes to a timer afterwards.
        let text = info.payload().downcast_ref::<&str>();
        let late = text.is_some_and(|text| text.contains("has been shut down"));
        if !info.payload().is::<Expected>() && !late {
            others(info);
        }
    }));
}

/// What the tasks of one runtime share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) ledger: Arc<Ledger>,
    /// Of tasks that are alive or gone; a foreign thread wakes them.
    pub(crate) wakers: Arc<Mutex<Vec<Waker>>>,
    pub(crate) lock: Arc<liten::sync::Mutex<u64>>,
    pub(crate) server: SocketAddr,
}

/// Children of children of children.
const DEPTH: u32 = 3;

impl World {
    /// Spawns one task with a random life. From any thread.
    pub(crate) fn spawn(&self, handle: &Handle, rng: Rng, depth: u32) -> (JoinHandle<()>, Outcome) {
        let (future, outcome) = self.task(rng, depth);
        (handle.spawn(future), outcome)
    }

    /// Boxed, because a task's future would contain its children's.
    fn task(
        &self,
        mut rng: Rng,
        depth: u32,
    ) -> (Pin<Box<dyn Future<Output = ()> + Send>>, Outcome) {
        let (world, outcome) = (self.clone(), Outcome::default());
        let witness = Witness::new(&self.ledger, &outcome, rng.u32(..50) == 0);
        let future = Box::pin(async move {
            for _ in 0..rng.u32(1..5) {
                world.step(&mut rng, depth).await;
            }
            match rng.u32(..40) {
                0 => witness.panic(),
                _ => witness.finish(),
            }
        });
        (future, outcome)
    }

    async fn step(&self, rng: &mut Rng, depth: u32) {
        match rng.u32(..15) {
            0..3 => yield_now().await,
            3..5 => sleep(Duration::from_micros(rng.u64(..1500))).await,
            5 => drop(timeout(Duration::from_micros(rng.u64(..300)), pending::<()>()).await),
            6 => self.wait_for_a_foreign_wake().await,
            7 => std::thread::sleep(block(rng)),
            8..11 if depth < DEPTH => self.child(rng, depth + 1).await,
            11 if depth < DEPTH => self.children(rng, depth + 1).await,
            12 => self.job(rng).await,
            13 => {
                let mut held = self.lock.lock().await;
                yield_now().await;
                *held += 1;
            }
            _ => sockets::exchange(&self.ledger, self.server, rng).await,
        }
    }

    /// Waits until the waking thread has come round once.
    async fn wait_for_a_foreign_wake(&self) {
        let mut registered = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut registered, true) {
                return Poll::Ready(());
            }
            self.wakers.lock().expect("no panic under it").push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// A child that is awaited, aborted, or left to itself.
    async fn child(&self, rng: &mut Rng, depth: u32) {
        let (task, outcome) = self.spawn(&Handle::current(), rng.fork(), depth);
        match rng.u32(..3) {
            0 => outcome.compare(&self.ledger, task.await),
            1 => {
                if rng.bool() {
                    yield_now().await;
                }
                task.abort();
                outcome.compare(&self.ledger, task.await);
            }
            _ => drop(task),
        }
    }

    /// A set of children that is joined to some part and then aborted.
    async fn children(&self, rng: &mut Rng, depth: u32) {
        let mut set = JoinSet::new();
        for _ in 0..rng.u32(1..6) {
            set.spawn(self.task(rng.fork(), depth).0);
        }
        for _ in 0..rng.u32(..6) {
            drop(set.join_next().await);
        }
        if rng.bool() {
            set.abort_all();
            while set.join_next().await.is_some() {}
        }
    }

    async fn job(&self, rng: &mut Rng) {
        let (ledger, time) = (self.ledger.clone(), Duration::from_micros(rng.u64(..500)));
        let fails = rng.u32(..20) == 0;
        let job = liten::spawn_blocking(move || {
            ledger.jobs.add(1);
            std::thread::sleep(time);
            ledger.jobs_done.add(1);
            if fails {
                std::panic::panic_any(Expected);
            }
        });
        if rng.bool() {
            drop(job.await);
        }
    }
}

/// Mostly short; now and then long enough that the watchdog has to do something.
fn block(rng: &mut Rng) -> Duration {
    match rng.u32(..200) {
        0 => Duration::from_millis(30),
        _ => Duration::from_micros(rng.u64(..300)),
    }
}
