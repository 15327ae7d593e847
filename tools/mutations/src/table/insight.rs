//! What insight says of a program.

use super::Mutation;

const FINDING: &str = "src/insight/finding.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: FINDING,
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
];
