//! The last seconds before something goes wrong are kept, once for each time, within bounds, and whatever
//! happens to the recorder.

use super::traces::{Events, bounce};
use crate::support::guard::{exactly, guarded, until};
use liten::insight::{EventKind, FlightRecorder, FlightRecorderBuilder, PollOutcome, Trace};
use liten::runtime::{self, Runtime};
use liten::task::{TaskId, spawn_pinned};
use serde_json::Value;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A folder of the test's own, which is not there yet, and is removed at the end.
pub(super) struct Dir(pub(super) PathBuf);

impl Dir {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("liten-recorder-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The names of all files, in the order of their dates.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    /// The only file: its name, and what it has.
    pub(super) fn only(&self) -> (String, File) {
        let mut names = self.names();
        assert_eq!(names.len(), 1, "{names:?}");
        let name = names.remove(0);
        let file = File::read(&self.0.join(&name));
        (name, file)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// As a viewer reads it.
pub(super) struct File {
    pub(super) events: Events,
    pub(super) about: Value,
}

impl File {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        Self { events: Events::read(&text), about: all["otherData"].clone() }
    }

    pub(super) fn reason(&self) -> &str {
        self.about["reason"].as_str().unwrap()
    }

    /// Whether it says that the task has panicked.
    fn has_panic_of(&self, task: TaskId) -> bool {
        self.events.with("name", &format!("panic task {task}")).count() == 1
    }
}

/// Ends its task by a panic that no hook reports.
pub(super) async fn panics() {
    resume_unwind(Box::new("on purpose"));
}

fn join_panicking(runtime: &Runtime) -> TaskId {
    let task = runtime.spawn(panics());
    let id = task.id();
    assert!(runtime.block_on(task).unwrap_err().is_panic());
    id
}

/// A recorder that keeps what comes before each panic. Not before slow polls: on a machine that is busy any
/// poll may be slow.
fn keeps_all() -> FlightRecorderBuilder {
    let mut builder = FlightRecorder::builder();
    builder.on_panic().min_interval(Duration::ZERO);
    builder
}

#[test]
fn what_led_to_a_panic_is_kept_once() {
    guarded(|| {
        let (runtime, dir) = (exactly(2).build().unwrap(), Dir::new());
        let recorder =
            FlightRecorder::builder().on_panic().to_dir(&dir.0).start(runtime.handle()).unwrap();
        let before = runtime.block_on(async { liten::spawn(bounce(50)).await.unwrap() });
        let line = line!() + 1;
        let task = runtime.spawn(panics());
        let id = task.id();
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        until(|| recorder.kept() == 1);
        let (name, file) = dir.only();
        assert!(name.starts_with("liten-") && name.ends_with("-panic.json"), "{name}");
        assert!(name.contains(&format!("-{}-", std::process::id())), "{name}");
        let reason = file.reason();
        assert!(reason.starts_with(&format!("task {id}, spawned at {}:{line}:", file!())));
        assert!(reason.ends_with(", has panicked"), "{reason}");
        assert!(file.has_panic_of(id));
        // A worker that was on its way to the task when the recording began does not record that poll.
        assert!(file.events.polls_of(id) <= 1);
        // A worker that the system does not let run finds more than one message in a poll.
        assert!(before.iter().all(|&id| file.events.polls_of(id) >= 38));
        let marks: Vec<_> = file.events.with("cat", "snapshot").collect();
        assert_eq!((marks.len(), marks[0]["name"].as_str()), (1, Some(reason)));
        drop(recorder);
        assert_eq!(dir.names(), [name]);
    });
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_a_file() {
    use std::os::unix::fs::PermissionsExt;
    guarded(|| {
        let (runtime, dir) = (exactly(1).build().unwrap(), Dir::new());
        let recorder = keeps_all().to_dir(&dir.0).start(runtime.handle()).unwrap();
        assert!(recorder.request());
        drop(recorder);
        let file = fs::metadata(dir.0.join(&dir.names()[0])).unwrap();
        assert_eq!(file.permissions().mode() & 0o077, 0);
    });
}

/// Also those that no worker polls, and those whose future panics when it is dropped.
#[test]
fn a_panic_of_each_kind_of_task_is_noticed() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new("on purpose"));
        }
    }
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let (send, kept) = mpsc::channel();
        let tell = move |task: TaskId, trace: &Trace| {
            let is_it = |kind| matches!(kind, EventKind::Panic(of) if of.id() == task);
            _ = send.send((task, trace.events().filter(|event| is_it(event.kind())).count()));
        };
        let recorder = keeps_all()
            .to_fn(move |snapshot| match snapshot.reason() {
                liten::insight::SnapshotReason::Panic(task) => tell(task.id(), snapshot.trace()),
                other => panic!("{other}"),
            })
            .start(runtime.handle())
            .unwrap();
        let aborted = runtime.spawn(async {
            let _kept = PanicsOnDrop;
            std::future::pending::<()>().await;
        });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        aborted.abort();
        let expect = |id| assert_eq!(kept.recv().unwrap(), (id, 1));
        expect(aborted.id());
        let blocking = runtime.spawn_blocking(|| resume_unwind(Box::new("on purpose")));
        expect(blocking.id());
        let pinned = runtime.block_on(async { spawn_pinned(panics).id() });
        expect(pinned);
        expect(join_panicking(&runtime));
        drop(recorder);
        assert!(kept.recv().is_err(), "each once");
    });
}

