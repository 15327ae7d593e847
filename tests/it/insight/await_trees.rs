//! Await trees: where tasks wait, without a word about it in their code.

use super::requests::{body, connect, get, read, request, send, trees};
use crate::support::guard::{exactly, guarded, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::process::alone;
use crate::support::waiting::until_waiting;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use liten::insight::{AwaitNode, AwaitTree, AwaitTreeError, Builder, Server, TaskState};
use liten::net::TcpStream;
use liten::runtime::{self, Handle, LocalRuntime, Runtime};
use liten::sync::{Mutex, Semaphore, oneshot};
use liten::task::{JoinHandle, JoinSet, TaskId, yield_now};
use liten::time::sleep;
use std::backtrace::Backtrace;
use std::convert::Infallible;
use std::env;
use std::future::{Future, pending, poll_fn};
use std::io::Write;
use std::net;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any poll takes.
const PATIENCE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn tree(runtime: &Handle, task: TaskId) -> AwaitTree {
    let tree = runtime.await_tree(task, PATIENCE).unwrap();
    assert_eq!(tree.task(), task);
    tree
}

/// Spawns, and comes back when the task waits.
fn spawn_waiting<T: Send + 'static>(
    runtime: &Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let task = runtime.spawn(future);
    until(|| {
        let mut tasks = runtime.handle().tasks();
        tasks.any(|seen| seen.id() == task.id() && seen.state() == TaskState::Waiting)
    });
    task
}

/// Of a task that comes to where the tree is as wanted; asks again and again until it is.
fn tree_with(runtime: &Handle, task: TaskId, wanted: &str) -> AwaitTree {
    loop {
        match runtime.await_tree(task, PATIENCE) {
            Ok(tree) if tree.to_string().contains(wanted) => return tree,
            // It waits for something else before.
            Ok(_) => {}
            // It has not waited yet.
            Err(error) => assert_eq!(error, AwaitTreeError::NotFound),
        }
        thread::yield_now();
    }
}

/// Of a future in a runtime of its own.
fn tree_of(future: impl Future<Output = ()> + Send + 'static, wanted: &str) -> AwaitTree {
    let runtime = workers(2);
    let task = runtime.spawn(future);
    tree_with(runtime.handle(), task.id(), wanted)
}

/// What there is in a tree: name, file, line, depth.
fn nodes(tree: &AwaitTree) -> Vec<(&AwaitNode, usize)> {
    fn add<'a>(nodes: &'a [AwaitNode], depth: usize, all: &mut Vec<(&'a AwaitNode, usize)>) {
        for node in nodes {
            all.push((node, depth));
            add(node.children(), depth + 1, all);
        }
    }
    let mut all = Vec::new();
    add(tree.nodes(), 0, &mut all);
    all
}

/// Whether this binary has line tables: one that is built with `debug = 0` has names only. `.ci/run` builds
/// it both ways, and says by the variable when it has to have them.
fn has_lines() -> bool {
    let has_lines = Backtrace::force_capture().to_string().contains("await_trees.rs");
    assert!(has_lines || env::var_os("LITEN_TEST_LINES").is_none(), "there are no line tables");
    has_lines
}

/// The depth of the one node of that function in this file, which waits in that line.
#[track_caller]
fn depth(tree: &AwaitTree, function: &str, line: u32) -> usize {
    let name = format!("::{function}::{{");
    let all = nodes(tree);
    let found: Vec<_> = all.iter().filter(|(node, _)| node.function().contains(&name)).collect();
    // Without lines, a macro in the function may have a node of the same name.
    assert!(found.len() == 1 || !found.is_empty() && !has_lines(), "{function}\n{tree}");
    let (node, depth) = found[0];
    if has_lines() {
        assert!(node.file().unwrap().ends_with("await_trees.rs"), "{tree}");
        assert_eq!(node.line(), Some(line), "{function}\n{tree}");
    } else {
        assert_eq!((node.file(), node.line()), (None, None), "{tree}");
    }
    *depth
}

/// Whether a node of that name is in the tree below the function of this file.
#[track_caller]
fn has_below(tree: &AwaitTree, function: &str, leaf: &str) {
    let name = format!("::{function}::{{");
    let all = nodes(tree);
    let at = all.iter().position(|(node, _)| node.function().contains(&name)).expect(function);
    let below = all[at + 1..].iter().take_while(|(_, depth)| *depth > all[at].1);
    let names: Vec<_> = below.map(|(node, _)| node.function()).collect();
    assert!(names.iter().any(|name| name.contains(leaf)), "{leaf} below {function}\n{tree}");
}

