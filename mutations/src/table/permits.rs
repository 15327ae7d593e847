//! The wait list, the permits on it, and the locks on those.

use super::Mutation;

const GUARDED: &str = "src/sync/guarded.rs";
const PERMITS: &str = "src/sync/permits.rs";
const WAIT_LIST: &str = "src/wakers/wait_list.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: WAIT_LIST,
        models: "wait_list::loom",
        from: "place.list.store(ptr::null_mut(), Ordering::Release);",
        to: "place.list.store(ptr::null_mut(), Ordering::Relaxed);",
        breaks: "a future finds its place apart and does not see what it was given",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "while state & CROWDED == 0 {",
        to: "while state & CLOSED == 0 {",
        breaks: "permits are added to the word although futures wait for them",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "this.permits.hand_out(locked, *this.count - missing);",
        to: "drop((locked, missing));",
        breaks: "a future that gives up keeps what it had collected",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "collected => permits.release(collected),",
        to: "_ => {}",
        breaks: "a future that is told of the close keeps what it had collected",
    },
    Mutation {
        file: GUARDED,
        models: "mutex::loom",
        from: ".release(held.count.permits() - 1);",
        to: ".release(held.count.permits());",
        breaks: "a writer that becomes a reader lets the next writer in beside it",
    },
];