#[test]
fn a_slow_poll_is_kept_while_it_lasts() {
    guarded(|| {
        let mut builder = exactly(2);
        // Long: a worker's thread that the system does not let run is held up by something other than a task.
        let runtime = builder.slow_poll_threshold(3_000 * MS).build().unwrap();
        let dir = Dir::new();
        let recorder = FlightRecorder::builder()
            .on_slow_poll()
            .min_interval(Duration::ZERO)
            .to_dir(&dir.0)
            .start(runtime.handle())
            .unwrap();
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move { _ = held.recv() });
        let of_task = format!("task {}, ", task.id());
        let kept = || -> Vec<File> {
            let names = dir.names().into_iter().filter(|name| name.ends_with("-slow_poll.json"));
            let files = names.map(|name| File::read(&dir.0.join(name)));
            files.filter(|file| file.reason().starts_with(&of_task)).collect()
        };
        until(|| !kept().is_empty());
        let file = kept().remove(0);
        let reason = file.reason();
        assert!(reason.contains("has held up worker"), "{reason}");
        let polls: Vec<_> = file.events.with("cat", "poll").collect();
        let id: Value = task.id().to_string().parse::<u64>().unwrap().into();
        let of_task: Vec<_> = polls.iter().filter(|poll| poll["args"]["task"] == id).collect();
        assert_eq!(of_task.len(), 1);
        assert_eq!(of_task[0]["args"]["outcome"], "under way");
        assert!(of_task[0]["dur"].as_f64().unwrap() >= 20_000.0, "microseconds");
        drop(release);
        runtime.block_on(task).unwrap();
        drop(recorder);
        assert_eq!(kept().len(), 1);
    });
}

#[test]
fn a_storm_of_panics_is_one_snapshot_in_an_interval() {
    guarded(|| {
        let (runtime, dir) = (exactly(2).build().unwrap(), Dir::new());
        let recorder = FlightRecorder::builder()
            .on_panic()
            .min_interval(Duration::MAX)
            .to_dir(&dir.0)
            .start(runtime.handle())
            .unwrap();
        (0..100).for_each(|_| _ = join_panicking(&runtime));
        until(|| recorder.kept() == 1);
        assert_eq!(recorder.skipped(), 99);
        // Of another kind: it has not to wait for the panics, and tells of them what it has not said.
        assert!(recorder.request());
        assert!(!recorder.request());
        until(|| recorder.kept() == 2);
        drop(recorder);
        let files = dir.names();
        assert_eq!(files.len(), 2, "{files:?}");
        let skipped =
            files.iter().map(|name| File::read(&dir.0.join(name)).about["skipped"].as_u64());
        let told: u64 = skipped.map(Option::unwrap).sum();
        assert!((99..=100).contains(&told), "{told}");
    });
}

