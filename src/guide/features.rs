//! The features, and the systems that liten runs on.
//!
//! # Features
//!
//! | feature | default | brings |
//! |---|---|---|
//! | none | | tasks, the scheduler, time, the blocking pool, channels and locks |
//! | `macros` | yes | `#[liten::main]`, `#[liten::test]` |
//! | `net` | yes | TCP, UDP, Unix sockets and pipes |
//! | `futures-io` | yes | the I/O traits of futures-io on all that reads and writes, with extensions |
//! | `insight` | yes | tasks, blocked workers and what is wrong, also on a page that it serves itself |
//! | `tokio-io` | no | tokio's I/O traits on the same types; any tokio 1, without its runtime |
//! | `hyper` | no | executor, timer and I/O traits for hyper 1, from 1.11 on |
//! | `fs` | no | files, on the blocking pool |
//! | `signal` | no | signals, ctrl-c |
//! | `process` | no | child processes |
//! | `tokio-context` | no | libraries that know only tokio: reqwest, sqlx; tokio from 1.49 on |
//! | `wasi` | no, on wasm always | the module `wasi`: the runtime for components, also for tests elsewhere |
//! | `tokio-name` | no | for the package named `tokio` alone: panics say so, in tokio's words |
//! | `tracing` | no | a warning for each poll that blocks its worker for long, or while no other is free |
//! | `full` | no | all of these but `tokio-context`, `tokio-name` and `tracing` |
//!
//! What each costs to build is in `benches/README.md` of the repository.
//!
//! Time and the scheduler are always there. A feature only adds; it never changes what another part does.
//!
//! # Variables
//!
//! `LITEN_WORKER_THREADS` sets the number of workers where the program does not
//! ([`Builder::worker_threads`](crate::runtime::Builder::worker_threads)), and `LITEN_MAX_SPARE_WORKERS`
//! how many more may run while tasks block them
//! ([`Builder::max_spare_workers`](crate::runtime::Builder::max_spare_workers)). `LITEN_INSIGHT` opens
//! the page of the module `insight`.
//!
//! # Systems
//!
//! | system | poller | sockets | tested |
//! |---|---|---|---|
//! | Linux | epoll | TCP, UDP, Unix; any pollable descriptor | in CI; it is developed there |
//! | macOS | kqueue | as on Linux | by GitHub's workflow; type-checked in CI |
//! | Windows | IOCP, through mio | TCP, UDP | as macOS; by hand under wine |
//! | FreeBSD, NetBSD, OpenBSD | kqueue | as on Linux | compiles; never run |
//! | WASI 0.2 | the component's host | TCP, UDP | in CI, under wasmtime |
//!
//! # As a component
//!
//! The same crate is a runtime for WASI 0.2 components, on their one thread: timers, tasks, sockets and
//! the standard streams have the same names. The module `wasi` waits for anything else that the host
//! offers. From a clone:
//!
//! ```text
//! rustup target add wasm32-wasip2
//! cargo build --release --target wasm32-wasip2 -p component --bins
//! wasmtime run -S inherit-network target/wasm32-wasip2/release/tcp_echo.wasm
//! ```
//!
//! A program of your own takes `liten` with `default-features = false` and the features it needs.
//! Everything that needs threads (`Runtime`, `spawn_blocking`, `fs`, `process`, `signal`) is missing
//! there, and `worker_threads` in `#[liten::main]` is a compile error.
