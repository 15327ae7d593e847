//! How tasks and tokens go from thread to thread: the next slot, the wake channel, the park word.

use super::Mutation;

const NEXT_SLOT: &str = "src/engine/queue/local.rs";
const CHANNEL: &str = "src/engine/queue/wake_channel.rs";
const PARK: &str = "src/engine/park.rs";

pub const ROWS: &[Mutation] = &[
    // The next slot.
    Mutation {
        file: NEXT_SLOT,
        models: "task::loom",
        from: "self.link.store(item.into_link().as_ptr(), Ordering::Release);",
        to: "self.link.store(item.into_link().as_ptr(), Ordering::Relaxed);",
        breaks: "a thief does not see the task that it takes",
    },
    Mutation {
        file: NEXT_SLOT,
        models: "task::loom",
        from: "self.link.swap(new, Ordering::AcqRel)",
        to: "self.link.swap(new, Ordering::Release)",
        breaks: "a thief does not acquire the task that it takes",
    },
    Mutation {
        file: NEXT_SLOT,
        models: "task::loom",
        from: "        if self.is_empty() {\n            // No RMW",
        to: "        if true {\n            // No RMW",
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
        from: "Ok(_) if head.is_null() => return Pushed::First,",
        to: "Ok(_) if head.is_null() => return Pushed::Further,",
        breaks: "the caller is not told that the channel was empty",
    },
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: "        loop {\n            // SAFETY: the chain is still ours: no thread has seen its nodes before the CAS below succeeds.\n            unsafe { oldest.as_ref() }.set_next(head);",
        to: "        // SAFETY: the chain is still ours.\n        unsafe { oldest.as_ref() }.set_next(head);\n        loop {",
        breaks: "a push that lost a race keeps its link to the old head",
    },
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: "            taken.set_next(reversed);\n            reversed = link.as_ptr();",
        to: "            taken.set_next(reversed);\n            reversed = if reversed.is_null() || node.is_null() { link.as_ptr() } else { reversed };",
        breaks: "a batch of three loses the middle one",
    },
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: "self.next.compare_exchange(note, by, Ordering::Release, Ordering::Relaxed).is_ok()",
        to: "let _: *mut Link = note;\n        self.next.store(by, Ordering::Relaxed);\n        true",
        breaks: "a note that is forgotten too late takes a link of the list away",
    },
    Mutation {
        file: CHANNEL,
        models: "wake_channel::loom",
        from: ".filter(|note| note.get() % 2 == 1)",
        to: ".filter(|note| note.get() % 2 <= 1)",
        breaks: "a link of the list is taken for a note",
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
        from: "        entered.is_ok()\n",
        to: "        let _ = entered;\n        self.inner.state.store(place, Ordering::Release);\n        true\n",
        breaks: "a park overwrites a token",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "park_timeout(limit);\n        }\n        self.take_token();",
        to: "park_timeout(limit);\n        }\n        self.inner.state.store(EMPTY, Ordering::Relaxed);",
        breaks: "a timed park eats a token without acquiring it",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "while self.inner.state.load(Ordering::Acquire) == ASLEEP {",
        to: "if self.inner.state.load(Ordering::Acquire) == ASLEEP {",
        breaks: "a park ends with a token that is not ours",
    },
    Mutation {
        file: PARK,
        models: "park::loom",
        from: "            sleep();\n        }\n        // Whether the poller returned for us or for an event.\n        self.take_token();",
        to: "            sleep();\n        }\n        self.inner.state.store(EMPTY, Ordering::Relaxed);",
        breaks: "a thread that leaves the seat eats a token without acquiring it",
    },
];