#[test]
fn a_folder_that_cannot_be_written_to_is_counted_and_nothing_else() {
    guarded(|| {
        let (runtime, dir) = (exactly(1).build().unwrap(), Dir::new());
        let (send, told) = mpsc::channel();
        let recorder = keeps_all()
            .to_dir(&dir.0)
            .to_fn(move |snapshot| send.send(snapshot.path().map(Path::to_owned)).unwrap())
            .start(runtime.handle())
            .unwrap();
        fs::remove_dir(&dir.0).unwrap();
        fs::write(&dir.0, "a file in the place of the folder").unwrap();
        for failed in 1..=3 {
            join_panicking(&runtime);
            assert_eq!(told.recv().unwrap(), None);
            until(|| recorder.failed() == failed);
        }
        assert_eq!(recorder.kept(), 0);
        fs::remove_file(&dir.0).unwrap();
        join_panicking(&runtime);
        let path = told.recv().unwrap().unwrap();
        until(|| recorder.kept() == 1);
        assert_eq!(path.parent(), Some(&*dir.0));
        assert!(path.exists());
        assert_eq!(recorder.failed(), 3);
        // From the start on there must be a folder.
        let taken = keeps_all().to_dir(&path).start(runtime.handle());
        assert!(taken.is_err());
        assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
    });
}

#[test]
fn what_was_last_in_a_runtime_that_has_ended_can_be_kept() {
    guarded(|| {
        let (runtime, dir) = (exactly(2).build().unwrap(), Dir::new());
        let recorder = keeps_all().to_dir(&dir.0).start(runtime.handle()).unwrap();
        let tasks = runtime.block_on(async { liten::spawn(bounce(20)).await.unwrap() });
        drop(runtime);
        assert!(recorder.request());
        until(|| recorder.kept() == 1);
        let (name, file) = dir.only();
        assert!(name.ends_with("-request.json"), "{name}");
        assert!(tasks.iter().all(|&task| file.events.polls_of(task) >= 15));
        assert!(!recorder.snapshot().is_empty());
    });
}

#[test]
fn the_end_of_the_recorder_is_that_of_what_it_listens_to() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let called = Arc::new(AtomicUsize::new(0));
        let counted = called.clone();
        let recorder = keeps_all()
            .to_fn(move |_| _ = counted.fetch_add(1, Ordering::SeqCst))
            .start(runtime.handle())
            .unwrap();
        join_panicking(&runtime);
        // Waits for what has come before.
        drop(recorder);
        assert_eq!((called.load(Ordering::SeqCst), Arc::strong_count(&called)), (1, 1));
        join_panicking(&runtime);
        assert_eq!(called.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn two_recorders_of_a_runtime_are_each_for_itself() {
    guarded(|| {
        let (runtime, dir) = (exactly(1).build().unwrap(), Dir::new());
        let [one, two] =
            [(); 2].map(|()| keeps_all().to_dir(&dir.0).start(runtime.handle()).unwrap());
        let recording = runtime.handle().record().unwrap();
        let id = join_panicking(&runtime);
        until(|| one.kept() == 1 && two.kept() == 1);
        drop(one);
        assert!(File::read(&dir.0.join(&dir.names()[0])).has_panic_of(id));
        join_panicking(&runtime);
        drop(two);
        assert_eq!(dir.names().len(), 3);
        let panics = recording.stop();
        let panics = panics.events().filter(|event| matches!(event.kind(), EventKind::Panic(_)));
        assert_eq!(panics.count(), 2);
    });
}

#[test]
fn a_panic_of_the_function_is_counted_and_the_next_snapshot_comes() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let (send, told) = mpsc::channel();
        let recorder = keeps_all()
            .to_fn(move |snapshot| {
                send.send(snapshot.skipped()).unwrap();
                resume_unwind(Box::new("on purpose"));
            })
            .start(runtime.handle())
            .unwrap();
        for failed in 1..=2 {
            join_panicking(&runtime);
            assert_eq!(told.recv().unwrap(), 0);
            until(|| recorder.failed() == failed);
        }
        assert_eq!(recorder.kept(), 0);
    });
}

