//! What a running program does: its tasks, from where they come, what holds up its workers.
//!
//! * [`Handle::dump`]: a picture of a runtime, which begins with sentences that say what is wrong.
//! * [`Handle::tasks`]: all live tasks, one after the other.
//! * [`serve`], or `LITEN_INSIGHT=127.0.0.1:9900` in the environment: a page that shows all of it while it
//!   happens, and the same as text, as JSON and for Prometheus. The package `liten-top` draws it in a
//!   terminal.
//! * [`Handle::await_tree`]: where a task waits, through all `async` functions down to each future.
//! * [`Handle::record`]: each poll, wake and sleep of the workers for a while, for a viewer of traces. By it,
//!   the package `liten-console` shows a program in tokio-console, and `liten-fxprof` writes profiles for
//!   Firefox Profiler.
//! * [`FlightRecorder`]: the last events before a task has panicked, a poll was slow or a signal came, kept
//!   in a folder.
//! * [`describe_tasks`]: what a task works on, in sentences and lists that name it. The package
//!   `liten-tracing` says in which span it is.
//! * [`TrackingAllocator`]: how much memory the tasks of each place have allocated and not given back.
//! * [`Builder::on_slow_poll`]: what to call when one poll holds up its worker.
//! * [`guide::diagnosis`](crate::guide::diagnosis): what it says of the usual illnesses, and what to do.
//!
//! The observer pays, and not the observed: what is shown here is read from the outside, out of what the
//! runtime notes anyway. So a program that is not looked at pays a few instructions in some operations, such
//! as a spawn, and no memory for each task: the table is in `benches/README.md`. It can be looked at at any
//! time, by any thread that has a [`Handle`], also while every worker is blocked.
//!
//! One thing needs the thread that is looked at, on Linux on x86-64: where a thread is that computes. If one
//! has held up a worker for [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold),
//! or has done blocking work for a second, a look interrupts it for some ten microseconds, by the signal
//! `SIGURG`. A call of the program's that begins to wait at this very moment may fail with `EINTR`, as after
//! any signal. With `LITEN_STACK_SIGNAL=0` in the environment, and in a program that handles this signal
//! itself, none is sent, and the function is not told.
//!
//! ```
//! use liten::runtime::Builder;
//! use std::sync::mpsc;
//! use std::time::Duration;
//!
//! let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
//! let (release, held) = mpsc::channel::<()>();
//! let task = runtime.spawn(async move { _ = held.recv() });
//! // Such as: worker 0 has been in one poll for 104 ms: task 1, spawned at src/main.rs:7:20, in the
//! // system call futex (a lock or a condition); another thread holds the lock or has to signal: …
//! while runtime.handle().dump().findings().is_empty() {
//!     std::thread::sleep(Duration::from_millis(10));
//! }
//! println!("{}", runtime.handle().dump());
//! drop(release);
//! ```
//!
//! # The page
//!
//! A program that calls [`serve`], or runs with the environment variable, serves a page about itself:
//!
//! ```text
//! $ LITEN_INSIGHT=127.0.0.1:9900 ./my-service
//! insight on http://127.0.0.1:9900/#6c0c1f4a9d0b4e2f8a7d5b3c1e9f2a4b
//! ```
//!
//! That is an address for a browser on the same machine; `ssh -L 9900:127.0.0.1:9900 server` brings it here
//! from another one, with the same port on both sides. The page has a thread and a [`LocalRuntime`] of its
//! own, so it answers while every worker is stuck. While requests come, and for half a minute after the last
//! one, the thread looks at the runtimes by itself, too: what becomes of something is not shown by one look.
//! Then it looks once in five seconds, so that the first answer tells for how long tasks have waited. A
//! request for `/metrics` does not make it look more often.
//!
//! | path | what | needs the token |
//! |---|---|---|
//! | `/` | the page: what is wrong, workers, tasks, waits, pool; anew each second | no, it is empty without |
//! | `/text` | the dumps as text, for `curl` | yes |
//! | `/json` | the same for programs, up to 500 tasks; fields may be added | yes |
//! | `/metrics` | for Prometheus: counters, gauges and histograms whose names begin with `liten_` | yes |
//! | `/tree?task=7` | where that task waits, down to each `await`: see [`Handle::await_tree`] | yes |
//! | `/trace` | what the workers do in the next second (`?seconds=5`: 5, 10 at most), for viewers | yes |
//! | `/live` | what they did in the last two minutes, for the page's pictures; fields may change | yes |
//!
//! One trace at a time is recorded, made and sent; meanwhile `/trace` answers 409. It has 64 MiB at most:
//! of more, the older part is left out and counted as lost. If the program panics while it makes a trace or a
//! tree, the answer is 500.
//!
//! Names of tasks, runtimes and types, and paths of files, are cut where they have more than 400 characters,
//! in a [`Dump`]'s text as on the page; an ellipsis stands for the rest. [`TaskInfo::name`] and its like
//! return all of them.
//!
//! A program that has used up its descriptors is shown, too: while a page is open, four descriptors are kept
//! for its connections and for the files under `/proc`. It then has two connections at a time. Another thread
//! that takes a descriptor in the moment in which the page needs one can keep it from answering, until the
//! program closes some.
//!
//! To make a tree, the program's debug information is read, which may take tens of megabytes. They are given
//! back when no tree has been asked for in three seconds.
//!
//! The query of `/json` says which tasks are listed: `sort=-size` (`id`, `name`, `state`, `place`, `type`,
//! `size`, `polls`, or `wait`, for how long it has waited; with a minus the largest first), `filter=reader`
//! (in the name, the place, the type or the state, or the whole id), `rows=50`. All tasks are searched, and
//! those without a row are counted.
//!
//! `last_slow_polls` has the last 16 polls that were slow, as [`Dump::slow_polls`] returns them, also those
//! that were over before the page was opened. Of those that were under way while it was watched, `call` is
//! the function of the program, as [`SlowPollInfo::call`] returns it. `lately` is a sentence about those of
//! them that have ended within the last minute, or null. `/text` has the same sentence below the findings,
//! and one line for each group of similar ones. `look_at` has sentences about what may be worth a look: tasks
//! that have waited for long, and places whose tasks take much of the workers' time.
//!
//! A task's `cold_ms` is how long it has waited at least, and a socket's `quiet_ms` is how long there has
//! been no event at least. Both begin with the page's first look at the task or the socket, and not with the
//! wait. The page looks once in five seconds from the time on at which it is opened, and more often while
//! requests come. A task that had waited for an hour before counts from zero. [`Handle::dump`] alone does not
//! count these times: in its dumps they are missing unless a page counts them.
//!
//! A task's `polls` are counted while the page is open, of 65,536 tasks at most, and are null otherwise:
//! a task counts nothing itself, and costs the same whether it is looked at or not.
//!
//! While the page is open, and for five seconds after the last request for `/live`, the workers record what
//! they do, as for a [`Recording`]: that costs each poll two readings of the clock. The page's thread empties
//! the records ten times a second, and keeps sums of two minutes. These take 15 MB at most for each
//! runtime: that is with 32 workers, each with tasks of 24 places, and 65,536 tasks. With two workers and
//! some hundred tasks it is less than 1 MB. The page, `/text`, `/json` and `/metrics` say what the page's
//! thread takes of a processor, and how many events were overwritten before it has read them.
//!
//! `queues` has the channels and [`JoinSet`](crate::task::JoinSet)s that were made since there is a page, by
//! the places where they were made: how many there are (`count`), how many values lie in them (`length`, and
//! `longest` for the longest one), and how many values receivers of a broadcast channel have lost (`lost`).
//! The length of an mpsc channel counts only messages that come in hundreds, so it is 0 for a short one; but
//! a channel in which a task waits for room is full. That of a set has the tasks that have ended, too. A
//! message costs nothing for that; what is made while there is a page costs some memory.
//!
//! `memory` is what tasks have allocated and not given back, by the places of their spawns, as
//! [`memory_by_place`] returns it: of all runtimes, and with null in place of what is of no task.
//!
//! A task that is deadlocked (`is_deadlocked`, and the kind `deadlock` of findings and of
//! `liten_stuck_tasks`) waits for ever, if it waits by joins alone. If one of the tasks waits for a lock,
//! that is proven unless a guard was given to another task; then the task's `is_unless_given` is true. See
//! [`Finding::Deadlock`].
//!
//! The variable's value is a port (`9900`), or an address of this machine and a port (`127.0.0.1:9900`,
//! `[::1]:9900`, `localhost:9900`). A port alone is one of 127.0.0.1, and port 0 is one that is free. An
//! empty value is as none. With the variable, the page shows every runtime that the program builds, from the
//! first one on, and stays until the program ends; it listens on this machine only. If the value is of no
//! use, or the port is taken, a line on standard error says so, and the program goes on without. Programs
//! with a set-user-id or set-group-id bit do not read it, nor on Linux those with file capabilities. With
//! [`serve`] the page shows the current runtime, and [`Builder::observe`] names others. The first 16 that
//! have not ended are shown, and the number of the others. A runtime that has ended is counted, and no longer
//! shown.
//!
//! Each page has a random token, and it shows nothing to a request without it:
//! `Authorization: Bearer TOKEN`. So other users of the machine see nothing, unless they can read the
//! program's standard error, or the command line of a `curl` that has the token in it: see [`serve`] for a
//! way around. Requests whose `Host` or `Origin` are not the page's are refused, so that other sites' scripts
//! in a browser on this machine get nothing. In a request for a whole address, such as
//! `GET http://127.0.0.1:9900/text`, the host of that address counts instead of the header. The page can be
//! read only: nothing in the program can be changed by it, though a tree polls its task once more, and a
//! thread that computes may be interrupted. What it
//! sends is not encrypted, and other machines are let in only by [`Builder::allow_remote`].
//!
//! What is shown are ids, names, places in the source, names of types, names of functions, the addresses of
//! sockets, and the files that blocked threads are in: no arguments, and nothing of the memory of the tasks;
//! and what the function of [`describe_tasks`] returns, if the program has set one.
//!
//! [`Builder::on_slow_poll`]: crate::runtime::Builder::on_slow_poll
//! [`LocalRuntime`]: crate::runtime::LocalRuntime
//! [`Handle`]: crate::runtime::Handle
//! [`Handle::await_tree`]: crate::runtime::Handle::await_tree
//! [`Handle::dump`]: crate::runtime::Handle::dump
//! [`Handle::record`]: crate::runtime::Handle::record
//! [`Handle::tasks`]: crate::runtime::Handle::tasks

