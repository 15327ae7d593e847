//! Consoles as a client sees them: the one that the protocol's authors generate, which keeps what it is told as
//! tokio-console does.

use console_api::field::{Name, Value};
use console_api::instrument::instrument_client::InstrumentClient;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, ResumeRequest, StateRequest, TaskDetailsRequest, Temporality,
    Update,
};
use console_api::tasks::task_details::PollTimesHistogram;
use console_api::tasks::{Stats, Task};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use liten::insight::EventKind;
use liten::runtime::{Handle, Runtime};
use liten::sync::mpsc;
use liten::task::yield_now;
use liten_console::{Builder, Server};
use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::{Duration, SystemTime};
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

/// Nothing here takes as long.
const GUARD: Duration = Duration::from_secs(60);

fn runtime(workers: usize) -> Runtime {
    liten::runtime::Builder::new_multi_thread().worker_threads(workers).build().unwrap()
}

fn console(runtime: &Runtime) -> Server {
    Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap()
}

/// Runs a client, on the runtime that it asks for.
fn client<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(GUARD, client).await.expect("it hangs") })
}

async fn connect(console: &Server) -> InstrumentClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", console.local_addr())).unwrap();
    InstrumentClient::new(endpoint.connect().await.unwrap())
}

/// What a client knows.
struct View {
    updates: Streaming<Update>,
    metadata: HashSet<u64>,
    tasks: HashMap<u64, (Task, Stats)>,
    dropped: u64,
}

impl View {
    async fn of(console: &Server) -> Self {
        let mut client = connect(console).await;
        let updates = client.watch_updates(InstrumentRequest {}).await.unwrap().into_inner();
        Self { updates, metadata: HashSet::new(), tasks: HashMap::new(), dropped: 0 }
    }

    /// Takes one message more.
    async fn next(&mut self) {
        let update = self.updates.message().await.unwrap().expect("it goes on");
        assert!(update.now.is_some());
        for new in update.new_metadata.into_iter().flat_map(|new| new.metadata) {
            assert!(new.metadata.is_some());
            self.metadata.insert(new.id.unwrap().id);
        }
        let mut update = update.task_update.unwrap();
        self.dropped += update.dropped_events;
        for task in update.new_tasks {
            let id = task.id.unwrap().id;
            assert!(
                self.metadata.contains(&task.metadata.unwrap().id),
                "a client leaves out such a task"
            );
            let stats =
                update.stats_update.remove(&id).expect("a client leaves out a task without");
            assert!(self.tasks.insert(id, (task, stats)).is_none(), "twice: {id}");
        }
        for (id, stats) in update.stats_update {
            let (_, known) = self.tasks.get_mut(&id).expect("it has been told of");
            assert!(known.dropped_at.is_none(), "it has ended: {stats:?}");
            *known = stats;
        }
    }

    /// Takes messages until there is such a task. Returns its id.
    async fn until(&mut self, is_it: impl Fn(&Seen<'_>) -> bool) -> u64 {
        loop {
            let known = self.tasks.iter().map(|(&id, (task, stats))| Seen { id, task, stats });
            if let Some(seen) = known.into_iter().find(&is_it) {
                return seen.id;
            }
            self.next().await;
        }
    }
}

struct Seen<'a> {
    id: u64,
    task: &'a Task,
    stats: &'a Stats,
}

impl Seen<'_> {
    fn field(&self, name: &str) -> Option<&Value> {
        let is_it = |field: &&console_api::Field| matches!(&field.name, Some(Name::StrName(known)) if known == name);
        self.task.fields.iter().find(is_it)?.value.as_ref()
    }

    fn is_named(&self, name: &str) -> bool {
        self.field("task.name") == Some(&Value::StrVal(name.to_owned()))
    }

    fn polls(&self) -> u64 {
        self.stats.poll_stats.unwrap().polls
    }

    fn busy(&self) -> Duration {
        self.stats.poll_stats.unwrap().busy_time.unwrap().try_into().unwrap()
    }

    fn scheduled(&self) -> Duration {
        self.stats.scheduled_time.unwrap().try_into().unwrap()
    }

    /// As tokio-console has it.
    fn is_running(&self) -> bool {
        let polls = self.stats.poll_stats.unwrap();
        let time = |stamp: Option<prost_types::Timestamp>| {
            stamp.map(|stamp| SystemTime::try_from(stamp).unwrap())
        };
        time(polls.last_poll_started) > time(polls.last_poll_ended)
    }

    fn wakers(&self) -> u64 {
        self.stats.waker_clones - self.stats.waker_drops
    }
}

