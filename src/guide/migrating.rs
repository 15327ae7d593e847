//! Coming from tokio.
//!
//! Most programs change their imports: `tokio::` becomes `liten::`, `tokio::spawn` and `JoinHandle`,
//! `net`, `time`, `fs`, `process` and `signal` are called the same and do the same. This page is about
//! the rest.
//!
//! # Without changing the program
//!
//! The repository makes a package named `tokio` that stands on liten. With it a program runs on liten's
//! workers, timers and sockets as it is, and so do its libraries. On a fresh clone, with a clone of liten
//! beside it:
//!
//! ```text
//! bash ../liten/tokio/doctor --mend .
//! cargo run
//! ```
//!
//! The first line lays the package down in the project, adds it to `Cargo.toml`, updates the lock file, and
//! says whether the package is in effect, and if not, why. The package carries liten with it, so it can be
//! committed with the project. `tokio/README.md` in the repository says how to do all that by hand, and what
//! differs.
//!
//! The feature `tokio-context`, which the rest of this page speaks of, is the better way for a program that
//! uses liten itself and needs tokio for one library among many: the package and those features of liten
//! that stand on the real tokio cannot be in one program.
//!
//! # What differs
//!
//! | in tokio | in liten |
//! |---|---|
//! | I/O traits of its own | futures-io by default; tokio's on the same types with the feature `tokio-io` |
//! | `AsyncWriteExt::shutdown` | `close` in futures-io's extension trait; `shutdown` in tokio's |
//! | `shutdown(Shutdown::Write)` of std's streams | `shutdown_std(Shutdown::Write)` |
//! | `tokio::sync` | [`sync`]; `tokio::sync` itself works as it is, it needs no runtime of tokio |
//! | `Builder::enable_all` | nothing: I/O and time are always there |
//! | dropping a `Runtime` in async code panics | it does not, and does not wait for itself |
//! | a blocked worker may stall the driver | other tasks wait for some milliseconds, not for its poll |
//! | a failed write to a `fs::File` is told by `write`, `flush` | and by `sync_all`, `sync_data`, `set_len` |
//! | `process::Child::kill` is an error when the end has been seen | it is none |
//! | `LocalSet` for tasks that are not `Send` | the same; and [`LocalExecutor`] for those that borrow |
//! | `Builder::new_current_thread().build()` | the same: tasks run on a thread in `block_on` |
//! | `flavor = "current_thread"` refuses `spawn_local` | it takes it, as a [`LocalRuntime`] |
//! | the number of workers is fixed | [`set_worker_threads`](crate::runtime::Handle::set_worker_threads) |
//!
//! # Libraries
//!
//! | the library wants | then |
//! |---|---|
//! | futures-io (async-tungstenite, futures-rustls, ..) | it runs as it is |
//! | tokio's traits (tokio-rustls, tokio-postgres' `connect_raw`, h2, ..) | feature `tokio-io` |
//! | hyper's traits (hyper, hyper-util, axum's `Router`, tonic's services) | feature `hyper` |
//! | a runtime trait of its own (quinn) | an adapter; the repository has one in `examples/real` |
//! | all of tokio (reqwest, `axum::serve`, sqlx with `runtime-tokio`, async-nats) | feature `tokio-context` |
//!
//! # "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
//!
//! A library has asked for tokio's runtime and there is none: `tokio::spawn`, `tokio::time::sleep` and
//! tokio's sockets do that. Turn on liten's feature `tokio-context`. It starts one helper runtime of
//! tokio in the process, and all threads of liten are in its context: sockets and timers that the library
//! makes live there, on one thread more, and the tasks that *you* spawn stay on liten's workers.
//! [Crates that need tokio](crate::runtime#crates-that-need-tokio) has what it costs and where it ends. If
//! the panic was in a task, its [`JoinError`](crate::task::JoinError) says all this in short.
//!
//! # Step by step
//!
//! 1. Replace the attribute and `tokio::spawn`; turn on `tokio-context`. tokio's sockets and timers may stay:
//!    they work inside liten's tasks, at the price of a second thread. What a *library* spawns is on that
//!    thread: `axum::serve` then runs the whole service there, one thread for all handlers, and
//!    [`spawn`](crate::spawn) panics in them, as there is no runtime of liten around them. So serve a
//!    `Router` from liten's workers at once (`examples/real/src/serve.rs` in the repository is the whole of
//!    it), or leave a program that is little more than `axum::serve` on tokio until it does.
//! 2. Replace `tokio::net` and `tokio::time`. With `tokio-io` the code around the sockets stays the same.
//! 3. When nothing asks for tokio any more, turn `tokio-context` off. `cargo tree -e features -i tokio` says
//!    which crate still enables which feature.
//!
//! # Name by name
//!
//! *same*: change `tokio` to `liten` in the path; a test in the repository compiles each of these with either
//! crate. A path: so it is called here. *differs*: the same name, with what is said. *crate*: another crate
//! has it; the [lines for Cargo.toml](#lines-for-cargotoml) stand at the end. *missing*: nothing here has it.
//! What tokio has only with `--cfg tokio_unstable` (hooks around polls, histograms) is missing, but for some
//! of its metrics and the names of tasks (`task::Builder`). [`Handle::dump`] differs: it waits for nothing,
//! shows more than tasks, and has no stacks.
//!
//! [`Handle::dump`]: crate::runtime::Handle::dump
//!
//! ## The crate
//!
//! | in tokio | here |
//! |---|---|
//! | `main`, `test`, `task_local`, `spawn` | same |
//! | `select`, `join`, `try_join`, `pin` | same |
//!
//! ## runtime
//!
//! | in tokio | here |
//! |---|---|
//! | `Runtime`: `new`, `handle`, `spawn`, `spawn_blocking`, `block_on`, `enter`, `metrics` | same |
//! | `Runtime`: `shutdown_background` | same |
//! | `Runtime`: `shutdown_timeout` | same, and returns what was still running |
//! | `Handle`: `current`, `try_current`, `enter`, `spawn`, `spawn_blocking`, `block_on`, `metrics` | same |
//! | `EnterGuard`, `TryCurrentError` | same |
//! | `Builder`: `new_multi_thread`, `new_current_thread`, `worker_threads`, `build` | same |
//! | `Builder`: `thread_name`, `thread_stack_size`, `thread_keep_alive`, `max_blocking_threads` | same |
//! | `Builder`: `on_thread_start`, `on_thread_stop`, `start_paused` | same |
//! | `Builder`: `name`, `thread_name_fn`, `on_thread_park`, `on_thread_unpark` | same |
//! | `Builder`: `build_local` | differs: without an argument |
//! | `Builder`: `enable_all`, `enable_io`, `enable_time` | missing: both are always there; leave it out |
//! | `Builder`: `event_interval`, `global_queue_interval`, `max_io_events_per_tick` | missing |
//! | `Handle`: `runtime_flavor`, `id`, `name` | same |
//! | `RuntimeFlavor`, `Id`, `is_rt_shutdown_err`, `worker_index` | same |
//! | `TryCurrentError`: `is_missing_context`, `is_thread_local_destroyed` | same |
//! | `LocalOptions` | missing |
//! | `RuntimeMetrics`: `num_workers`, `num_alive_tasks`, `global_queue_depth`, `worker_park_count` | same |
//! | `RuntimeMetrics`: `worker_total_busy_duration`, `worker_park_unpark_count` | same |
//! | `LocalRuntime`: `new`, `spawn_local`, `block_on`, `enter`, `handle`, `metrics` | same |
//! | `LocalRuntime`: `spawn_blocking`, `shutdown_background` | same |
//! | `LocalRuntime`: `shutdown_timeout` | same, and returns what was still running |
//!
//! ## task
//!
//! | in tokio | here |
//! |---|---|
//! | `spawn`, `spawn_blocking`, `spawn_local`, `block_in_place`, `yield_now`, `id`, `try_id` | same |
//! | `unconstrained`, `consume_budget` | same |
//! | `JoinHandle`: `abort`, `abort_handle`, `is_finished`, `id` | same |
//! | `tokio_util::task::AbortOnDropHandle` | `task::AbortOnDropHandle` |
//! | `AbortHandle`: `abort`, `is_finished`, `id` | same |
//! | `JoinError`: `is_cancelled`, `is_panic`, `into_panic`, `try_into_panic`, `id` | same |
//! | `Id` | `task::TaskId` |
//! | `JoinSet`: `new`, `len`, `is_empty`, `spawn`, `spawn_on`, `spawn_local`, `spawn_blocking` | same |
//! | `JoinSet`: `spawn_blocking_on`, `join_next`, `try_join_next`, `join_next_with_id` | same |
//! | `JoinSet`: `try_join_next_with_id`, `poll_join_next`, `poll_join_next_with_id` | same |
//! | `JoinSet`: `join_all`, `abort_all`, `detach_all`, `shutdown` | same |
//! | `JoinSet`: `spawn_local_on` | same |
//! | `LocalKey`: `scope`, `sync_scope`, `with`, `try_with`, `get`, `try_get` | same |
//! | `futures::TaskLocalFuture` | `task::TaskLocalFuture` |
//! | `futures::TaskLocalFuture`: `take_value` | `task::TaskLocalFuture::take_value` |
//! | `coop::poll_proceed`, `coop::has_budget_remaining`, `coop::cooperative` | same |
//! | `coop::consume_budget`, `coop::unconstrained`, `coop::RestoreOnPending` | same |
//! | `LocalSet`: `new`, `run_until`, `spawn_local`, `enter`, `block_on`, `id` | same |
//! | `LocalEnterGuard` | same |
//!
//! ## time
//!
//! | in tokio | here |
//! |---|---|
//! | `sleep`, `sleep_until`, `timeout`, `timeout_at`, `interval`, `interval_at` | same |
//! | `pause`, `resume`, `advance` | same, without a feature of their own |
//! | `Instant`: `now`, `elapsed`, `from_std`, `into_std`, `duration_since`, `checked_duration_since` | same |
//! | `Instant`: `saturating_duration_since`, `checked_add`, `checked_sub` | same |
//! | `Sleep`: `deadline`, `is_elapsed`, `reset` | same |
//! | `Timeout`: `get_ref`, `get_mut`, `into_inner` | same |
//! | `Interval`: `tick`, `poll_tick`, `period`, `reset`, `reset_immediately`, `reset_after` | same |
//! | `Interval`: `reset_at`, `missed_tick_behavior`, `set_missed_tick_behavior` | same |
//! | `MissedTickBehavior`: `Burst`, `Delay`, `Skip` | same |
//! | `Duration`, `error::Elapsed` | same |
//! | `error::Error` | missing: no timer fails |
//!
//! ## net
//!
//! | in tokio | here |
//! |---|---|
//! | `lookup_host`, `ToSocketAddrs` | same |
//! | `TcpListener`: `bind`, `accept`, `poll_accept`, `from_std`, `into_std`, `local_addr` | same |
//! | `TcpListener`: `ttl`, `set_ttl` | same |
//! | `TcpStream`: `connect`, `from_std`, `into_std`, `local_addr`, `peer_addr`, `take_error` | same |
//! | `TcpStream`: `ready`, `readable`, `writable`, `poll_read_ready`, `poll_write_ready` | same |
//! | `TcpStream`: `try_read`, `try_read_vectored`, `try_write`, `try_write_vectored` | same |
//! | `TcpStream`: `try_io`, `async_io`, `peek`, `split`, `into_split`, `nodelay`, `set_nodelay` | same |
//! | `TcpStream`: `linger`, `set_zero_linger`, `ttl`, `set_ttl`, `quickack`, `set_quickack` | same |
//! | `TcpStream`: `poll_peek` | differs: fills a slice and no `ReadBuf` |
//! | `TcpStream`: `try_read_buf` | missing: `try_read` into a slice |
//! | `tcp::ReadHalf`, `tcp::WriteHalf`, `tcp::OwnedReadHalf`, `tcp::OwnedWriteHalf` | same |
//! | `OwnedReadHalf`: `reunite` | same |
//! | `OwnedWriteHalf`: `forget`, `reunite` | same |
//! | `TcpSocket`: `new_v4`, `new_v6`, `bind`, `connect`, `listen`, `local_addr`, `take_error` | same |
//! | `TcpSocket`: `keepalive`, `set_keepalive`, `reuseaddr`, `set_reuseaddr`, `reuseport` | same |
//! | `TcpSocket`: `set_reuseport`, `linger`, `set_zero_linger`, `nodelay`, `set_nodelay` | same |
//! | `TcpSocket`: `tos_v4`, `set_tos_v4`, `tclass_v6`, `set_tclass_v6`, `device`, `bind_device` | same |
//! | `TcpSocket`: `send_buffer_size`, `set_send_buffer_size` | differs: in `usize` |
//! | `TcpSocket`: `recv_buffer_size`, `set_recv_buffer_size` | differs: in `usize` |
//! | `TcpSocket`: `from_std_stream` | differs: may fail |
//! | `UdpSocket`: `bind`, `connect`, `from_std`, `into_std`, `local_addr`, `peer_addr`, `take_error` | same |
//! | `UdpSocket`: `send`, `send_to`, `recv`, `recv_from`, `peek`, `peek_from`, `peek_sender` | same |
//! | `UdpSocket`: `try_send`, `try_send_to`, `try_recv`, `try_recv_from`, `try_peek` | same |
//! | `UdpSocket`: `try_peek_from`, `try_peek_sender`, `poll_send`, `poll_send_to` | same |
//! | `UdpSocket`: `poll_peek_sender` | same |
//! | `UdpSocket`: `ready`, `readable`, `writable`, `try_io`, `async_io` | same |
//! | `UdpSocket`: `broadcast`, `set_broadcast`, `ttl`, `set_ttl`, `tos_v4`, `set_tos_v4` | same |
//! | `UdpSocket`: `tclass_v6`, `set_tclass_v6`, `device`, `bind_device` | same |
//! | `UdpSocket`: `multicast_loop_v4`, `set_multicast_loop_v4`, `multicast_loop_v6` | same |
//! | `UdpSocket`: `set_multicast_loop_v6`, `multicast_ttl_v4`, `set_multicast_ttl_v4` | same |
//! | `UdpSocket`: `join_multicast_v6`, `leave_multicast_v6` | same |
//! | `UdpSocket`: `join_multicast_v4`, `leave_multicast_v4` | differs: addresses by reference |
//! | `UdpSocket`: `poll_recv`, `poll_recv_from`, `poll_peek`, `poll_peek_from` | differs: fill a slice |
//! | `UdpSocket`: `poll_recv_ready`, `poll_send_ready` | same |
//! | `UdpSocket`: `recv_buf`, `recv_buf_from`, `try_recv_buf`, `try_recv_buf_from` | missing: use slices |
//! | `UnixListener`: `bind`, `accept`, `poll_accept`, `from_std`, `into_std`, `local_addr` | same |
//! | `UnixListener`: `take_error` | same |
//! | `UnixStream`: `connect`, `pair`, `peer_cred`, `from_std`, `into_std`, `local_addr`, `peer_addr` | same |
//! | `UnixStream`: `ready`, `readable`, `writable`, `poll_read_ready`, `poll_write_ready` | same |
//! | `UnixStream`: `try_read`, `try_read_vectored`, `try_write`, `try_write_vectored` | same |
//! | `UnixStream`: `try_io`, `async_io`, `split`, `into_split`, `take_error` | same |
//! | `UnixDatagram`: `bind`, `unbound`, `pair`, `connect`, `from_std`, `into_std`, `shutdown` | same |
//! | `UnixDatagram`: `send`, `send_to`, `recv`, `recv_from`, `try_send`, `try_send_to`, `try_recv` | same |
//! | `UnixDatagram`: `try_recv_from`, `poll_send`, `ready`, `readable`, `writable` | same |
//! | `UnixDatagram`: `local_addr`, `peer_addr`, `take_error`, `poll_recv_ready` | same |
//! | `UnixDatagram`: `poll_send_ready` | same |
//! | `UnixDatagram`: `poll_recv`, `poll_recv_from` | differs: fill a slice |
//! | `UnixSocket`: `new_stream`, `new_datagram`, `bind`, `connect`, `listen`, `datagram` | same |
//! | `unix::UCred` | same |
//! | `unix::SocketAddr` | std's, `std::os::unix::net::SocketAddr` |
//! | `pipe::Sender`, `pipe::Receiver`, `pipe::OpenOptions`, `pipe::pipe` | same |
//! | `windows::named_pipe` | missing |
//!
//! ## io
//!
//! | in tokio | here |
//! |---|---|
//! | `AsyncRead`, `AsyncWrite`, `AsyncBufRead`, `AsyncSeek`, `ReadBuf` | crate `tokio`, with `tokio-io` |
//! | `AsyncReadExt`, `AsyncWriteExt`, `AsyncBufReadExt`, `AsyncSeekExt` | crate `tokio`, with `tokio-io` |
//! | `BufReader`, `BufWriter`, `BufStream`, `Lines`, `split`, `join`, `simplex` | crate `tokio` |
//! | `copy`, `copy_buf`, `copy_bidirectional`, `copy_bidirectional_with_sizes` | crate `tokio` |
//! | the same for futures-io's traits | [`io`](crate::io) has most of them, under these names |
//! | `stdin`, `stdout`, `stderr`, `duplex`, `empty`, `repeat`, `sink` | same |
//! | `Stdin`, `Stdout`, `Stderr`, `DuplexStream`, `Empty`, `Repeat`, `Sink` | same |
//! | `Interest`: `READABLE`, `WRITABLE`, `is_readable`, `is_writable` | same |
//! | `Interest`: `PRIORITY`, `ERROR`, `add`, `remove` | same |
//! | `Interest`: `AIO`, `LIO` | missing |
//! | `Ready`: `EMPTY`, `READABLE`, `WRITABLE`, `READ_CLOSED`, `WRITE_CLOSED`, `PRIORITY`, `ERROR` | same |
//! | `Ready`: `is_empty`, `is_readable`, `is_writable`, `is_read_closed`, `is_write_closed` | same |
//! | `Ready`: `is_priority`, `is_error` | same |
//! | `Ready`: `ALL` | same |
//! | `unix::AsyncFd` | `io::Async`, of an `io::Fd` |
//! | `bsd::Aio` | missing |
//!
//! ## fs
//!
//! | in tokio | here |
//! |---|---|
//! | `read`, `read_to_string`, `write`, `copy`, `rename`, `remove_file`, `remove_dir` | same |
//! | `remove_dir_all`, `create_dir`, `create_dir_all`, `canonicalize`, `metadata`, `hard_link` | same |
//! | `symlink_metadata`, `set_permissions`, `symlink`, `read_link`, `read_dir`, `try_exists` | same |
//! | `File`: `open`, `create`, `create_new`, `options`, `from_std`, `into_std`, `try_into_std` | same |
//! | `File`: `sync_all`, `sync_data`, `set_len`, `metadata`, `try_clone`, `set_permissions` | same |
//! | `File`: `max_buf_size`, `set_max_buf_size` | same |
//! | `OpenOptions`: `read`, `write`, `append`, `truncate`, `create`, `create_new`, `open`, `mode` | same |
//! | `OpenOptions`: `custom_flags` | same |
//! | `DirBuilder`: `new`, `recursive`, `mode`, `create` | same |
//! | `ReadDir`: `next_entry`, `poll_next_entry` | same |
//! | `DirEntry`: `path`, `file_name`, `metadata`, `file_type`, `ino` | same |
//! | `symlink_dir`, `symlink_file` | missing; Windows only, where `spawn_blocking` does it |
//!
//! ## process
//!
//! | in tokio | here |
//! |---|---|
//! | `Command`: `new`, `arg`, `args`, `env`, `envs`, `env_remove`, `env_clear`, `current_dir` | same |
//! | `Command`: `stdin`, `stdout`, `stderr`, `kill_on_drop`, `get_kill_on_drop`, `uid`, `gid` | same |
//! | `Command`: `process_group`, `arg0`, `as_std`, `as_std_mut`, `into_std` | same |
//! | `Command`: `spawn`, `status`, `output` | same |
//! | `Command`: `spawn_with` | missing |
//! | `Child`: `id`, `wait`, `try_wait`, `kill`, `start_kill`, `wait_with_output` | same |
//! | `ChildStdin`: `from_std`, `into_owned_fd` | same |
//! | `ChildStdout`: `from_std`, `into_owned_fd` | same |
//! | `ChildStderr`: `from_std`, `into_owned_fd` | same |
//!
//! ## signal
//!
//! | in tokio | here |
//! |---|---|
//! | `ctrl_c`, `unix::signal` | same |
//! | `Signal`: `recv`, `poll_recv` | same |
//! | `SignalKind`: `from_raw`, `as_raw_value`, `alarm`, `child`, `hangup`, `interrupt`, `io`, `pipe` | same |
//! | `SignalKind`: `quit`, `terminate`, `user_defined1`, `user_defined2`, `window_change` | same |
//! | `windows::ctrl_break`, `windows::ctrl_close` | missing |
//! | `windows::ctrl_shutdown`, `windows::ctrl_logoff` | missing |
//!
//! ## sync
//!
//! tokio's own work as they are, too, in the same tasks, without a runtime of tokio; but their operations do
//! not count against the budget of liten's tasks.
//!
//! | in tokio | here |
//! |---|---|
//! | `mpsc::channel`, `mpsc::unbounded_channel`, `mpsc::PermitIterator`, `oneshot::channel` | same |
//! | `broadcast::channel`, `watch::channel`, `futures::OwnedNotified` | same |
//! | `mpsc::Sender`: `send`, `try_send`, `send_timeout`, `blocking_send`, `reserve` | same |
//! | `mpsc::Sender`: `reserve_many`, `reserve_owned`, `try_reserve`, `try_reserve_many` | same |
//! | `mpsc::Sender`: `try_reserve_owned`, `closed`, `is_closed`, `same_channel`, `downgrade` | same |
//! | `mpsc::Sender`: `capacity`, `max_capacity`, `strong_count`, `weak_count` | same |
//! | `mpsc::WeakSender`: `upgrade`, `strong_count`, `weak_count` | same |
//! | `mpsc::Receiver`: `recv`, `recv_many`, `try_recv`, `blocking_recv`, `blocking_recv_many` | same |
//! | `mpsc::Receiver`: `close`, `is_closed`, `is_empty`, `len`, `capacity`, `max_capacity` | same |
//! | `mpsc::Receiver`: `poll_recv`, `poll_recv_many`, `sender_strong_count`, `sender_weak_count` | same |
//! | `mpsc::Permit`: `send` | same |
//! | `mpsc::OwnedPermit`: `send`, `release`, `same_channel`, `same_channel_as_sender` | same |
//! | `mpsc::UnboundedSender`: `send`, `closed`, `is_closed`, `same_channel`, `downgrade` | same |
//! | `mpsc::UnboundedSender`: `strong_count`, `weak_count` | same |
//! | `mpsc::WeakUnboundedSender`: `upgrade`, `strong_count`, `weak_count` | same |
//! | `mpsc::UnboundedReceiver`: `recv`, `recv_many`, `try_recv`, `blocking_recv` | same |
//! | `mpsc::UnboundedReceiver`: `blocking_recv_many`, `close`, `is_closed`, `is_empty`, `len` | same |
//! | `mpsc::UnboundedReceiver`: `poll_recv`, `poll_recv_many`, `sender_strong_count` | same |
//! | `mpsc::UnboundedReceiver`: `sender_weak_count` | same |
//! | `oneshot::Sender`: `send`, `closed`, `is_closed`, `poll_closed` | same |
//! | `oneshot::Receiver`: `close`, `is_terminated`, `is_empty`, `try_recv`, `blocking_recv` | same |
//! | `broadcast::Sender`: `new`, `send`, `subscribe`, `downgrade`, `len`, `is_empty` | same |
//! | `broadcast::Sender`: `receiver_count`, `same_channel`, `closed`, `strong_count`, `weak_count` | same |
//! | `broadcast::WeakSender`: `upgrade`, `strong_count`, `weak_count` | same |
//! | `broadcast::Receiver`: `recv`, `try_recv`, `blocking_recv`, `resubscribe`, `len`, `is_empty` | same |
//! | `broadcast::Receiver`: `same_channel`, `sender_strong_count`, `sender_weak_count` | same |
//! | `broadcast::Receiver`: `is_closed` | same |
//! | `watch::Sender`: `new`, `send`, `send_modify`, `send_if_modified`, `send_replace`, `borrow` | same |
//! | `watch::Sender`: `subscribe`, `closed`, `is_closed`, `receiver_count`, `sender_count` | same |
//! | `watch::Sender`: `same_channel` | same |
//! | `watch::Receiver`: `is_closed` | same |
//! | `watch::Receiver`: `borrow`, `borrow_and_update`, `has_changed`, `changed`, `wait_for` | same |
//! | `watch::Receiver`: `mark_changed`, `mark_unchanged`, `same_channel` | same |
//! | `watch::Ref`: `has_changed` | same |
//! | `Notify`: `new`, `const_new`, `notify_one`, `notify_last`, `notify_waiters`, `notified` | same |
//! | `Notify`: `notified_owned` | same |
//! | `futures::Notified`: `enable` | same |
//! | `Semaphore`: `new`, `const_new`, `MAX_PERMITS`, `available_permits`, `add_permits` | same |
//! | `Semaphore`: `forget_permits`, `acquire`, `acquire_many`, `try_acquire`, `try_acquire_many` | same |
//! | `Semaphore`: `acquire_owned`, `acquire_many_owned`, `try_acquire_owned` | same |
//! | `Semaphore`: `try_acquire_many_owned`, `close`, `is_closed` | same |
//! | `Semaphore`: `blocking_acquire`, `blocking_acquire_many`, `blocking_acquire_owned` | same |
//! | `Semaphore`: `blocking_acquire_many_owned` | same |
//! | `SemaphorePermit`: `forget`, `merge`, `split`, `num_permits` | same |
//! | `OwnedSemaphorePermit`: `forget`, `merge`, `split`, `semaphore`, `num_permits` | same |
//! | `Mutex`: `new`, `const_new`, `lock`, `lock_owned`, `try_lock`, `try_lock_owned` | same |
//! | `Mutex`: `blocking_lock`, `blocking_lock_owned`, `get_mut`, `into_inner` | same |
//! | `MutexGuard`: `map`, `try_map`, `mutex` | same |
//! | `OwnedMutexGuard`: `map`, `try_map`, `mutex` | same |
//! | `RwLock`: `new`, `const_new`, `with_max_readers`, `const_with_max_readers`, `read` | same |
//! | `RwLock`: `read_owned`, `write`, `write_owned`, `try_read`, `try_read_owned`, `try_write` | same |
//! | `RwLock`: `try_write_owned`, `blocking_read`, `blocking_write`, `get_mut`, `into_inner` | same |
//! | `RwLockReadGuard`: `map`, `try_map` | same |
//! | `RwLockWriteGuard`: `map`, `try_map`, `downgrade`, `downgrade_map`, `try_downgrade_map` | same |
//! | `RwLockWriteGuard`: `into_mapped` | same |
//! | `OwnedRwLockReadGuard`: `map`, `try_map`, `rwlock` | same |
//! | `OwnedRwLockWriteGuard`: `map`, `try_map`, `downgrade`, `downgrade_map`, `try_downgrade_map` | same |
//! | `OwnedRwLockWriteGuard`: `into_mapped`, `rwlock` | same |
//! | `Barrier`: `new`, `wait` | same |
//! | `BarrierWaitResult`: `is_leader` | same |
//! | `OnceCell`: `new`, `const_new`, `new_with`, `const_new_with`, `initialized`, `get`, `get_mut` | same |
//! | `OnceCell`: `set`, `get_or_init`, `get_or_try_init`, `into_inner`, `take` | same |
//! | `SetOnce`: `new`, `new_with`, `const_new`, `const_new_with`, `initialized`, `get`, `set` | same |
//! | `SetOnce`: `into_inner`, `wait` | same |
//! | `MappedMutexGuard`, `OwnedMappedMutexGuard`, `RwLockMappedWriteGuard` | same |
//! | `OwnedRwLockMappedWriteGuard` | same |
//! | `mpsc::error::SendError`, `mpsc::error::TrySendError`, `mpsc::error::TryRecvError` | same |
//! | `mpsc::error::SendTimeoutError` | same |
//! | `oneshot::error::RecvError`, `oneshot::error::TryRecvError` | same |
//! | `broadcast::error::SendError`, `broadcast::error::RecvError`, `broadcast::error::TryRecvError` | same |
//! | `watch::error::SendError`, `watch::error::RecvError` | same |
//! | `AcquireError`, `TryAcquireError`, `TryLockError`, `SetError`, `SetOnceError` | same |
//!
//! ## tokio-util
//!
//! | in tokio-util | here |
//! |---|---|
//! | `sync::CancellationToken` | `task::CancellationToken` |
//! | `task::TaskTracker` | `task::TaskTracker` |
//! | `codec`, `compat`, `io::ReaderStream`, `io::StreamReader` | crate `tokio-util`, with `tokio-io` |
//! | `sync::PollSender`, `sync::PollSemaphore`, `sync::ReusableBoxFuture` | crate `tokio-util` |
//! | `task::LocalPoolHandle` | crate `tokio-util`; it starts runtimes of tokio's on threads of its own |
//! | `time::DelayQueue`, `io::SyncIoBridge` | crate `tokio-util`, with `tokio-context` |
//! | `task::JoinMap`, `task::JoinQueue` | crate `tokio-util`, with `tokio-context` |
//! | `future::FutureExt::timeout` | [`timeout`], or crate `tokio-util`, with `tokio-context` |
//! | `udp::UdpFramed` | crate `tokio-util`, with `tokio-context`, on a socket of tokio's |
//!
//! ## tokio-stream
//!
//! | in tokio-stream | here |
//! |---|---|
//! | `Stream`, `StreamExt` | `future::Stream`, `future::StreamExt`; or crate `tokio-stream` |
//! | `StreamMap`, `wrappers::ReceiverStream`, `wrappers::BroadcastStream` | crate `tokio-stream` |
//! | `StreamExt::timeout`, `StreamExt::throttle` | crate `tokio-stream`, with `tokio-context` |
//! | `StreamExt::chunks_timeout` | crate `tokio-stream`, with `tokio-context` |
//! | `wrappers::IntervalStream` | `time::Interval` is a stream |
//! | `wrappers::TcpListenerStream` | `net::TcpListener::incoming` |
//! | `wrappers::UnixListenerStream` | `net::UnixListener::incoming` |
//! | `wrappers::ReadDirStream` | `fs::ReadDir` is a stream |
//! | `wrappers::SignalStream` | `signal::unix::Signal` is a stream |
//!
//! ## Lines for Cargo.toml
//!
//! ```toml
//! # Here: a feature per module, and one for each family of I/O traits.
//! liten = { git = "https://ADDRESS/OF/liten", features = ["fs", "process", "signal", "tokio-io"] }
//! # Traits, adapters, locks and channels. Its features `rt`, `net` and `time` stay off.
//! tokio = { version = "1", features = ["io-util", "sync"] }
//! tokio-util = { version = "0.7", features = ["codec"] }
//! tokio-stream = { version = "0.1", default-features = false }
//! ```
//!
//! Rows with `tokio-context` need that feature of liten's, and the feature of the other crate that has it.
//!
//! # Three programs
//!
//! The repository has three programs as they were on tokio and as they are here, with the reason for each
//! line that changed: a small Redis with a blocking client, a web service of axum's, a system of actors
//! (`examples/real/ports.md`).
//!
//! [`sync`]: crate::sync
//! [`LocalExecutor`]: crate::task::LocalExecutor
//! [`LocalRuntime`]: crate::runtime::LocalRuntime
//! [`timeout`]: crate::time::timeout
