//! What the feature `tracing` tells, read by a collector of our own. A process of its own, because the
//! collector has to be there before the driver thread warns for the first time.

use liten::runtime::Builder;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, mpsc};
use std::task::{Poll, Waker};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Sends the fields of each warning; then wakes a task of the very runtime, and panics.
struct Collector(mpsc::Sender<BTreeMap<String, String>>);

/// The task that the collector wakes.
static TOLD: Mutex<Option<Waker>> = Mutex::new(None);

struct Fields(BTreeMap<String, String>);

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
    let (release, released) = mpsc::channel::<()>();
    let line = line!() + 1;
    let blocker = runtime.spawn(async move { released.recv().is_err() });
    let waits = runtime.spawn(async {});
    // A worker that the system does not let run for long is warned of without a task.
    let names_a_task = |warning: &BTreeMap<String, String>| {
        warning["target"] == "liten::blocked" && warning.contains_key("task.id")
    };
    let warning = warnings.iter().find(names_a_task).expect("the collector lives");
    assert_eq!(warning["task.id"], blocker.id().to_string());
    assert_eq!(warning["task.spawned_at"], format!("{}:{line}:27", file!()));
    assert_eq!(warning["worker"], "0");
    assert!(warning["blocked_ms"].parse::<u64>().expect("a number") >= 1);
    assert!(warning["message"].contains("spawn_blocking"), "{}", warning["message"]);
    let limit =
        "at most 0 spare workers may run: see max_spare_workers and LITEN_MAX_SPARE_WORKERS";
    assert!(warning["message"].contains(limit), "{}", warning["message"]);
    let slow = warnings.iter().find(|warning| warning["target"] == "liten::slow");
    let slow = slow.expect("the collector lives");
    assert_eq!(slow["task.id"], blocker.id().to_string());
    assert!(slow["slow_ms"].parse::<u64>().expect("a number") >= 100);
    #[cfg(target_os = "linux")]
    assert_eq!(slow["activity"], "in the system call futex (a lock or a condition)");
    drop(release);
    runtime.block_on(waits).expect("no panic");
    runtime.block_on(told).expect("what the collector has woken is not lost");
    assert!(!warnings.try_iter().any(|warning| names_a_task(&warning)), "once per poll");
}
