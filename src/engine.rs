//! The engine: the code that runs tasks, waits for events and keeps time. Its public items are re-exported by
//! the modules that users see.
//!
//! Those modules (`runtime`, `task`, `net` and the others beside this folder) import the engine, and never
//! the other way round. Each module of the engine imports only modules that stand before it in the table, so
//! that it can be read by someone who knows those. Most readers want `task`, `driver` and `scheduler`, and
//! look the others up. The lines are those of the code that is shipped, with comments; models and tests are
//! not counted. `tests/tidy.rs` checks all this, and that no modules import each other in a circle.
//!
//! | module | lines | what it is |
//! |---|---|---|
//! | `sync_shim` | 390 | std's locks, atomics and threads, or loom's, or shuttle's |
//! | `rng` | 50 | small random numbers, from one seed |
//! | `slab` | 280 | things found by number, under many locks |
//! | `scoped` | 70 | a thread-local that has a value during a call |
//! | `recycler` | 240 | memory for tasks, kept per thread |
//! | `wakers` | 590 | futures that wait in a list, and wakers called all at once |
//! | `words` | 100 | what panics say, under liten's name or tokio's |
//! | `hint` | 50 | what to do when a crate asks for tokio |
//! | `ended` | 40 | the error of a runtime that has ended |
//! | `thread_name` | 40 | names of threads |
//! | `park` | 150 | a thread sleeps until it is woken |
//! | `queue` | 440 | local queue, injector, wake channel |
//! | `cancellation` | 430 | the token that tells many tasks to stop |
//! | `task` | 2,150 | a task's memory, state, waker and handle |
//! | `blocking` | 810 | the pool of threads for calls that block |
//! | `driver` | 3,090 | events and timers, and the seat of the thread that waits for them |
//! | `scheduler` | 4,500 | workers, which thread wakes which, and the watchdog |
//!
//! Calls upwards go through three traits. A task calls [`task::cell::Schedule`], which the scheduler, local
//! executors and blocking tasks implement. [`blocking::Job`] and [`scheduler::CountsRoots`] are implemented
//! in `runtime`. The driver knows wakers and no workers.

pub(crate) mod ended;
pub(crate) mod hint;
pub(crate) mod recycler;
pub(crate) mod rng;
pub(crate) mod scoped;
pub(crate) mod slab;
pub(crate) mod sync_shim;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod thread_name;
pub(crate) mod wakers;
#[cfg_attr(not(feature = "tokio-name"), path = "engine/words/liten.rs")]
#[cfg_attr(feature = "tokio-name", path = "engine/words/tokio.rs")]
pub(crate) mod words;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod park;
pub(crate) mod queue;

pub(crate) mod cancellation;
pub(crate) mod task;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod blocking;
#[cfg_attr(target_family = "wasm", path = "engine/driver/wasm.rs")]
pub(crate) mod driver;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod scheduler;
