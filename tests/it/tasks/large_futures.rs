//! Large futures, functions and outputs: how much of a stack they need on their way.
//!
//! Each test runs in a process of its own, because a stack that is too small ends it, and gives all threads
//! a stack on which so many copies of the value find room. In a debug build one copy is the caller's, and the
//! door makes one more while it puts the value into a box.

use crate::support::guard::guarded;
use crate::support::process::alone;
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::task::{
    self, JoinSet, LocalExecutor, LocalSet, TaskTracker, scope, spawn, spawn_blocking, spawn_local,
    spawn_pinned, yield_now,
};
use liten::time::{Duration, timeout};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// The size of what is large.
const SIZE: usize = 256 * 1024;

/// What a thread needs of its stack for everything else, in a debug build with room to spare.
const ROOM: usize = 128 * 1024;

/// Is ready at the second poll, and looks at its bytes then.
struct Large {
    bytes: [u8; SIZE],
    polled: bool,
}

/// In a function of its own, so that the caller's stack has one copy.
#[inline(never)]
fn large() -> Large {
    Large { bytes: [7; SIZE], polled: false }
}

impl Future for Large {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        if !self.polled {
            self.polled = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(black_box(&self.bytes).len())
    }
}

/// Returns something large at the second poll.
#[derive(Default)]
struct MakesLarge {
    polled: bool,
}

