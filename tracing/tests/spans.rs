//! What insight says of tasks that are in spans.

use liten::insight::TaskState;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpStream;
use liten::runtime::Handle;
use liten::task::{TaskId, yield_now};
use liten_tracing::TaskSpans;
use std::future::pending;
use std::sync::Once;
use std::time::{Duration, Instant};
use tracing::{Instrument, Span, field, info_span, span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Far more than anything here takes, also on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

fn subscribe() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing_subscriber::registry().with(TaskSpans::new()).init());
}

fn described(task: TaskId) -> Option<String> {
    let seen = Handle::current().tasks().find(|seen| seen.id() == task)?;
    seen.description()
}

/// Waits until that is said of the task.
#[track_caller]
fn said(task: TaskId, expected: &'static str) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for _ in 0..2_000 {
            if described(task).as_deref() == Some(expected) {
                return;
            }
            liten::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{caller}: {:?} is said, not {expected}", described(task));
    }
}

#[liten::test]
async fn a_task_is_in_the_innermost_span_that_it_has_entered() {
    subscribe();
    let (go_on, wait) = liten::sync::oneshot::channel::<()>();
    let render = async {
        _ = wait.await;
    };
    let request = async {
        render.instrument(info_span!("render", page = 3)).await;
        pending::<()>().await;
    };
    let task = liten::spawn(request.instrument(info_span!("request", path = "/report")));
    said(task.id(), "request{path=\"/report\"}:render{page=3}").await;
    go_on.send(()).unwrap();
    said(task.id(), "request{path=\"/report\"}").await;
    task.abort();
}

#[liten::test]
async fn a_span_without_a_task_and_a_task_without_a_span_are_described_by_nothing() {
    subscribe();
    let span = info_span!("of_the_root").entered();
    let task = liten::spawn(pending::<()>());
    while Handle::current().metrics().num_cold_tasks() == 0 {
        yield_now().await;
    }
    assert_eq!(described(task.id()), None);
    drop(span);
}

/// It is polled, and in none of its spans.
#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_span_that_was_left_and_is_open_is_not_said_of_a_task_that_is_polled() {
    subscribe();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (left, is_left) = liten::sync::oneshot::channel();
    let task = liten::spawn(async move {
        let parse = info_span!("parse");
        parse.in_scope(|| {});
        left.send(()).unwrap();
        _ = held.recv();
        drop(parse);
    });
    is_left.await.unwrap();
    let handle = Handle::current();
    let seen = loop {
        if let Some(seen) = handle.tasks().find(|seen| seen.id() == task.id()) {
            break seen;
        }
        liten::time::sleep(Duration::from_millis(1)).await;
    };
    assert_eq!((seen.state(), seen.description()), (TaskState::Running, None));
    release.send(()).unwrap();
    task.await.unwrap();
}

#[liten::test]
async fn a_task_that_has_left_an_inner_span_is_in_the_outer_one() {
    subscribe();
    let request = async {
        info_span!(parent: None, "audit").in_scope(|| {});
        let step = info_span!("step");
        step.in_scope(|| {});
        drop(step);
        pending::<()>().await;
    };
    let task = liten::spawn(request.instrument(info_span!("request")));
    said(task.id(), "request").await;
}

/// It is a span that this task has never entered.
#[liten::test]
async fn the_parent_of_a_closed_span_is_not_said() {
    subscribe();
    let request = info_span!("request");
    let job = info_span!(parent: &request, "job");
    let (go_on, wait) = liten::sync::oneshot::channel::<()>();
    let task = liten::spawn(async move {
        async { _ = wait.await }.instrument(job).await;
        pending::<()>().await;
    });
    said(task.id(), "request:job").await;
    go_on.send(()).unwrap();
    while described(task.id()).is_some() {
        yield_now().await;
    }
    drop(request);
}

#[liten::test]
async fn two_layers_in_one_subscriber_say_what_one_says() {
    let layers = (TaskSpans::new(), TaskSpans::new());
    let subscriber = tracing_subscriber::registry().with(layers.0).with(layers.1);
    let guard = tracing::subscriber::set_default(subscriber);
    let task = liten::task::spawn_local(pending::<()>().instrument(info_span!("twice")));
    said(task.id(), "twice").await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    drop(guard);
}

