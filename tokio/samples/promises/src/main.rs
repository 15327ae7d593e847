//! What programs count on that no published test of tokio's looks at. Each of it holds on tokio, too, unless
//! it says that it does not.

mod ends;
mod files;
mod full;
mod large;
mod page;
mod reads;
mod signals;
mod states;
mod yields;

use std::cell::RefCell;
use std::env;
use std::future::{Future, pending, poll_fn};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process;
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::runtime::{Builder, Runtime, worker_index};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, broadcast, mpsc};
use tokio::task::{JoinHandle, LocalSet, spawn_blocking, spawn_local};
use tokio::time::{interval, sleep, timeout};

/// The argument with which this program starts itself, to say how many workers a runtime has.
const COUNT_WORKERS: &str = "count-workers";

fn main() {
    match env::args().nth(1).as_deref() {
        Some(COUNT_WORKERS) => return count_workers(),
        Some(large::ON_STACK) => return large::on_stack(),
        Some(page::SHOWN) => return page::shown(),
        Some(page::LACKING) => return page::lacking(),
        Some(part) if files::play_a_part(part) => return,
        _ => {}
    }
    the_environment_says_how_many_workers_there_are();
    a_number_of_workers_that_is_none_is_refused_in_tokio_s_words();
    all_threads_have_the_name_that_the_builder_was_given();
    the_index_of_a_worker_is_below_their_number();
    a_runtime_with_workers_cannot_start_with_a_paused_clock();
    a_child_process_needs_a_runtime_with_io();
    a_time_limit_is_shown_in_the_words_that_programs_compare();
    errors_and_ids_are_shown_in_the_words_that_programs_compare();
    a_socket_says_that_its_runtime_has_ended();
    a_destructor_in_a_dropped_set_may_spawn_into_it();
    a_timer_without_duration_lets_other_tasks_run();
    a_timer_without_duration_is_ready_at_once_while_the_clock_is_paused();
    a_sleep_that_was_ready_stays_ready();
    reads::keep_all();
    large::keep_all();
    page::keep_all();
    states::keep_all();
    files::keep_all();
    full::keep_all();
    ends::keep_all();
    yields::keep_all();
    signals::keep_all();
    println!("all promises kept");
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Returns the message that `f` panics with.
fn message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it should panic");
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref().cloned()).expect("a text")
}

/// Prints the number of workers of a runtime that was told none, and of one that was told two.
fn count_workers() {
    let told = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let untold = Runtime::new().expect("a runtime");
    println!("{} {}", untold.metrics().num_workers(), told.metrics().num_workers());
}

/// Runs this program with `TOKIO_WORKER_THREADS` set, and returns what it prints and what its panic says.
fn with_workers(value: &str) -> (String, String) {
    let mut this = process::Command::new(env::current_exe().expect("this program has a path"));
    let output = this.arg(COUNT_WORKERS).env("TOKIO_WORKER_THREADS", value).output();
    let output = output.expect("this program can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (text(output.stdout), text(output.stderr))
}

fn the_environment_says_how_many_workers_there_are() {
    for count in ["1", "3", "7"] {
        assert_eq!(with_workers(count).0, format!("{count} 2\n"));
    }
}

fn a_number_of_workers_that_is_none_is_refused_in_tokio_s_words() {
    for (value, words) in [
        ("0", "\"TOKIO_WORKER_THREADS\" cannot be set to 0"),
        (
            "many",
            "\"TOKIO_WORKER_THREADS\" must be usize, error: invalid digit found in string, value: many",
        ),
    ] {
        let (printed, said) = with_workers(value);
        assert!(printed.is_empty() && said.contains(words), "{value}: {printed}{said}");
    }
}

fn all_threads_have_the_name_that_the_builder_was_given() {
    let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("mine").build();
    let name = || thread::current().name().map(str::to_owned);
    let names = runtime.expect("a runtime").block_on(async move {
        let worker = tokio::spawn(async move { name() });
        [worker.await.expect("a name"), spawn_blocking(name).await.expect("a name")]
    });
    assert_eq!(names.map(Option::unwrap), ["mine", "mine"]);
}

/// Also while one of them blocks.
fn the_index_of_a_worker_is_below_their_number() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let block = || async {
        thread::sleep(Duration::from_millis(100));
        worker_index()
    };
    let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(block())).collect();
    for task in tasks {
        let index = runtime.block_on(task).expect("an index");
        assert!(index.is_none_or(|index| index < runtime.metrics().num_workers()), "{index:?}");
    }
}

fn a_runtime_with_workers_cannot_start_with_a_paused_clock() {
    let mut builder = Builder::new_multi_thread();
    let message = message(|| drop(builder.enable_all().start_paused(true).build()));
    assert!(message.starts_with("`time::pause()` requires the `current_thread`"), "{message}");
    assert!(builder.start_paused(false).build().is_ok());
}

