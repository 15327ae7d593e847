//! The clock that stands still: who is awake, and when it jumps.

use super::Mutation;

const CENSUS: &str = "src/engine/scheduler/census.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "            if census.go() && self.driver.clock().is_stopped() {\n                self.driver.wake();\n            }",
        to: "            census.go();",
        breaks: "who lies down last does not wake the holder of the seat",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        if seen & AWAKE != 0 {",
        to: "        if false {",
        breaks: "the clock jumps while a thread is awake",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        seat.turn(Some(Duration::ZERO), wakes);\n        if !wakes.is_empty() {",
        to: "        if !wakes.is_empty() {",
        breaks: "the clock jumps over an event that has come",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        if self.has_work() {",
        to: "        if self.has_work() && false {",
        breaks: "the clock jumps over what is queued",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "if census.read() == seen {",
        to: "if true {",
        breaks: "the holder does not count a second time",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "if census.read() == seen {",
        to: "if census.read() & AWAKE == 0 {",
        breaks: "the holder does not see who has come and gone meanwhile",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "            self.driver.idle(at_rest, wakes);",
        to: "            self.driver.idle(at_rest || (census.at_rest)(), wakes);",
        breaks: "the holder looks for blocking work after the queues",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        let mut state = self.state.lock();\n        unpark();",
        to: "        unpark();\n        let mut state = self.state.lock();",
        breaks: "a root is woken before it is counted",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        unpark();\n        self.rises(&mut state);",
        to: "        drop(state);\n        unpark();",
        breaks: "a root is not counted before its thread has come",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "            if !parker.is_notified() {",
        to: "            if true {",
        breaks: "a root that has been woken lies down",
    },
    Mutation {
        file: CENSUS,
        models: "census::loom",
        from: "        if before == State::Awake {\n            self.counter.goes();\n        }",
        to: "        let _ = before;",
        breaks: "a root that has ended stays counted",
    },
    Mutation {
        file: "src/engine/scheduler/shared.rs",
        models: "census::loom",
        from: "        self.has_ready() || self.has_yielded()",
        to: "        self.has_ready()",
        breaks: "the clock jumps over what has given way",
    },
    Mutation {
        file: "src/engine/scheduler/watchdog.rs",
        models: "watchdog::loom",
        from: "            shared.comes();\n            shared.driver.lulls().begin(&mut self.wakes);",
        to: "            shared.driver.lulls().begin(&mut self.wakes);\n            shared.comes();",
        breaks: "the watchdog takes the wakers of who waits for a lull before it counts",
    },
    Mutation {
        file: "src/engine/scheduler/worker/rest.rs",
        models: "census::loom",
        from: "            self.shared.goes();\n            self.parker.park();",
        to: "            self.parker.park();\n            self.shared.goes();",
        breaks: "a worker that sleeps on its own stays counted",
    },
];