/// A panic of a value's `Debug` while a span is recorded ends the task, and not the process.
#[liten::test]
async fn a_value_that_panics_when_it_is_written_harms_nothing_else() {
    struct Panics;
    impl std::fmt::Debug for Panics {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("for a test")
        }
    }
    subscribe();
    let span = info_span!("outer", value = field::Empty);
    let of_task = span.clone();
    let work = async move { _ = of_task.record("value", field::debug(Panics)) };
    let task = liten::spawn(work.instrument(span.clone()));
    assert!(task.await.unwrap_err().is_panic());
    let task = liten::spawn(pending::<()>().instrument(span));
    said(task.id(), "outer").await;
}

#[liten::test]
async fn a_span_that_was_left_and_closed_is_not_said() {
    subscribe();
    let task = liten::spawn(async {
        info_span!("first").in_scope(|| {});
        pending::<()>().await;
    });
    while Handle::current().metrics().num_cold_tasks() == 0 {
        yield_now().await;
    }
    assert_eq!(described(task.id()), None);
}

#[liten::test]
async fn fields_that_come_later_are_said_and_long_ones_are_cut() {
    subscribe();
    let span = info_span!("upload", size = field::Empty, body = "x".repeat(1_000_000));
    let task = liten::spawn(pending::<()>().instrument(span.clone()));
    span.record("size", 12);
    while described(task.id()).is_none() {
        yield_now().await;
    }
    let text = described(task.id()).unwrap();
    assert!(
        text.len() < 300 && text.starts_with("upload{body=\"xxx") && text.ends_with("…}"),
        "{text}"
    );
    let short = info_span!("upload", size = field::Empty);
    let task = liten::spawn(pending::<()>().instrument(short.clone()));
    short.record("size", 12);
    said(task.id(), "upload{size=12}").await;
}

#[liten::test]
async fn of_very_many_spans_within_each_other_the_innermost_are_said() {
    subscribe();
    let mut spans = vec![Span::none()];
    for depth in 0..100_000_u32 {
        let parent = spans.last().and_then(Span::id);
        spans.push(span!(parent: parent, tracing::Level::INFO, "in", depth));
    }
    let task = liten::spawn(pending::<()>().instrument(spans.last().unwrap().clone()));
    while described(task.id()).is_none() {
        yield_now().await;
    }
    let text = described(task.id()).unwrap();
    assert!(text.ends_with(":in{depth=99998}:in{depth=99999}"), "{text}");
    assert!(text.matches("in{").count() <= 17, "{text}");
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    // The innermost first: the registry closes a span's parent within the close of the span.
    spans.drain(..).rev().for_each(drop);
}

#[liten::test]
async fn the_page_has_the_span_of_each_task() {
    subscribe();
    let task = liten::spawn(pending::<()>().instrument(info_span!("upload", name = "a")));
    said(task.id(), "upload{name=\"a\"}").await;
    let page = liten::insight::serve("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(page.local_addr()).await.unwrap();
    let request = format!(
        "GET /json HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        page.local_addr(),
        page.token()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(r#""description":"upload{name=\"a\"}""#), "{answer}");
}

#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentences_and_the_list_name_the_span_and_no_control_character() {
    subscribe();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let work = async move {
        info_span!("computes", what = "a\n\u{1b}[2J").in_scope(|| _ = held.recv());
    };
    let task =
        liten::spawn(work.instrument(info_span!("job", what = field::display("b\n\u{1b}[2J"))));
    let expected = "(in job{what=b\u{fffd}\u{fffd}[2J}:computes{what=\"a\\n\\u{1b}[2J\"})";
    let (handle, begun) = (Handle::current(), Instant::now());
    loop {
        let dump = liten::task::spawn_blocking({
            let handle = handle.clone();
            move || handle.dump()
        });
        let dump = dump.await.unwrap();
        let of_the_task = format!("task {}, spawned at ", task.id());
        let sentences: Vec<_> = dump.findings().iter().map(ToString::to_string).collect();
        // Before, the task may have been seen in the outer span alone.
        let is_it = |said: &String| said.contains(&of_the_task) && said.contains(expected);
        if sentences.iter().any(is_it) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{sentences:?}");
        liten::time::sleep(Duration::from_millis(10)).await;
    }
    release.send(()).unwrap();
    task.await.unwrap();
}