fn a_child_process_needs_a_runtime_with_io() {
    let spawn = || drop(Command::new("true").spawn());
    let outside = message(spawn);
    assert!(outside.starts_with("there is no reactor running"), "{outside}");
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let without = message(|| runtime.block_on(async { spawn() }));
    assert!(without.starts_with("A Tokio 1.x context was found, but IO is disabled."), "{without}");
}

fn a_time_limit_is_shown_in_the_words_that_programs_compare() {
    let late = async { timeout(Duration::from_millis(1), pending::<()>()).await };
    let elapsed = current_thread().block_on(late).expect_err("it never ends");
    assert_eq!(elapsed.to_string(), "deadline has elapsed");
}

fn errors_and_ids_are_shown_in_the_words_that_programs_compare() {
    let runtime = current_thread();
    let late = async { timeout(Duration::from_millis(1), pending::<()>()).await };
    let late = io::Error::from(runtime.block_on(late).expect_err("it never ends"));
    assert_eq!((late.kind(), late.to_string()), (ErrorKind::TimedOut, "timed out".to_owned()));
    let task = runtime.spawn(pending::<()>());
    let id = task.id();
    assert_eq!(format!("{task:?} {id:?}"), format!("JoinHandle {{ id: Id({id}) }} Id({id})"));
    task.abort();
    let aborted = io::Error::from(runtime.block_on(task).expect_err("it was aborted"));
    let refused = runtime.block_on(async { signal(SignalKind::from_raw(9)) });
    let refused = refused.expect_err("no program hears of it");
    assert_eq!([aborted.kind(), refused.kind()], [ErrorKind::Other; 2]);
    assert_eq!(aborted.to_string(), "task was cancelled");
    for (words, panics) in [
        ("mpsc bounded channel requires buffer > 0", || drop(mpsc::channel::<()>(0))),
        ("broadcast channel capacity cannot be zero", || drop(broadcast::channel::<()>(0))),
        ("a semaphore may not have more than MAX_PERMITS permits", || {
            drop(Semaphore::new(usize::MAX))
        }),
        ("would overflow MAX_PERMITS", || Semaphore::new(1).add_permits(Semaphore::MAX_PERMITS)),
    ] as [(&str, fn()); 4]
    {
        let message = message(panics);
        assert!(message.contains(words), "{message}");
    }
}

fn a_socket_says_that_its_runtime_has_ended() {
    let runtime = current_thread();
    let (socket, _other) = runtime.block_on(async { UnixStream::pair() }).expect("two sockets");
    drop(runtime);
    let error = current_thread().block_on(socket.readable()).expect_err("its runtime has ended");
    assert_eq!(error.to_string(), "A Tokio 1.x context was found, but it is being shutdown.");
    assert!(tokio::runtime::is_rt_shutdown_err(&error));
}

fn a_destructor_in_a_dropped_set_may_spawn_into_it() {
    struct Spawns(Rc<RefCell<Option<JoinHandle<()>>>>);

    impl Drop for Spawns {
        fn drop(&mut self) {
            *self.0.borrow_mut() = Some(spawn_local(async {}));
        }
    }

    let (set, spawned) = (LocalSet::new(), Rc::new(RefCell::new(None)));
    let last = Spawns(spawned.clone());
    drop(set.spawn_local(async move {
        let _last = last;
        pending::<()>().await;
    }));
    drop(set);
    let task = spawned.take().expect("the destructor ran");
    assert!(current_thread().block_on(task).expect_err("no output").is_cancelled());
}

/// Tried a few times, because a timer whose first poll comes late is ready at that poll.
fn a_timer_without_duration_lets_other_tasks_run() {
    const TRIES: u32 = 20;
    let counts = current_thread().block_on(async {
        let mut counts = [0; 3];
        for _ in 0..TRIES {
            let other = tokio::spawn(async {});
            sleep(Duration::ZERO).await;
            counts[0] += u32::from(other.is_finished());
            let other = tokio::spawn(async {});
            counts[1] += u32::from(timeout(Duration::ZERO, other).await.is_ok());
            let other = tokio::spawn(async {});
            interval(Duration::from_secs(1)).tick().await;
            counts[2] += u32::from(other.is_finished());
        }
        counts
    });
    assert!(counts.iter().all(|count| *count > TRIES / 2), "{counts:?} of {TRIES}");
}

fn a_timer_without_duration_is_ready_at_once_while_the_clock_is_paused() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().expect("a runtime");
    let is_ready = runtime.block_on(async {
        let mut sleep = pin!(sleep(Duration::ZERO));
        poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await
    });
    assert!(is_ready);
}

fn a_sleep_that_was_ready_stays_ready() {
    let is_ready = current_thread().block_on(async {
        let mut sleep = pin!(sleep(Duration::from_millis(1)));
        sleep.as_mut().await;
        poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await
    });
    assert!(is_ready);
}
