//! Tasks, as one thread runs them: the same on a native `LocalRuntime` and in a component.

use liten::runtime::{Builder, Handle, LocalRuntime};
use liten::task::{
    CancellationToken, JoinSet, LocalExecutor, TaskTracker, consume_budget, spawn_local,
    spawn_pinned, yield_now,
};
use liten::time::{Duration, sleep};
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;

const SHORT: Duration = Duration::from_millis(5);

/// Says when it is dropped.
struct Mark(Rc<Cell<bool>>);

impl Mark {
    fn new() -> (Self, Rc<Cell<bool>>) {
        let gone = Rc::new(Cell::new(false));
        (Self(gone.clone()), gone)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[liten::test]
async fn a_task_need_not_be_send_and_its_handle_gives_its_output() {
    let local = Rc::new(5);
    let theirs = local.clone();
    let task = spawn_local(async move { *theirs + 1 });
    assert_eq!(task.await.unwrap() + *local, 11);
}

#[liten::test]
async fn spawn_starts_a_task_on_the_one_thread() {
    let tasks: Vec<_> = (0..100).map(|number| liten::spawn(async move { number })).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, 4_950);
}

#[liten::test]
async fn a_pinned_task_is_made_where_it_runs() {
    let task = spawn_pinned(|| async {
        let local = Rc::new(1);
        yield_now().await;
        *local
    });
    assert_eq!(task.await.unwrap(), 1);
}

#[liten::test]
async fn yielding_lets_the_others_run() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let write = |name: char| {
        let log = log.clone();
        async move {
            for _ in 0..3 {
                log.borrow_mut().push(name);
                yield_now().await;
            }
        }
    };
    let (a, b) = (spawn_local(write('a')), spawn_local(write('b')));
    a.await.unwrap();
    b.await.unwrap();
    assert_eq!(log.borrow().iter().collect::<String>(), "ababab");
}

/// It never waits: without the budget no other task would have a turn.
#[liten::test]
async fn a_task_that_always_finds_work_yields() {
    let stop = Rc::new(Cell::new(false));
    let theirs = stop.clone();
    let busy = spawn_local(async move {
        while !theirs.get() {
            consume_budget().await;
        }
    });
    sleep(SHORT).await;
    stop.set(true);
    busy.await.unwrap();
}

#[liten::test]
async fn an_aborted_task_drops_its_future() {
    let (mark, gone) = Mark::new();
    let task = spawn_local(async move {
        let _mark = mark;
        pending::<()>().await;
    });
    yield_now().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(gone.get());
}

/// Without unwinding a panic of a task is the end of the program.
#[cfg(panic = "unwind")]
#[liten::test]
async fn a_panic_is_the_business_of_the_handle() {
    let task = spawn_local(async { panic!("on purpose") });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(spawn_local(async { 1 }).await.unwrap(), 1);
}

#[liten::test]
async fn a_set_gives_results_as_they_come() {
    let mut set = JoinSet::new();
    set.spawn_local(async {
        sleep(40 * SHORT).await;
        "slow"
    });
    set.spawn(async { "quick" });
    set.spawn_on(
        async {
            sleep(SHORT).await;
            "second"
        },
        &Handle::current(),
    );
    let mut order = Vec::new();
    while let Some(name) = set.join_next().await {
        order.push(name.unwrap());
    }
    assert_eq!(order, ["quick", "second", "slow"]);
}

#[liten::test]
async fn a_dropped_set_aborts_its_tasks() {
    let (mark, gone) = Mark::new();
    let mut set = JoinSet::new();
    set.spawn_local(async move {
        let _mark = mark;
        pending::<()>().await;
    });
    yield_now().await;
    drop(set);
    yield_now().await;
    assert!(gone.get());
}

#[liten::test]
async fn a_cancelled_token_ends_its_tasks_and_the_tracker_counts_them_out() {
    let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
    for _ in 0..10 {
        let token = token.child_token();
        tracker.spawn_local(async move { token.cancelled().await });
    }
    let late = token.clone();
    tracker.spawn(async move {
        sleep(SHORT).await;
        late.cancel();
    });
    tracker.close();
    tracker.wait().await;
    assert!(tracker.is_empty() && token.is_cancelled());
}

liten::task_local! { static NAME: &'static str; }

#[liten::test]
async fn a_task_local_travels_with_its_task() {
    let tasks = ["one", "two"].map(|name| {
        spawn_local(NAME.scope(name, async move {
            for _ in 0..3 {
                yield_now().await;
                assert_eq!(NAME.get(), name);
            }
        }))
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert!(NAME.try_get().is_err());
}

#[liten::test]
async fn tasks_of_an_executor_borrow() {
    let log = RefCell::new(Vec::new());
    let executor = LocalExecutor::new();
    let one = executor.spawn(async { log.borrow_mut().push(1) });
    let two = executor.spawn(async {
        sleep(SHORT).await;
        log.borrow_mut().push(2);
    });
    executor.run(async { (one.await.unwrap(), two.await.unwrap()) }).await;
    assert_eq!(*log.borrow(), [1, 2]);
}

#[test]
fn what_is_left_at_the_end_is_dropped_with_its_runtime() {
    let (mark, gone) = Mark::new();
    let runtime = LocalRuntime::new().unwrap();
    runtime.block_on(async move {
        spawn_local(async move {
            let _mark = mark;
            pending::<()>().await;
        });
        yield_now().await;
    });
    assert!(!gone.get(), "it may go on at the next call");
    drop(runtime);
    assert!(gone.get());
}

#[test]
fn tasks_go_on_at_the_next_call() {
    let runtime = Builder::new_current_thread().build_local().unwrap();
    let task = runtime.spawn_local(async {
        sleep(SHORT).await;
        7
    });
    runtime.block_on(yield_now());
    assert!(!task.is_finished());
    runtime.block_until_completion();
    assert_eq!(runtime.block_on(task).unwrap(), 7);
}

#[test]
fn what_is_spawned_after_the_end_is_cancelled() {
    let runtime = LocalRuntime::new().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let task = handle.spawn(async { 1 });
    assert!(liten::block_on(task).unwrap_err().is_cancelled());
}

#[test]
fn a_root_may_borrow_and_return_anything() {
    let name = Rc::new(String::from("borrowed"));
    let length = liten::block_on(async { name.len() });
    assert_eq!(length, 8);
    assert!(Handle::try_current().is_err(), "the thread has left it");
}

#[test]
#[should_panic = "spawn called outside a runtime"]
fn a_spawn_outside_a_runtime_says_what_to_do() {
    liten::spawn(async {});
}

#[test]
#[should_panic = "called inside a task"]
fn a_root_inside_a_task_says_what_to_do() {
    let runtime = LocalRuntime::new().unwrap();
    runtime.block_on(async { liten::block_on(async {}) });
}