fn spawn_named(
    handle: &Handle,
    name: &str,
    task: impl Future<Output = ()> + Send + 'static,
) -> u64 {
    liten::task::Builder::new().name(name).spawn_on(task, handle).unwrap().id().into()
}

/// Until so many tasks wait.
async fn until_waiting(runtime: &Runtime, tasks: usize) {
    while runtime.metrics().num_cold_tasks() < tasks {
        yield_now().await;
    }
}

/// Two tasks that send a message to and fro, until the end of the runtime.
fn spawn_players(handle: &Handle) {
    let (to, mut from) = mpsc::channel(1);
    let (back, mut answers) = mpsc::channel(1);
    spawn_named(handle, "echo", async move {
        while let Some(message) = from.recv().await {
            back.send(message).await.unwrap();
        }
    });
    spawn_named(handle, "ask", async move {
        for round in 0_u64.. {
            to.send(round).await.unwrap();
            assert_eq!(answers.recv().await, Some(round));
            liten::time::sleep(Duration::from_micros(100)).await;
        }
    });
}

#[test]
fn a_client_sees_what_a_task_is_and_does() {
    let runtime = runtime(2);
    let (end, mut ended) = mpsc::channel::<()>(1);
    let line = line!() + 1;
    let waiter = spawn_named(runtime.handle(), "waiter", async move { _ = ended.recv().await });
    spawn_players(runtime.handle());
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        let id = view.until(|seen| seen.is_named("waiter")).await;
        assert_eq!(id, waiter);
        let (task, stats) = &view.tasks[&id];
        let seen = Seen { id, task, stats };
        let location = task.location.as_ref().unwrap();
        assert!(location.file.as_deref().unwrap().ends_with("client.rs"), "{location:?}");
        // That of `spawn_named`, which does not pass on its caller's.
        assert!(location.line.is_some_and(|seen| seen < line), "{location:?}");
        assert!(matches!(seen.field("size.bytes"), Some(Value::U64Val(1..))), "{task:?}");
        assert_eq!(seen.field("task.id"), Some(&Value::U64Val(id)));
        assert_eq!((seen.is_running(), seen.wakers()), (false, 1));

        view.until(|seen| {
            seen.is_named("echo")
                && seen.polls() > 10
                && seen.stats.wakes > 10
                && !seen.busy().is_zero()
                && !seen.scheduled().is_zero()
        })
        .await;
        drop(end);
        view.until(|seen| seen.id == waiter && seen.stats.dropped_at.is_some()).await;
        // Another client learns what there is, and nothing of what has been.
        let mut other = View::of(&console).await;
        other.until(|seen| seen.is_named("ask")).await;
        assert!(!other.tasks.contains_key(&waiter));
    });
}

#[test]
fn a_task_that_is_proven_to_be_stuck_has_no_waker() {
    let runtime = runtime(2);
    spawn_named(runtime.handle(), "beauty", pending());
    runtime.block_on(until_waiting(&runtime, 1));
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        // With a poll, or else a client takes it for a task that has not begun.
        view.until(|seen| seen.is_named("beauty") && seen.wakers() == 0 && seen.polls() == 1).await;
    });
}

#[test]
fn a_poll_that_holds_the_only_worker_is_shown() {
    let runtime = runtime(1);
    let console = console(&runtime);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let begun = Arc::new(AtomicBool::new(false));
    client(async {
        let mut view = View::of(&console).await;
        view.next().await;
        let has_begun = begun.clone();
        let task: u64 = runtime
            .spawn(async move {
                has_begun.store(true, Ordering::Relaxed);
                _ = held.recv();
                pending::<()>().await;
            })
            .id()
            .into();
        view.until(|seen| seen.id == task && seen.is_running() && seen.polls() == 1).await;
        assert!(begun.load(Ordering::Relaxed));
        drop(release);
        view.until(|seen| seen.id == task && !seen.is_running() && !seen.busy().is_zero()).await;
    });
}

