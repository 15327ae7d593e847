//! The word that locks the wait list, the list, the permits on it, and the locks on those.

use super::Mutation;

const GUARDED: &str = "src/sync/guarded.rs";
const SPIN_WORD: &str = "src/engine/sync_shim/spin_word.rs";
const PERMITS: &str = "src/sync/permits.rs";
const WAIT_LIST: &str = "src/engine/wakers/wait_list.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: SPIN_WORD,
        models: "spin_word::loom",
        from: "self.0.store(false, Ordering::Release);",
        to: "self.0.store(false, Ordering::Relaxed);",
        breaks: "the holder of a short lock leaves without releasing what it did",
    },
    Mutation {
        file: SPIN_WORD,
        models: "spin_word::loom",
        from: "self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);",
        to: "self.0.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed);",
        breaks: "the next holder of a short lock does not see what the last one did (no Acquire)",
    },
    Mutation {
        file: SPIN_WORD,
        models: "spin_word::loom",
        from: "        exchanged.is_ok()",
        to: "        exchanged.is_ok() || exchanged == Err(true)",
        breaks: "a thread takes a short lock that is held",
    },
    Mutation {
        file: SPIN_WORD,
        models: "spin_word::loom",
        from: "        while ask_for_some_time(|| self.is_locked(), || self.try_lock().then_some(())).is_none() {",
        to: "        if ask_for_some_time(|| self.is_locked(), || self.try_lock().then_some(())).is_none() {",
        breaks: "a thread that has slept once goes on without the lock",
    },
    Mutation {
        file: SPIN_WORD,
        models: "spin_word::loom",
        from: "        if !self.try_lock() {",
        to: "        if self.is_locked() {",
        breaks: "a thread that finds a short lock free does not take it",
    },
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
        from: "(state & CROWDED == 0).then(more)",
        to: "(state & CLOSED == 0).then(more)",
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
    Mutation {
        file: WAIT_LIST,
        models: "wait_list::loom",
        from: "!self.list.load(Ordering::Acquire).is_null()",
        to: "!self.list.load(Ordering::Relaxed).is_null()",
        breaks: "a future finds its place apart without acquiring it",
    },
    Mutation {
        file: WAIT_LIST,
        models: "wait_list::loom",
        from: "if locked.take_before(Some(&end), wakes, &matches) {",
        to: "if true | locked.take_before(Some(&end), wakes, &matches) {",
        breaks: "one round is all that is taken out of a list",
    },
    Mutation {
        file: PERMITS,
        models: "mutex::loom",
        from: "fetch_update(Ordering::Acquire, Ordering::Relaxed, less)",
        to: "fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)",
        breaks: "the next holder of a lock does not see what the last one did (no Acquire)",
    },
    Mutation {
        file: PERMITS,
        models: "mutex::loom",
        from: "fetch_update(Ordering::Release, Ordering::Relaxed, more).is_err()",
        to: "fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err()",
        breaks: "a holder of a lock leaves without releasing what it did",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "fetch_or(CLOSED, Ordering::Release)",
        to: "fetch_or(CLOSED, Ordering::Relaxed)",
        breaks: "the close tells nothing (no Release)",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "self.state.load(Ordering::Acquire) & CLOSED != 0",
        to: "self.state.load(Ordering::Relaxed) & CLOSED != 0",
        breaks: "a caller that is refused does not see what was done before the close",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "wakes.push(locked.pop_front(missing | CLOSED_PLACE));",
        to: "drop(locked.pop_front(missing | CLOSED_PLACE));",
        breaks: "the close wakes no future",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "_ => Some(CROWDED),",
        to: "_ => Some(state | CROWDED),",
        breaks: "a future that joins leaves what it has collected in the word, for others to take",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "mem::forget(taken);",
        to: "drop(taken);",
        breaks: "a permit that was there goes back although its future is ready with it",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "        self.permits.release(self.count);",
        to: "        let _ = (self.permits, self.count);",
        breaks: "a future that gives up while it waits for its budget keeps its permits",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "if self.is_closed() {\n                    return Err(Closed);",
        to: "if false {\n                    return Err(Closed);",
        breaks: "a future that waited for its budget has its permits after the close",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "                let taken = Taken { permits: self, count };\n                \
               poll_fn(budget::poll_proceed).await;",
        to: "                poll_fn(budget::poll_proceed).await;\n                \
             let taken = Taken { permits: self, count };",
        breaks: "a future waits for its budget with permits that nothing gives back",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "            clear_note(waker, this.permits.kind_of(*this.count), *this.permits);",
        to: "            _ = waker;",
        breaks: "a future of a lock that is dropped leaves the note to the task that has polled it",
    },
    Mutation {
        file: PERMITS,
        models: "permits::loom",
        from: "                clear_note(replaced, permits.kind_of(count), permits);",
        to: "                _ = replaced;",
        breaks: "a future of a lock that another task polls leaves the note to the one that has polled it before",
    },
    Mutation {
        file: "src/engine/task/waker.rs",
        models: "permits::loom",
        from: "Note(*found).at(None) == note",
        to: "Note(*found) == note",
        breaks: "a note with a place stays with the task when its waker is taken",
    },
];
