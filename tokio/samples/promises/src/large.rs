//! Large futures, functions and outputs: how much of a stack they need on their way. In a debug build one
//! copy of a future is the caller's, and the function that takes it makes one more, while it puts it into a
//! box. Rows with more than two or three copies are of functions that put nothing into a box, as on tokio.

use std::env;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};
use tokio::task::{JoinSet, LocalSet, spawn_blocking, spawn_local};
use tokio::time::timeout;

/// The argument with which this program starts itself, to do what the next one names on a stack as large as
/// the third one says: a stack that is too small ends the process.
pub(crate) const ON_STACK: &str = "on-stack";

/// The size of what is large.
const SIZE: usize = 256 * 1024;

/// What a thread needs of its stack for everything else, with room to spare.
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

async fn makes_large() -> [u8; SIZE] {
    tokio::task::yield_now().await;
    [7; SIZE]
}

fn workers(stack: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_stack_size(stack).enable_all().build().expect("a runtime")
}

fn current_thread(stack: usize) -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.thread_stack_size(stack).enable_all().build().expect("a runtime")
}

fn local(stack: usize) -> LocalRuntime {
    let mut builder = Builder::new_current_thread();
    let options = LocalOptions::default();
    builder.thread_stack_size(stack).enable_all().build_local(options).expect("a runtime")
}

/// The names of the rows with the copies that have room on the stack, and what is done there.
macro_rules! doors {
    ($($name:literal, $copies:literal, $stack:ident => $body:expr;)*) => {
        const DOORS: &[(&str, usize)] = &[$(($name, $copies)),*];

        /// Does what `name` says, on a thread whose stack has so many bytes.
        fn pass(name: &str, stack: usize) {
            match name {
                // A function each, because in a debug build each has a place for all copies of all rows.
                $($name => {
                    #[inline(never)]
                    fn pass($stack: usize) {
                        _ = $body;
                    }
                    pass(stack);
                })*
                _ => unreachable!("{name}"),
            }
        }
    };
}

doors! {
    "spawn in a task", 2, stack => workers(stack).block_on(async {
        tokio::spawn(async { tokio::spawn(large()).await }).await
    });
    "spawn in a root", 2, stack => workers(stack).block_on(async { tokio::spawn(large()).await });
    "spawn in a root without workers", 2, stack => {
        current_thread(stack).block_on(async { tokio::spawn(large()).await })
    };
    "Runtime::spawn", 2, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn(large());
        runtime.block_on(task)
    };
    "Handle::spawn", 2, stack => {
        let runtime = current_thread(stack);
        let task = runtime.handle().spawn(large());
        runtime.block_on(task)
    };
    "spawn_local in a LocalSet", 2, stack => {
        LocalSet::new().block_on(&workers(stack), async { spawn_local(large()).await })
    };
    "spawn_local in a LocalRuntime", 2, stack => {
        local(stack).block_on(async { spawn_local(large()).await })
    };
    "LocalSet::spawn_local", 2, stack => {
        let set = LocalSet::new();
        let task = set.spawn_local(large());
        set.block_on(&current_thread(stack), task)
    };
    "LocalRuntime::spawn_local", 2, stack => {
        let runtime = local(stack);
        let task = runtime.spawn_local(large());
        runtime.block_on(task)
    };
    "JoinSet::spawn", 3, stack => workers(stack).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(large());
        set.join_next().await
    });
    "JoinSet::spawn_on", 3, stack => {
        let runtime = workers(stack);
        let mut set = JoinSet::new();
        set.spawn_on(large(), runtime.handle());
        runtime.block_on(set.join_next())
    };
    "JoinSet::spawn_local_on", 3, stack => {
        let (local, mut set) = (LocalSet::new(), JoinSet::new());
        set.spawn_local_on(large(), &local);
        local.block_on(&current_thread(stack), set.join_next())
    };
    "timeout", 8, stack => {
        let runtime = workers(stack);
        let limited = async { timeout(Duration::from_secs(60), large()).await };
        let task = runtime.spawn(limited);
        runtime.block_on(task)
    };
    "Runtime::block_on", 2, stack => workers(stack).block_on(large());
    "Runtime::block_on without workers", 2, stack => current_thread(stack).block_on(large());
    "Handle::block_on", 2, stack => workers(stack).handle().block_on(large());
    "Handle::block_on without workers", 2, stack => {
        current_thread(stack).handle().block_on(large())
    };
    "LocalRuntime::block_on", 2, stack => local(stack).block_on(large());
    "LocalSet::block_on", 10, stack => LocalSet::new().block_on(&current_thread(stack), large());
    "LocalSet::run_until", 9, stack => {
        current_thread(stack).block_on(LocalSet::new().run_until(large()))
    };
    "block_in_place", 7, stack => workers(stack).block_on(async {
        let task = tokio::spawn(async {
            let bytes = [7_u8; SIZE];
            tokio::task::block_in_place(move || black_box(&bytes).len())
        });
        task.await
    });
    "spawn_blocking", 6, stack => workers(stack).block_on(async {
        let bytes = [7_u8; SIZE];
        spawn_blocking(move || black_box(&bytes).len()).await
    });
    "Handle::spawn_blocking", 4, stack => {
        let runtime = workers(stack);
        let bytes = [7_u8; SIZE];
        let job = runtime.handle().spawn_blocking(move || black_box(&bytes).len());
        runtime.block_on(job)
    };
    "the output of a task", 17, stack => {
        let runtime = workers(stack);
        let task = runtime.spawn(makes_large());
        runtime.block_on(async { task.await.map(|bytes| bytes[0]) })
    };
    "the output of a local task", 17, stack => {
        let runtime = local(stack);
        let task = runtime.spawn_local(makes_large());
        runtime.block_on(async { task.await.map(|bytes| bytes[0]) })
    };
    "the output of a member of a set", 17, stack => workers(stack).block_on(async {
        let mut set = JoinSet::new();
        set.spawn(makes_large());
        set.join_next().await.map(|joined| joined.map(|bytes| bytes[0]))
    });
    "the output of a function", 17, stack => {
        let runtime = workers(stack);
        let job = runtime.spawn_blocking(|| [7_u8; SIZE]);
        runtime.block_on(async { job.await.map(|bytes| bytes[0]) })
    };
}

/// What the process does that was started with [`ON_STACK`].
pub(crate) fn on_stack() {
    let mut arguments = env::args().skip(2);
    let (Some(name), Some(stack)) = (arguments.next(), arguments.next()) else {
        panic!("a name and a number of bytes");
    };
    let stack = stack.parse().expect("a number of bytes");
    let thread = thread::Builder::new().stack_size(stack).spawn(move || pass(&name, stack));
    thread.expect("a thread").join().expect("no panic");
}

pub(crate) fn keep_all() {
    let this = env::current_exe().expect("this program has a path");
    let needs_more = |name: &str, copies: usize| {
        let stack = (ROOM + copies * SIZE).to_string();
        let status = Command::new(&this).args([ON_STACK, name, &stack]).status();
        !status.expect("this program can be started").success()
    };
    let large: Vec<_> = DOORS.iter().filter(|(name, copies)| needs_more(name, *copies)).collect();
    assert!(large.is_empty(), "more than so many copies of what is large: {large:?}");
}
