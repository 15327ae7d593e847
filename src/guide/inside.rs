//! How the runtime works inside, with drawings.
//!
//! This page is for readers who know tokio, or have written an executor, and want to know how this one works.
//! It describes the code at the time of writing, and promises nothing: a number, a queue or an order that is
//! named here may be another one in the next version. The promises are in the documentation of the items, for
//! instance under [fairness](crate::task#fairness). The proofs are in the headers of the source files; the
//! last section says in which. Where nothing else is said, the page is about the runtime with workers.
//!
//! # The parts
//!
//! ```text
//!    other threads              workers, one per CPU             the system
//!
//!    spawn --> injector ----->  worker 0
//!                                 next slot                      sockets   clock
//!    wake --------------------->  wake channel                        \   /
//!                                 ready deque      <--+               poller
//!                                 yielded deque       |                 |
//!                                                     | steals         seat
//!                               worker 1              | half     one thread at a time:
//!                                 next slot           |          an idle worker, or else
//!    wake --------------------->  wake channel        |          the driver thread
//!                                 ready deque      <--+
//!                                 yielded deque
//! ```
//!
//! A *worker* is a thread that polls tasks. It has
//!
//! - a *next slot*, which holds the one task that is to run next,
//! - a *ready deque*: tasks that have been spawned or woken, first in, first out,
//! - a second deque for tasks that have *yielded*: by [`yield_now`](crate::task::yield_now), at the end of
//!   their budget, or by waking themselves. It also holds *long* tasks: ones whose recent polls have kept
//!   others waiting. When such a task is spawned or woken, it queues here,
//! - a *wake channel*: tasks that were woken by threads that are not workers.
//!
//! New tasks from such threads arrive in the *injector*, which all workers share. The *driver* is the poller
//! of the system together with the timers. One thread at a time waits for it: the one in the *seat*.
//!
//! A worker looks for a task in this order: next slot, ready deque, its own wake channel, injector, tasks
//! that have yielded, the deques of the other workers. When it finds none, it takes the seat if the seat is
//! free, and sleeps. Two exceptions keep this order fair. After three tasks in a row from the next slot, the
//! ready deque comes first. And a worker that always has work looks at its wake channel and at the injector
//! all the same, between two tasks.
//!
//! # The life of a task
//!
//! ```text
//!    spawn: one allocation
//!      |
//!      v
//!    queued  <----------------------------------------+---------------------+
//!      |                                              |                     |
//!      | a worker takes it                            |                     |
//!      v                                              |                     |
//!    running  --- Pending, but woken in between ------+                     |
//!      |   |                                                                |
//!      |   +----- Pending ------------------------>  cold  ----- wake ------+
//!      |
//!      | Ready
//!      v
//!    complete: the output lies where the future was, and the JoinHandle is woken
//! ```
//!
//! A task that is queued or running is *hot*. A task that waits is *cold*: it is in no queue, and no worker
//! looks at it.
//!
//! A task is one piece of memory: a header of 72 bytes (on a 64-bit machine), and behind it the future, in
//! whose place the output comes later. One word of the header says what the task is doing. It has the bits
//! `SCHEDULED` (the task is hot), `WOKEN` (it was woken once more while hot), `CANCELLED`, `COMPLETE`, two
//! for the `JoinHandle`, and three kinds for insight: `SEEN` (an observer has found the task cold, and it has
//! not run since), `TRACED` (its next poll notes where it waits) and `FOLLOWED` (three bits: the wait from
//! the next wake to its poll is measured). Above the bits is the reference count. During a life, this happens
//! to it:
//!
//! | step | the word | atomic read-modify-writes |
//! |---|---|---|
//! | `spawn` | begins with `SCHEDULED` set | 0 |
//! | the first poll begins | stays as it is | 0 |
//! | the poll returns `Pending` | `SCHEDULED` is cleared: the task is cold | 1 |
//! | a wake | `SCHEDULED` is set: the thread that wakes the task queues it | 1 |
//! | another wake, before the poll | `WOKEN` is set, and that is all | 1 |
//! | the next poll begins | `WOKEN` is cleared if it is set: this poll answers both wakes | 0 or 1 |
//! | a wake during the poll | `WOKEN` is set | 1 |
//! | the poll returns `Pending` | `WOKEN` is cleared, and the task is queued again | 1 |
//! | the poll returns `Ready` | the output is stored, `COMPLETE` is set: later wakes do nothing | 1 or 2 |
//!
//! (The last step takes 2 if a task waits for the `JoinHandle`.) `SCHEDULED` stays set while the task runs.
//! So a wake and the poll that answers it change the word twice, and not more often.
//!
//! Before a task goes cold for the first time, it enters a list, the *cold registry* of the worker that
//! polled it. The end of the runtime walks these lists to find the tasks that wait, and drops them. A task
//! that never waits never enters a list, and so never takes its lock.
//!
//! New tasks go to the ready deque of the worker that spawns them, and never to its next slot. So on a single
//! worker tasks start in the order in which they were spawned. All other threads, those in `block_on` too,
//! spawn into the injector, and a worker is awake to see the task when the spawn returns: the root future may
//! block its thread next.
//!
//! # The life of a wake
//!
//! ```text
//!    waker.wake()
//!      |
//!      |  one read-modify-write on the task's word
//!      |
//!      +--- complete -----> nothing
//!      +--- hot ----------> nothing more: the poll that is due, or one more, answers
//!      +--- cold ---------> the task is hot now, and this thread queues it:
//!             |
//!             |    this thread is                     the task goes to
//!             +--- a worker in the poll of a task     its own next slot
//!             +--- a worker that fetched an event     its own ready deque
//!             +--- the driver thread                  the wake channel of the task's home worker
//!             +--- any other thread                   the wake channel of the task's home worker
//! ```
//!
//! **From a task.** Task A sends a message to task B. The worker that polls A adopts B, whichever worker
//! polled B before: the message is in the cache of this core. B goes to the next slot and runs right after A.
//! If another task was in the slot, it goes to the back of the ready deque. When one call wakes many tasks,
//! such as [`notify_waiters`](crate::sync::Notify::notify_waiters), all of them go to the ready deque, in
//! order, and another worker is woken, which steals half of them. (No worker is woken if the tasks are cheap,
//! less than 1 µs each and 1 ms in all: they finish here sooner than another core could fetch them.)
//!
//! **From an event or a timer.** This is the usual way in a server. An idle worker sits in the seat. It
//! fetches the events, puts the tasks into its own ready deque, and runs the first one. If there are more, it
//! wakes another worker, which steals half of them. (For timers alone it does not, if it can run their tasks
//! within 200 µs.)
//!
//! **From the driver thread.** It sits in the seat while all workers are in long polls, and it polls no
//! tasks. It sorts the tasks by their *home*, which is the worker that polled the task last. It links those
//! of one home to a chain, and sends each worker its chain with one compare-and-swap.
//!
//! **From a foreign thread**: one of a thread pool, of a C library, of another runtime. This is the longest
//! way:
//!
//! ```text
//!    foreign thread                                home worker
//!                                                  asleep, by itself or in the seat
//!    the task's word: cold -> hot
//!    pushes the task to the wake channel, which
//!      was empty
//!    SeqCst fence
//!    finds that the worker is parked, unmarks it
//!    wakes it: by a futex, or in the seat by a
//!      write to an eventfd
//!                                                  awake
//!                                                  takes all that is in the wake channel
//!                                                  polls the task
//! ```
//!
//! The push allocates nothing, because the link of the list is a field of the header. If the home worker is
//! awake, it sees the channel before one of its next tasks. But it may be in a long poll; so another worker
//! is woken, if one is parked, and may take all that is in the channel.
//!
//! The root future of `block_on` is no task: its wake unparks the thread that is in `block_on`.
//!
//! ## Which thread is woken
//!
//! To wake a thread costs more than all of the above together. So a thread that queues a task asks whether
//! any thread is awake that will find it:
//!
//! | a task was queued | which worker is woken |
//! |---|---|
//! | by a worker that has no other task to run | none: it runs the task itself |
//! | by a worker that has others to run | a parked one, unless a worker is searching |
//! | in a wake channel that was empty | the home worker if it is parked; else as above |
//! | in a wake channel that was not empty | none: the thread that queued the first task there does it |
//! | in the injector, or by the thread in `block_on` | a parked one, unless a worker is searching |
//!
//! A worker is *searching* while it looks into the queues of the others. Only one does so at a time (one per
//! 48 workers). When it has found a task and sees more, it wakes the next worker. So a burst of tasks wakes
//! one worker after the other, as long as there is something left for the next, and a single task wakes at
//! most one.
//!
//! A wake could be lost at one moment: when a worker has looked at all queues and is about to sleep. Both
//! sides therefore announce first and look second:
//!
//! ```text
//!    thread outside:    queue the task       SeqCst fence    is a worker parked? wake it
//!    worker:            "I am parked"        SeqCst fence    is a task queued?   else sleep
//! ```
//!
//! One of the two fences comes first. If it is the upper one, the worker sees the task. If it is the lower
//! one, the thread outside sees that the worker is parked. A worker that queues a task for itself needs no
//! fence: it is awake and will run the task, so the worst that an old answer costs is that a parked worker
//! sleeps on while it could have helped.
//!
//! # From a packet to a poll
//!
//! A task waits in `stream.read(&mut buffer).await`, and all workers are idle. One of them sits in the seat.
//!
//! ```text
//!    system              worker in the seat                   task
//!
//!    packet arrives
//!      |
//!      +---------------> epoll_wait returns
//!                        writes "readable" into the socket's
//!                          word, and counts the event
//!                        collects the wakers of the readers
//!                        collects the wakers of due timers
//!                        leaves the seat
//!                        calls the wakers: the tasks are hot
//!                          now, in its own ready deque
//!                        takes the first ------------------>  poll
//!                                                             "readable" is set
//!                                                             takes a unit of its budget
//!      <----------------------------------------------------  read: fewer bytes than asked for
//!                                                             clears "readable", if no event
//!                                                               has been counted meanwhile
//!                                                             .. the program's code ..
//!      <----------------------------------------------------  write
//!                                                             reads once more: "readable" is not
//!                                                               set, so it leaves its waker
//!                        <----------------------------------  Pending: the task is cold
//!                        finds no task
//!                        takes the seat
//!      <---------------- epoll_wait
//! ```
//!
//! No other thread had a part in this, and on Linux there were three system calls: wait, read, write. Four
//! rules make it work:
//!
//! - A socket is registered once, edge-triggered. What the system has reported stays in the socket's word. So
//!   an event that comes while no task waits is not lost: the next read finds the bit, and does not wait.
//! - A read asks the system only while the bit is set. A socket that is known to be empty costs no system
//!   call.
//! - A task that has used up what was there clears the bit, but only if no event was counted since it looked
//!   at the bit. So an event that comes between the system call and the clearing is not forgotten.
//! - No waker is called before the thread has left the seat and released all locks. A waker may run code of
//!   the program, and a task takes its time; the next events must not wait for either.
//!
//! Timers go the same way. Each worker has a *timer wheel* of its own: to set or to drop a timeout takes a
//! lock that no other worker takes for its timeouts. But the thread in the seat fires what is due in all
//! wheels, so the timers of a busy worker do not wait for it.
//!
//! # Pull, not push
//!
//! A scheduler that *pushes* decides for each task which worker runs it. To decide well it has to know what
//! each worker is doing, and by the time it has found out, this has changed. Here a task stays where it
//! became ready, and a worker without tasks *pulls*: it takes half of another worker's deque in one go. It
//! follows that
//!
//! - the common case is local: to spawn, to wake and to take a task touches the queues of one worker only;
//! - the work of spreading the load is done by the workers that have nothing else to do;
//! - no task belongs to a worker: when a poll takes long, other workers take what is queued behind it;
//! - workers come and go at any time
//!   ([`Handle::set_worker_threads`](crate::runtime::Handle::set_worker_threads)): a worker that leaves moves
//!   its queued tasks to queues that all share, and has nothing else to hand over.
//!
//! Two pieces of pushing are left. A thread that queues a task may wake a worker, which then pulls. And a
//! wake from outside goes to the home worker, whose cache may still hold the task; but any idle worker may
//! pull it from there.
//!
//! # Hot and cold: two kinds of reference
//!
//! ```text
//!    hot                            counted                         cold registry
//!    one at most                    in the task's word              one at most
//!
//!    held by a queue, or            wakers, JoinHandle,             from the first time
//!    by the thread that polls       AbortHandles, and one for       that the task is cold,
//!         |                         "not complete yet"              until it is complete
//!         |                              |                               |
//!         v                              v                               v
//!       +----------+------------------------------------------------------------+
//!       |  header  |  the future, later its output                              |
//!       +----------+------------------------------------------------------------+
//! ```
//!
//! A hot task is a value that can be moved and not copied. The thread that makes a task hot makes this value,
//! and only its owner may touch the future. So the compiler checks that a task is in one queue at most, and
//! that no two threads poll it. To steal a task is to move a pointer.
//!
//! The counted references never touch the future. They can wake the task, abort it, and take its output. So
//! the waker of a task whose future is not [`Send`] may go to any thread. The cold registry can do no more
//! than abort.
//!
//! Hot and cold are states of one task, then, and not two collections. The obvious first design is a map from
//! ids to cold tasks in each worker. It moves each task twice per wake, out of the map and back. And it ties
//! the task to the worker: while that is in a long poll, no other worker can run the task, although it has
//! been woken.
//!
//! # A waker is a pointer, and what its id is for
//!
//! A waker consists of two words: a pointer to the task's header, and a pointer to a table of functions. All
//! tasks share that table; only the waker that a traced poll borrows has another one. So a task has the same
//! waker all its life, whichever worker polls it:
//!
//! ```
//! use std::future::poll_fn;
//! use std::task::{Poll, Waker};
//! use std::time::Duration;
//!
//! async fn waker() -> Waker {
//!     poll_fn(|cx| Poll::Ready(cx.waker().clone())).await
//! }
//!
//! # liten::block_on(async {
//! let task = liten::spawn(async {
//!     let first = waker().await;
//!     liten::time::sleep(Duration::from_millis(1)).await;
//!     assert!(first.will_wake(&waker().await));
//!     first
//! });
//! let kept = task.await.unwrap();
//! // The task is complete. A late wake looks at its word, and does nothing.
//! kept.wake();
//! # });
//! ```
//!
//! So [`will_wake`] compares two words, to clone a waker is to add one to a count, no poll allocates, and no
//! wake looks anything up. With a new `Arc` for each poll, or with an id that is the key to a map, all this
//! would cost something, and a waker could be stale: its task may be gone, or with another worker. A pointer
//! is never stale, because the waker holds a reference. A waker that is kept for ever keeps the memory of the
//! task, but not its future, which is dropped when the task ends.
//!
//! The header also contains the [`TaskId`](crate::task::TaskId). The scheduler never finds a task by it. The
//! id is for people and their logs: it is in [`task::id`](crate::task::id), [`JoinHandle::id`],
//! [`JoinError::id`], in the list of [running tasks](crate::runtime::RuntimeMetrics::running_tasks), and in
//! the warning about a poll that blocks. It is unique in the process: no later task gets the id of one that
//! is gone. Each thread takes a range of ids at a time, so the ids do not tell the order of spawns.
//!
//! [`JoinHandle::id`]: crate::task::JoinHandle::id
//! [`JoinError::id`]: crate::task::JoinError::id
//! [`will_wake`]: std::task::Waker::will_wake
//!
//! # One event loop or several: the seat
//!
//! A runtime has one poller. The *seat* is the right to wait in it, and one thread at a time has it:
//!
//! ```text
//!    the workers are           in the seat is
//!
//!    idle, at least one        one of the idle ones, asleep in the poller; the others sleep outside
//!    busy with short polls     each of them now and then, without waiting: after 61 polls,
//!                              or fewer if these take more than some 200 microseconds
//!    busy with long polls      the driver thread, until a worker is idle
//! ```
//!
//! *Why not a thread that does nothing else?* It would have to hand each event over to another thread. With
//! few connections this hand-over takes up to a third of a whole request. When a worker fetches the event,
//! the task runs on the thread that fetched it.
//!
//! *Why not a poller for each worker?* Each socket would belong to one worker. While that is in a long poll,
//! no thread fetches the socket's events. And when another worker steals the task, its events still come to
//! the first one. With one poller, the events of all sockets are fetched by any thread that has time.
//!
//! *Is the seat not a bottleneck?* A round in the seat fetches up to 256 events and the timers that are due.
//! It ends before the first task runs, and then the next thread can take the seat.
//!
//! *What if the seat stays empty?* This happens when the worker that leaves it with an event finds a task
//! that computes for long, and the others are busy as well. For this there is the *driver thread*. While
//! there is work, it looks at all workers every 0.5 to 4 ms, and takes the seat when it finds it empty twice.
//! So an event may wait for 8 ms to be fetched in the worst case, and for 1 ms while the workers are known to
//! be in long polls. The same thread sees what is queued behind a long poll. It wakes a parked worker, or
//! lets busy workers take these tasks, or starts a spare worker. When all workers sleep, it sleeps, too. A
//! runtime that has had no task and no event does not have this thread yet.
//!
//! *What becomes of the thread of a spare worker?* It rests when the spare has not been needed for a quarter
//! of a second, and is called back when the next one is. It does not end before the runtime does, because
//! what a task has done to it, such as starting a child that is to die with it, must last as long as on any
//! other worker.
//!
//! A program that wants several event loops makes several runtimes. Each has a poller, timers and workers of
//! its own.
//!
//! # What `Send + 'static` costs
//!
//! [`spawn`](crate::spawn) asks for [`Send`] because any worker may poll the task. It asks for `'static`
//! because nothing can force the caller to wait: it may return while the task is alive, and even a guard that
//! waits in its destructor can be leaked. The price:
//!
//! | what | paid by |
//! |---|---|
//! | `Arc` and `Mutex` instead of `Rc` and `RefCell`, clones instead of borrows | the program |
//! | an atomic read-modify-write to take a task from a queue that others can steal from | the worker |
//! | a fence, and a look at the parked workers, to queue a task from outside | the thread outside |
//! | cache misses after a task has been stolen | the task |
//!
//! What would one thread be like? [`LocalRuntime`](crate::runtime::LocalRuntime) is such a runtime. Its tasks
//! need not be `Send`, and no thread steals them. Their queue is a `VecDeque` without a lock. The thread
//! itself waits in the poller when it has no task to run. One cost remains: a waker is `Send` and `Sync` by
//! its type, and any thread may call it. So the task's word is atomic here, too, and beside the queue there
//! is an inbox with a lock, for wakes from other threads.
//!
//! Its time, divided by that of tokio's runtime on one thread (on two CPUs; `benches/README.md` says how it
//! was measured):
//!
//! | on one thread | liten / tokio |
//! |---|---|
//! | two tasks wake each other over an `Rc`; with tokio, in a `LocalSet` | 0.57 |
//! | the same with `Send` tasks, over an `Arc` with a `Mutex` | 0.75 |
//! | tasks are spawned and joined, one after the other | 0.58 |
//! | a runtime starts, blocks on an empty future, and is dropped | 0.83 |
//! | TCP connections are made and closed | 0.97 |
//!
//! Look at the first two rows. The lock in the channel of the second one takes more time than liten does. So
//! in this row it is the program that pays most for `Send`, and less the runtime. The last row shows where
//! neither matters: in a server most of the time is the system's. The limit there is a loop written by hand
//! for one thread, which polls and answers and knows no tasks. liten on two workers needs up to 20 % more
//! processor time than such a loop to echo a message or to answer an HTTP request.
//!
//! What one thread cannot do is help itself. While one task computes, no socket is read, no timer fires, and
//! no other thread takes what is queued. Two ways lie in between:
//!
//! - [`spawn_pinned`](crate::task::spawn_pinned) keeps a task that is not `Send` on one thread beside the
//!   workers. A [`LocalExecutor`](crate::task::LocalExecutor) runs many of them inside one future. Its tasks
//!   may even borrow from the function that made the executor: when the executor is dropped, it drops them.
//! - [`task::scope`](crate::task::scope) runs closures that borrow, on the blocking pool, and blocks until
//!   they have ended. There is no such scope for futures. It would be a future itself, which can be leaked:
//!   then its tasks would go on with what they have borrowed, after that is gone.
//!
//! # What each word means
//!
//! liten was begun from a short description: *a scheduler spawns one worker per CPU; each worker has a local
//! FIFO deque and splits its tasks into hot and cold; workers pull from a global injector and steal batches
//! from peers; a dedicated I/O driver thread and a timer wheel unpark workers through task-id wakers that
//! feed each worker's wake channel; a `JoinHandle` is fed by a one-shot.* For each of these words there is an
//! obvious way to build it that is slow, or wrong. This is what the words mean here, and why:
//!
//! - **One worker per CPU**: as many as there are CPUs for the process, and a spare one while all of them are
//!   in long polls. Without it, nothing runs when each of them blocks.
//! - **Local FIFO deque**: two of them, one for tasks that are ready and one for tasks that have yielded.
//!   Those run when no task is ready, and now and then even so. With a single deque, an event waits for one
//!   poll of each task that computes.
//! - **Hot and cold**: states in one word of the task. Two collections would move the task twice per wake,
//!   and tie it to a worker.
//! - **Global injector**: for tasks that are spawned outside the workers, taken in batches. If each spawn
//!   went there, all workers would compete for it.
//! - **Steal batches**: half of a deque, 128 tasks at most, and one worker at a time searches. If all idle
//!   workers searched, they would get in each other's way, and all would wake for one task.
//! - **Dedicated driver thread**: it fetches events while no worker can. If it fetched all of them, each
//!   event would cost a change of threads. If it did not exist, no thread would fetch events beside workers
//!   that block.
//! - **Timer wheel**: one for each worker, all of them fired by the thread in the seat. With a single wheel,
//!   each timeout would take the same lock. If each worker fired its own, the timers of a busy worker would
//!   be late.
//! - **Unpark workers**: one of them, and only if no thread that is awake will find the task. If a push woke
//!   all, most would find nothing, and go back to sleep.
//! - **Task-id waker**: a pointer to the header, which contains the id. A key to a map costs a lookup per
//!   wake; an `Arc` for each poll costs an allocation.
//! - **Wake channel**: a list whose links are in the tasks, for wakes from outside the workers. Any worker
//!   may take all of it. If only its own worker could, a woken task would wait for the end of a long poll.
//! - **One-shot**: the place of the future, where the output comes to lie, and a place for one waker. A
//!   channel of its own would cost each task one more allocation.
//!
//! # Questions that five articles left open
//!
//! liten was written from the promises, wishes and mistakes of five articles about async runtimes. These are
//! the questions that they leave open, with the answers of this code. `tests/README.md` in the repository
//! names the tests.
//!
//! *Building an async runtime with mio*:
//! - **How does a reactor end that lives in a `static`?** Here it does not live there. The driver belongs to
//!   a runtime, and a runtime is a value: to drop it ends its threads and closes its poller.
//! - **Could several threads run the tasks?** Yes, each with queues of its own, from which the others steal.
//! - **What if the queue is full?** No queue of the scheduler has a bound, so no thread waits for room. A
//!   program that wants a bound takes a [`Semaphore`](crate::sync::Semaphore) or a bounded channel.
//! - **Should a task always leave its waker, needed or not?** It need not. Events are remembered whether a
//!   task waits or not, so a task leaves its waker only when it has no event to use up.
//! - **Can a server run without allocating?** Its tasks can: after the spawn, their polls, wakes, timers and
//!   operations on sockets allocate nothing.
//!
//! *Making a multithreaded Rust async runtime*:
//! - **Can workers come and go while it runs?** Yes, because [no task belongs to a worker](#pull-not-push).
//! - **How near does this design come to tokio's scheduler?** `benches/README.md` has the figures, also of
//!   the rows that missed their goals.
//!
//! *Designing an async runtime for WASI 0.2*:
//! - **Should `Context` carry the reactor?** It need not. A future finds the runtime of the thread that polls
//!   it. On a thread that has [entered](crate::runtime::Handle::enter) a runtime, sockets and timers also
//!   work under the executors of other crates.
//! - **Does a program need tasks at all?** Not to wait for several things at once: [`join!`](crate::join!)
//!   and the combinators of other crates do that in a single future. Tasks are for several cores.
//! - **What about systems that complete operations, as WASI 0.3 does?** The module `wasi` asks its host only
//!   whether an operation can go on. A test runs it on a host that completes operations.
//!
//! *Tokio internals*:
//! - **Does a socket that always has data starve the others?** No. A task may complete 128 operations in a
//!   poll, or move some 256 KiB. Then it yields to the tasks that are ready.
//! - **Are ten sockets in a `join_all` all polled for each packet?** Yes, by a plain join. In a
//!   [`FuturesUnordered`](crate::future::FuturesUnordered), or in a task each, only the one that was woken.
//! - **Must one datagram cost two turns of the event loop and a write to a pipe?** No. The thread that
//!   fetches the event also runs the task, so it need not wake itself: one turn, and no write.
//! - **Can the event loop run on several threads?** On any of them, [one at a
//!   time](#one-event-loop-or-several-the-seat).
//!
//! *Writing an async runtime in Rust*:
//! - **What about files, and the names of hosts?** A poller says nothing useful about a file. Files go to the
//!   blocking pool, and so does the resolution of names.
//! - **What would a runtime without `Send + 'static` be like?** [Like this](#what-send--static-costs).
//! - **When has everything completed?** When no task is alive. The runtime counts tasks and not events, so
//!   [`block_until_completion`](crate::runtime::Runtime::block_until_completion) also waits for a task that
//!   only a foreign thread will wake.
//! - **How long may a sleep be?** Any [`Duration`](std::time::Duration) will do. One that leads beyond what
//!   an `Instant` can say counts as 30 years.
//!
//! # Where to read on
//!
//! The engine is the folder `src/engine`. The file `src/engine.rs` is its map: its modules, in an order in
//! which they can be read, and its words.
//!
//! | question | file |
//! |---|---|
//! | Which states has a task? | `src/engine/task/state.rs`, `src/engine/task/cell.rs` |
//! | What is a waker made of? | `src/engine/task/waker.rs` |
//! | Why is no wake lost? | `src/engine/scheduler.rs` |
//! | Where does a worker look for tasks? How long may one wait? | `…/scheduler/worker/next_task.rs` |
//! | Which worker is woken? | `src/engine/scheduler/idle.rs` |
//! | What happens behind a long poll? | `src/engine/scheduler/watchdog.rs` |
//! | How is a scheduler observed? | `src/engine/scheduler/probe.rs`, `src/observe.rs` |
//! | How does a thread wait for events? | `src/engine/driver.rs`, `src/engine/driver/poller.rs` |
//! | Why is no event lost? | `src/engine/driver/readiness.rs` |
//! | How do timers work? | `src/engine/driver/timers.rs`, `src/engine/driver/wheel.rs` |
//! | How does it work on one thread? | `src/runtime/local/queue.rs`, `src/runtime/local_runtime.rs` |
