//! Coming from tokio.
//!
//! Most programs change their imports: `tokio::` becomes `liten::`, `tokio::spawn` and `JoinHandle`,
//! `net`, `time`, `fs`, `process` and `signal` are called the same and do the same. This page is about
//! the rest.
//!
//! # What differs
//!
//! | in tokio | in liten |
//! |---|---|
//! | I/O traits of its own | futures-io by default; tokio's on the same types with the feature `tokio-io` |
//! | `AsyncWriteExt::shutdown` | `close` in futures-io's extension trait; `shutdown` in tokio's |
//! | `tokio::sync` | [`sync`]; `tokio::sync` itself works as it is, it needs no runtime of tokio |
//! | `tokio::select!` | [`future::select!`] wants fused futures; tokio's works too |
//! | `Builder::enable_all` | nothing: I/O and time are always there |
//! | dropping a `Runtime` in async code panics | it does not, and does not wait for itself |
//! | a blocked worker may stall the driver | it stalls nobody |
//! | a failed write to a `fs::File` is told by `write`, `flush` | and by `sync_all`, `sync_data`, `set_len` |
//! | `process::Child::kill` is an error when the end has been seen | it is none |
//! | `LocalSet` | [`LocalExecutor`], [`LocalRuntime`] |
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
//! 1. Replace the attribute and `tokio::spawn`; turn on `tokio-context`. Everything else may stay: tokio's
//!    sockets and timers work inside liten's tasks, at the price of a second thread.
//! 2. Replace `tokio::net` and `tokio::time`. With `tokio-io` the code around the sockets stays the same.
//! 3. When nothing asks for tokio any more, turn `tokio-context` off. `cargo tree -e features -i tokio` says
//!    who still wants what.
//!
//! [`sync`]: crate::sync
//! [`future::select!`]: crate::future::select!
//! [`LocalExecutor`]: crate::task::LocalExecutor
//! [`LocalRuntime`]: crate::runtime::LocalRuntime