const OUTER: u32 = line!() + 2;
async fn outer() {
    middle().await;
}

const MIDDLE: u32 = line!() + 2;
async fn middle() {
    liten::join!(one_of(), on_channel(), on_semaphore(), on_lock(), on_connection());
}

const ONE_OF: u32 = line!() + 2;
async fn one_of() {
    liten::select! {
        () = deep() => {}
        () = on_set() => {}
        () = pending() => {}
    }
}

const DEEP: u32 = line!() + 2;
async fn deep() {
    deeper().await;
}

const DEEPER: u32 = line!() + 2;
async fn deeper() {
    deepest().await;
}

const DEEPEST: u32 = line!() + 2;
async fn deepest() {
    sleep(HOUR).await;
}

const ON_SET: u32 = line!() + 4;
async fn on_set() {
    let mut set = JoinSet::new();
    set.spawn(pending::<()>());
    set.join_next().await;
}

const ON_CHANNEL: u32 = line!() + 3;
async fn on_channel() {
    let (_sender, receiver) = smol::channel::bounded::<()>(1);
    receiver.recv().await.unwrap();
}

const ON_SEMAPHORE: u32 = line!() + 3;
async fn on_semaphore() {
    let semaphore = tokio::sync::Semaphore::new(0);
    _ = semaphore.acquire().await;
}

const ON_LOCK: u32 = line!() + 4;
async fn on_lock() {
    let mutex = Mutex::new(());
    let _held = mutex.lock().await;
    _ = mutex.lock().await;
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::default()))
}

const ON_CONNECTION: u32 = line!() + 4;
async fn on_connection() {
    let (served, _client): (TcpStream, TcpStream) = tcp_pair().await;
    let connection = http1::Builder::new().serve_connection(served, service_fn(answer));
    connection.await.unwrap();
}

#[test]
fn each_leaf_of_a_deep_nest_is_shown_with_its_line() {
    guarded(|| {
        let tree = tree_of(outer(), "http1::Connection");
        assert!(tree.is_waiting());
        assert!(
            tree.type_name().ends_with("await_trees::outer::{{closure}}"),
            "{}",
            tree.type_name()
        );
        assert_eq!((tree.nodes().len(), tree.left_out()), (1, 0), "{tree}");
        assert_eq!(depth(&tree, "outer", OUTER), 0);
        assert_eq!(depth(&tree, "middle", MIDDLE), 1);
        for (function, line, leaf) in [
            ("on_channel", ON_CHANNEL, "async_channel::Recv"),
            ("on_semaphore", ON_SEMAPHORE, "tokio::sync::batch_semaphore::Acquire"),
            ("on_lock", ON_LOCK, "liten::sync::mutex::Mutex<"),
            ("on_connection", ON_CONNECTION, "hyper::server::conn::http1::Connection"),
        ] {
            assert!(depth(&tree, function, line) > 1);
            has_below(&tree, function, leaf);
        }
        let depths = [
            depth(&tree, "one_of", ONE_OF),
            depth(&tree, "deep", DEEP),
            depth(&tree, "deeper", DEEPER),
            depth(&tree, "deepest", DEEPEST),
        ];
        assert!(depths.is_sorted_by(|outer, inner| outer < inner), "{tree}");
        has_below(&tree, "deepest", "liten::time::sleep::Sleep");
        assert!(depth(&tree, "on_set", ON_SET) > depths[0]);
        has_below(&tree, "on_set", "JoinSet<");
    });
}

#[test]
fn a_set_that_brings_its_own_wakers_is_a_leaf() {
    async fn on_futures() {
        let mut set: FuturesUnordered<_> = [HOUR; 3].into_iter().map(sleep).collect();
        set.next().await;
    }
    guarded(|| {
        let tree = tree_of(on_futures(), "FuturesUnordered");
        has_below(&tree, "on_futures", "FuturesUnordered");
        // Newer names of functions have a set's futures as the argument of its type.
        let is_leaf =
            |name: &str| name.trim_start_matches('<').starts_with("liten::time::sleep::Sleep");
        assert!(nodes(&tree).iter().all(|(node, _)| !is_leaf(node.function())), "{tree}");
    });
}

