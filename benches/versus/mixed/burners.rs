//! Tasks that compute for a given time in each poll, and yield in between, or wait for each other.

use super::hosts::Host;
use super::lane::Echo;
use crate::runtimes::{Join, Spawner};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// Ends a bench whose burners do not stop.
const PATIENCE: Duration = Duration::from_secs(60);
/// Steps between two readings of the clock, which are one piece of work: some hundred nanoseconds.
const STEPS: u32 = 200;

/// What burners do between two polls that compute, and which task computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// They yield.
    Yielding,
    /// The same, and they tell the runtime before they compute.
    InPlace,
    /// They leave that to a thread of the blocking pool.
    Offloaded,
    /// Each is a pair of tasks that send each other a message, and compute in turns.
    Messages,
    /// They spawn a task that computes, and wait for its end.
    Spawned,
    /// The same, and they say beforehand that the task may wait.
    Declared,
}

/// The burners of one runtime. They wait until they are lit; dropping this ends them.
pub(crate) struct Burners {
    shared: Arc<Shared>,
    /// One for each burner, so that they do not disturb each other by counting.
    counts: Vec<Arc<Counts>>,
    /// Lights them. `None` once they are to end.
    light: Option<watch::Sender<()>>,
}

/// What one burner has done.
#[derive(Default)]
struct Counts {
    polls: AtomicU64,
    work: AtomicU64,
}

/// What burners have done.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    /// Polls that have come to their end.
    pub(crate) polls: u64,
    /// Pieces of work in these polls. A poll is over when its time is, so that it has fewer of them when the
    /// system lets other threads run meanwhile.
    pub(crate) work: u64,
}

struct Shared {
    burning: AtomicBool,
    nanos: AtomicU64,
    how: How,
    /// Burners that wait to be lit.
    resting: AtomicUsize,
    ended: AtomicUsize,
}

impl Burners {
    pub(crate) fn start<R: Host>(runtime: &R, of: Echo) -> Self {
        let shared = Arc::new(Shared {
            burning: AtomicBool::new(false),
            nanos: AtomicU64::new(of.burn.as_nanos() as u64),
            how: of.how,
            resting: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        });
        let (light, lit) = watch::channel(());
        let counts: Vec<Arc<Counts>> = (0..of.burners).map(|_| Arc::default()).collect();
        for counts in &counts {
            let spawner = runtime.spawner();
            let burner = burner::<R>(spawner, shared.clone(), counts.clone(), lit.clone());
            runtime.spawn(burner).detach();
        }
        let burners = Self { shared, counts, light: Some(light) };
        burners.settle();
        burners
    }

    pub(crate) fn light(&self) {
        self.shared.burning.store(true, Ordering::SeqCst);
        let light = self.light.as_ref().expect("they have not been told to end");
        // An error means that there are none.
        let _ = light.send(());
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

    pub(crate) fn done(&self) -> Done {
        let sum = |count: fn(&Counts) -> &AtomicU64| {
            self.counts.iter().map(|counts| count(counts).load(Ordering::Relaxed)).sum()
        };
        Done { polls: sum(|counts| &counts.polls), work: sum(|counts| &counts.work) }
    }

    fn settle(&self) {
        let all = self.counts.len();
        wait(|| self.shared.resting.load(Ordering::SeqCst) == all);
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.shared.burning.store(false, Ordering::SeqCst);
        drop(self.light.take());
        let all = self.counts.len();
        wait(|| self.shared.ended.load(Ordering::SeqCst) == all);
    }
}

/// The other task of a pair.
struct Partner {
    ask: mpsc::UnboundedSender<Duration>,
    answer: mpsc::UnboundedReceiver<()>,
}

impl Partner {
    fn start(spawner: impl Spawner, counts: &Arc<Counts>) -> Self {
        let counts = counts.clone();
        let ((ask, mut asked), (done, answer)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let partner = async move {
            while let Some(burn) = asked.recv().await {
                counts.add(compute(burn));
                if done.send(()).is_err() {
                    break;
                }
            }
        };
        spawner.spawn(partner).detach();
        Self { ask, answer }
    }

    /// Returns when the other task has computed for so long.
    async fn computes(&mut self, burn: Duration) {
        self.ask.send(burn).expect("the other task waits for it");
        self.answer.recv().await.expect("the other task answers");
    }
}

fn wait(over: impl Fn() -> bool) {
    let start = Instant::now();
    while !over() {
        assert!(start.elapsed() < PATIENCE, "the burners do not come to rest");
        thread::sleep(Duration::from_millis(1));
    }
}

impl Counts {
    fn add(&self, work: u64) {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.work.fetch_add(work, Ordering::Relaxed);
    }
}

async fn burner<R: Host>(
    spawner: R::Spawner,
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    mut lit: watch::Receiver<()>,
) {
    let mut partner = (shared.how == How::Messages).then(|| Partner::start(spawner, &counts));
    loop {
        while shared.burning.load(Ordering::Relaxed) {
            let burn = Duration::from_nanos(shared.nanos.load(Ordering::Relaxed));
            let work = match shared.how {
                How::InPlace => R::in_place(move || compute(burn)).await,
                How::Offloaded => R::offload(move || compute(burn)).await,
                How::Spawned => spawner.spawn(async move { compute(burn) }).await,
                How::Declared => R::spawn_bulk(spawner, async move { compute(burn) }).await,
                How::Yielding | How::Messages => compute(burn),
            };
            counts.add(work);
            match &mut partner {
                Some(partner) => partner.computes(burn).await,
                None if matches!(shared.how, How::Spawned | How::Declared) => {}
                None => R::yield_now().await,
            }
        }
        shared.resting.fetch_add(1, Ordering::SeqCst);
        if lit.changed().await.is_err() {
            break;
        }
        shared.resting.fetch_sub(1, Ordering::SeqCst);
    }
    shared.ended.fetch_add(1, Ordering::SeqCst);
}

/// Computes until so much time has passed, not at all if it is none; returns how many pieces of
/// work that were.
pub(super) fn compute(burn: Duration) -> u64 {
    let mut work = 0;
    if burn.is_zero() {
        return work;
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
        work += 1;
    }
    work
}