impl Future for MakesLarge {
    type Output = [u8; SIZE];

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<[u8; SIZE]> {
        if !self.polled {
            self.polled = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready([7; SIZE])
    }
}

fn makes_large() -> MakesLarge {
    MakesLarge::default()
}

/// Runs `test` in a process of its own, on a thread with such a stack, which it is told.
fn on_stack(name: &str, copies: usize, test: fn(usize)) {
    guarded(|| {
        alone(&format!("tasks::large_futures::{name}"), || {
            let stack = ROOM + copies * SIZE;
            let thread = thread::Builder::new().stack_size(stack).spawn(move || test(stack));
            thread.unwrap().join().unwrap();
        });
    });
}

fn workers(stack: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(1).thread_stack_size(stack).build().unwrap()
}

fn current_thread(stack: usize) -> Runtime {
    Builder::new_current_thread().thread_stack_size(stack).build().unwrap()
}

fn local(stack: usize) -> LocalRuntime {
    Builder::new_current_thread().thread_stack_size(stack).build_local().unwrap()
}

/// Each row is a test: how many copies fit on the stack, and what is done there.
macro_rules! doors {
    ($($name:ident: $copies:literal, $stack:ident => $body:expr;)*) => {$(
        #[test]
        fn $name() {
            on_stack(stringify!($name), $copies, |$stack| _ = $body);
        }
    )*};
}

// Tasks.
doors! {
    spawn_in_a_task: 2, stack => workers(stack).block_on(async {
        spawn(async { spawn(large()).await }).await.unwrap().unwrap()
    });
    spawn_in_a_root: 2, stack => workers(stack).block_on(async { spawn(large()).await.unwrap() });
    spawn_in_a_root_without_workers: 2, stack => current_thread(stack).block_on(async {
        spawn(large()).await.unwrap()
    });
    runtime_spawn: 2, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn(large());
        runtime.block_on(task).unwrap()
    };
    runtime_spawn_without_workers: 2, stack => {
        let runtime = current_thread(stack);
        let task = runtime.spawn(large());
        runtime.block_on(task).unwrap()
    };
    handle_spawn: 2, stack => {
        let runtime = workers(stack);
        let task = runtime.handle().spawn(large());
        runtime.block_on(task).unwrap()
    };
    handle_spawn_in_a_local_runtime: 2, stack => {
        let runtime = local(stack);
        let task = runtime.handle().spawn(large());
        runtime.block_on(task).unwrap()
    };
    builder_spawn: 2, stack => workers(stack).block_on(async {
        task::Builder::new().name("large").spawn(large()).unwrap().await.unwrap()
    });
    builder_spawn_on: 2, stack => {
        let runtime = workers(stack);
        let task = task::Builder::new().spawn_on(large(), runtime.handle()).unwrap();
        runtime.block_on(task).unwrap()
    };
    builder_spawn_local: 2, stack => local(stack).block_on(async {
        task::Builder::new().name("large").spawn_local(large()).unwrap().await.unwrap()
    });
    spawn_local_in_a_local_runtime: 2, stack => local(stack).block_on(async {
        spawn_local(large()).await.unwrap()
    });
    spawn_local_in_a_set: 2, stack => LocalSet::new().block_on(&workers(stack), async {
        spawn_local(large()).await.unwrap()
    });
    spawn_local_in_an_entered_runtime: 2, stack => {
        let runtime = local(stack);
        let entered = runtime.enter();
        let task = spawn_local(large());
        drop(entered);
        runtime.block_on(task).unwrap()
    };
    local_runtime_spawn_local: 2, stack => {
        let runtime = local(stack);
        let task = runtime.spawn_local(large());
        runtime.block_on(task).unwrap()
    };
    local_set_spawn_local: 2, stack => {
        let set = LocalSet::new();
        let task = set.spawn_local(large());
        current_thread(stack).block_on(set.run_until(task)).unwrap()
    };
    local_executor_spawn: 2, stack => {
        let executor = LocalExecutor::new();
        let task = executor.spawn(large());
        workers(stack).block_on(executor.run(task)).unwrap()
    };
    join_set_spawn: 3, stack => workers(stack).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(large());
        set.join_next().await.unwrap().unwrap()
    });
    join_set_spawn_on: 3, stack => {
        let runtime = workers(stack);
        let mut set = JoinSet::new();
        set.spawn_on(large(), runtime.handle());
        runtime.block_on(set.join_next()).unwrap().unwrap()
    };
    join_set_spawn_local: 3, stack => local(stack).block_on(async {
        let mut set = JoinSet::new();
        set.spawn_local(large());
        set.join_next().await.unwrap().unwrap()
    });
    join_set_spawn_local_on: 3, stack => {
        let (local, mut set) = (LocalSet::new(), JoinSet::new());
        set.spawn_local_on(large(), &local);
        current_thread(stack).block_on(local.run_until(set.join_next())).unwrap().unwrap()
    };
    join_set_from_iterator: 6, stack => workers(stack).block_on(async {
        (0..2).map(|_| large()).collect::<JoinSet<_>>().join_all().await
    });
    tracker_spawn: 5, stack => workers(stack).block_on(async {
        TaskTracker::new().spawn(large()).await.unwrap()
    });
    tracker_spawn_on: 5, stack => {
        let runtime = workers(stack);
        let task = TaskTracker::new().spawn_on(large(), runtime.handle());
        runtime.block_on(task).unwrap()
    };
    tracker_spawn_local: 5, stack => local(stack).block_on(async {
        TaskTracker::new().spawn_local(large()).await.unwrap()
    });
    spawn_pinned_with_a_large_future: 4, stack => workers(stack).block_on(async {
        spawn_pinned(large).await.unwrap()
    });
    spawn_pinned_with_a_large_function: 4, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let task = runtime.spawn_pinned(move || std::future::ready(black_box(&bytes).len()));
        runtime.block_on(task).unwrap()
    };
    with_a_time_limit: 5, stack => workers(stack).block_on(async {
        let limited = async { timeout(Duration::from_secs(60), large()).await };
        spawn(limited).await.unwrap().unwrap()
    });
    aborted: 3, stack => workers(stack).block_on(async {
        let task = spawn(async {
            large().await;
            std::future::pending::<()>().await;
        });
        yield_now().await;
        task.abort();
        task.await.unwrap_err()
    });
}