#[test]
fn places_with_the_same_way_are_counted_and_very_many_are_left_out() {
    async fn many() {
        let mut sleeps: Vec<_> = (0..100).map(|_| Box::pin(sleep(HOUR))).collect();
        poll_fn(|cx| {
            sleeps.iter_mut().for_each(|sleep| assert!(sleep.as_mut().poll(cx).is_pending()));
            Poll::<()>::Pending
        })
        .await;
    }
    guarded(|| {
        let tree = tree_of(many(), "Sleep");
        assert_eq!(tree.left_out(), 36, "{tree}");
        let text = tree.to_string();
        assert!(text.contains("(64 times)") && text.contains("and 36 places more"), "{text}");
    });
}

/// A program with threads that have large stacks has trees all the same, also on a thread with a small one.
#[test]
fn a_future_that_awaits_itself_very_often_has_a_tree_of_a_bounded_size() {
    const STACK: usize = 512 << 20;
    async fn innermost() {
        sleep(HOUR).await;
    }
    fn nested(times: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            match times {
                0 => innermost().await,
                _ => nested(times - 1).await,
            }
        })
    }
    async fn outermost() {
        nested(20_000).await
    }
    guarded(|| {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_stack_size(STACK)
            .build()
            .unwrap();
        let task = runtime.spawn(outermost());
        let tree = tree_with(runtime.handle(), task.id(), "innermost");
        let text = tree.to_string();
        assert!(text.contains("outermost") && text.contains("…"), "{text}");
        assert!(text.lines().count() < 300, "{text}");
    });
}

#[test]
fn tasks_of_each_kind_of_runtime_have_trees() {
    guarded(|| {
        let polls = Arc::new(AtomicUsize::new(0));
        let seen = polls.clone();
        let mut hooked = exactly(1);
        hooked.on_before_task_poll(move |_| _ = seen.fetch_add(1, Ordering::Relaxed));
        let hooked = hooked.build().unwrap();
        let task = spawn_waiting(&hooked, deep());
        let before = polls.load(Ordering::Relaxed);
        has_below(&tree(hooked.handle(), task.id()), "deepest", "Sleep");
        assert_eq!(polls.load(Ordering::Relaxed), before + 1, "one ordinary poll");

        let pinned = hooked.handle().spawn_pinned(deep);
        has_below(&tree_with(hooked.handle(), pinned.id(), "Sleep"), "deepest", "Sleep");

        for runtime in [liten::runtime::Builder::new_current_thread().build().unwrap(), workers(1)]
        {
            let handle = runtime.handle().clone();
            let task = handle.spawn(deep());
            let (end, ended) = oneshot::channel();
            let asker = thread::spawn(move || {
                has_below(&tree_with(&handle, task.id(), "Sleep"), "deepest", "Sleep");
                end.send(()).unwrap();
            });
            runtime.block_on(ended).unwrap();
            asker.join().unwrap();
        }
        let local = LocalRuntime::new().unwrap();
        let handle = local.handle().clone();
        let (end, ended) = oneshot::channel();
        let asker = local.block_on(async move {
            let task = liten::task::spawn_local(deep());
            let id = task.id();
            let asker = thread::spawn(move || {
                has_below(&tree_with(&handle, id, "Sleep"), "deepest", "Sleep");
                end.send(()).unwrap();
            });
            ended.await.unwrap();
            asker
        });
        asker.join().unwrap();
    });
}

#[test]
fn a_task_that_ends_in_the_poll_gives_its_tree_and_its_output() {
    guarded(|| {
        let runtime = workers(1);
        let goes = Arc::new(AtomicBool::new(false));
        for is_panic in [false, true] {
            let going = goes.clone();
            goes.store(false, Ordering::Relaxed);
            // Nothing wakes it when the flag is set: only the poll for the tree finds it so.
            let task = spawn_waiting(&runtime, async move {
                poll_fn(|cx| match going.load(Ordering::Relaxed) {
                    true => {
                        _ = cx.waker().clone();
                        assert!(!is_panic, "in the traced poll");
                        Poll::Ready(7)
                    }
                    false => Poll::Pending,
                })
                .await
            });
            goes.store(true, Ordering::Relaxed);
            let tree = tree(runtime.handle(), task.id());
            assert!(!tree.is_waiting());
            assert!(tree.to_string().contains("has just ended"), "{tree}");
            assert_eq!(tree.nodes().len(), 1, "{tree}");
            match runtime.block_on(task) {
                Ok(output) => assert_eq!((output, is_panic), (7, false)),
                Err(error) => assert!(error.is_panic() && is_panic),
            }
        }
    });
}

