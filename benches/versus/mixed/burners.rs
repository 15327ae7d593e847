//! Tasks that compute for a given time in each poll, and yield in between.

use super::hosts::Host;
use super::lane::Echo;
use crate::runtimes::Join;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Ends a bench whose burners do not stop.
const PATIENCE: Duration = Duration::from_secs(60);
/// Steps between two readings of the clock: some hundred nanoseconds.
const STEPS: u32 = 200;

/// The burners of one runtime. They wait until they are lit; dropping this ends them.
pub(crate) struct Burners {
    shared: Arc<Shared>,
    /// One for each burner, so that they do not disturb each other by counting.
    polls: Vec<Arc<AtomicU64>>,
    /// Lights them. `None` once they are to end.
    light: Option<watch::Sender<()>>,
}

struct Shared {
    burning: AtomicBool,
    nanos: AtomicU64,
    in_place: bool,
    /// Burners that wait to be lit.
    resting: AtomicUsize,
    ended: AtomicUsize,
}

impl Burners {
    pub(crate) fn start<R: Host>(runtime: &R, of: Echo) -> Self {
        let shared = Arc::new(Shared {
            burning: AtomicBool::new(false),
            nanos: AtomicU64::new(of.burn.as_nanos() as u64),
            in_place: of.in_place,
            resting: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        });
        let (light, lit) = watch::channel(());
        let polls: Vec<_> = (0..of.burners).map(|_| Arc::new(AtomicU64::new(0))).collect();
        for polls in &polls {
            runtime.spawn(burner::<R>(shared.clone(), polls.clone(), lit.clone())).detach();
        }
        let burners = Self { shared, polls, light: Some(light) };
        burners.settle();
        burners
    }

    pub(crate) fn light(&self) {
        self.shared.burning.store(true, Ordering::SeqCst);
        let light = self.light.as_ref().expect("they have not been told to end");
        light.send(()).expect("the burners wait for it");
    }

    /// Returns when no burner computes any more.
    pub(crate) fn quench(&self) {
        self.shared.burning.store(false, Ordering::SeqCst);
        self.settle();
    }

    /// What they compute for in each poll from now on.
    pub(crate) fn set(&self, burn: Duration) {
        self.shared.nanos.store(burn.as_nanos() as u64, Ordering::SeqCst);
    }

    /// Polls that have come to their end.
    pub(crate) fn polls(&self) -> u64 {
        self.polls.iter().map(|polls| polls.load(Ordering::Relaxed)).sum()
    }

    fn settle(&self) {
        let all = self.polls.len();
        wait(|| self.shared.resting.load(Ordering::SeqCst) == all);
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.shared.burning.store(false, Ordering::SeqCst);
        drop(self.light.take());
        let all = self.polls.len();
        wait(|| self.shared.ended.load(Ordering::SeqCst) == all);
    }
}

fn wait(over: impl Fn() -> bool) {
    let start = Instant::now();
    while !over() {
        assert!(start.elapsed() < PATIENCE, "the burners do not come to rest");
        thread::sleep(Duration::from_millis(1));
    }
}

async fn burner<R: Host>(shared: Arc<Shared>, polls: Arc<AtomicU64>, mut lit: watch::Receiver<()>) {
    loop {
        while shared.burning.load(Ordering::Relaxed) {
            let burn = Duration::from_nanos(shared.nanos.load(Ordering::Relaxed));
            if shared.in_place {
                R::in_place(move || compute(burn)).await;
            } else {
                compute(burn);
            }
            polls.fetch_add(1, Ordering::Relaxed);
            R::yield_now().await;
        }
        shared.resting.fetch_add(1, Ordering::SeqCst);
        if lit.changed().await.is_err() {
            break;
        }
        shared.resting.fetch_sub(1, Ordering::SeqCst);
    }
    shared.ended.fetch_add(1, Ordering::SeqCst);
}

/// Computes until so much time has passed; not at all if it is none.
fn compute(burn: Duration) {
    if burn.is_zero() {
        return;
    }
    let start = Instant::now();
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    while start.elapsed() < burn {
        for _ in 0..STEPS {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
        }
        bits = black_box(bits);
    }
}
