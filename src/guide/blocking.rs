//! Code that blocks or computes.
//!
//! A task that blocks keeps its worker. liten does not let the others suffer for it: sockets and timers
//! have a thread of their own, other workers take what the blocked one had queued, and when *all* workers
//! are kept by long polls while something waits, a spare one starts. That is a net, not a way to work.
//!
//! The runtime reports such polls when no worker has been free for some time, 10 ms at the time of writing.
//! It [counts](crate::runtime::RuntimeMetrics::blocked_poll_count) each of them, and with the feature
//! `tracing` warns which task it is and where it was spawned. A task that blocks beside workers that are free
//! is *slow* after [100 ms](crate::runtime::Builder::slow_poll_threshold): that is counted and warned of,
//! too, and [a function of yours](crate::runtime::Builder::on_slow_poll) is called. The last ones can be
//! [asked for](crate::insight::Dump::slow_polls) when they are over.
//!
//! | the code | belongs |
//! |---|---|
//! | waits for a disk, a lock of another process, a C library | in [`spawn_blocking`] |
//! | computes for a millisecond or more | in `spawn_blocking`, or on a pool of its own (rayon) |
//! | blocks now and then in the middle of a task | in [`block_in_place`](crate::task::block_in_place) |
//! | shares out work that borrows | in [`task::scope`](crate::task::scope) |
//! | computes for long, in small steps | in a task that calls [`yield_now`](crate::task::yield_now) |
//! | computes, and is no hurry | in a task of [`Class::Bulk`](crate::task::Class) |
//! | blocks for ever (a thread that reads a device) | on a `std::thread` of its own |
//!
//! ```
//! # liten::block_on(async {
//! let sum = liten::spawn_blocking(|| (1..=1_000_000_u64).sum::<u64>()).await;
//! assert_eq!(sum.expect("it did not panic"), 500_000_500_000);
//! # });
//! ```
//!
//! # How many tasks may block
//!
//! As many as there are [spare workers](crate::runtime::Builder::max_spare_workers) may block at a time
//! beside the regular workers, and others still run. If one task more blocks, none runs. If all of them wait,
//! directly or not, for a task, a timer or a socket of the same runtime, this is a deadlock. It happens to
//! programs whose synchronous calls wait for async work, such as the flush of an exporter, on a machine with
//! one processor. The dump names the tasks and the limit.
//!
//! A task that blocks in [`block_in_place`](crate::task::block_in_place) has said so, and gets a spare beside
//! those by default, at the time of writing up to 512 of them.
//!
//! `LITEN_MAX_SPARE_WORKERS=64` raises the limit without a change of the program. A blocked spare costs the
//! memory of a thread, and nothing else.
//!
//! # What a task does to its thread
//!
//! It lasts until the runtime ends: a child process that is to die with the thread that has started it
//! (`PR_SET_PDEATHSIG`), a namespace, an affinity, a thread-local with a destructor. The threads of workers
//! end with the runtime and not before, those of spare workers included. While such a thread is not needed,
//! it [rests](crate::runtime::RuntimeMetrics::num_resting_workers): it sleeps, and costs the memory of a
//! thread.
//!
//! A task may run on any of these threads, and on another one after each `await`. So what one task does to a
//! thread is also there for the next. Threads of the blocking pool end when they have been idle for some
//! [time](crate::runtime::Builder::thread_keep_alive).
//!
//! # The pool
//!
//! The pool starts threads as they are needed, up to
//! [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads), and ends them when they have
//! been idle. What is more waits in a queue. Work that has begun cannot be aborted, and the end of a
//! runtime waits for it: [`shutdown_timeout`](crate::runtime::Runtime::shutdown_timeout) bounds that.
//!
//! # Locks
//!
//! A `std::sync::Mutex` that is held for a few lines without an `await` is right in async code, and
//! faster than any other. One that is held across an `await` has to be
//! [`sync::Mutex`](crate::sync::Mutex).
//!
//! # The other direction
//!
//! Blocking code that needs an async answer keeps a [`Handle`](crate::runtime::Handle):
//!
//! ```
//! # liten::block_on(async {
//! let handle = liten::runtime::Handle::current();
//! let answer = liten::spawn_blocking(move || handle.block_on(async { 42 })).await;
//! assert_eq!(answer.expect("it did not panic"), 42);
//! # });
//! ```
//!
//! [`spawn_blocking`]: crate::spawn_blocking