#[test]
fn the_details_of_a_task_are_its_histograms() {
    let runtime = runtime(2);
    spawn_players(runtime.handle());
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        let id = view.until(|seen| seen.is_named("echo") && seen.polls() > 10).await;
        let mut client = connect(&console).await;
        let request = TaskDetailsRequest { id: Some(id.into()) };
        let mut details = client.watch_task_details(request).await.unwrap().into_inner();
        let details = details.message().await.unwrap().unwrap();
        assert_eq!(details.task_id.unwrap().id, id);
        let Some(PollTimesHistogram::Histogram(polls)) = details.poll_times_histogram else {
            panic!("{details:?}")
        };
        for histogram in [polls, details.scheduled_times_histogram.unwrap()] {
            let read: Histogram<u64> =
                Deserializer::new().deserialize(&mut &histogram.raw_histogram[..]).unwrap();
            assert!(read.len() > 9 && read.max() > 0 && histogram.max_value > 0, "{histogram:?}");
        }
        // Of a task that is not there, and of none.
        let request = TaskDetailsRequest { id: Some(u64::MAX.into()) };
        let mut none = client.watch_task_details(request).await.unwrap().into_inner();
        assert!(none.message().await.unwrap().is_none());
        let error = client.watch_task_details(TaskDetailsRequest { id: None }).await.unwrap_err();
        assert_eq!(error.code(), tonic::Code::InvalidArgument);
    });
}

#[test]
fn a_paused_console_says_nothing_until_it_goes_on() {
    let runtime = runtime(2);
    spawn_players(runtime.handle());
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        let mut client = connect(&console).await;
        let mut states = client.watch_state(StateRequest {}).await.unwrap().into_inner();
        let mut state = async || states.message().await.unwrap().unwrap().temporality();
        assert_eq!(state().await, Temporality::Live);
        client.pause(PauseRequest {}).await.unwrap();
        assert_eq!(state().await, Temporality::Paused);
        // What had been sent before, and then nothing for longer than a console that goes on keeps silent.
        while tokio::time::timeout(Duration::from_millis(1_500), view.next()).await.is_ok() {}
        client.resume(ResumeRequest {}).await.unwrap();
        assert_eq!(state().await, Temporality::Live);
        view.next().await;
    });
}

/// Whether a recording of the runtime is under way. A worker takes part in one that begins only when its poll
/// has ended. So what a poll spawns after that has been recorded only if there was another recording before.
fn is_recorded(runtime: &Runtime) -> bool {
    let (begun, begins) = std_mpsc::channel();
    let (go_on, goes_on) = std_mpsc::channel::<()>();
    let (spawned, spawns) = std_mpsc::channel();
    drop(runtime.spawn(async move {
        begun.send(()).unwrap();
        goes_on.recv().unwrap();
        spawned.send(liten::spawn(async {}).id()).unwrap();
    }));
    begins.recv().unwrap();
    let recording = runtime.handle().record().unwrap();
    go_on.send(()).unwrap();
    let id = spawns.recv().unwrap();
    let trace = recording.stop();
    trace.events().any(|it| matches!(it.kind(), EventKind::Spawn(task) if task.id() == id))
}

/// Waits until the console records the runtime, or does not.
async fn until_recorded(runtime: &Runtime, wanted: bool) {
    while is_recorded(runtime) != wanted {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn nothing_is_recorded_while_no_console_looks() {
    let runtime = runtime(2);
    spawn_players(runtime.handle());
    let console = console(&runtime);
    assert!(!is_recorded(&runtime));
    client(async {
        let mut view = View::of(&console).await;
        until_recorded(&runtime, true).await;
        view.until(|seen| seen.polls() > 10).await;
        drop(view);
        until_recorded(&runtime, false).await;
        // Another one finds it as the first has.
        View::of(&console).await.until(|seen| seen.polls() > 10).await;
    });
}

#[test]
fn another_recording_goes_on_beside() {
    let runtime = runtime(2);
    spawn_players(runtime.handle());
    let recording = runtime.handle().record().unwrap();
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        view.until(|seen| seen.is_named("echo") && seen.polls() > 10).await;
        drop(view);
        let before = recording.snapshot().len();
        while recording.snapshot().len() < before + 10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The program's own goes before the console's.
        let mut view = View::of(&console).await;
        drop(recording);
        view.until(|seen| seen.is_named("echo") && seen.polls() > 10).await;
    });
}

