//! Making it faster, and seeing what it does.
//!
//! # First look
//!
//! [`Handle::metrics`](crate::runtime::Handle::metrics) reads the runtime's counters, at any time and
//! without a special build: tasks alive, depths of the queues, polls, steals and parks per worker, polls
//! that blocked.
//!
//! ```
//! # liten::block_on(async {
//! let metrics = liten::runtime::Handle::current().metrics();
//! for worker in 0..metrics.num_workers() {
//!     println!("worker {worker}: {} polls", metrics.worker_poll_count(worker));
//! }
//! assert_eq!(metrics.blocked_poll_count(), 0);
//! # });
//! ```
//!
//! [`Handle::dump`] shows the runtime as it is at the moment, and begins with sentences that say what is
//! wrong: print it. It names tasks by the places of their spawns, and by the names that
//! [`task::Builder`](crate::task::Builder) has given them. The page [`insight`](crate::insight) has more.
//!
//! | the metric | says |
//! |---|---|
//! | [`blocked_poll_count`] grows | tasks block all workers; warnings say which (feature `tracing`) |
//! | [`slow_poll_count`] grows | a task holds up its worker; [`Dump::slow_polls`] says which, and by what |
//! | [`global_queue_depth`] stays high | the workers do not keep up |
//! | [`blocking_queue_depth`] stays high | the pool is too small, or its jobs too long |
//! | [`cpu_limits`] shows throttled periods | the process uses more than its [quota](super::container) |
//! | [`running_tasks`] names the same task again and again | that is where the time goes |
//!
//! # Then turn
//!
//! | setting | when |
//! |---|---|
//! | [`worker_threads`], or `LITEN_WORKER_THREADS` | fewer, if the process shares the machine |
//! | [`Handle::set_worker_threads`] | the share of the machine changes while it runs |
//! | [`max_blocking_threads`] | a database allows so many connections and no more |
//! | [`max_spare_workers`], or `LITEN_MAX_SPARE_WORKERS` | 0: no other workers than these |
//! | [`thread_stack_size`](crate::runtime::Builder::thread_stack_size) | deep recursion in polls |
//!
//! # What is cheap
//!
//! Spawning, waking, timers that are set and dropped, sockets that have data. A task per connection and a
//! spawn per request are the intended way of working.
//!
//! # What is not
//!
//! - A task per *byte*: batch by a channel of `Vec`s, or a `BufReader`.
//! - `join!` over many futures polls all of them for each that is woken;
//!   [`FuturesUnordered`](crate::future::FuturesUnordered) or a [`JoinSet`](crate::task::JoinSet) polls one.
//! - Large futures: each `spawn` moves its future once. Box what is large.
//! - Waking from other threads one by one: a channel wakes once for many messages.
//!
//! Measure in release mode. The figures beside tokio and smol, and how they were taken, are in
//! `benches/README.md` of the repository.
//!
//! [`blocked_poll_count`]: crate::runtime::RuntimeMetrics::blocked_poll_count
//! [`global_queue_depth`]: crate::runtime::RuntimeMetrics::global_queue_depth
//! [`blocking_queue_depth`]: crate::runtime::RuntimeMetrics::blocking_queue_depth
//! [`Handle::dump`]: crate::runtime::Handle::dump
//! [`Dump::slow_polls`]: crate::insight::Dump::slow_polls
//! [`slow_poll_count`]: crate::runtime::RuntimeMetrics::slow_poll_count
//! [`cpu_limits`]: crate::runtime::RuntimeMetrics::cpu_limits
//! [`running_tasks`]: crate::runtime::RuntimeMetrics::running_tasks
//! [`worker_threads`]: crate::runtime::Builder::worker_threads
//! [`Handle::set_worker_threads`]: crate::runtime::Handle::set_worker_threads
//! [`max_blocking_threads`]: crate::runtime::Builder::max_blocking_threads
//! [`max_spare_workers`]: crate::runtime::Builder::max_spare_workers