/// The task that it spawns asks for the next snapshot, so without an interval this would have no end.
#[test]
fn a_function_that_spawns_tasks_which_panic_is_called_once_in_an_interval() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let handle = runtime.handle().clone();
        let (send, told) = mpsc::channel();
        let recorder = FlightRecorder::builder()
            .on_panic()
            .min_interval(Duration::MAX)
            .to_fn(move |_| {
                // It may block on the runtime that it watches.
                send.send(handle.block_on(handle.spawn(panics())).is_err()).unwrap();
            })
            .start(runtime.handle())
            .unwrap();
        join_panicking(&runtime);
        assert!(told.recv().unwrap());
        until(|| recorder.kept() == 1);
        assert_eq!(recorder.skipped(), 1);
        drop(recorder);
        assert!(told.recv().is_err());
    });
}

#[test]
fn a_function_that_drops_the_recorder_does_not_wait_for_itself() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let place = Arc::new(Mutex::new(None));
        let (theirs, (send, dropped)) = (place.clone(), mpsc::channel());
        let recorder = keeps_all()
            .to_fn(move |_| {
                drop(theirs.lock().unwrap().take());
                send.send(()).unwrap();
            })
            .start(runtime.handle())
            .unwrap();
        *place.lock().unwrap() = Some(recorder);
        join_panicking(&runtime);
        dropped.recv().unwrap();
        // The thread ends, and gives the function up.
        assert!(dropped.recv().is_err());
    });
}

#[test]
fn files_are_so_many_and_the_others_in_the_folder_are_left_alone() {
    guarded(|| {
        let (runtime, dir) = (exactly(1).build().unwrap(), Dir::new());
        let recorder = keeps_all().max_files(3).to_dir(&dir.0).start(runtime.handle()).unwrap();
        let others = ["liten-notes.json", "liten-20261125T013015.123Z-1-1-panic.txt", "a"];
        others.iter().for_each(|name| fs::write(dir.0.join(name), "").unwrap());
        // What an earlier process has left behind.
        fs::write(dir.0.join("liten-20001125T013015.123Z-1-1-signal.partial"), "").unwrap();
        join_panicking(&runtime);
        until(|| recorder.kept() == 1);
        for kept in 2..=10 {
            assert!(recorder.request());
            until(|| recorder.kept() == kept);
            let ours = dir.names().len() - others.len();
            assert!(ours <= 3, "{:?}", dir.names());
        }
        let names = dir.names();
        assert!(others.iter().all(|other| names.iter().any(|name| name == other)));
        // While each kind has one, the oldest goes. Then the one panic stays although it is the oldest.
        let ends = |end| names.iter().filter(|name| name.ends_with(end)).count();
        assert_eq!(["-signal.partial", "-panic.json", "-request.json"].map(ends), [0, 1, 2]);
    });
}

#[test]
fn a_file_is_so_large_and_has_what_was_last() {
    const MOST: u64 = 20_000;
    guarded(|| {
        let (runtime, dir) = (exactly(2).build().unwrap(), Dir::new());
        let recorder =
            keeps_all().max_file_size(MOST).to_dir(&dir.0).start(runtime.handle()).unwrap();
        runtime.block_on(async { liten::spawn(bounce(1_000)).await.unwrap() });
        let id = join_panicking(&runtime);
        until(|| recorder.kept() == 1);
        let (name, file) = dir.only();
        let size = fs::metadata(dir.0.join(name)).unwrap().len();
        assert!((MOST / 4..=MOST).contains(&size), "{size}");
        assert!(file.has_panic_of(id));
        assert!(file.about["lost"].as_u64().unwrap() >= 1_000);
        // Too small for anything: an error, and no file.
        let recorder =
            keeps_all().max_file_size(10).to_dir(&dir.0).start(runtime.handle()).unwrap();
        assert!(recorder.request());
        until(|| recorder.failed() == 1);
        assert_eq!(dir.names().len(), 1);
    });
}

