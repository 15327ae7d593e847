//! Threads that are no workers: the blocking pool, local executors, roots.

use super::Mutation;

const POOL_STATE: &str = "src/engine/blocking/pool_state.rs";
const LOCAL: &str = "src/runtime/local.rs";
const QUEUE: &str = "src/runtime/local/queue.rs";
const CURRENT: &str = "src/runtime/current_thread.rs";
const SIGNAL_SOURCE: &str = "src/signal/unix/source.rs";
const SIGNALS: &str = "src/signal/unix/signals.rs";
const CELL: &str = "src/engine/task/cell.rs";
const MAILBOX: &str = "src/insight/flight_recorder/mailbox.rs";

pub const ROWS: &[Mutation] = &[
    // The thread that keeps what was recorded.
    Mutation {
        file: MAILBOX,
        models: "flight_recorder::mailbox::loom",
        from: "        state.waker = Some(cx.waker().clone());\n        Poll::Pending",
        to: "        drop(state);\n        self.state.lock().waker = Some(cx.waker().clone());\n        Poll::Pending",
        breaks: "a request for a snapshot may come between the look for one and the waker",
    },
    Mutation {
        file: MAILBOX,
        models: "flight_recorder::mailbox::loom",
        from: "        state.is_closed = true;\n        let waker = state.waker.take();",
        to: "        let waker = state.waker.take();\n        drop(state);\n        let mut state = self.state.lock();\n        state.is_closed = true;",
        breaks: "the flight recorder's thread is woken for an end that is not there yet",
    },
    Mutation {
        file: MAILBOX,
        models: "flight_recorder::mailbox::loom",
        from: "            state.skipped += u64::from(is_counted);\n            return false;",
        to: "            let skipped = state.skipped;\n            drop(state);\n            self.state.lock().skipped = skipped + u64::from(is_counted);\n            return false;",
        breaks: "of two requests for snapshots that are not taken one is not counted",
    },
    // The blocking pool.
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "            self.free -= 1;\n            self.threads -= 1;\n            NextStep::End",
        to: "            self.threads -= 1;\n            NextStep::End",
        breaks: "a thread that has ended is still counted as free",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "if !timed_out && !self.closed {",
        to: "if !timed_out {",
        breaks: "a waiting thread does not end when the pool is closed",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "        if self.threads > 0 {\n            return VecDeque::new();",
        to: "        if true {\n            return VecDeque::new();",
        breaks: "the last thread dies and leaves its jobs queued",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "partition(must_run)",
        to: "partition(|job| must_run(job) && false)",
        breaks: "the close cancels a job that must run",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "self.queue.extend(must);",
        to: "drop(must);",
        breaks: "the close forgets the jobs that must run",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "self.cancelled = need_not;",
        to: "drop(need_not);",
        breaks: "the close forgets the jobs that it cancels",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "} else if let Some(job) = self.cancelled.pop_front() {",
        to: "} else if let Some(job) = self.cancelled.pop_front().filter(|_| false) {",
        breaks: "a thread leaves what the close has cancelled",
    },
    Mutation {
        file: POOL_STATE,
        models: "blocking::loom",
        from: "if let Some(job) = self.queue.pop_front() {",
        to: "if let Some(job) = self.queue.pop_front().filter(|_| !self.closed) {",
        breaks: "a thread takes no job when the pool is closed",
    },
    Mutation {
        file: "src/engine/blocking.rs",
        models: "blocking::loom",
        from: "            state.finished();\n        }\n        self.gone.notify_all();",
        to: "            state.finished();\n        }",
        breaks: "a thread ends without telling the thread that waits for it",
    },
    // One thread: the local executor, the root, a blocking job.
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "        self.wake_idle(inbox);\n    }\n\n    /// Queues a new task",
        to: "    }\n\n    /// Queues a new task",
        breaks: "a foreign wake does not wake the executor",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "        self.wake_idle(inbox);\n        Ok(())",
        to: "        Ok(())",
        breaks: "a foreign spawn does not wake the executor",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "        if inbox.closed {\n            return Err(task);",
        to: "        if false {\n            return Err(task);",
        breaks: "a task is queued in an executor that is gone",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "                self.home.fetch_from(inbox);\n",
        to: "",
        breaks: "a visit goes idle without a look into the inbox",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "            own.idle_left && !own.polling\n",
        to: "            false\n",
        breaks: "a push between two polls wakes no visit",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "                own.idle_left = true;\n",
        to: "",
        breaks: "a visit leaves its waker and does not say so",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "            if has_tasks {",
        to: "            if false {",
        breaks: "a visit that ends keeps to itself that tasks are left",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "let has_tasks = !own.hot.is_empty() || !own.yielded.is_empty();",
        to: "let has_tasks = !own.hot.is_empty();",
        breaks: "a visit that ends keeps to itself that tasks have yielded",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "            if self.home.own(|own| !own.yielded.is_empty()) {",
        to: "            if false {",
        breaks: "a visit goes idle although tasks have yielded",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "        ptr::eq(HOME.get(), address)\n",
        to: "        !address.is_null()\n",
        breaks: "another thread pushes to the half of the executor's own",
    },
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "        while self.shared.alive_tasks() != 0 {",
        to: "        while false {",
        breaks: "the drop of the executor does not wait for a wake that is under way",
    },
    Mutation {
        file: "src/runtime/local/root.rs",
        models: "local::loom",
        from: "        self.wakes.follow(cx.waker());\n        self.wakes.take_woken().then(||",
        to: "        let woken = self.wakes.take_woken();\n        self.wakes.follow(cx.waker());\n        woken.then(||",
        breaks: "the executor looks for a wake of its root before it says which waker to call",
    },
    Mutation {
        file: "src/runtime/block_on.rs",
        models: "drive::loom",
        from: "never sits in the poller\").wake();",
        to: "never sits in the poller\");",
        breaks: "a wake of the root leaves its thread in the poller",
    },
    Mutation {
        file: "src/runtime/drive.rs",
        models: "drive::loom",
        from: "trim_at, wakes)) {\n        collect(driver, Some(Duration::ZERO), wakes);",
        to: "trim_at, wakes)) {\n        collect(driver, None, wakes);",
        breaks: "a thread that is woken before it sits down sleeps all the same",
    },
    Mutation {
        file: "src/runtime/drive.rs",
        models: "drive::loom",
        from: "parker.sit(|| collect(driver, limit, wakes));",
        to: "collect(driver, limit, wakes);",
        breaks: "the same while the clock stands still",
    },
    Mutation {
        file: "src/engine/park.rs",
        models: "drive::loom",
        from: "self.inner.state.swap(EMPTY, Ordering::Acquire);",
        to: "self.inner.state.store(EMPTY, Ordering::Relaxed);",
        breaks: "a poll does not see what was written before the wake that it answers",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "        self.line.wake_all(|line| *line = executor);\n",
        to: "        *self.line.lock() = executor;\n",
        breaks: "a thread that stops driving tells no other",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "        self.line.wake_all(|line| *line = executor);\n",
        to: "        let mut line = self.line.lock();\n        *line = executor;\n        let first = line.pop_front(0);\n        drop(line);\n        first.into_iter().for_each(std::task::Waker::wake);\n",
        breaks: "a thread that stops driving tells the first alone, which may be about to leave",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "        self.line.wait(0, |line| free(line.take())).await",
        to: "        let mut early = Some(self.line.lock().take());\n        self.line.wait(0, |line| free(early.take().unwrap_or_else(|| line.take()))).await",
        breaks: "the driving becomes free between a thread's look and its place in line",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "        self.quiet.wait(0, |_| look()).await;",
        to: "        let mut early = Some(look());\n        self.quiet.wait(0, |_| early.take().unwrap_or_else(look)).await;",
        breaks: "a thread that waits for the last task looks before it has the lock of those that wait",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "    let still = others.read() == seen;",
        to: "    let still = others.read().is_some();",
        breaks: "the thread that drives does not see that threads were awake meanwhile",
    },
    Mutation {
        file: CURRENT,
        models: "current_thread::loom",
        from: "    if seen.is_none() {",
        to: "    if false {",
        breaks: "the thread that drives takes a root that goes meanwhile for asleep",
    },
    Mutation {
        file: "src/runtime/block_on.rs",
        models: "runtime::block_on::loom",
        from: "        drop(budget);\n        park(&parker, presence.as_deref());",
        to: "        drop(budget);\n        park(&Parker::new(), presence.as_deref());",
        breaks: "the root sleeps by another word than its waker's",
    },
    Mutation {
        file: CELL,
        models: "blocking_task::loom",
        from: "            Marked::Cancel => {\n                self.cancel(runner, None);",
        to: "            Marked::Cancel => {\n                self.complete(runner);",
        breaks: "an aborted task completes without an output",
    },
    // Signals.
    Mutation {
        file: SIGNAL_SOURCE,
        models: "source::loom",
        from: "    let has_ended = drain();\n    // Ordering: partner of the fence in `Signals::raise`: a handler that has found the socket full has\n    // counted before.\n    fence(Ordering::SeqCst);\n    let mut wakes = Vec::new();\n    report(has_ended, &mut wakes);",
        to: "    let mut wakes = Vec::new();\n    report(false, &mut wakes);\n    drain();\n    fence(Ordering::SeqCst);",
        breaks: "a look at the signals looks at the counts before it empties the socket",
    },
    Mutation {
        file: SIGNAL_SOURCE,
        models: "source::loom",
        from: "    fence(Ordering::SeqCst);\n    let mut wakes = Vec::new();",
        to: "    let mut wakes = Vec::new();",
        breaks: "a look at the signals may read a count from before it made room in the socket",
    },
    Mutation {
        file: SIGNALS,
        models: "source::loom",
        from: "        let mut state = self.state.lock();\n        let count = self.count();\n        let (answer",
        to: "        let count = self.count();\n        let mut state = self.state.lock();\n        let (answer",
        breaks: "a listener looks at the count before it takes the lock",
    },
];
