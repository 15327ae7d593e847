//! What insight says of a program. The rules of its proofs are checked by plain tests, which run with the models.

use super::Mutation;

const FINDING: &str = "src/insight/finding.rs";
const SENTENCES: &str = "src/insight/finding/sentences.rs";
const DEADLOCKS: &str = "src/insight/deadlocks.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: SENTENCES,
        models: "insight::finding::loom",
        from: "Self::SuspectedDeadlock { tasks, others } => deadlock(tasks, *others, false, f),",
        to: "Self::SuspectedDeadlock { tasks, others } => deadlock(tasks, *others, true, f),",
        breaks: "a suspected deadlock is said to be proven",
    },
    Mutation {
        file: FINDING,
        models: "insight::finding::loom",
        from: "        found.extend(suspected_deadlocks(self));\n",
        to: "        _ = suspected_deadlocks(self);\n",
        breaks: "a suspected deadlock is not said at all",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "let lives = |blocker: &&TaskId| !blockers.contains_key(blocker) && !stuck.contains(blocker);",
        to: "let lives = |blocker: &&TaskId| !blockers.contains_key(blocker);",
        breaks: "a task without a waker counts as one that may go on",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "            blockers.remove(&task);\n            live.push(task);\n",
        to: "            blockers.remove(&task);\n",
        breaks: "a task that waits for one that may go on counts as one that does not",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "|_| was_cold && entry.is_note_reliable",
        to: "|_| entry.is_note_reliable",
        breaks: "a task that has run between the walks counts as one that has waited",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "&& note == notes.get(&entry.task.id()).copied()",
        to: "",
        breaks: "a task that waits for something else by now counts as one that has waited",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "let certain = blockers.iter().filter(|(task, _)| !uncertain.contains(task));",
        to: "let certain = blockers.iter();",
        breaks: "a guard that may be in another task proves something",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: ".filter(|task| !by_joins.contains_key(task)).copied();",
        to: ".filter(|_| false).copied();",
        breaks: "what is proven of locks is said without its condition",
    },
    Mutation {
        file: DEADLOCKS,
        models: "insight::deadlocks::rules",
        from: "let seen = blockers.iter().filter(|(task, _)| seen_again.contains_key(task));",
        to: "let seen = blockers.iter();",
        breaks: "a task that has gone on before the second walk counts as one that has waited",
    },
];
