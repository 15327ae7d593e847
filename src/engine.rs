//! The engine: the code that runs tasks, waits for events and keeps time. Its public items are re-exported by
//! the modules that users see.
//!
//! Those modules (`runtime`, `task`, `net` and the others beside this folder) import the engine, and never
//! the other way round. Each module of the engine imports only modules that stand before it in the table, so
//! that it can be read after those. Most readers want `task`, `driver` and `scheduler`, and look the others
//! up. The lines are those of the code that is shipped, with comments; models and tests are not counted.
//! `tests/tidy.rs` checks all this, and that no modules import each other in a circle. Files of one module do
//! so only where `tests/tidy.rs` says why.
//!
//! The engine has 18,100 lines in 111 files, in this order:
//!
//! | module | lines | what it is |
//! |---|---|---|
//! | `sync_shim` | 533 | std's locks, atomics and threads, or loom's, or shuttle's |
//! | `location` | 30 | a place in the source, behind an atomic pointer |
//! | `nanos` | 16 | durations as numbers |
//! | `rng` | 50 | small random numbers, from one seed |
//! | `slab` | 280 | a table whose entries are found by number |
//! | `scoped` | 90 | a thread-local that has a value for a while |
//! | `recycler` | 410 | memory for tasks and for channels of one value, kept per thread |
//! | `wakers` | 810 | futures that wait in a list, and wakers called all at once |
//! | `tokio_note` | 29 | the suffix of panic messages in the package named `tokio` |
//! | `abort` | 20 | ends the program where a panic would break what others rely on |
//! | `impls` | 100 | std's traits, for types that implement them alike |
//! | `ended` | 40 | the error of a runtime that has ended |
//! | `thread_name` | 40 | names of threads |
//! | `park` | 150 | a thread sleeps until it is woken |
//! | `queue` | 550 | local queue, injector, wake channel, next slot |
//! | `task` | 3,400 | a task's memory, state, waker and handle |
//! | `recorder` | 220 | what a recording keeps: rings of records |
//! | `blocking` | 710 | the pool of threads for calls that block |
//! | `driver` | 3,490 | events and timers, and the seat of the thread that waits for them |
//! | `scheduler` | 6,540 | workers, which thread wakes which, and the watchdog |
//!
//! Calls upwards go through traits, or through functions that were handed down:
//!
//! * [`task::header::Schedule`]: a woken task is queued by the scheduler that it belongs to, which may be
//!   [`scheduler::Shared`], a local executor, or none at all for blocking work.
//! * [`task::header::Runner`] and `Completer`: a task tells the thread that polls or ends it what became of
//!   it, and each kind of thread keeps its own queues and counts.
//! * [`blocking::Job`]: the pool runs what it is given. The jobs are made in `runtime`, because most are
//!   tasks.
//! * [`scheduler::StallHook`]: the watchdog sees that a poll is slow. `runtime` knows what to say of it, and
//!   to which listeners.
//! * [`scheduler::CountsRoots`]: a root counts itself while it is awake. A runtime without workers, which is
//!   built in `runtime`, has a count of its own.
//! * [`task::panics`]: `runtime` gives it the functions to call when a task has panicked, so that tasks which
//!   do not panic pay nothing.
//! * [`task::traced`]: `insight` gives it the functions to call in a poll that notes where its task waits.
//!
//! The driver knows wakers and no workers.
//!
//! # Terms to know first
//!
//! * *task*: a future that the runtime polls, in one allocation with its state and its output.
//! * *hot*, *cold*: a task is hot while it is queued or polled, and cold while only its wakers know it.
//! * *ready*, *yielded*: a queued task is ready if it was spawned or woken, and has yielded if it asked for
//!   another poll itself.
//! * *worker*: a thread that runs tasks from its own queues, and searches those of other workers.
//! * *deque*: a worker's queue of ready tasks, from which the others steal; yielded tasks have a second one.
//! * *next slot*: one place for the task that was woken last; it runs before those in the deque.
//! * *injector*: the queue of ready tasks that all workers share; tasks that have yielded have a second one.
//! * *wake channel*: a worker's inbox for tasks that threads other than workers wake.
//! * *root*: the future given to `block_on`.
//! * *driver*: the poller, the sources and the timers of a runtime.
//! * *seat*: the right to wait in the poller; one thread at a time has it.
//! * *turn*: one round of the driver; in a worker's *fair turn* it looks at all that it may have passed over.
//! * *park*: to sleep until another thread unparks, in the seat or not.
//! * *watchdog*: the driver thread, when it looks after workers that are stuck in long polls.
//! * *spare*: a worker beside the regular ones for a while; one that the watchdog has started is a *helper*.
//! * *rest*: the thread of a worker that has left sleeps until it is called back, or the runtime ends.
//! * *quiet*: no task is alive.
//! * *quiescent*: all tasks and all threads wait.
//! * *tick*: one round of a worker's loop, in which it takes and polls one task.
//! * *driver thread*: the one thread beside the workers. It takes the seat when no idle worker does, and is
//!   the watchdog.
//!
//! # Words
//!
//! The names of the engine's types are made of these words, and of some that mean what they mean everywhere.
//!
//! | word | meaning |
//! |---|---|
//! | `Alarm` | What ends a sleep in the poller: a call by another thread, or the time. |
//! | `Alone` | What to do before a task that has yielded runs, when no task is ready. |
//! | `Announced` | Whether a thread that has announced its sleep may sleep, or has been unparked already. |
//! | `Around` | A function that encloses the life of a thread of the runtime. |
//! | `Awake` | A thread is awake while it does not sleep; such threads are counted for a paused clock. |
//! | `Batch` | Tasks that are taken together. |
//! | `Blocked` | A worker is blocked in place while its task blocks the thread, and has said so. |
//! | `Boxed` | A task whose future lies in a box, because it is large. |
//! | `Bucket` | The timers of one span of time. |
//! | `Cache` | The free memory that a thread keeps for tasks. |
//! | `Canceller` | The thread that completes a task which it cancels. |
//! | `Chain` | Nodes that are linked to each other. |
//! | `Channel` | The wake channel: the tasks of one worker that were woken by threads that are no workers. |
//! | `Cold` | A task as the cold registry refers to it: it has waited, and may be waiting now. |
//! | `Completer` | The thread that completes a task, as the task sees it. |
//! | `Deque` | A queue of one worker, from which the others can steal. |
//! | `Dispatcher` | The driver thread while it calls wakers, and sends the woken tasks to the workers. |
//! | `Driver` | The poller, the sources and the timers of a runtime. |
//! | `Foreign` | A task that is counted apart: spawned by a thread outside the workers, or cancelled. |
//! | `Here` | What the calling thread is to the scheduler that its spawns go to. |
//! | `Histogram` | How often something took how long. |
//! | `History` | What the watchdog remembers from one look to the next. |
//! | `Hooked` | A task with the hooks that are called for it. |
//! | `Hot` | The right to poll a task: a queue has it, or the thread that polls. |
//! | `Idle` | Which workers are parked, and which search for tasks. |
//! | `Injector` | The queue that all workers share, for tasks from other threads. |
//! | `Interest` | For which events a source is registered. |
//! | `Job` | Work for the blocking pool. |
//! | `Line` | The wakers that wait for a source in one direction, for functions that poll. |
//! | `Link`, `Linked` | The part of a node that refers to its neighbours. |
//! | `Local` | The owner's end of a worker's queue. |
//! | `Look` | Where a worker that parks looks once more before it sleeps. |
//! | `Mark` | What a look finds of a task: it is hot, cold, or cold since an earlier look. |
//! | `Meta` | What is said of a task to the functions that the user wants to be called for it. |
//! | `Note` | What a task waits for, as it has left it in its memory. |
//! | `Notice` | Which worker is told that a task is queued. |
//! | `Offset` | By how much the driver's clock differs from the system's. |
//! | `Order` | What the watchdog is to do after a look. |
//! | `Origin` | What the caller of a spawn says of the task: the place, and perhaps a name. |
//! | `Outside` | The queues that all workers look at, beside those of their own. |
//! | `Own` | What belongs to one thread: no other one pushes to such a queue. |
//! | `Parker` | Puts its thread to sleep until another thread unparks it. |
//! | `Place` | Where a future stands in a wait list. |
//! | `Point` | A quiescent point is a moment at which all tasks wait, while the clock is paused. |
//! | `Policy` | What a worker decides by numbers alone, such as which of its queues is next. |
//! | `Poller` | What waits for the events of all sources, by a call to the system. |
//! | `Pool` | The threads for calls that block. |
//! | `Presence` | Whether the root of a `block_on` is awake. |
//! | `Primitive` | A lock, a channel or something else by which tasks wait for each other. |
//! | `Pushed` | What a push has found in the wake channel: nothing, or other tasks. |
//! | `Pusher` | The thread that queues a task, and why. |
//! | `Queue` | Where a hot task waits for a worker. |
//! | `Quiescent` | A runtime is quiescent while all its tasks and threads wait. |
//! | `Quiet` | A runtime is quiet when no task is alive. |
//! | `Readiness`, `Ready` | What the system has reported of a source, and no task has used up. |
//! | `Reason` | Why a task is queued. |
//! | `Record`, `Recorder`, `Recording` | Threads note what happens and when, while that is wanted. |
//! | `Registration` | The entry of a source with the driver. |
//! | `Registry` | The list of a worker's tasks that have been cold, for the end of the runtime. |
//! | `Remaining` | Whether other threads are still counted when one is counted out. |
//! | `Ring` | The last records of one thread. |
//! | `Role` | What the calling thread is to a scheduler, such as a worker. |
//! | `Root` | The future that is given to `block_on`. |
//! | `Runner` | The thread that polls a task, as the task sees it. |
//! | `Running` | Which task a thread polls, for other threads to read. |
//! | `Samples` | The few polls and waits of a worker that are timed. |
//! | `Schedule` | What a task asks of its scheduler: to be queued. |
//! | `Search` | Whether a worker counts as one that looks into the queues of the others. |
//! | `Seat` | The right to wait in the poller, which one thread has at a time. |
//! | `Shard` | The timers of one worker, under one lock. |
//! | `Signal` | A flag that is set once, and the futures that wait for that. |
//! | `Slab` | A table whose entries are found by number. |
//! | `Sleep` | What a thread does while it is parked, or waits in the poller. |
//! | `Slot` | What the other workers see of one worker; the next slot has one task, which runs next. |
//! | `Snapshot` | What the watchdog sees at one look, of all workers or of one. |
//! | `Sought` | What a worker's next sample is of. |
//! | `Source` | What the poller can wait for, such as a socket. |
//! | `Spin` | A thread that wants a lock spins: it tries for some microseconds before it sleeps. |
//! | `Stage` | What a task's memory holds: the future, its output, or nothing. |
//! | `Stall` | How long a worker has been in one poll. |
//! | `Staying` | Which workers stay, and whether they record what they do. |
//! | `Stealer` | The thieves' end of a worker's queue. |
//! | `Step` | What a free thread of the blocking pool does next. |
//! | `Task` | A future that the runtime polls, with its handles and its output. |
//! | `Timer` | A deadline, and the waker that is called when it has passed. |
//! | `Traces` | What an observer does while a poll notes where its task waits. |
//! | `Unpark`, `Unparker` | Ends the sleep of a parked thread, or prevents the next one. |
//! | `Unparked` | What has ended a worker's park. |
//! | `User` | A runtime, to the depots: they keep free memory while there is one. |
//! | `Wake`, `Woken` | Makes a cold task hot, or has a hot one polled once more. |
//! | `Watchdog` | The driver thread: helps where polls take long, also by fetching events. |
//! | `Wheel` | Timers in buckets, ordered by their deadlines. |
//! | `Word` | An atomic number whose parts are changed together. |
//! | `Worker` | A thread that runs tasks. |

pub(crate) mod abort;
pub(crate) mod ended;
pub(crate) mod impls;
pub(crate) mod location;
pub(crate) mod nanos;
pub(crate) mod recycler;
pub(crate) mod rng;
pub(crate) mod scoped;
pub(crate) mod slab;
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
pub(crate) mod recorder;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod blocking;
#[cfg_attr(target_family = "wasm", path = "engine/driver/wasm.rs")]
pub(crate) mod driver;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod scheduler;
