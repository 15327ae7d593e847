//! Notifications, the channel for the latest value, and the barrier.

use super::Mutation;

const NOTIFY: &str = "src/sync/notify.rs";
const WATCH: &str = "src/sync/watch.rs";
const RECEIVER: &str = "src/sync/watch/receiver.rs";
const BARRIER: &str = "src/sync/barrier.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "fetch_update(Ordering::Release, Ordering::Relaxed, permit)",
        to: "fetch_update(Ordering::Relaxed, Ordering::Relaxed, permit)",
        breaks: "a permit tells nothing (no Release)",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "self.state.fetch_update(Ordering::Release, Ordering::Relaxed, permit).is_ok()",
        to: "self.state.load(Ordering::Relaxed) & KIND == PERMIT\n            || self.state.fetch_update(Ordering::Release, Ordering::Relaxed, permit).is_ok()",
        breaks: "a call that finds a permit does not write the word",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "fetch_update(Ordering::Acquire, Ordering::Acquire, next)",
        to: "fetch_update(Ordering::Relaxed, Ordering::Acquire, next)",
        breaks: "the future that takes a permit sees only what the first look has seen",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "fetch_update(Ordering::Acquire, Ordering::Acquire, next)",
        to: "fetch_update(Ordering::Acquire, Ordering::Relaxed, next)",
        breaks: "a future whose turn is over does not see what was done before",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "self.state.load(Ordering::Acquire) & TURN | FRESH",
        to: "self.state.load(Ordering::Relaxed) & TURN | FRESH",
        breaks: "a future that is too late for a call does not see what was done before",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "self.state.fetch_add(NEXT_TURN, Ordering::Release)",
        to: "self.state.fetch_add(NEXT_TURN, Ordering::Relaxed)",
        breaks: "a call for all tells nothing (no Release)",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "locked.front().is_some_and(|front| is_before(front, state))",
        to: "false",
        breaks: "a notification for one is spent on a future that a call for all has reached",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "|word| is_before(word, now)",
        to: "|_| true",
        breaks: "a call for all takes futures of the next turn, too",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "word & KIND == FRESH => self.admit(word, true)",
        to: "word & KIND == FRESH => self.admit(word, false)",
        breaks: "a future joins without a sign in the word",
    },
    Mutation {
        file: NOTIFY,
        models: "sync::notify::loom",
        from: "if let Some(given @ (FIRST | LAST)) = place.given() {",
        to: "if let Some(given @ (FIRST | LAST)) = place.given().filter(|_| false) {",
        breaks: "a future that gives up keeps its notification",
    },
    Mutation {
        file: WATCH,
        models: "sync::watch::loom",
        from: "self.shared.state.fetch_add(STEP, Ordering::Release);\n        drop(value);\n        self.shared.notify_receivers();",
        to: "self.shared.notify_receivers();\n        self.shared.state.fetch_add(STEP, Ordering::Release);\n        drop(value);",
        breaks: "receivers are woken before there is anything new",
    },
    Mutation {
        file: WATCH,
        models: "sync::watch::loom",
        from: "let unwatched = self.shared.unwatched.notified_inside();\n                    if self.is_closed() {\n                        return;\n                    }",
        to: "if self.is_closed() {\n                        return;\n                    }\n                    let unwatched = self.shared.unwatched.notified_inside();",
        breaks: "`closed` looks before it can be told",
    },
    Mutation {
        file: WATCH,
        models: "sync::watch::loom",
        from: "self.shared.state.fetch_or(CLOSED, Ordering::Release);\n            self.shared.notify_receivers();",
        to: "self.shared.notify_receivers();\n            self.shared.state.fetch_or(CLOSED, Ordering::Release);",
        breaks: "receivers are woken before the channel is closed",
    },
    Mutation {
        file: RECEIVER,
        models: "sync::watch::loom",
        from: "let (version, closed) = self.shared.state();\n            if self.memory.see(version) {",
        to: "let (version, closed) = self.shared.state();\n            notified.set(self.notified());\n            if self.memory.see(version) {",
        breaks: "`changed` looks before it can be told",
    },
    Mutation {
        file: RECEIVER,
        models: "sync::watch::loom",
        from: "let value = self.shared.read();\n        let version = self.shared.version();\n        let has_changed = self.memory.see(version);\n        Ref",
        to: "let version = self.shared.version();\n        let value = self.shared.read();\n        let has_changed = self.memory.see(version);\n        Ref",
        breaks: "a version is read that is not that of the value",
    },
    Mutation {
        file: BARRIER,
        models: "sync::barrier::loom",
        from: "|word| wakers::is_before(word, now)",
        to: "|_: usize| true",
        breaks: "the leader wakes futures of the next group",
    },
    Mutation {
        file: BARRIER,
        models: "sync::barrier::loom",
        from: "locked.word(&place) == Some(locked.generation)",
        to: "locked.word(&place).is_some_and(|_| false)",
        breaks: "a future goes on when it is polled a second time",
    },
];
