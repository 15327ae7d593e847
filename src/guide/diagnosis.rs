//! What is wrong with my service? What insight says of the usual illnesses, and what to do.
//!
//! A program that is started with `LITEN_INSIGHT=127.0.0.1:0` in its environment, or that calls
//! [`insight::serve`](crate::insight::serve), writes the address of a page about itself to standard error. So
//! does a program that uses tokio, if the package named `tokio` is liten's: it needs no change for that.
//! The page begins with sentences that say what is wrong. By `curl` the same is at `/text`:
//!
//! ```text
//! $ LITEN_INSIGHT=127.0.0.1:0 ./my-service
//! insight on http://127.0.0.1:41237/#6c0c1f4a9d0b4e2f8a7d5b3c1e9f2a4b
//!
//! $ curl -H 'Authorization: Bearer 6c0c1f4a9d0b4e2f8a7d5b3c1e9f2a4b' http://127.0.0.1:41237/text
//! ! worker 1 has been in one poll for 1575 ms: task 10, spawned at src/main.rs:20:14, …
//! ```
//!
//! The package `liten-top` draws the same in a terminal, once a second. With the layer of the package
//! `liten-tracing`, the sentences name the `tracing` spans of a task, such as the request that it answers.
//! The example `opentelemetry` sends a span for each task, and the runtime's metrics, to a collector.
//!
//! The page also answers while the program has no descriptor left ("too many open files"): it keeps some.
//!
//! Some sentences need several looks in quick succession, over ten seconds or so: those on the page come by
//! themselves; with `curl`, ask, and ask again a little later. For half a minute after a request the page's
//! thread looks many times a second.
//!
//! From the time on at which the page is opened, its thread looks once in five seconds, also while no
//! request comes, and for some seconds after that at the workers if they begin very many polls. So the
//! first answer says for how long tasks have waited. That is counted from the first look at a task, and not
//! from the begin of its wait.
//!
//! "Proven" means that it cannot be otherwise; a deadlock by locks is "proven unless a guard was given to
//! another task". "Suspected" means that it looks like that, and that a healthy program can look like that,
//! too.
//!
//! | it says | it is | to try |
//! |---|---|---|
//! | [has been in one poll for](#a-worker-is-blocked) | a call that blocks | `sick_blocked_worker` |
//! | [2 tasks wait for each other](#tasks-wait-for-each-other) | a deadlock by joins | `sick_join_deadlock` |
//! | the same, with a Mutex | a deadlock by locks | `sick_lock_deadlock` |
//! | [proven: no waker](#a-waker-was-dropped) | a future that loses its waker | `sick_dropped_waker` |
//! | [become more and more](#tasks-become-more-and-more) | tasks that nothing ends | `sick_spawn_leak` |
//! | [more and more messages](#a-channel-becomes-longer-and-longer) | a receiver is slow or stuck | |
//! | [have allocated becomes more](#memory-becomes-more-and-more) | memory that is kept | |
//! | [times a second](#a-task-wakes-itself) | a busy loop | `sick_self_wake_storm` |
//! | [wait for a Mutex](#tasks-have-waited-for-long) | a task holds for long what others need | |
//! | [the future of block_on](#a-thread-that-is-no-worker-is-blocked) | a call that blocks elsewhere | |
//! | [nothing has polled it](#a-thread-that-is-no-worker-is-blocked) | a `LocalSet` that is not run | |
//! | [panicked](#tasks-have-panicked) | a panic that nothing has looked at | |
//! | [too many open files](#the-process-has-no-descriptor-left) | descriptors are used up | |
//! | [threads of the blocking pool](#the-blocking-pool-is-full) | too much blocking work | `sick_full_pool` |
//! | [has waited for 12 s at least](#a-peer-is-silent) | no answer comes | `sick_silent_peer` |
//! | [failed to connect](#connections-fail) | a loop that tries again at once | |
//! | [have not been accepted](#connections-are-not-accepted) | the task that accepts does something else | |
//! | [at the end of a stream](#the-end-of-a-stream-is-overlooked) | a loop that does not end | |
//! | [lies unread](#both-ends-write) | requests that are all sent before an answer is read | |
//! | [passes from task to task](#a-lock-passes-from-task-to-task) | a lock that is held for too long | |
//! | [closed by their peers](#peers-have-closed-their-connections) | connections that nothing closes | |
//! | [worth a look](#nothing-is-found) | what no rule knows | |
//! | [in the last minute](#a-worker-is-blocked) | the same, and it is over | |
//! | [nothing, for it is over](#it-was-last-night) | what a flight recorder has kept | |
//!
//! The names in the last column are examples in the repository, each with that illness:
//! `cargo run --example sick_blocked_worker` runs for a minute and says where its page is.
//!
//! # A worker is blocked
//!
//! > worker 1 has been in one poll for 1575 ms: task 10, spawned at examples/sick/blocked_worker.rs:20:14, in
//! > the system call recvfrom(fd 21 → socket:\[257607\]), called by std::io::Read::read_exact in
//! > sick_blocked_worker::first_byte at examples/sick/blocked_worker.rs:30; use spawn_blocking, or yield more
//! > often
//!
//! The sentence names the place of the spawn and, on Linux, what the thread is in. On x86-64 it also names
//! the function of the program that is blocked, and what that function has called, or the one in which a
//! thread that computes is seen at this moment; the line is there if the program is built with line tables
//! (`debug = "line-tables-only"` in its profile). The system calls recvfrom, read and clock_nanosleep block:
//! use what liten has instead, or [`spawn_blocking`](crate::spawn_blocking). "futex" is a lock of std, often
//! one that is held for long by another thread: of several workers in it, one is named for each place, and a
//! worker that is in something else says how many wait so. "computes" is a loop:
//! [`yield_now`](crate::task::yield_now) in it, or `spawn_blocking`. "waits for a processor" is no fault of
//! the task: other threads or a limit of the container take the processors. The other tasks go on meanwhile,
//! on other workers; [`blocking`](super::blocking) says how far.
//!
//! A block that is over is still named. In the minute after it, a sentence below the findings says so:
//!
//! > in the last minute 3 slow polls have ended; the longest: worker 1 was held up for 204 ms until 5 s ago:
//! > task 10, spawned at examples/sick/blocked_worker.rs:20:14, in the system call clock_nanosleep; use
//! > spawn_blocking, or yield more often
//!
//! It has the function, too, if the page has met the poll while it was slow: after slow polls, the page looks
//! more closely for a while, at those in system calls. Of polls that have waited for a lock it may also have
//! the blocking work that was in a system call meanwhile, and went on when the poll did.
//!
//! Only workers are looked at here; [other threads](#a-thread-that-is-no-worker-is-blocked) have a sentence
//! of their own.
//!
//! "The last slow polls" has the last 16, however long ago they were:
//! [`Dump::slow_polls`](crate::insight::Dump::slow_polls). The runtime keeps them from its start on, so it
//! does not matter when the page is opened.
//!
//! # Tasks wait for each other
//!
//! > 2 tasks wait for each other: deadlock, proven: task 10, spawned at examples/sick/join_deadlock.rs:20:22,
//! > waits for task 11; task 11, spawned at examples/sick/join_deadlock.rs:24:22, waits for task 10
//!
//! None of them ever goes on. With handles: let a third task wait for both, or wait for a message in place of
//! an end. With locks ("waits for a Mutex … held by task 11"): take them in one order everywhere, put what
//! they guard under one lock, or do not hold one while you wait for the other. Proven it is only for tasks
//! that wait for nothing else; see [`Finding::Deadlock`](crate::insight::Finding::Deadlock). With
//! [`lock_owned`](crate::sync::Mutex::lock_owned) it is "suspected": does the task still have the guard, or
//! another one that goes on? So is a circle in which tasks wait for room in full channels, each in that from
//! which the next one receives: receive while you send, or make one of the channels unbounded. Not found are
//! a task that sends to its own full channel, tasks that wait for messages of each other, and locks of other
//! crates: look at what the tasks of the page's table wait for.
//!
//! "Which task waits for which" has these tasks, and below each those that wait for it. The button "tree"
//! says where in its code a task waits; it polls the task once more, see
//! [`Handle::await_tree`](crate::runtime::Handle::await_tree). It has lines only if the program's profile
//! says so, which `release` does not by itself: `debug = "line-tables-only"` or more in `Cargo.toml`.
//!
//! # A waker was dropped
//!
//! > 1 task spawned at examples/sick/dropped_waker.rs:22:14 is stuck, proven: no waker of theirs exists, so
//! > only an abort can end them (sick_dropped_waker::Answer)
//!
//! A future has returned `Pending`, and the waker that it was given is gone without having been called. The
//! type of the future stands at the end. Look for a `poll` written by hand that keeps no waker, for code that
//! forgets wakers (a `Drop` that does not wake), and for [`std::future::pending`]: a task that is meant to
//! wait for ever is named, too.
//!
//! # Tasks become more and more
//!
//! > the waiting tasks spawned at examples/sick/spawn_leak.rs:27:22 become more and more, from 36 to 644 in
//! > 12 s: suspected leak, as if nothing ended them (sick_spawn_leak::main::…)
//!
//! At that place tasks are spawned faster than they end, all the time. Up to two tasks for each connection
//! that the program has accepted meanwhile are not told, because clients may become more; nor are fewer than
//! 200 tasks whose timers end within a minute. If the load grows just now in another way, that is right, too.
//! Otherwise find out what ends them: keep their handles in a [`JoinSet`](crate::task::JoinSet), which
//! aborts them when it is dropped, give them a [`CancellationToken`](crate::task::CancellationToken), or a
//! [`timeout`](crate::time::timeout).
//!
//! # Memory becomes more and more
//!
//! > what the tasks spawned at src/sessions.rs:31:17 have allocated becomes more and more, from 14 MB to
//! > 412 MB in 75 s: suspected leak, or a cache that is still being filled
//!
//! This needs a [`TrackingAllocator`](crate::insight::TrackingAllocator), which is two lines and costs next
//! to nothing. A place is named when it has grown by 64 MB at least, for a minute. The tasks may have ended:
//! what they have allocated is somewhere else, in a map, a cache or a queue that nothing empties. "Memory" at
//! the end of the page, and of `/text`, has the largest places, with what each of them has allocated and not
//! given back.
//!
//! # A channel becomes longer and longer
//!
//! > more and more messages lie in 1 unbounded mpsc channel made at src/events.rs:14:29: from some 4864 to
//! > some 294912 messages in 34 s, 8531 more each second; task 8, spawned at src/events.rs:16:11, received
//! > last, and waits for a Mutex (#5e8ab3b7, awaited at src/events.rs:18:31) held by task 7, for 32.0 s at
//! > least: receive faster, or give it a bound, so that its senders wait
//!
//! The task that is named is too slow, or stuck, and the sentence says in what. If it goes on, but not fast
//! enough, [`recv_many`](crate::sync::mpsc::UnboundedReceiver::recv_many) helps, and other tasks that do the
//! work for it. A [bound](crate::sync::mpsc::channel) passes the delay on to the senders in place of filling
//! the memory. Channels with a bound are not named: their senders wait, and if that
//! [lasts](#tasks-have-waited-for-long), it is told.
//!
//! A program that collects for some time and then takes all of it shall have no such sentence. So it comes
//! after half a minute of growth; after one minute, if no task is known that receives; and after two, if
//! that task waits for a timer again and again. Channels that have been emptied before are named only when
//! they have grown for more than twice as long as then.
//!
//! > more and more tasks lie in 1 JoinSet made at src/main.rs:40:23: from some 970 to some 61200 in 61 s, 987
//! > more each second, of which 12 at most are alive in this runtime; no task is known that has joined one:
//! > unless that is done in the end, call join_next as they end, or use a TaskTracker
//!
//! A [`JoinSet`](crate::task::JoinSet) keeps the output of a task that has ended until `join_next` takes it.
//! A [`TaskTracker`](crate::task::TaskTracker) keeps none. Tasks that the set has in another runtime do not
//! count as alive in this one.
//!
//! "Channels and sets of tasks" has all of them, also those with a bound and those that do not grow, and
//! [`broadcast`](crate::sync::broadcast) channels with the values that their receivers have lost. It has what
//! the program has made since there is a page; with `LITEN_INSIGHT` that is from its start on. The length of
//! an mpsc channel is right to some hundred messages. What was made outside of all runtimes is shown with
//! each of them.
//!
//! # A task wakes itself
//!
//! > task 10, spawned at examples/sick/self_wake_storm.rs:21:14, is polled some 1081404 times a second and
//! > never waits: suspected to wake itself, or always to find more to do; let it wait for an event or a timer
//!
//! The task was never seen to wait, and a worker polls it over and over. Mostly a `poll` calls `wake_by_ref`
//! and returns `Pending`, or a loop calls `yield_now` until something has come. Let it wait for that: by
//! [`Notify`](crate::sync::Notify), a channel, or at least a [`sleep`](crate::time::sleep). A task that
//! always has more messages than it can take looks the same; then it is simply where the time goes.
//!
//! # Tasks have waited for long
//!
//! > 21 tasks wait for a Mutex (#4e1f69e0, awaited at src/session.rs:16:25) held by task 8, the longest for
//! > 23.0 s at least; task 8, spawned at src/session.rs:9:5, waits for a timer in 3576.0 s, for 23.0 s at
//! > least; waiting: 21 spawned at src/session.rs:15:13
//!
//! The number is that of the lock. The place behind it is the call that waits, as of `lock` or `recv`. Of a
//! [`oneshot`](crate::sync::oneshot) channel it is the place where that was made. It is known of most
//! tasks that have begun to wait since there is a page, but not of those that wait in a `poll` function.
//!
//! The chain is followed to its end, which stands before the tasks that wait. The cure is there: do not hold
//! a guard while you wait for a timer or a peer, give back permits on each path, keep receiving. "In the end
//! for" names the last of several tasks of which each waits for the next one, such as actors with full
//! channels. Of a semaphore the sentence says how many of its permits were forgotten, and it comes only if no
//! task has got a permit for ten seconds, or for longer if that took longer before. If as many tasks as there
//! are permits wait at another place than the rest, they perhaps have one each and wait for one more. Of a
//! `RwLock` that a task wants to read twice it says that a writer waits in between. It comes after ten
//! seconds, and only on the page.
//!
//! # A thread that is no worker is blocked
//!
//! > the future of block_on at src/main.rs:2:1 has been in one poll for 5.0 s: computes; use spawn_blocking,
//! > or yield more often
//!
//! What [a worker](#a-worker-is-blocked) must not do, the thread in `block_on` or `#[liten::main]` must not
//! do either, nor that of a [`LocalRuntime`](crate::runtime::LocalRuntime). "has blocked worker 1 in place"
//! names a task in [`block_in_place`](crate::task::block_in_place), and the call of `block_on` in it.
//! "nothing has polled it" is said of a [`LocalSet`](crate::task::LocalSet) whose `run_until` has returned or
//! was dropped.
//!
//! # Tasks have panicked
//!
//! > 1 task spawned at src/orders.rs:6:20 panicked, the last one, task 8, 16 s ago: the message is on
//! > standard error
//!
//! What it has sent or received stands still since then. Its [`JoinHandle`](crate::task::JoinHandle) has the
//! message, too: await it somewhere. Panics are counted from the moment on at which there is a page.
//!
//! # The process has no descriptor left
//!
//! > the process has too many open files, 120 of 120, so that accept, connect and open fail: 89 sockets of
//! > tasks spawned at src/server.rs:12:33; 27 connections to 127.0.0.1:35207 cannot be accepted; …
//!
//! The place is that of the tasks with most sockets. Known on Linux.
//!
//! # The blocking pool is full
//!
//! > all 4 threads of the blocking pool are busy, and 12 jobs wait, the first for 1130 ms; the oldest of what
//! > they do: task 5, spawned at examples/sick/full_pool.rs:22:22, for 1310 ms
//!
//! Files, name resolution and `spawn_blocking` share these threads, so all of them wait now. If the oldest
//! job is old, it is what takes the threads: a job that lasts belongs on a thread of its own. If all are
//! young, there are too many: take several steps in one job, or let a
//! [`Semaphore`](crate::sync::Semaphore) bound them where they come from.
//! [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) is for jobs that wait and do not
//! compute.
//!
//! A job that has been under way for ten seconds is named if another job waits for a thread, or if a task
//! waits for its end while it is blocked in a system call. Other jobs, such as those that compute, sleep or
//! wait for their next message, are only worth a look.
//!
//! # A peer is silent
//!
//! > task 10, spawned at examples/sick/silent_peer.rs:24:14, has waited for 12 s at least for 127.0.0.1:35001
//! > to send something, and for nothing else: suspected silent peer, set a timeout; 1 task from there waits
//! > like this
//!
//! The program has written, and for ten seconds or more there was no event on the connection since. The task
//! has no timer that would end its wait. That the peer should have spoken cannot be seen. Put a
//! [`timeout`](crate::time::timeout) around the wait, because a peer that has gone without a word is never
//! noticed. It is found for TCP on Linux, of connections that the program has opened.
//!
//! Worth a look is a peer that has sent something since the program wrote: it may have stopped in the middle
//! of an answer, or it may have no message for a subscription. So is one to which the program has not
//! written, or writes again and again without an answer.
//!
//! # Both ends write
//!
//! > task 18, spawned at src/import.rs:25:9, has waited for 45 s at least to write to 10.0.0.7:5432, and
//! > what came from there, 127488 bytes, lies unread: suspected deadlock, as if both ends wrote and neither
//! > read; read while you write
//!
//! The buffers between two programs are bounded. A program that sends all its requests before it reads the
//! first answer waits for room, and the other end waits until its answers are read. Read in another task, or
//! by [`join!`](crate::join) beside the writing. Found on Linux, if no task waits to read the connection.
//!
//! # Connections fail
//!
//! > tasks spawned at src/metrics.rs:19:5 have failed to connect 92962 times in 25 s, and have not
//! > succeeded once in that time; the last error: Connection refused (os error 111): suspected to try again
//! > without a pause, unless they look for many peers; let them wait longer after each failure
//!
//! The other end is away, or not where it is looked for. A loop that tries again at once keeps a processor
//! busy, and the other end, too, when it comes back. Wait between two attempts, and longer each time. With
//! fewer than ten failures in a second this is only [worth a look](#nothing-is-found). Attempts over TCP
//! and Unix sockets are counted by the place of the spawn, while there is a page.
//!
//! # Connections are not accepted
//!
//! > 116 connections have not been accepted at 127.0.0.1:7310 for 45 s at least, because task 1040, spawned
//! > at src/server.rs:12:9, which accepts there, waits for readable, fd 33 → 127.0.0.1:46720, for 46.0 s at
//! > least: let it give each connection to a task of its own
//!
//! One client is enough to keep all others out if the task that accepts waits for what that client says.
//! Spawn a task for each connection, and read in that one. Found for TCP on Linux, of spawned tasks that the
//! page has seen to wait for a connection before.
//!
//! # The end of a stream is overlooked
//!
//! > task 3160, spawned at src/lines.rs:14:17, reads at the end of a stream some 90000 times a second, and
//! > never waits for that: end the loop when a read brings 0 bytes
//!
//! A read at the end of a stream is ready at once and brings nothing, so a loop that goes on takes a
//! processor. An empty line has at least its end of line in it. Reads of sockets by `AsyncRead` are counted.
//!
//! # A lock passes from task to task
//!
//! > 469 tasks wait for a Mutex (#0a2808a9, awaited at src/pay.rs:41:30) held by task 1369, the longest for
//! > 19.9 s at least; the lock passes from task to task, so it is held for too long or wanted too often: …
//!
//! Nothing is stuck, but each task waits for all in front of it. The task that holds it at this moment is no
//! more to blame than the others. Do not hold the lock while waiting for a peer or a timer, or have several
//! of what it guards.
//!
//! # Peers have closed their connections
//!
//! > 123 connections at 127.0.0.1:7108 were closed by their peers, the first one 58 s ago at least, and are
//! > still open: suspected that what owns them waits for something else; close a connection when a read
//! > returns 0 bytes
//!
//! The tasks that own them do not read, or have read the end and ignored it. A proxy must shut down one
//! direction when the other one has ended. Found on Linux, of connections that the program has accepted, from
//! eight at one address on.
//!
//! # Nothing is found
//!
//! > no finding; not looked at: …\
//! > worth a look: 6 tasks spawned at src/sessions.rs:10:5 wait for a watch channel, the longest for 60 s at
//! > least\
//! > worth a look: tasks spawned at src/feed.rs:19:9 take some 45 % of the workers' time\
//! > worth a look: the timeout at src/price.rs:38:21 has passed 1688 times in 25 s, and what it limits was
//! > not ready in time once: it takes longer than that, or waits for what does not come
//!
//! Such lines are often normal. If the service misbehaves, start here: find what should have notified the six
//! tasks, what the tasks of the busy place do so often, and why no answer comes in time.
//!
//! # It was last night
//!
//! Then the page comes too late. A [`FlightRecorder`](crate::insight::FlightRecorder) in the program records
//! all the time, and keeps its last events in a folder when a task panics, a poll is slow, or a signal comes.
//! How far back they go is up to [`max_events`](crate::insight::FlightRecorderBuilder::max_events): 32,768 of
//! each worker by default are some seconds of one that has ten thousand in a second, and at hundreds of
//! thousands less than one:
//!
//! ```no_run
//! # #[cfg(all(unix, feature = "signal"))]
//! #[liten::main]
//! async fn main() -> std::io::Result<()> {
//!     let _recorder = liten::insight::FlightRecorder::builder()
//!         .on_panic()
//!         .on_slow_poll()
//!         .on_signal(liten::signal::unix::SignalKind::user_defined1())
//!         .to_dir("/var/lib/my-service/traces")
//!         .start(&liten::runtime::Handle::current())?;
//!     // …
//! # Ok(())
//! }
//! # #[cfg(not(all(unix, feature = "signal")))]
//! # fn main() {}
//! ```
//!
//! The name of a file says when it was made and why: `liten-20261125T013015.123Z-4242-0-slow_poll.json`. Open
//! it in <https://ui.perfetto.dev>. The mark at the end of the trace has the sentence: which task, spawned
//! where, has panicked, or what holds up its worker. Left of it is what came before: which task woke that
//! one, what the other workers did meanwhile, how many events were lost (`otherData`, "Info and stats" in
//! Perfetto).
//! `kill -USR1` has the trace kept of a process that is stuck, with all its workers if need be.
//!
//! # Nothing is said
//!
//! Then look at the numbers. Workers that are always working while tasks are ready: there is more to do than
//! the machine can, see [`tuning`](super::tuning). The lanes show which tasks take the workers' time, and the
//! heat maps how long polls take and how long ready tasks wait for one. Tasks that wait: the page says for
//! what, as far as it is known. Many that wait for one task, below "Which task waits for which", wait for a
//! lock that it holds for too long, or for its end. For the order in which things happened, the button
//! "record", or [`/trace`](crate::insight#the-page), records some seconds.