mod accepted;
mod await_tree;
mod blocked_call;
mod chrome;
mod cold;
mod deadlocked_task;
mod deadlocks;
mod description;
mod dump;
mod event;
mod facts;
mod finding;
mod flight_recorder;
mod history;
mod json;
mod last_place;
mod live;
mod live_json;
mod memory;
mod notable;
mod own_thread;
mod pool_info;
mod process_usage;
mod prometheus;
mod quantile;
mod queues;
mod recording;
mod report;
mod selection;
mod server;
mod shown;
mod slow_poll_info;
mod slow_stacks;
mod socket_info;
mod sockets;
mod tap;
mod task_group;
mod task_info;
mod task_list;
mod task_state;
mod tasks;
mod text;
mod thread_stack;
mod trace;
mod track;
pub(crate) mod variable;
mod wait;
mod wait_graph;
mod waits;
mod worker_info;

pub use crate::primitive_kind::PrimitiveKind;
pub use await_tree::{AwaitNode, AwaitProfile, AwaitTree, AwaitTreeError};
pub use blocked_call::BlockedCall;
pub use deadlocked_task::DeadlockedTask;
pub use description::describe_tasks;
pub use dump::Dump;
pub use event::{Event, EventKind, PollOutcome};
pub use finding::Finding;
pub use finding::blocked_threads::BlockedThread;
pub use finding::descriptors::Descriptors;
pub use finding::growing_queue::GrowingQueue;
pub use finding::long_wait::LongWait;
pub use flight_recorder::{FlightRecorder, FlightRecorderBuilder, Snapshot, SnapshotReason};
pub use memory::{PlaceMemory, TrackingAllocator, memory_by_place};
pub use pool_info::{JobInfo, PoolInfo};
pub use recording::Recording;
pub use server::{Builder, Server, serve};
pub use slow_poll_info::SlowPollInfo;
pub use socket_info::SocketInfo;
pub use task_group::TaskGroup;
pub use task_info::TaskInfo;
pub use task_state::TaskState;
pub use tasks::Tasks;
pub use trace::Trace;
pub use wait::Wait;
pub use worker_info::{WorkerInfo, WorkerState};
