//! From a wake by a thread that the runtime does not know to the first line of the task's poll, when
//! all workers sleep.

use crate::contest::{Contest, Figure, Lane, lane};
use crate::runtimes::{Join, Liten, Runtime, Smol, Tokio};
use crate::statistics::quantile;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

const WAKES: usize = 300;
const WAKES_IN_TESTS: usize = 3;
/// Enough for the last worker to have gone to sleep.
const REST: Duration = Duration::from_micros(300);
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let figure = |suffix| Figure { suffix, unit: "ns", goal: Some(0.80) };
    vec![Contest {
        name: "wake_latency".to_owned(),
        figures: vec![figure("p50"), figure("p99")],
        lanes: vec![
            lane::<Liten, _>(move || Sleeper::start(Liten::start(workers))),
            lane::<Tokio, _>(move || Sleeper::start(Tokio::start(workers))),
            lane::<Smol, _>(move || Sleeper::start(Smol::start(workers))),
        ],
        slice: Duration::from_millis(130),
        rounds: 11,
    }]
}

/// A task that tells when it is polled, and the thread's way to wake it.
struct Sleeper<R> {
    waker: Arc<Mutex<Option<Waker>>>,
    polled: mpsc::Receiver<Instant>,
    /// Ends the task.
    _runtime: R,
}

impl<R: Runtime> Sleeper<R> {
    fn start(runtime: R) -> Self {
        let waker = Arc::new(Mutex::new(None));
        let (tell, polled) = mpsc::channel();
        let slot = waker.clone();
        let task = runtime.spawn(poll_fn(move |cx| {
            let now = Instant::now();
            *slot.lock().expect("no holder of this lock panics") = Some(cx.waker().clone());
            // An error says that the bench is over.
            if tell.send(now).is_ok() { Poll::<()>::Pending } else { Poll::Ready(()) }
        }));
        task.detach();
        polled.recv_timeout(PATIENCE).expect("a task is polled first when it is new");
        Self { waker, polled, _runtime: runtime }
    }

    fn wake(&self) -> f64 {
        thread::sleep(REST);
        let waker = self
            .waker
            .lock()
            .expect("no holder of this lock panics")
            .take()
            .expect("the task left it");
        let before = Instant::now();
        waker.wake();
        let polled = self.polled.recv_timeout(PATIENCE).expect("the wake is not lost");
        (polled - before).as_nanos() as f64
    }
}

impl<R: Runtime> Lane for Sleeper<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let wakes = if slice.is_zero() { WAKES_IN_TESTS } else { WAKES };
        let mut latencies: Vec<_> = (0..wakes).map(|_| self.wake()).collect();
        vec![quantile(&mut latencies, 0.5), quantile(&mut latencies, 0.99)]
    }
}
