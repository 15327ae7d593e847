//! `#[liten::main]` and `#[liten::test]`: what the functions do when they run. What the attributes
//! accept, refuse and say is in `macros/tests/ui`.

use std::error::Error;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

mod recorder;

/// Two types of error, neither of them boxed by hand: `?` and `Err` need to know the return type.
#[liten::main(worker_threads = 1)]
async fn parsed(text: &str) -> Result<u8, Box<dyn Error>> {
    let number: u8 = text.parse()?;
    if number > 100 {
        return Err(Box::new(std::fmt::Error));
    }
    liten::task::yield_now().await;
    Ok(number)
}

#[test]
fn results_come_back() {
    assert_eq!(parsed("7").expect("a number"), 7);
    assert!(parsed("seven").expect_err("no number").is::<std::num::ParseIntError>());
    assert!(parsed("101").expect_err("too large").is::<std::fmt::Error>());
}

#[liten::main(flavor = "current_thread")]
async fn generic<'a, T, const N: usize>(
    (first, mut second): (T, u32),
    rest: &'a [T; N],
) -> (T, u32, &'a T)
where
    T: Clone + Send,
{
    second += N as u32;
    liten::task::yield_now().await;
    (first, second, &rest[0])
}

#[liten::main(flavor = "current_thread")]
async fn opaque(shown: impl Display) -> impl Display + Send {
    format!("<{shown}>")
}

#[test]
fn arguments_and_generics_stay() {
    assert_eq!(generic(("a", 1), &["b", "c"]), ("a", 3, &"b"));
    assert_eq!(opaque(5).to_string(), "<5>");
}

#[derive(Debug, PartialEq)]
struct Counter(u32);

impl Counter {
    #[liten::main(flavor = "current_thread")]
    async fn add(&mut self, n: u32) -> &mut Self {
        liten::task::yield_now().await;
        self.0 += n;
        self
    }

    /// Not the function that a program starts with, so it may have arguments.
    #[liten::main(flavor = "current_thread")]
    async fn main(self) -> u32 {
        self.0
    }
}

trait Doubled {
    fn value(&self) -> u32;

    #[liten::main(flavor = "current_thread")]
    async fn doubled(&self) -> u32 {
        liten::task::yield_now().await;
        self.value() * 2
    }
}

impl Doubled for Counter {
    fn value(&self) -> u32 {
        self.0
    }
}

#[test]
fn methods_work() {
    let mut counter = Counter(1);
    assert_eq!(counter.add(2).add(3), &Counter(6));
    assert_eq!(counter.doubled(), 12);
    assert_eq!(counter.main(), 6);
}

mod inner {
    /// Callable from outside of the module only if `pub(super)` is still there.
    #[liten::main(flavor = "current_thread")]
    pub(super) async fn visible() -> &'static str {
        #![allow(unused_variables)]
        let unused = 0;
        "visible"
    }

    #[liten::main]
    #[cfg(any())]
    pub(super) async fn visible() -> Missing {}

    #[must_use]
    #[liten::main(flavor = "current_thread")]
    pub(super) async extern "C" fn from_c(n: u8) -> u8 {
        n + 1
    }
}

#[test]
fn visibility_and_attributes_stay() {
    assert_eq!(inner::visible(), "visible");
    let function: extern "C" fn(u8) -> u8 = inner::from_c;
    assert_eq!(function(1), 2);
}

#[test]
fn the_body_runs_on_the_calling_thread() {
    #[liten::main(worker_threads = 1)]
    async fn many() -> thread::ThreadId {
        liten::task::yield_now().await;
        thread::current().id()
    }
    #[liten::main(flavor = "current_thread")]
    async fn one() -> thread::ThreadId {
        liten::task::yield_now().await;
        thread::current().id()
    }
    assert_eq!(many(), thread::current().id());
    assert_eq!(one(), thread::current().id());
}

#[test]
fn name_is_the_prefix_of_worker_names() {
    #[liten::main(worker_threads = 1, name = "attribute")]
    async fn name_of_worker() -> String {
        let (sender, receiver) = mpsc::channel();
        drop(liten::spawn(async move {
            let name = thread::current().name().map(str::to_owned);
            let _ = sender.send(name.unwrap_or_default());
        }));
        // Blocks this thread on purpose: the task can only run on the worker.
        receiver.recv_timeout(Duration::from_secs(30)).expect("the task runs")
    }
    let name = name_of_worker();
    assert!(name.starts_with("attribute-"), "{name}");
}

