//! What the feature `tracing` tells, read by a collector of our own. A process of its own, because the
//! collector has to be there before the driver thread warns for the first time.

use liten::runtime::{Builder, Runtime};
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, mpsc};
use std::task::{Poll, Waker};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The fields of a warning, and its target.
type Warning = BTreeMap<String, String>;

/// What the thread does that waits for a message.
const ACTIVITY: &str = match cfg!(target_os = "linux") {
    true => "in the system call futex (a lock or a condition)",
    false => "what its thread does is not known",
};

/// Sends the fields of each warning; then wakes a task of the very runtime, and panics.
struct Collector(mpsc::Sender<Warning>);

/// The task that the collector wakes.
static TOLD: Mutex<Option<Waker>> = Mutex::new(None);

struct Fields(Warning);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("liten::")
    }

    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::WARN);
        let target = ("target".to_owned(), event.metadata().target().to_owned());
        let mut fields = Fields(BTreeMap::from([target]));
        event.record(&mut fields);
        let told = TOLD.lock().expect("no panic under it").take();
        told.into_iter().for_each(Waker::wake);
        self.0.send(fields.0).expect("the test waits");
        std::panic::resume_unwind(Box::new("the collector's own affair"));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        unreachable!("liten makes no spans")
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Blocks the only worker in one poll, beside a task that waits, until both warnings have come of it. Returns
/// them by their targets.
fn warnings_of_a_poll(
    runtime: &Runtime,
    warnings: &mpsc::Receiver<Warning>,
) -> BTreeMap<String, Warning> {
    let (release, released) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let line = line!() + 1;
    let blocker = runtime.spawn(async move {
        begin.send(()).expect("the test waits");
        released.recv().is_err()
    });
    begun.recv().expect("the task runs");
    let waits = runtime.spawn(async {});
    let id = blocker.id().to_string();
    // A worker that the system does not let run for long is warned of, too: without a task, or with another.
    let is_of_poll = |warning: &Warning| warning.get("task.id") == Some(&id);
    let mut found = BTreeMap::new();
    while found.len() < 2 {
        let warning = warnings.iter().find(is_of_poll).expect("the collector lives");
        assert_eq!(warning["task.spawned_at"], format!("{}:{line}:27", file!()));
        assert_eq!(warning["worker"], "0");
        let again = found.insert(warning["target"].clone(), warning);
        assert_eq!(again, None, "once per poll");
    }
    drop(release);
    runtime.block_on(waits).expect("no panic");
    assert!(runtime.block_on(blocker).expect("no panic"));
    assert!(!warnings.try_iter().any(|warning| is_of_poll(&warning)), "once per poll");
    found
}

#[test]
fn a_poll_that_blocks_the_last_worker_is_warned_of_by_name_and_again_when_it_is_slow() {
    let (sender, warnings) = mpsc::channel();
    tracing::subscriber::set_global_default(Collector(sender)).expect("the first one");
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_spare_workers(0)
        .build()
        .expect("threads");
    let mut polls = 0;
    let told = runtime.spawn(poll_fn(move |cx| {
        polls += 1;
        *TOLD.lock().expect("no panic under it") = Some(cx.waker().clone());
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    }));
    while runtime.metrics().num_cold_tasks() == 0 && !told.is_finished() {
        std::thread::yield_now();
    }
    // What the thread does is seen at one moment. The system may not let it run then: then once more.
    let mut activities = Vec::new();
    while activities.last().is_none_or(|activity| activity != ACTIVITY) {
        assert!(activities.len() < 10, "{activities:?}");
        let found = warnings_of_a_poll(&runtime, &warnings);
        let (blocked, slow) = (&found["liten::blocked"], &found["liten::slow"]);
        assert!(blocked["blocked_ms"].parse::<u64>().expect("a number") >= 1);
        assert!(blocked["message"].contains("spawn_blocking"), "{}", blocked["message"]);
        let limit =
            "at most 0 spare workers may run: see max_spare_workers and LITEN_MAX_SPARE_WORKERS";
        assert!(blocked["message"].contains(limit), "{}", blocked["message"]);
        assert!(slow["slow_ms"].parse::<u64>().expect("a number") >= 100);
        activities.push(slow["activity"].clone());
    }
    runtime.block_on(told).expect("what the collector has woken is not lost");
}
