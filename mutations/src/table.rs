//! What is broken, one row at a time.

/// One step of a protocol, and the same step done wrong.
pub struct Mutation {
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// Part of the names of the models that have to notice.
    pub models: &'static str,
    /// Stands in the file exactly once.
    pub from: &'static str,
    /// What it is replaced with.
    pub to: &'static str,
    /// What is wrong then.
    pub breaks: &'static str,
}

const STATE: &str = "src/task/state.rs";
const CHANNEL: &str = "src/queue/wake_channel.rs";
const PARK: &str = "src/park.rs";
const SEAT: &str = "src/driver/seat.rs";
const READINESS: &str = "src/driver/readiness.rs";
const IDLE: &str = "src/scheduler/idle.rs";
const HOUSE: &str = "src/scheduler/loom.rs";
const ROSTER: &str = "src/blocking/roster.rs";
const SLOT: &str = "src/task/slot.rs";
const REGISTRY: &str = "src/task/registry.rs";
const RUNNING: &str = "src/task/running.rs";

/// All of them.
///
/// Not here, because the models cannot see it: that a cell is freed before others are through with it (loom does
/// not follow memory that is given back), and the fence after a push to the injector (in the models that is a
/// locked queue, whose lock orders more; the channel's rows stand for it). A free thread of the blocking pool that
/// two jobs count on loses none of them, only time; `roster.rs` has a plain test for it.
pub const TABLE: &[Mutation] = &[
    // The task's word.
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire)",
        to: "compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Acquire)",
        breaks: "transitions publish nothing (no Release)",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire)",
        to: "compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed)",
        breaks: "transitions see nothing (no Acquire)",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "Ok((word | WOKEN, Wake::Nothing))\n            } else {\n                Ok((word | SCHEDULED, Wake::Schedule))",
        to: "if word & WOKEN != 0 { Err(Wake::Nothing) } else { Ok((word | WOKEN, Wake::Nothing)) }\n            } else {\n                Ok((word | SCHEDULED, Wake::Schedule))",
        breaks: "a wake that finds WOKEN does not write the word",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "} else if word & WOKEN != 0 {\n                Ok((word & !WOKEN, Pending::Requeue))",
        to: "} else if false {\n                Ok((word & !WOKEN, Pending::Requeue))",
        breaks: "a wake during the poll is forgotten when the task goes cold",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "word = self.0.fetch_and(!WOKEN, Ordering::Acquire);",
        to: "word = self.0.fetch_and(!WOKEN, Ordering::Relaxed);",
        breaks: "the poll that answers a second wake does not see its writes",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "self.0.load(Ordering::Acquire) & JOIN_WAKER != 0",
        to: "self.0.load(Ordering::Relaxed) & JOIN_WAKER != 0",
        breaks: "the handle writes the waker's slot while the task reads it",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "Ok((word | CANCELLED | SCHEDULED, Wake::Schedule))",
        to: "Ok((word | CANCELLED, Wake::Nothing))",
        breaks: "an abort leaves a cold task cold",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "} else if word & JOIN_WAKER != 0 {\n                Ok((word | COMPLETE, Complete::WakeJoiner))",
        to: "} else if false {\n                Ok((word | COMPLETE, Complete::WakeJoiner))",
        breaks: "completion does not look for a joiner",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "if word & COMPLETE != 0 { Err(false) } else { Ok((word | JOIN_WAKER, true)) }",
        to: "Ok((word | JOIN_WAKER, true))",
        breaks: "a joiner registers with a task that is complete",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "let slot_is_ours = word & JOIN_WAKER == 0;",
        to: "let slot_is_ours = true;",
        breaks: "the JoinHandle empties the slot while the task reads it",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "self.0.load(Ordering::Acquire) & COMPLETE != 0",
        to: "self.0.load(Ordering::Relaxed) & COMPLETE != 0",
        breaks: "who sees COMPLETE does not see the output",
    },
    Mutation {
        file: STATE,
        models: "task::loom",
        from: "before < 2 * REF_ONE",
        to: "before < 3 * REF_ONE",
        breaks: "the cell is freed one reference too early",
    },
    Mutation {
        file: REGISTRY,
        models: "task::loom",
        from: "if entries.closed {\n            // SAFETY",
        to: "if false {\n            // SAFETY",
        breaks: "a task that goes cold after the close is not aborted",
    },
    // The next slot.
    Mutation {
        file: SLOT,
        models: "task::loom",
        from: "self.0.store(task, Ordering::Release);",
        to: "self.0.store(task, Ordering::Relaxed);",
        breaks: "a thief does not see the task that it takes",
    },
    Mutation {
        file: SLOT,
        models: "task::loom",
        from: "self.0.swap(new, Ordering::AcqRel)",
        to: "self.0.swap(new, Ordering::Release)",
        breaks: "a thief does not acquire the task that it takes",
    },
    Mutation {
        file: SLOT,
        models: "task::loom",
        from: "        if self.is_empty() {\n            // Ordering",
        to: "        if true {\n            // Ordering",
        breaks: "a task in the slot is overwritten",
    },
    // The wake channel.
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: "                Ordering::Release,\n                Ordering::Relaxed,",
        to: "                Ordering::Relaxed,\n                Ordering::Relaxed,",
        breaks: "a push does not publish the links",
    },
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: "self.head.swap(ptr::null_mut(), Ordering::Acquire)",
        to: "self.head.swap(ptr::null_mut(), Ordering::Relaxed)",
        breaks: "the taker does not see the links",
    },
    Mutation {
        file: CHANNEL,
        models: "loom",
        from: "Ok(_) => return head.is_null(),",
        to: "Ok(_) => return false,",
        breaks: "nobody is told that the channel was empty",
    },
    // The park word.
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "match self.inner.state.swap(NOTIFIED, Ordering::Release) {",
        to: "match self.inner.state.swap(NOTIFIED, Ordering::Relaxed) {",
        breaks: "an unpark publishes nothing",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "self.inner.state.swap(EMPTY, Ordering::Acquire);",
        to: "self.inner.state.store(EMPTY, Ordering::Relaxed);",
        breaks: "a park eats a token without acquiring it",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "            SEATED => Unpark::Poller,",
        to: "            SEATED => Unpark::Done,",
        breaks: "a thread in the poller is not woken",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "        entered.is_ok()",
        to: "        let _ = entered;\n        self.inner.state.store(place, Ordering::Release);\n        true",
        breaks: "a park overwrites a token",
    },
    // The driver's seat and its alarm.
    Mutation {
        file: SEAT,
        models: "seat::loom",
        from: "        // Ordering: partner of the fence in `deadline_moved`; see the header.\n        fence(Ordering::SeqCst);",
        to: "",
        breaks: "no fence between the announcement of a sleep and the look at the timers",
    },
    Mutation {
        file: SEAT,
        models: "seat::loom",
        from: "        fence(Ordering::SeqCst);\n        let wake_at",
        to: "        let wake_at",
        breaks: "no fence between a new deadline and the look at the sleeper",
    },
    Mutation {
        file: SEAT,
        models: "seat::loom",
        from: "self.0.swap(NOTIFIED, Ordering::AcqRel) >= FIRST_DEADLINE",
        to: "self.0.swap(NOTIFIED, Ordering::Relaxed) >= FIRST_DEADLINE",
        breaks: "a wake of the poller publishes nothing",
    },
    Mutation {
        file: SEAT,
        models: "seat::loom",
        from: "        self.0.swap(AWAKE, Ordering::AcqRel);",
        to: "        self.0.store(AWAKE, Ordering::Relaxed);",
        breaks: "the end of a sleep loses what a wake published",
    },
    Mutation {
        file: SEAT,
        models: "seat::loom",
        from: "        if announced.is_err() {",
        to: "        if false {",
        breaks: "a wake before the sleep does not call it off",
    },
    // Readiness.
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "            let mut waiters = self.waiters.lock();\n            if let Some(answer) = self.answer(direction.mask()) {\n                return Poll::Ready(answer);\n            }\n",
        to: "            let mut waiters = self.waiters.lock();\n",
        breaks: "no second look under the lock before a waiter queues",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "let next = (state | ready.bits()).wrapping_add(TICK);",
        to: "let next = state | ready.bits();",
        breaks: "an event does not move the tick",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "self.state.fetch_or(SHUTDOWN, Ordering::Release);\n        self.waiters.lock().take(Ready::ALL, wakes);",
        to: "self.waiters.lock().take(Ready::ALL, wakes);\n        self.state.fetch_or(SHUTDOWN, Ordering::Release);",
        breaks: "shutdown wakes the waiters before it is written down",
    },
    Mutation {
        file: "src/driver/readiness/waiters.rs",
        models: "readiness::loom",
        from: "if waker.is_some() && ready.intersects(*mask) {",
        to: "if false && waker.is_some() && ready.intersects(*mask) {",
        breaks: "an event wakes no keyed waiter",
    },
    // Who is parked, who searches.
    Mutation {
        file: IDLE,
        models: "scheduler::loom",
        from: "before.searching() == u32::from(searching)",
        to: "before.searching() == u32::from(searching) + 1",
        breaks: "the last searcher is not told that it is the last",
    },
    Mutation {
        file: IDLE,
        models: "scheduler::loom",
        from: "Word((self.0 & !(1 << worker)) + SEARCHING_ONE)",
        to: "Word(self.0 + SEARCHING_ONE)",
        breaks: "a claimed worker stays marked as parked",
    },
    Mutation {
        file: IDLE,
        models: "scheduler::loom",
        from: "Word(group.fetch_sub(SEARCHING_ONE, Ordering::AcqRel)).searching() == 1",
        to: "Word(group.fetch_sub(SEARCHING_ONE, Ordering::AcqRel)).searching() == 2",
        breaks: "a searcher that has found work is not told to wake a successor",
    },
    // The worker's and the pusher's steps, as the models of the scheduler have them.
    Mutation {
        file: HOUSE,
        models: "scheduler::loom",
        from: "            fence(Ordering::SeqCst);\n            if self.idle.claim(0) {",
        to: "            if self.idle.claim(0) {",
        breaks: "no fence between a push to a channel and the look at the idle word",
    },
    Mutation {
        file: HOUSE,
        models: "scheduler::loom",
        from: "                fence(Ordering::SeqCst);\n                // One queue",
        to: "                // One queue",
        breaks: "no fence between the parked bit and the last look",
    },
    Mutation {
        file: HOUSE,
        models: "scheduler::loom",
        from: "                taken = self.take();\n                if taken == 0 && !self.is_done() {",
        to: "                if taken == 0 && !self.is_done() {",
        breaks: "no last look before the sleep",
    },
    Mutation {
        file: HOUSE,
        models: "scheduler::loom",
        from: "                    self.end_search(index, &mut searching);\n                    self.pass_on();",
        to: "                    self.end_search(index, &mut searching);",
        breaks: "the last searcher that finds work in its last look wakes no successor",
    },
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
    // The note of what a worker polls.
    Mutation {
        file: RUNNING,
        models: "task::running::loom",
        from: "self.spawned_at.store(ptr::from_ref(spawned_at).cast_mut(), Ordering::Release);",
        to: "self.spawned_at.store(ptr::from_ref(spawned_at).cast_mut(), Ordering::Relaxed);",
        breaks: "a look that sees the next poll's place does not see its count",
    },
    Mutation {
        file: RUNNING,
        models: "task::running::loom",
        from: "self.id.store(id.to_bits(), Ordering::Release);",
        to: "self.id.store(id.to_bits(), Ordering::Relaxed);",
        breaks: "a look that sees the next poll's id does not see its place",
    },
    Mutation {
        file: RUNNING,
        models: "task::running::loom",
        from: "let id = self.id.load(Ordering::Acquire);",
        to: "let id = self.id.load(Ordering::Relaxed);",
        breaks: "the place may be of an earlier poll than the id",
    },
    Mutation {
        file: RUNNING,
        models: "task::running::loom",
        from: "(before == after).then_some(RunningTask { id, spawned_at })",
        to: "Some(RunningTask { id, spawned_at })",
        breaks: "a look does not mind that another poll has begun",
    },
    Mutation {
        file: RUNNING,
        models: "task::running::loom",
        from: "self.id.store(0, Ordering::Relaxed);",
        to: "",
        breaks: "the last poll's task stays on the note",
    },
];