#[test]
fn each_call_has_its_own_runtime() {
    #[liten::main(flavor = "current_thread")]
    async fn inner_call() -> u8 {
        liten::task::yield_now().await;
        1
    }
    assert_eq!((0..20).map(|_| inner_call()).sum::<u8>(), 20);
}

#[liten::test]
async fn tests_run_tasks_that_stay_on_the_thread() {
    let here = thread::current().id();
    let shared = Rc::new(());
    let task = liten::task::spawn_local(async move {
        drop(shared);
        thread::current().id()
    });
    assert_eq!(task.await.expect("the task ends"), here);
}

/// A test may return a `Result`.
#[liten::test]
async fn tests_return_results() -> Result<(), Box<dyn Error>> {
    let number: u8 = "7".parse()?;
    liten::task::yield_now().await;
    if number == 7 { Ok(()) } else { Err("a different number".into()) }
}

#[liten::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_may_have_workers() {
    assert_eq!(liten::spawn(async { 7 }).await.expect("the task ends"), 7);
}

#[liten::test(start_paused = true)]
async fn tests_may_have_time_that_stands_still() {
    let start = liten::time::Instant::now();
    let year = Duration::from_secs(365 * 86_400);
    liten::time::sleep(year).await;
    assert_eq!(start.elapsed(), year);
}

#[liten::test]
#[should_panic(expected = "as it should")]
async fn tests_keep_their_attributes() {
    liten::task::yield_now().await;
    panic!("as it should");
}

/// The calls that reach the runtime, counted by a stand-in for it. That the stand-in is reached at
/// all is the proof that `crate` is obeyed.
mod calls {
    use super::recorder::{calls, record};

    #[liten::main(crate = "super::recorder")]
    async fn nothing() {}

    #[liten::main(crate = super::recorder, worker_threads = 3, name = "web")]
    async fn workers() -> u8 {
        7
    }

    #[liten::main(
        flavor = "current_thread",
        crate = "crate::macros::attributes::recorder",
        name = "one"
    )]
    async fn current_thread() {}

    #[test]
    fn main_builds_what_it_is_told() {
        nothing();
        assert_eq!(calls(), ["new_multi_thread", "build", "block_on", "drop"]);
        assert_eq!(workers(), 7);
        let expected = [
            "new_multi_thread",
            "worker_threads 3",
            "thread_name web",
            "build",
            "block_on",
            "drop",
        ];
        assert_eq!(calls(), expected);
        current_thread();
        assert_eq!(
            calls(),
            ["new_current_thread", "thread_name one", "build_local", "block_on", "drop"]
        );
    }

    struct Guard;

    impl Drop for Guard {
        fn drop(&mut self) {
            record("drop the argument");
        }
    }

    /// As in any async function: what it was given is gone when it is done.
    #[liten::main(crate = super::recorder)]
    async fn holds(guard: Guard) {
        let _borrowed = &guard;
    }

    #[test]
    fn arguments_go_before_the_runtime() {
        holds(Guard);
        assert_eq!(calls()[2..], ["block_on", "drop the argument", "drop"]);
    }

    #[liten::test(crate = "super::recorder")]
    async fn test_runs_on_one_thread() {
        assert_eq!(calls(), ["new_current_thread", "build_local", "block_on"]);
    }

    #[liten::test(crate = "super::recorder", start_paused = true)]
    async fn test_stops_the_clock_if_it_is_told() {
        assert_eq!(calls(), ["new_current_thread", "start_paused true", "build_local", "block_on"]);
    }

    #[liten::test(crate = "super::recorder", flavor = "multi_thread", worker_threads = 2)]
    async fn test_builds_what_it_is_told() {
        assert_eq!(calls(), ["new_multi_thread", "worker_threads 2", "build", "block_on"]);
    }
}

/// As `Builder::new_current_thread().build()` would, and as tokio does.
#[liten::test(flavor = "current_thread")]
async fn a_current_thread_is_the_calling_one() {
    let here = thread::current().id();
    let handle = liten::runtime::Handle::current();
    assert_eq!(handle.runtime_flavor(), liten::runtime::RuntimeFlavor::CurrentThread);
    assert_eq!(liten::spawn(async { thread::current().id() }).await.unwrap(), here);
    let beside = thread::spawn(move || handle.spawn(async { thread::current().id() }));
    let task = liten::spawn_blocking(|| beside.join().unwrap()).await.unwrap();
    assert_eq!(task.await.unwrap(), here);
}
