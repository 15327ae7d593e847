//! The watchdog's decision. Its table is checked by plain tests, which run with the models.

use super::Mutation;

const DECISION: &str = "src/engine/scheduler/watchdog/decision.rs";
const BRAKE: &str = "src/engine/scheduler/brake.rs";
const HOME: &str = "src/engine/task/home.rs";
const LENGTHS: &str = "src/engine/scheduler/lengths.rs";
const LONG_POLLS: &str = "src/observe/long_polls.rs";

pub const ROWS: &[Mutation] = &[
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "if !snapshot.attended && before == snapshot.attendance {",
        to: "if !snapshot.attended {",
        breaks: "the watchdog takes the seat that a worker leaves and takes all the time",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "if !snapshot.attended && before == snapshot.attendance {",
        to: "if !snapshot.attended && before != snapshot.attendance {",
        breaks: "a seat that stays empty is not taken",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "stalled || (spares == 0 && self.pressure >= SLOW_FOR)",
        to: "stalled || spares == 0",
        breaks: "one moment in which all workers are slow starts a spare",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "stalled || (spares == 0 && self.pressure >= SLOW_FOR)",
        to: "stalled",
        breaks: "slow polls that end before the limit never start a spare",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "(SPARE_AFTER * (1 << spares)).min(LONGEST_SPARE_AFTER)",
        to: "SPARE_AFTER",
        breaks: "spares follow each other although each one is stuck at once",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "(snapshot.regular + blocked).max(",
        to: "snapshot.regular.max(",
        breaks: "spares are let go that replace workers which block in place",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: ".max(last.map_or(0, |last| last + 1))",
        to: "",
        breaks: "a worker is to leave while it blocks in place, and no thread can be started in its slot",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "needed < snapshot.staying && passed(easy, RETIRE_AFTER)",
        to: "needed < snapshot.staying",
        breaks: "a spare goes at the first quick look, and has to be started again",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "((0..snapshot.staying).any(moves) && self.stalled(snapshot).any(waits))",
        to: "((0..snapshot.regular).any(moves) && self.stalled(snapshot).any(waits))",
        breaks: "a spare that moves is not told to take what waits at a stalled worker",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "seen.blocked_in_place || stuck",
        to: "stuck",
        breaks: "a worker that blocks in place counts as free",
    },
    Mutation {
        file: LONG_POLLS,
        models: "observe::long_polls",
        from: "(is_over && !seen.is_blocked_in_place && !self.in_place).then(|| {",
        to: "(is_over && !seen.is_blocked_in_place).then(|| {",
        breaks: "a poll that has blocked in place counts as a long one when it is over",
    },
    Mutation {
        file: LONG_POLLS,
        models: "observe::long_polls",
        from: "self.lasted += passed.min(slow_after / SLOW_SHARE);",
        to: "self.lasted += passed;",
        breaks: "a process that the system has stopped for minutes has made a slow poll",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "(stuck && !snapshot.parked).then_some(Order::Drain)",
        to: "stuck.then_some(Order::Drain)",
        breaks: "a thread drops the tasks of a closed runtime while a worker is free to do so",
    },
    Mutation {
        file: BRAKE,
        models: "scheduler::brake",
        from: "} else if self.balance >= -nanos(self.budget.time / DEBT) {",
        to: "} else if true {",
        breaks: "the quota is used up, because some workers compute whatever is owed",
    },
    Mutation {
        file: BRAKE,
        models: "scheduler::brake",
        from: "balance: if is_forgiven { most.max(1) } else { balance },",
        to: "balance,",
        breaks: "tasks that have yielded starve where ready ones use up the quota",
    },
    Mutation {
        file: BRAKE,
        models: "scheduler::brake",
        from: ".clamp(least, most)",
        to: ".max(least)",
        breaks: "what is saved up while nothing computes is spent in one period",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "at_work > snapshot.regular || self.pressure >= SLOW_FOR",
        to: "at_work > snapshot.regular",
        breaks: "a runtime without spares lets short tasks wait for all long ones",
    },
    Mutation {
        file: DECISION,
        models: "watchdog::decision",
        from: "let at_work = workers.iter().filter(|seen| !seen.blocked_in_place).count();",
        to: "let at_work = workers.len();",
        breaks: "a program that blocks in place pays for a clock that it does not need",
    },
    Mutation {
        file: HOME,
        models: "task::home",
        from: "HIGHEST.min(record + 1)",
        to: "HIGHEST",
        breaks: "a short task that was off the processor once is taken for a long one",
    },
    Mutation {
        file: HOME,
        models: "task::home",
        from: "record.saturating_sub(1)",
        to: "record",
        breaks: "a task that was long once is long for ever",
    },
    Mutation {
        file: LENGTHS,
        models: "scheduler::lengths",
        from: "level.saturating_sub(1)",
        to: "level",
        breaks: "a few long tasks of a type keep all others of it waiting",
    },
];
