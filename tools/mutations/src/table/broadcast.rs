//! Channels that give each value to each receiver.

use super::Mutation;

const BROADCAST: &str = "src/sync/broadcast.rs";
const RING: &str = "src/sync/broadcast/ring.rs";
const RECEIVER: &str = "src/sync/broadcast/receiver.rs";
const MODELS: &str = "sync::broadcast::loom";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: RING,
        models: MODELS,
        from: "context::wake_together(|| self.tail.wake(tail, 0, |word| !is_later(word, number)));",
        to: "drop(tail);",
        breaks: "a send wakes no receiver",
    },
    Mutation {
        file: RING,
        models: MODELS,
        from: "context::wake_together(|| self.tail.wake(tail, 0, |_| true));",
        to: "drop(tail);",
        breaks: "the last sender goes and does not wake the receivers",
    },
    Mutation {
        file: RING,
        models: MODELS,
        from: "if let Some(taken) = self.take(number) {\n            return Found::Value(taken);\n        }\n        let oldest",
        to: "let oldest",
        breaks: "a value that is sent between two looks counts as overwritten",
    },
    Mutation {
        file: RING,
        models: MODELS,
        from: "(senders != 0).then_some(",
        to: "(senders != usize::MAX).then_some(",
        breaks: "a weak sender sends to receivers that were told of the end",
    },
    Mutation {
        file: RING,
        models: MODELS,
        from: "self.tail.lock().receivers > 0 ||",
        to: "self.tail.lock().receivers == 0 ||",
        breaks: "the last receiver goes and does not wake those that wait for it",
    },
    Mutation {
        file: BROADCAST,
        models: MODELS,
        from: "self.ring.senders.fetch_sub(1, Ordering::Relaxed) == 1",
        to: "self.ring.senders.fetch_sub(1, Ordering::Relaxed) == 0",
        breaks: "the last sender goes and does not close the channel",
    },
    Mutation {
        file: RECEIVER,
        models: MODELS,
        from: "if !tail.is_waited_for(*next) {",
        to: "if !tail.is_waited_for(*next) && tail.closed {",
        breaks: "a receiver joins the line although its value has come",
    },
];
