//! Threads that are no workers: the blocking pool, local executors, roots.

use super::Mutation;

const ROSTER: &str = "src/blocking/roster.rs";
const LOCAL: &str = "src/runtime/local.rs";
const QUEUE: &str = "src/runtime/local/queue.rs";
const STATION: &str = "src/signal/unix/station.rs";
const CELL: &str = "src/task/cell.rs";

pub const ROWS: &[Mutation] = &[
    // The blocking pool.
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "        } else if timed_out || self.closed {\n            self.free -= 1;\n            self.threads -= 1;",
        to: "        } else if timed_out || self.closed {\n            self.threads -= 1;",
        breaks: "a thread that has ended is still counted as free",
    },
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "} else if timed_out || self.closed {",
        to: "} else if timed_out {",
        breaks: "a waiting thread does not end when the pool is closed",
    },
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "if self.threads == 0 { std::mem::take(&mut self.queue) } else { VecDeque::new() }",
        to: "VecDeque::new()",
        breaks: "the last thread dies and leaves its jobs queued",
    },
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "partition(must_run)",
        to: "partition(|job| must_run(job) && false)",
        breaks: "the close cancels a job that must run",
    },
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "        self.queue = keep;",
        to: "        drop::<VecDeque<J>>(keep);",
        breaks: "the close forgets the jobs that must run",
    },
    Mutation {
        file: ROSTER,
        models: "blocking::loom",
        from: "if let Some(job) = self.queue.pop_front() {",
        to: "if let Some(job) = self.queue.pop_front().filter(|_| !self.closed) {",
        breaks: "a thread takes no job when the pool is closed",
    },
    Mutation {
        file: "src/blocking/desk.rs",
        models: "blocking::loom",
        from: "        self.gone.notify_all();\n    }\n\n    /// Refuses",
        to: "    }\n\n    /// Refuses",
        breaks: "a thread ends without telling who waits for it",
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
        from: "                self.home.fetch_from(&mut inbox);\n",
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
        from: "            self.home.own(|own| own.idle_left = true);\n",
        to: "",
        breaks: "a visit leaves its waker and does not say so",
    },
    Mutation {
        file: QUEUE,
        models: "local::loom",
        from: "        if self.home.own(|own| !own.hot.is_empty()) {",
        to: "        if false {",
        breaks: "a visit that ends keeps to itself that tasks are left",
    },
    Mutation {
        file: "src/runtime/local_thread.rs",
        models: "local::loom",
        from: "    ptr::eq(HOME.get(), address)\n",
        to: "    !address.is_null()\n",
        breaks: "another thread pushes to the half of the executor's own",
    },
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "            while self.shared.alive_tasks() != 0 {",
        to: "            while false {",
        breaks: "the drop of the executor does not wait for a wake that is under way",
    },
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "        self.wakes.follow(cx.waker());\n        if self.wakes.take_woken() {",
        to: "        let woken = self.wakes.take_woken();\n        self.wakes.follow(cx.waker());\n        if woken {",
        breaks: "the executor looks for a wake of its root before it says whom to wake",
    },
    Mutation {
        file: "src/runtime/local_runtime.rs",
        models: "local_runtime::loom",
        from: "            self.driver.wake();\n",
        to: "",
        breaks: "a wake of the root leaves its thread in the poller",
    },
    Mutation {
        file: "src/runtime/local_runtime.rs",
        models: "local_runtime::loom",
        from: "if ptr::eq(AWAKE.get(), StdArc::as_ptr(self)) {",
        to: "if !AWAKE.get().is_null() || true {",
        breaks: "another thread takes the runtime's for awake",
    },
    Mutation {
        file: "src/runtime/local_runtime.rs",
        models: "local_runtime::loom",
        from: "            self.woken.swap(true, Ordering::Relaxed);\n            return;",
        to: "            self.woken.store(true, Ordering::Relaxed);\n            return;",
        breaks: "a wake of the thread's own hides what another thread's has released",
    },
    Mutation {
        file: "src/runtime/local_runtime.rs",
        models: "local_runtime::loom",
        from: "            self.woken.swap(true, Ordering::Relaxed);\n            return;",
        to: "            return;",
        breaks: "a wake of the thread's own leaves nothing behind",
    },
    Mutation {
        file: "src/runtime/block_on.rs",
        models: "block_on::loom",
        from: "Poll::Pending => rest(&parker, presence.as_deref()),",
        to: "Poll::Pending => rest(&Parker::new(), presence.as_deref()),",
        breaks: "the root sleeps by another word than its waker's",
    },
    Mutation {
        file: CELL,
        models: "blocking_task::loom",
        from: "        if header.state.start() == Start::Cancel {\n            return self.cancel(runner);",
        to: "        if header.state.start() == Start::Cancel {\n            return self.complete(runner);",
        breaks: "an aborted task completes without an output",
    },
    // Signals.
    Mutation {
        file: STATION,
        models: "station::loom",
        from: "    let listening = drain();\n    let count = count();",
        to: "    let count = count();\n    let listening = drain();",
        breaks: "a listener looks at the count before it empties the socket",
    },
];