#[test]
fn a_worker_keeps_as_many_events_as_are_asked_for() {
    guarded(|| {
        let lost = |builder: &mut FlightRecorderBuilder| {
            let runtime = exactly(1).build().unwrap();
            let recorder = builder.to_fn(drop_it).start(runtime.handle()).unwrap();
            let yields = async {
                for _ in 0..40_000 {
                    liten::task::yield_now().await;
                }
            };
            runtime.block_on(runtime.spawn(yields)).unwrap();
            let trace = recorder.snapshot();
            (trace.lost(), trace.events().count())
        };
        let (few_lost, few) = lost(keeps_all().max_events(100));
        // Those of the other threads have as much room again.
        assert!(few_lost > 39_000 && few <= 2 * 64, "{few_lost} lost, {few} kept");
        assert!(lost(&mut keeps_all()).0 > 0, "more than by default are needed");
        let (many_lost, many) = lost(keeps_all().max_events(1 << 17));
        assert!(many_lost == 0 && many > 40_000, "{many_lost} lost, {many} kept");
    });
}

#[test]
fn what_cannot_be_recorded_is_an_error_at_the_start() {
    let kind = |builder: &mut FlightRecorderBuilder, runtime: &Runtime| {
        builder.start(runtime.handle()).map(drop).unwrap_err().kind()
    };
    let invalid = std::io::ErrorKind::InvalidInput;
    let runtime = exactly(1).build().unwrap();
    assert_eq!(kind(&mut keeps_all(), &runtime), invalid, "neither folder nor function");
    assert_eq!(kind(keeps_all().to_fn(drop_it).max_files(0), &runtime), invalid);
    assert_eq!(kind(keeps_all().to_fn(drop_it).max_file_size(0), &runtime), invalid);
    for events in [0, (1 << 22) + 1, usize::MAX] {
        assert_eq!(kind(keeps_all().to_fn(drop_it).max_events(events), &runtime), invalid);
    }
    let current = runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(kind(keeps_all().to_fn(drop_it), &current), invalid);
    let handle = runtime.handle().clone();
    drop(runtime);
    assert!(keeps_all().to_fn(drop_it).start(&handle).is_err(), "the runtime has ended");
}

fn drop_it(_: &liten::insight::Snapshot) {}

/// A worker whose poll is longer than the recording has no ring yet. Its panic is noted elsewhere.
#[test]
fn a_panic_of_a_task_that_was_polled_before_the_start_is_kept() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move {
            _ = held.recv();
            panics().await;
        });
        until(|| runtime.metrics().running_tasks().len() == 1);
        let (send, kept) = mpsc::channel();
        let recorder = keeps_all()
            .to_fn(move |snapshot| {
                let panics = snapshot.trace().events();
                let panics = panics.filter(|event| matches!(event.kind(), EventKind::Panic(_)));
                send.send(panics.map(|event| event.worker()).collect::<Vec<_>>()).unwrap();
            })
            .start(runtime.handle())
            .unwrap();
        drop(release);
        assert_eq!(kept.recv().unwrap(), [None]);
        assert!(runtime.block_on(task).is_err());
        drop(recorder);
    });
}

/// The events of one task in a trace that a program has, for the outcome of a poll that panics.
#[test]
fn a_task_that_panics_has_ended() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let recording = runtime.handle().record().unwrap();
        runtime.block_on(runtime.spawn(liten::task::yield_now())).unwrap();
        let id = join_panicking(&runtime);
        drop(runtime);
        let trace = recording.stop();
        let poll = trace.events().find_map(|event| match event.kind() {
            EventKind::Poll { task, outcome, .. } if task.id() == id => Some((event, outcome)),
            _ => None,
        });
        let (poll, outcome) = poll.unwrap();
        let is_panic = |kind| matches!(kind, EventKind::Panic(task) if task.id() == id);
        let panic = trace.events().find(|event| is_panic(event.kind())).unwrap();
        assert_eq!((outcome, panic.worker()), (PollOutcome::Ended, poll.worker()));
        assert!(poll.begin() <= panic.begin() && panic.end() <= poll.end());
    });
}