// Roots.
doors! {
    block_on: 2, stack => {
        let runtime = workers(stack);
        let _entered = runtime.enter();
        liten::block_on(large())
    };
    runtime_block_on: 2, stack => workers(stack).block_on(large());
    runtime_block_on_without_workers: 2, stack => current_thread(stack).block_on(large());
    handle_block_on: 2, stack => workers(stack).handle().block_on(large());
    handle_block_on_without_workers: 2, stack => current_thread(stack).handle().block_on(large());
    local_runtime_block_on: 2, stack => local(stack).block_on(large());
    local_set_block_on: 2, stack => LocalSet::new().block_on(&current_thread(stack), large());
    local_set_run_until: 6, stack => {
        current_thread(stack).block_on(LocalSet::new().run_until(large()))
    };
    local_executor_run: 6, stack => workers(stack).block_on(LocalExecutor::new().run(large()));
}

// Functions for the blocking pool.
doors! {
    spawn_blocking_in_a_root: 4, stack => workers(stack).block_on(async {
        let bytes = [7_u8; SIZE];
        spawn_blocking(move || black_box(&bytes).len()).await.unwrap()
    });
    runtime_spawn_blocking: 4, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let job = runtime.spawn_blocking(move || black_box(&bytes).len());
        runtime.block_on(job).unwrap()
    };
    handle_spawn_blocking: 4, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let job = runtime.handle().spawn_blocking(move || black_box(&bytes).len());
        runtime.block_on(job).unwrap()
    };
    local_runtime_spawn_blocking: 4, stack => {
        let runtime = local(stack);
        let bytes = [7_u8; SIZE];
        let job = runtime.spawn_blocking(move || black_box(&bytes).len());
        runtime.block_on(job).unwrap()
    };
    builder_spawn_blocking: 4, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let (_entered, builder) = (runtime.enter(), task::Builder::new().name("large"));
        let job = builder.spawn_blocking(move || black_box(&bytes).len()).unwrap();
        runtime.block_on(job).unwrap()
    };
    join_set_spawn_blocking: 5, stack => {
        let (runtime, mut set) = (workers(stack), JoinSet::new());
        let bytes = [7_u8; SIZE];
        set.spawn_blocking_on(move || black_box(&bytes).len(), runtime.handle());
        runtime.block_on(set.join_next()).unwrap().unwrap()
    };
    tracker_spawn_blocking: 7, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let job = TaskTracker::new()
            .spawn_blocking_on(move || black_box(&bytes).len(), runtime.handle());
        runtime.block_on(job).unwrap()
    };
    block_in_place_in_a_task: 7, stack => workers(stack).block_on(async {
        let task = spawn(async {
            let bytes = [7_u8; SIZE];
            task::block_in_place(move || black_box(&bytes).len())
        });
        task.await.unwrap()
    });
    scope_with_a_large_function: 7, stack => workers(stack).block_on(async {
        let task = spawn(async {
            let bytes = [7_u8; SIZE];
            scope(move |_| black_box(&bytes).len())
        });
        task.await.unwrap()
    });
    scope_spawn_blocking: 7, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let _entered = runtime.enter();
        scope(|s| s.spawn_blocking(move || black_box(&bytes).len()).join()).unwrap()
    };
}

// Outputs.
doors! {
    output_of_a_task: 8, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn(makes_large());
        runtime.block_on(async { task.await.unwrap()[0] })
    };
    output_that_is_dropped: 8, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn(makes_large());
        runtime.block_until_completion();
        drop(task);
    };
    output_of_a_local_task: 8, stack => {
        let runtime = local(stack);
        let task = runtime.spawn_local(makes_large());
        runtime.block_on(async { task.await.unwrap()[0] })
    };
    output_of_a_member_of_a_set: 16, stack => workers(stack).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(makes_large());
        set.join_next().await.unwrap().unwrap()[0]
    });
    output_of_a_function: 8, stack => {
        let runtime = workers(stack);
        let job = runtime.spawn_blocking(|| [7_u8; SIZE]);
        runtime.block_on(async { job.await.unwrap()[0] })
    };
    output_of_a_pinned_task: 8, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn_pinned(makes_large);
        runtime.block_on(async { task.await.unwrap()[0] })
    };
    output_of_a_root: 5, stack => workers(stack).block_on(makes_large())[0];
    output_of_a_root_without_workers: 5, stack => current_thread(stack).block_on(makes_large())[0];
    output_of_a_local_root: 5, stack => local(stack).block_on(makes_large())[0];
}