#[test]
fn a_task_that_is_always_ready_goes_on() {
    guarded(|| {
        let runtime = workers(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (go, gone) = oneshot::channel::<()>();
        let task = spawn_waiting(&runtime, async move {
            gone.await.unwrap();
            while !stopped.load(Ordering::Relaxed) {
                yield_now().await;
            }
        });
        go.send(()).unwrap();
        let tree = tree_with(runtime.handle(), task.id(), "yield_now");
        assert!(tree.to_string().contains("goes on, and was in"), "{tree}");
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn where_there_is_no_tree_the_error_says_why() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle();
        let ask = |task, limit| handle.await_tree(task, limit).unwrap_err();
        let ended = runtime.spawn(async {});
        let id = ended.id();
        runtime.block_on(ended).unwrap();
        assert_eq!(ask(id, PATIENCE), AwaitTreeError::NotFound);

        // Its own, in a poll, and behind such a poll.
        let asking = handle.clone();
        let own = runtime
            .spawn(async move { asking.await_tree(liten::task::id(), PATIENCE).unwrap_err() });
        assert_eq!(runtime.block_on(own).unwrap(), AwaitTreeError::Running);
        let gates = Arc::new([Barrier::new(2), Barrier::new(2)]);
        let (at, waits) = (gates.clone(), spawn_waiting(&runtime, pending::<()>()));
        let (go, gone) = oneshot::channel::<()>();
        let blocks = spawn_waiting(&runtime, async move {
            gone.await.unwrap();
            at.iter().for_each(|gate| _ = gate.wait());
        });
        go.send(()).unwrap();
        gates[0].wait();
        let short = Duration::from_millis(10);
        assert_eq!(ask(blocks.id(), short), AwaitTreeError::Running);
        assert_eq!(ask(waits.id(), short), AwaitTreeError::Queued);
        // Aborted before the worker comes to it.
        let (asking, id) = (handle.clone(), waits.id());
        let asker = thread::spawn(move || asking.await_tree(id, PATIENCE).unwrap_err());
        until(|| handle.tasks().any(|task| task.id() == id && !task.is_stuck()));
        waits.abort();
        gates[1].wait();
        let error = asker.join().unwrap();
        assert!([AwaitTreeError::Ended, AwaitTreeError::NotFound].contains(&error), "{error}");
        runtime.block_on(blocks).unwrap();

        // Nothing drives it; then it ends.
        let local = LocalRuntime::new().unwrap();
        let still = local.handle().clone();
        let task = local.spawn_local(pending::<()>());
        local.block_on(yield_now());
        assert_eq!(still.await_tree(task.id(), short).unwrap_err(), AwaitTreeError::Queued);
        drop(local);
        assert_eq!(still.await_tree(task.id(), short).unwrap_err(), AwaitTreeError::NotFound);
    });
}

#[test]
fn a_tree_leaves_no_waker_behind() {
    guarded(|| {
        let runtime = workers(1);
        let task = spawn_waiting(&runtime, pending::<()>());
        let is_stuck =
            || runtime.handle().tasks().any(|seen| seen.id() == task.id() && seen.is_stuck());
        assert!(is_stuck(), "no waker of it exists");
        let tree = tree(runtime.handle(), task.id());
        assert!(tree.nodes().is_empty() && tree.to_string().contains("nowhere"), "{tree}");
        until(is_stuck);
    });
}

#[test]
fn the_waker_of_the_poll_may_be_lent_to_another_thread() {
    guarded(|| {
        let runtime = workers(1);
        let (mut polls, done) = (0, Arc::new(AtomicBool::new(false)));
        let seen = done.clone();
        let task = spawn_waiting(&runtime, async move {
            poll_fn(|cx| {
                polls += 1;
                match polls {
                    1 => return Poll::Pending,
                    2 => {}
                    _ => {
                        seen.store(true, Ordering::Relaxed);
                        return Poll::Ready(());
                    }
                }
                let waker = cx.waker();
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let clone = waker.clone();
                        clone.wake();
                    });
                });
                Poll::Pending
            })
            .await;
        });
        let tree = tree(runtime.handle(), task.id());
        assert!(tree.nodes().is_empty(), "only this thread notes: {tree}");
        runtime.block_on(task).unwrap();
        assert!(done.load(Ordering::Relaxed));
    });
}