#[test]
fn more_tasks_than_there_is_room_for() {
    let runtime = runtime(2);
    runtime.block_on(async {
        for _ in 0..12_000 {
            drop(runtime.spawn(pending::<()>()));
        }
        until_waiting(&runtime, 12_000).await;
    });
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        // A message that is too large for the client is an error.
        while view.tasks.len() < 10_000 {
            view.next().await;
        }
        assert_eq!(view.tasks.len(), 10_000);
    });
}

/// The tasks come and go between two updates.
#[test]
fn events_of_tasks_without_room_are_counted() {
    let runtime = runtime(2);
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        until_recorded(&runtime, true).await;
        while view.dropped == 0 {
            for _ in 0..20_000 {
                drop(runtime.spawn(async {}));
            }
            view.next().await;
            // They are forgotten by clients that keep none, as tokio-console does after some seconds.
            view.tasks.retain(|_, (_, stats)| stats.dropped_at.is_none());
        }
    });
}

#[test]
fn a_runtime_that_ends_leaves_no_task() {
    let runtime = runtime(2);
    spawn_players(runtime.handle());
    let console = console(&runtime);
    client(async {
        let mut view = View::of(&console).await;
        view.until(|seen| seen.is_named("echo")).await;
        runtime.shutdown_background();
        while view.tasks.values().any(|(_, stats)| stats.dropped_at.is_none()) {
            view.next().await;
        }
    });
}

#[test]
fn a_console_that_is_dropped_is_gone() {
    let runtime = runtime(1);
    let console = console(&runtime);
    let address = console.local_addr();
    client(async {
        let mut view = View::of(&console).await;
        view.next().await;
        drop(console);
        while let Ok(Some(_)) = view.updates.message().await {}
    });
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(!is_recorded(&runtime));
}

#[test]
fn other_machines_are_kept_out() {
    let runtime = runtime(1);
    let mut builder = Builder::new();
    let error = builder.observe(runtime.handle()).serve("0.0.0.0:0").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("allow_remote"), "{error}");
    assert!(builder.allow_remote().serve("0.0.0.0:0").is_ok());
    assert_eq!(liten_console::serve("127.0.0.1:0").unwrap_err().kind(), ErrorKind::InvalidInput);
}

/// Which is what scripts of other sites speak, in a browser on this machine.
#[test]
fn http_1_has_no_answer() {
    let runtime = runtime(1);
    let console = console(&runtime);
    let mut stream = TcpStream::connect(console.local_addr()).unwrap();
    stream.set_read_timeout(Some(GUARD)).unwrap();
    stream
        .write_all(
            b"POST /rs.tokio.console.instrument.Instrument/Pause HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        .unwrap();
    let mut answer = Vec::new();
    // The end may be a reset: there is something that the server has not read.
    _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{:?}", String::from_utf8_lossy(&answer));
}

#[test]
fn clients_are_so_many_and_leave_room() {
    let runtime = runtime(1);
    let console = console(&runtime);
    let silent: Vec<_> =
        (0..16).map(|_| TcpStream::connect(console.local_addr()).unwrap()).collect();
    let mut one_more = TcpStream::connect(console.local_addr()).unwrap();
    one_more.set_read_timeout(Some(GUARD)).unwrap();
    assert!(matches!(one_more.read(&mut [0; 9]), Ok(0) | Err(_)), "it is sent away");
    drop(silent);
    client(async {
        let endpoint = Endpoint::from_shared(format!("http://{}", console.local_addr())).unwrap();
        // The server may not have noticed yet that they have left.
        let mut updates = loop {
            let Ok(channel) = endpoint.connect().await else { continue };
            match InstrumentClient::new(channel).watch_updates(InstrumentRequest {}).await {
                Ok(updates) => break updates.into_inner(),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        assert!(updates.message().await.unwrap().is_some());
    });
}
