//! The paused clock: which threads are awake, and when it jumps.

use super::Mutation;

const QUIESCENCE: &str = "src/engine/scheduler/quiescence.rs";
const AWAKE_THREADS: &str = "src/engine/scheduler/awake_threads.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: AWAKE_THREADS,
        models: "quiescence::loom",
        from: "            if self.driver.clock().is_stopped() {\n                self.driver.wake();\n            }",
        to: "",
        breaks: "the last thread that goes to sleep does not wake the holder of the seat",
    },
    Mutation {
        file: AWAKE_THREADS,
        models: "quiescence::loom",
        from: "(word & AWAKE_MASK == 0).then_some(word)",
        to: "Some(word)",
        breaks: "the clock jumps while a thread is awake",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "        seat.turn(Some(Duration::ZERO), wakes);\n        if !wakes.is_empty() {",
        to: "        if !wakes.is_empty() {",
        breaks: "the clock jumps over an event that has come",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "        if self.has_work() {",
        to: "        if self.has_work() && false {",
        breaks: "the clock jumps over what is queued",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "if awake.read() == seen {",
        to: "if true {",
        breaks: "the holder does not count a second time",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "if awake.read() == seen {",
        to: "if awake.read().is_some() {",
        breaks: "the holder does not see that threads were awake meanwhile",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "            self.driver.begin_quiescent_point(no_work, wakes);",
        to: "            self.driver.begin_quiescent_point(no_work || (quiescence.no_work)(), wakes);",
        breaks: "the holder looks for blocking work after the queues",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "        let mut state = self.state.lock();\n        unpark();",
        to: "        unpark();\n        let mut state = self.state.lock();",
        breaks: "a root is woken before it is counted",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "        unpark();\n        self.count_awake(&mut state);",
        to: "        drop(state);\n        unpark();",
        breaks: "a root is not counted before its thread has come",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "            if !parker.is_notified() {",
        to: "            if true {",
        breaks: "a root that has been woken lies down",
    },
    Mutation {
        file: QUIESCENCE,
        models: "quiescence::loom",
        from: "        if before == RootState::Awake {\n            self.awake.remove();\n        }",
        to: "        let _ = before;",
        breaks: "a root that has ended stays counted",
    },
    Mutation {
        file: "src/engine/scheduler/shared.rs",
        models: "quiescence::loom",
        from: "        self.has_ready() || self.has_yielded()",
        to: "        self.has_ready()",
        breaks: "the clock jumps over what has yielded",
    },
    Mutation {
        file: "src/engine/scheduler/watchdog.rs",
        models: "watchdog::loom",
        from: "            shared.add_awake();\n            shared.driver.quiescent_points().begin(&mut self.wakes);",
        to: "            shared.driver.quiescent_points().begin(&mut self.wakes);\n            shared.add_awake();",
        breaks: "the watchdog takes the wakers of a quiescent point before it counts as awake",
    },
    Mutation {
        file: "src/engine/scheduler/worker/work.rs",
        models: "quiescence::loom",
        from: "            self.shared.remove_awake();\n            self.parker.park();",
        to: "            self.parker.park();\n            self.shared.remove_awake();",
        breaks: "a worker that sleeps on its own stays counted",
    },
];