/// Tasks that hand messages around through primitives of several crates, while trees are asked for all the
/// time: no wake is lost, and each ends with what it should.
#[test]
fn no_wake_is_lost_while_trees_are_asked_for() {
    const ROUNDS: u64 = 2_000;
    const PAIRS: u64 = 8;
    guarded(|| {
        let runtime = workers(2);
        let start = Arc::new(Semaphore::new(0));
        let total = Arc::new(tokio::sync::Mutex::new(0));
        let lock = Arc::new(Mutex::new(0));
        let pairs: Vec<_> = (0..PAIRS)
            .flat_map(|_| {
                let (to, from) = smol::channel::bounded(1);
                let (back, mut answers) = liten::sync::mpsc::channel(1);
                let (total, lock, start) = (total.clone(), lock.clone(), start.clone());
                let asks = runtime.spawn(async move {
                    drop(start.acquire().await.unwrap());
                    for round in 0..ROUNDS {
                        to.send(round).await.unwrap();
                        assert_eq!(answers.recv().await, Some(round));
                        *total.lock().await += 1;
                    }
                });
                let echoes = runtime.spawn(async move {
                    while let Ok(round) = from.recv().await {
                        if round % 64 == 0 {
                            sleep(Duration::from_micros(50)).await;
                        }
                        *lock.lock().await += 1;
                        back.send(round).await.unwrap();
                    }
                });
                [asks, echoes]
            })
            .collect();
        // Before they begin: to read what names are looked up in may take longer than they do.
        until_waiting(&runtime, pairs.len());
        drop(tree(runtime.handle(), pairs[0].id()));
        let mut trees = 1;
        start.add_permits(pairs.len());
        while pairs.iter().any(|task| !task.is_finished()) {
            for task in &pairs {
                match runtime.handle().await_tree(task.id(), PATIENCE) {
                    Ok(_) => trees += 1,
                    Err(error) => assert!(
                        [AwaitTreeError::Ended, AwaitTreeError::NotFound].contains(&error),
                        "{error}"
                    ),
                }
            }
            trees += runtime.handle().dump_with_trees(PATIENCE).await_trees().len();
        }
        runtime.block_on(async {
            for task in pairs {
                task.await.unwrap();
            }
            assert_eq!((*total.lock().await, *lock.lock().await), (ROUNDS * PAIRS, ROUNDS * PAIRS));
        });
        assert!(trees > 0);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}

#[test]
fn a_dump_has_trees_if_they_are_asked_for() {
    guarded(|| {
        let runtime = workers(2);
        let tasks = [spawn_waiting(&runtime, deep()), spawn_waiting(&runtime, on_lock())];
        assert!(runtime.handle().dump().await_trees().is_empty());
        let dump = runtime.handle().dump_with_trees(PATIENCE);
        assert_eq!(dump.await_trees().len(), 2);
        let text = dump.to_string();
        for (task, leaf) in tasks.iter().zip(["Sleep", "Mutex<"]) {
            let tree = dump.await_trees().iter().find(|tree| tree.task() == task.id()).unwrap();
            assert!(tree.to_string().contains(leaf) && text.contains(&tree.to_string()), "{text}");
        }
    });
}

#[test]
fn a_profile_counts_the_tasks_in_each_function() {
    guarded(|| {
        let runtime = workers(2);
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let deep_ones: Vec<_> = (0..3).map(|_| spawn_waiting(&runtime, deep())).collect();
        let others = [spawn_waiting(&runtime, on_channel())];
        let of_handle = runtime.handle().await_profile(PATIENCE).to_string();
        let of_page = trees(&page, "/trees");
        assert!(of_page.starts_with(&format!("runtime {}: ", runtime.handle().id())), "{of_page}");
        for text in [of_handle, of_page] {
            assert!(text.contains("4 tasks wait here"), "{text}");
            let count = |name: &str| {
                let line = text.lines().find(|line| line.contains(name));
                line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().next().unwrap()
            };
            assert_eq!(
                ["::deep", "::deepest", "::on_channel"].map(count),
                ["3", "3", "1"],
                "{text}"
            );
            let places: Vec<_> = text.lines().map(|line| line.find("await_trees::deep")).collect();
            assert!(places.iter().flatten().is_sorted(), "what is awaited stands below: {text}");
        }
        let host = page.local_addr().to_string();
        let refused = send(page.local_addr(), "GET /trees", &[("Host", host.as_str())]);
        assert_eq!(refused.status, 401);
        (deep_ones.iter().chain(&others)).for_each(|task| task.abort());
    });
}

#[test]
fn the_page_has_the_tree_of_a_task() {
    guarded(|| {
        let runtime = workers(1);
        let task = spawn_waiting(&runtime, deep());
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let text = trees(&page, &format!("/tree?task={}", task.id()));
        let deepest = if has_lines() { "await_trees::deepest at" } else { "await_trees::deepest" };
        assert!(text.contains(deepest), "{text}");
        let missing = trees(&page, &format!("/tree?task={}", u64::MAX));
        assert!(missing.contains("no task with this id"), "{missing}");
        for path in ["/tree", "/tree?task=", "/tree?task=0", "/tree?task=x", "/tree?id=1"] {
            assert_eq!(get(&page, path).status, 400, "{path}");
        }
        let host = page.local_addr().to_string();
        let line = format!("GET /tree?task={}", task.id());
        assert_eq!(send(page.local_addr(), &line, &[("Host", host.as_str())]).status, 401);
        // While a tree is waited for, the page goes on; another tree is refused.
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = std::sync::mpsc::channel();
        let blocks = runtime.spawn(async move {
            begun.send(()).unwrap();
            _ = held.recv();
        });
        begins.recv().unwrap();
        thread::scope(|scope| {
            // One that is made at the same moment comes before this one.
            let waits = scope.spawn(|| trees(&page, &format!("/tree?task={}", task.id())));
            until(|| get(&page, "/tree?task=1").status == 409 || waits.is_finished());
            assert!(body(&page, "/text").contains("tasks alive"));
            drop(release);
            let answer = waits.join().unwrap();
            // The latter on a machine that had no time for it.
            assert!(
                answer.contains("deepest") || answer.contains("no thread has come"),
                "{answer}"
            );
        });
        runtime.block_on(blocks).unwrap();
    });
}

/// The thread that waits until the task is polled does not keep the page's thread, which waits for it.
#[test]
fn a_page_that_ends_does_not_wait_for_a_tree() {
    // So that no other test has a tree made.
    let test = "insight::await_trees::a_page_that_ends_does_not_wait_for_a_tree";
    guarded(|| alone(test, end_a_page_that_makes_a_tree));
}

fn end_a_page_that_makes_a_tree() {
    let runtime = workers(1);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (go, gone) = oneshot::channel::<()>();
    let task = spawn_waiting(&runtime, async move {
        gone.await.unwrap();
        _ = held.recv();
    });
    go.send(()).unwrap();
    let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
    until(|| {
        let seen = runtime.handle().tasks().find(|seen| seen.id() == task.id());
        seen.is_some_and(|seen| seen.state() == TaskState::Running)
    });
    let mut asked = ask_for_tree(&page, task.id());
    // Another request may be refused only as long as this one is being answered. This one is made again when
    // the other came before it, or when it has been given up.
    until(|| {
        let is_busy = get(&page, "/tree?task=1").status == 409;
        let is_answered = asked.peek(&mut [0]).is_ok();
        if is_answered {
            asked = ask_for_tree(&page, task.id());
        }
        is_busy && !is_answered
    });
    asked.set_nonblocking(false).unwrap();
    let begun = Instant::now();
    drop(page);
    // The limit of a tree is 5 s.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // Mostly there is no answer any more. The tree may have been given up just before, and is not made.
    let answer = read(asked);
    let is_no_tree = |body: &str| body.contains("the task is in a poll that has not ended");
    assert!(answer.as_ref().map_or(true, |answer| is_no_tree(&answer.body)), "{answer:?}");
    drop(release);
}

/// A request for a tree whose answer can be read without waiting for it.
fn ask_for_tree(page: &Server, task: TaskId) -> net::TcpStream {
    let mut stream = connect(page.local_addr());
    stream.write_all(request(page, &format!("/tree?task={task}")).as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}
