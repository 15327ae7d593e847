//! The driver: its seat, the timers, the sources.

use super::Mutation;

const POLLER: &str = "src/engine/driver/poller.rs";
const DRIVER: &str = "src/engine/driver.rs";
const READINESS: &str = "src/engine/driver/readiness.rs";
const TIMERS: &str = "src/engine/driver/timers.rs";
const WHEEL: &str = "src/engine/driver/wheel.rs";
const REGISTRATION: &str = "src/engine/driver/registration.rs";
const SLAB: &str = "src/engine/slab.rs";

pub const ROWS: &[Mutation] = &[
    // The driver's seat and its alarm.
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "        // Ordering: partner of the fence in `deadline_moved`; see the header.\n        fence(Ordering::SeqCst);",
        to: "",
        breaks: "no fence between the announcement of a sleep and the look at the timers",
    },
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "        fence(Ordering::SeqCst);\n        let wake_at",
        to: "        let wake_at",
        breaks: "no fence between a new deadline and the look at the sleeper",
    },
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "self.0.swap(NOTIFIED, Ordering::Release) >= COALESCING",
        to: "self.0.swap(NOTIFIED, Ordering::Relaxed) >= COALESCING",
        breaks: "a wake of the poller publishes nothing",
    },
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "        self.0.swap(AWAKE, Ordering::Acquire);",
        to: "        self.0.store(AWAKE, Ordering::Relaxed);",
        breaks: "the end of a sleep loses what a wake published",
    },
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "        if announced.is_err() {",
        to: "        if false {",
        breaks: "a wake before the sleep does not call it off",
    },
    Mutation {
        file: POLLER,
        models: "poller::loom",
        from: "wake_at < COALESCING || wake_at <= deadline",
        to: "wake_at < COALESCING",
        breaks: "a deadline ends a coalescing sleep, or a sleep that ends before it",
    },
    Mutation {
        file: DRIVER,
        models: "driver::",
        from: "                driver.alarm.word.rise();\n                polled",
        to: "                polled",
        breaks: "a sleep that ended by itself is still announced to the next holder",
    },
    Mutation {
        file: DRIVER,
        models: "driver::",
        from: "        // The lock opens after this, when the fields are dropped.\n        self.driver.note_change();",
        to: "",
        breaks: "the seat counts comings only",
    },
    Mutation {
        file: DRIVER,
        models: "driver::",
        from: "        if self.timers.next_deadline().is_some() {\n            // Registered before",
        to: "        if false {\n            // Registered before",
        breaks: "no look at the timers after the announcement of a sleep without an end",
    },
    // The timers.
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "        wakers::drop_all(self.take_out(key));",
        to: "        let _ = key;",
        breaks: "a timer that is dropped stays in the wheel",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "            wakers::guard(|| waker.wake());",
        to: "            drop(waker);",
        breaks: "a task whose timer is reset to the past sleeps on",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "None => (timers.state_without_entry(), fresh),",
        to: "None => (TimerState::Waiting, fresh),",
        breaks: "a timer that fired while its waker was changed still waits",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "            Reset::Gone => return false,",
        to: "            Reset::Gone => return true,",
        breaks: "a timer that has fired is put off",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "        let lowered = self.lower_next(deadline_ns);\n        drop(timers);\n        self.tell_alarm(lowered);\n        true",
        to: "        drop(timers);\n        true",
        breaks: "a timer that is brought forward does not lower the bound",
    },
    Mutation {
        file: WHEEL,
        models: "timers::loom",
        from: "        if deadline >= known {",
        to: "        if true {",
        breaks: "an earlier deadline is only noted, as a later one is",
    },
    Mutation {
        file: WHEEL,
        models: "timers::loom",
        from: "            if tick <= self.elapsed {\n                let Entry",
        to: "            if tick <= self.elapsed || tick > 0 {\n                let Entry",
        breaks: "a timer that was put off fires when its bucket is opened",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "        self.next.store(next, Ordering::Relaxed);\n        result",
        to: "        drop(timers);\n        self.next.store(next, Ordering::Relaxed);\n        result",
        breaks: "the bound is raised outside the lock, over a timer that has just come",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "        if timers.closed {",
        to: "        if false {",
        breaks: "a timer registers after the shutdown",
    },
    Mutation {
        file: TIMERS,
        models: "timers::loom",
        from: "        self.tell_alarm(lowered);\n        Some(key)\n    }\n\n    /// Sets another",
        to: "        let _ = lowered;\n        Some(key)\n    }\n\n    /// Sets another",
        breaks: "a new deadline does not ring",
    },
    // The table of sources.
    Mutation {
        file: READINESS,
        models: "registration::loom",
        from: "        if self.closed {",
        to: "        if false {",
        breaks: "a source registers after the close",
    },
    Mutation {
        file: REGISTRATION,
        models: "registration::loom",
        from: "let removed = self.driver.sources.lock().table.remove(self.key);",
        to: "let removed: Option<Arc<Readiness>> = None;",
        breaks: "a source that has gone stays in the table",
    },
    Mutation {
        file: SLAB,
        models: "registration::loom",
        from: "        let chunk = self.chunks.get((key.index / CHUNK) as usize)?;\n        match chunk.entries.get((key.index % CHUNK) as usize)? {\n            Entry::Held { generation, value } if *generation == key.generation => Some(value),",
        to: "        let chunk = self.chunks.get((key.index / CHUNK) as usize)?;\n        match chunk.entries.get((key.index % CHUNK) as usize)? {\n            Entry::Held { value, .. } => Some(value),",
        breaks: "an event finds the source that is in the place now",
    },
    Mutation {
        file: REGISTRATION,
        models: "registration::loom",
        from: "        let key = self.sources.lock().insert(readiness.clone())?;",
        to: "        let key = super::sources::Sources::new().insert(readiness.clone())?;",
        breaks: "the system knows of a source before the table does",
    },
    // Readiness.
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "            let mut waiters = self.waiters.lock();\n            if let Some(answer) = self.answer(direction.mask(), NO_TICK) {\n                return Poll::Ready(answer);\n            }\n",
        to: "            let mut waiters = self.waiters.lock();\n",
        breaks: "no second look under the lock before a waiter queues",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "Some((state | ready.bits()).wrapping_add(TICK))",
        to: "Some(state | ready.bits())",
        breaks: "an event does not move the tick",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "self.state.fetch_or(SHUTDOWN, Ordering::Release);\n        take(&self.waiters, Ready::ALL_BITS, wakes);",
        to: "take(&self.waiters, Ready::ALL_BITS, wakes);\n        self.state.fetch_or(SHUTDOWN, Ordering::Release);",
        breaks: "shutdown wakes the waiters before it is written down",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "let matches = |word| ready.intersects(Ready::from_state(word as u64));",
        to: "let matches = |_| false;",
        breaks: "an event wakes no future",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "this.readiness.waiters.poll(this.place.as_ref(), cx, |_| look())",
        to: "this.readiness.waiters.poll(this.place.as_ref(), cx, |_| Poll::Pending)",
        breaks: "no second look under the lock before a future queues",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "let _ = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {\n            is_due(state).then_some(state & !bits.bits())\n        });",
        to: "let state = self.state.load(Ordering::Relaxed);\n        if is_due(state) {\n            self.state.store(state & !bits.bits(), Ordering::Relaxed);\n        }",
        breaks: "a clear overwrites what came since its look",
    },
    Mutation {
        file: "src/engine/wakers/wait_list.rs",
        models: "readiness::loom",
        from: "|links| mem::replace(&mut links.waker, waker)",
        to: "|_| waker",
        breaks: "a future that waits keeps its old waker",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "    if ready.intersects(Direction::Write.mask()) {",
        to: "    if ready.intersects(Ready::ALL_BITS) {",
        breaks: "an event wakes both directions",
    },
    Mutation {
        file: READINESS,
        models: "readiness::loom",
        from: "        let is_past = past != state >> TICK_SHIFT;",
        to: "        let is_past = past == past;",
        breaks: "a wait past an event ends with that event",
    },
    Mutation {
        file: REGISTRATION,
        models: "registration::loom",
        from: "goes |= direction.closed().without(kept);",
        to: "goes |= direction.closed();\n            let _ = kept;",
        breaks: "an end goes although the system still reports it",
    },
    // Room that is reported late.
    Mutation {
        file: REGISTRATION,
        models: "registration::loom",
        from: "if descriptor != REPORTED {",
        to: "if descriptor == REPORTED {",
        breaks: "the first write that finds no room does not have room reported",
    },
    Mutation {
        file: REGISTRATION,
        models: "registration::loom",
        from: "            register(descriptor, self.interest)?;\n",
        to: "            let _ = (register, self.interest);\n",
        breaks: "room counts as reported, and the registration was not changed",
    },
];
