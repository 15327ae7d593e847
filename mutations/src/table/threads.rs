//! Threads that are no workers: the blocking pool, local executors, roots.

use super::Mutation;

const ROSTER: &str = "src/blocking/roster.rs";
const LOCAL: &str = "src/runtime/local.rs";
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
        file: "src/blocking/desk.rs",
        models: "blocking::loom",
        from: "        self.gone.notify_all();\n    }\n\n    /// Refuses",
        to: "    }\n\n    /// Refuses",
        breaks: "a thread ends without telling who waits for it",
    },
    // One thread: the local executor, the root, a blocking job.
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "        queue.hot.push_back(task);\n        self.wake_idle(queue);",
        to: "        queue.hot.push_back(task);",
        breaks: "a foreign wake does not wake the executor",
    },
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "        queue.hot.push_back(hot);\n        self.wake_idle(queue);",
        to: "        queue.hot.push_back(hot);",
        breaks: "a foreign spawn does not wake the executor",
    },
    Mutation {
        file: LOCAL,
        models: "local::loom",
        from: "        if queue.closed {\n            drop(queue);",
        to: "        if false {\n            drop(queue);",
        breaks: "a task is queued in an executor that is gone",
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
        from: "                root.follow(cx.waker());\n                if root.take_woken() {",
        to: "                let woken = root.take_woken();\n                root.follow(cx.waker());\n                if woken {",
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
        file: "src/runtime/block_on.rs",
        models: "block_on::loom",
        from: "Poll::Pending => rest(&parker),",
        to: "Poll::Pending => rest(&Parker::new()),",
        breaks: "the root sleeps by another word than its waker's",
    },
    Mutation {
        file: CELL,
        models: "blocking_task::loom",
        from: "        if header.state.start() == Start::Cancel {\n            return self.cancel(runner);",
        to: "        if header.state.start() == Start::Cancel {\n            return self.complete(runner);",
        breaks: "an aborted task completes without an output",
    },
];
