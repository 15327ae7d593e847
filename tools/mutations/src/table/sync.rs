//! Channels: what ends them, and what is looked at again.

use super::Mutation;

const BOUNDED: &str = "src/sync/mpsc/bounded.rs";
const QUEUE: &str = "src/sync/mpsc/queue.rs";
const RECEIVE: &str = "src/sync/mpsc/receive.rs";
const ROOM: &str = "src/sync/mpsc/room.rs";
const SHARED: &str = "src/sync/mpsc/shared.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: SHARED,
        models: "mpsc::loom",
        from: "if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {",
        to: "if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 0 {",
        breaks: "the last sender goes and does not wake the receiver",
    },
    Mutation {
        file: SHARED,
        models: "mpsc::loom",
        from: "        self.room.release(count);\n        self.wake_if_ended();",
        to: "        self.wake_if_ended();\n        self.room.release(count);",
        breaks: "a permit of a closed channel looks whether it is the last one before it comes back",
    },
    Mutation {
        file: SHARED,
        models: "mpsc::loom",
        from: "inbox.abandoned = true;",
        to: "inbox.abandoned = false;",
        breaks: "a permit leaves its message to a receiver that has gone",
    },
    Mutation {
        file: RECEIVE,
        models: "mpsc::loom",
        from: "    let poll = loop {\n        if !inbox.queue.is_empty() {",
        to: "    let poll = loop {\n        if clone.is_none() && !inbox.queue.is_empty() {",
        breaks: "the receiver does not look again after it has left the lock to clone its waker",
    },
    Mutation {
        file: ROOM,
        models: "mpsc::loom",
        from: "        !self.is_closed()",
        to: "        true",
        breaks: "an unbounded channel takes a message after the close",
    },
    Mutation {
        file: BOUNDED,
        models: "mpsc::loom",
        from: "self.0.wake_if_ended();",
        to: "let _ = self.0;",
        breaks: "a reservation that is given up is not told to the receiver of a closed channel",
    },
    Mutation {
        file: QUEUE,
        models: "mpsc::loom",
        from: "if self.full.is_empty() && self.last.len() == 1 {",
        to: "if self.last.len() == 1 {",
        breaks: "a message that is alone in the last chunk overtakes those in the chunks before",
    },
    Mutation {
        file: QUEUE,
        models: "mpsc::loom",
        from: "{ self.last.pop_front() } else { None }",
        to: "{ self.last.pop_back().filter(|_| false) } else { None }",
        breaks: "a message that is alone is taken out and lost",
    },
    Mutation {
        file: RECEIVE,
        models: "mpsc::loom",
        from: "            if let Some(value) = self.next() {\n                return Poll::Ready(Some(value));\n            }\n            \
               let mut inbox",
        to: "            let mut inbox",
        breaks: "the receiver takes a new message before those that it has taken out",
    },
    Mutation {
        file: RECEIVE,
        models: "mpsc::loom",
        from: "drop(inbox);\n                self.shared.room.release(1);",
        to: "drop(inbox);",
        breaks: "a message that is taken alone gives no room back",
    },
];
