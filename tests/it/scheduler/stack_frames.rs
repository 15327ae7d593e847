//! How many functions stand between a task and the thread that runs it. People read them in the backtrace of
//! each panic, and in a debug build each of them is a call.

use crate::support::guard::{guarded, workers};
use liten::runtime::{Builder, LocalRuntime};
use liten::task::{LocalSet, spawn, spawn_blocking, spawn_local, spawn_pinned};
use std::backtrace::Backtrace;

/// The most between the task's own functions and those of the test, or of std's threads. This counts
/// functions that are in line, too, which a backtrace has where there is debug information.
const MOST: usize = 25;

/// The most around a task of a `LocalRuntime`, which is polled in a poll of its root.
const MOST_IN_LOCAL: usize = 27;

/// The most around a task of a `LocalSet`, which is polled by the root that it is a part of.
const MOST_IN_SET: usize = 30;

/// The most on a thread of a pool, which takes jobs under a lock and has a guard of its own.
const MOST_IN_POOL: usize = 35;

/// What the names of this file's functions begin with.
const OWN: &str = module_path!();

/// What std calls a thread's function by.
const THREAD: &str = "__rust_begin_short_backtrace";

/// The names on the stack of the caller, from the inside.
fn names() -> Vec<String> {
    let stack = Backtrace::force_capture().to_string();
    // `12: name`, with the lines of `at file` in between.
    let name = |line: &str| {
        let (number, name) = line.trim_start().split_once(": ")?;
        number.parse::<usize>().ok()?;
        Some(name.to_owned())
    };
    stack.lines().filter_map(name).collect()
}

/// The names that are neither the task's nor the test's.
fn between(names: &[String]) -> &[String] {
    let is_own = |name: &String| name.trim_start_matches('<').starts_with(OWN);
    let first = names.iter().position(is_own).expect("the function that has looked");
    let inner = first + names[first..].iter().take_while(|name| is_own(name)).count();
    let is_outer = |name: &String| is_own(name) || name.contains(THREAD);
    let outer = names[inner..].iter().position(is_outer).expect("the thread's first function");
    &names[inner..inner + outer]
}

fn assert_few(place: &str, names: &[String]) {
    assert_most(place, names, MOST);
}

fn assert_most(place: &str, names: &[String], most: usize) {
    let between = between(names);
    assert!(!between.is_empty(), "{place}: {names:#?}");
    assert!(between.len() <= most, "{place}: {}: {between:#?}", between.len());
}

#[test]
fn few_functions_stand_around_a_task_of_a_worker() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async { names() });
        assert_few("a task", &runtime.block_on(task).unwrap());
        assert_few("a root", &runtime.block_on(async { names() }));
        assert_few("a root by the handle", &runtime.handle().block_on(async { names() }));
        let pinned = runtime.spawn_pinned(|| async { names() });
        assert_most("a pinned task", &runtime.block_on(pinned).unwrap(), MOST_IN_POOL);
        let spawned = runtime.spawn_pinned(|| async { spawn_local(async { names() }).await });
        assert_most(
            "a task beside a pinned one",
            &runtime.block_on(spawned).unwrap().unwrap(),
            MOST_IN_POOL,
        );
        let job = runtime.spawn_blocking(names);
        assert_most("a job", &runtime.block_on(job).unwrap(), MOST_IN_POOL);
    });
}

#[test]
fn few_functions_stand_around_a_task_without_workers() {
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_few("a root", &runtime.block_on(async { names() }));
        let task = runtime.block_on(async { spawn(async { names() }).await });
        assert_few("a task", &task.unwrap());
        let job = runtime.block_on(async { spawn_blocking(names).await });
        assert_most("a job", &job.unwrap(), MOST_IN_POOL);
        let pinned = runtime.block_on(async { spawn_pinned(|| async { names() }).await });
        assert_most("a pinned task", &pinned.unwrap(), MOST_IN_POOL);
        let local = LocalRuntime::new().unwrap();
        assert_few("a local root", &local.block_on(async { names() }));
        let task = local.block_on(async { spawn_local(async { names() }).await });
        assert_most("a local task", &task.unwrap(), MOST_IN_LOCAL);
    });
}

#[test]
fn few_functions_stand_around_a_task_of_a_set() {
    guarded(|| {
        let runtimes = [workers(1), Builder::new_current_thread().build().unwrap()];
        for runtime in runtimes {
            let set = LocalSet::new();
            assert_few("a root", &set.block_on(&runtime, async { names() }));
            let task = set.block_on(&runtime, async { spawn_local(async { names() }).await });
            assert_most("a task", &task.unwrap(), MOST_IN_SET);
        }
    });
}
