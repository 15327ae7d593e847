//! Channels for one value: which half has the value, the wakers and the cell.

use super::Mutation;

const CELL: &str = "src/sync/oneshot/cell.rs";
const MODELS: &str = "sync::oneshot::loom";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: CELL,
        models: MODELS,
        from: "door.cell().word.fetch_add(SENT, Ordering::AcqRel)",
        to: "door.cell().word.fetch_add(SENT, Ordering::Acquire)",
        breaks: "the receiver reads a value that was not released",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "door.cell().word.fetch_add(SENT, Ordering::AcqRel)",
        to: "door.cell().word.fetch_add(SENT, Ordering::Release)",
        breaks: "the sender reads a waker without acquiring it",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "        if seen & CLOSED == 0 {\n",
        to: "        if seen & ENDS == seen & ENDS {\n",
        breaks: "a value goes to a receiver that has closed before",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "|word| word | bit, Ordering::Release)",
        to: "|word| word | bit, Ordering::Relaxed)",
        breaks: "a waker is left without being released",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "self.change(&mut seen, |word| word | bit, Ordering::Release);",
        to: "{ self.cell().word.fetch_or(bit, Ordering::Release); seen & ENDS == 0 };",
        breaks: "a waker is left after the end, and never called",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "if !self.change(&mut seen, |word| word & !bit, Ordering::Relaxed) {",
        to: "if seen & ENDS != 0 {",
        breaks: "a waker is replaced while the other half may take it out",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "self.cell().word.fetch_sub(bits, Ordering::AcqRel)",
        to: "self.cell().word.fetch_sub(bits, Ordering::Acquire)",
        breaks: "the second half frees the cell while the first one is at the wakers",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "self.cell().word.fetch_sub(bits, Ordering::AcqRel)",
        to: "self.cell().word.fetch_sub(bits, Ordering::Release)",
        breaks: "the first half frees the cell while the second one takes the value out",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "self.cell().word.fetch_add(LEFT, Ordering::AcqRel)",
        to: "self.cell().word.fetch_add(LEFT, Ordering::Acquire)",
        breaks: "the second half leaves without releasing what it did",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "        if seen & INSIDE != 0 {\n",
        to: "        if seen & INSIDE != 0 && false {\n",
        breaks: "the second half does not look whether the first one is still there",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "|word| word | CLOSED, Ordering::AcqRel)",
        to: "|word| word | CLOSED, Ordering::Release)",
        breaks: "the receiver takes out a sender's waker without acquiring it",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "(own), take(WAKERS & !own))",
        to: "(WAKERS & !own), take(own))",
        breaks: "a half that ends the channel wakes itself",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "word.fetch_sub(STAYS, Ordering::AcqRel)",
        to: "word.fetch_sub(STAYS, Ordering::Release)",
        breaks: "a closed receiver frees the cell while the sender takes its value back",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "            if self.cell().word.fetch_add(LEFT, Ordering::AcqRel) & INSIDE != 0 {",
        to: "            if self.cell().word.fetch_add(LEFT, Ordering::AcqRel) & INSIDE == INSIDE {",
        breaks: "the second half frees the cell although the first one is still there",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "        if before & (LEFT | STAYS) == LEFT {",
        to: "        if before & LEFT != 0 {",
        breaks: "a receiver that is closed and stays frees the cell, and then again",
    },
    Mutation {
        file: CELL,
        models: MODELS,
        from: "word.fetch_sub(STAYS, Ordering::AcqRel) & LEFT != 0 {",
        to: "word.fetch_sub(STAYS, Ordering::AcqRel) & (LEFT | SENT | DROPPED) != 0 {",
        breaks: "a closed receiver frees the cell before the sender has left it",
    },
];
