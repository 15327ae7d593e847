//! The engine: the code that runs tasks, waits for events and keeps time. Its public items are re-exported by
//! the modules that users see.
//!
//! Those modules (`runtime`, `task`, `net` and the others beside this folder) import the engine, and never
//! the other way round. Two know nothing of it and are used by all: `impls` has macros for trait impls that
//! many types share, and `primitive_kind` names the locks and channels that a task may wait for. Each module
//! of the engine imports only modules that stand before it in the table, so that it can be read after those.
//! Most readers want `task`, `driver` and `scheduler`, and look the others up. The lines are those of the
//! code that is shipped, with comments; models and tests are not counted. `tests/tidy.rs` checks all this,
//! and that no modules import each other in a circle. Files of one module do so only where `tests/tidy.rs`
//! says why.
//!
//! The engine has 17,900 lines in 79 files, in this order:
//!
//! | module | lines | what it is |
//! |---|---|---|
//! | `sync_shim` | 510 | std's locks, atomics and threads, or loom's, or shuttle's |
//! | `nanos` | 16 | durations as numbers |
//! | `rng` | 34 | small random numbers, from one seed |
//! | `slab` | 394 | a table whose entries are found by number |
//! | `scoped` | 90 | a thread-local that has a value for a while |
//! | `recycler` | 410 | memory for tasks and for channels of one value, kept per thread |
//! | `wakers` | 820 | futures that wait in a list, and wakers called all at once |
//! | `tokio_note` | 36 | the suffix of panic messages in the package named `tokio` |
//! | `abort` | 20 | ends the program where a panic would break what others rely on |
//! | `ended` | 35 | the error of a runtime that has ended |
//! | `thread_name` | 40 | names of threads |
//! | `slice` | 180 | how soon the system lets a woken thread run |
//! | `park` | 160 | a thread sleeps until it is woken |
//! | `queue` | 500 | local queue, injector, wake channel, next slot |
//! | `task` | 3,360 | a task's memory, state, waker and handle |
//! | `blocking` | 710 | the pool of threads for calls that block |
//! | `driver` | 3,490 | events and timers, and the seat of the thread that waits for them |
//! | `scheduler` | 7,200 | workers, which thread wakes which, and the watchdog |
//!
//! Calls upwards go through traits, or through functions that were handed down:
//!
//! * [`task::header::Schedule`]: a woken task is queued by the scheduler that it belongs to, which may be
//!   [`scheduler::Shared`], a local executor, or none at all for blocking work.
//! * [`task::header::Runner`] and `Completer`: a task tells the thread that polls or ends it what became of
//!   it, and each kind of thread keeps its own queues and counts.
//! * [`blocking::Job`]: the pool runs what it is given. The jobs are made in `runtime`, because most are
//!   tasks.
//! * [`scheduler::Probe`]: the threads of a scheduler report what they do, and the watchdog when it has
//!   looked. `observe` keeps what people read of that.
//! * [`task::header::TaskHooks`]: a task calls the functions that its program has given to the builder of the
//!   runtime, if there are any.
//! * [`task::join_error`]: `runtime` gives it the function to call when a task has panicked, so that tasks
//!   which do not panic pay nothing.
//! * [`task::followed`]: `observe` gives it the functions to call when a task that it follows is ready.
//! * [`task::traced`]: `insight` gives it the functions to call in a poll that notes where its task waits.
//!
//! The driver knows wakers and no workers.
//!
//! # Words
//!
//! What is new to a reader of tokio's code, with the word that tokio has for it, if it has one.
//!
//! | word | meaning | in tokio |
//! |---|---|---|
//! | *alarm* | tells the thread in the poller that it is wanted, or of an earlier timer | `mio::Waker` |
//! | *blocked in place* | said of a worker whose task blocks the thread, and has told the runtime so | |
//! | *chain* | tasks that are linked to each other, and pushed together | |
//! | *depot* | free memory that threads leave to each other | |
//! | *driver* | the poller, the sources and the timers of a runtime | driver |
//! | *driver thread* | the one thread beside the workers, which drives when no idle worker does | |
//! | *home* | the worker that ran a task last | |
//! | *hot*, *cold* | queued, or being polled; waiting, and in no queue | notified or running; idle |
//! | *injector* | the queue of ready tasks that all workers share | inject queue |
//! | *next slot* | one place for the task that was woken last; it runs before the deque | LIFO slot |
//! | *note* | what a task waits for, as it has left it in its memory | |
//! | *park* | to sleep until another thread unparks, in the seat or not | park |
//! | *quiescent* | all tasks and all threads of a runtime wait; a paused clock may jump | |
//! | *quiet* | no task of a runtime is alive | |
//! | *readiness* | what the system has reported of a source, and no task has used up | `ScheduledIo` |
//! | *ready*, *yielded* | a queued task was spawned or woken, or has asked for a poll itself | –, deferred |
//! | *registry* | the tasks of one worker that have been cold, for the end of the runtime | `OwnedTasks` |
//! | *rest* | the thread of a worker that has left sleeps until it is called back | |
//! | *root* | the future given to `block_on` | |
//! | *search* | a worker looks into the queues of the others | searching |
//! | *seat* | the right to wait in the poller; one thread at a time has it | the lock around the driver |
//! | *shard* | the timers of one worker, under one lock | shard of the wheel |
//! | *shared work* | tasks in the wake channel of a worker, and in the queues that all workers share | |
//! | *spare*, *helper* | a worker beside the regular ones for a while; one that the watchdog has started | |
//! | *stalled*, *slow* | in one poll since the last look; in polls that are long on average | |
//! | *surplus* | said of a worker that is to leave | |
//! | *tick* | one round of a worker's loop, in which it takes and polls one task | tick |
//! | *turn* | one round of the driver; a *fair turn* of a worker has one | maintenance |
//! | *wake channel* | a worker's inbox for tasks that threads other than workers wake | |
//! | *watchdog* | the driver thread, when it looks after workers that are stuck in long polls | |

pub(crate) mod abort;
pub(crate) mod ended;
pub(crate) mod nanos;
pub(crate) mod recycler;
pub(crate) mod rng;
pub(crate) mod scoped;
pub(crate) mod slab;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod slice;
pub(crate) mod sync_shim;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod thread_name;
pub(crate) mod tokio_note;
pub(crate) mod wakers;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod park;
pub(crate) mod queue;

pub(crate) mod task;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod blocking;
#[cfg_attr(target_family = "wasm", path = "engine/driver/wasm.rs")]
pub(crate) mod driver;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod scheduler;
