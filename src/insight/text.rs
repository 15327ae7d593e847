//! A dump as a text for people.

use super::dump::Dump;
use super::slow_poll_info::AlikePolls;
use super::task_state::TaskState;
use crate::engine::blocking::PoolCounts;
use crate::runtime::RuntimeFlavor;
use crate::short::short;
use std::fmt;

/// How many tasks the text shows one by one, how many groups of them, and how many sockets.
const SHOWN_TASKS: usize = 100;
const SHOWN_GROUPS: usize = 30;
const SHOWN_SOCKETS: usize = 50;
const SHOWN_QUEUES: usize = 30;

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings = self.findings();
        for finding in &findings {
            writeln!(f, "! {finding}")?;
        }
        let lately = self.lately();
        if findings.is_empty() {
            let calm = match lately.is_none() && self.notable.is_empty() {
                true => "nothing is wrong that a dump shows",
                false => "no finding",
            };
            writeln!(f, "{calm}; {}", self.not_looked_at())?;
        }
        lately.iter().try_for_each(|lately| writeln!(f, "{lately}"))?;
        self.notable.iter().try_for_each(|notable| writeln!(f, "{notable}"))?;
        f.write_str("\nruntime")?;
        if let Some(name) = &self.name {
            write!(f, " {:?}", short(name))?;
        }
        let flavor = match self.flavor {
            RuntimeFlavor::CurrentThread => "without workers",
            RuntimeFlavor::MultiThread => "with workers",
        };
        writeln!(f, " {flavor}, {} timers, {} sources", self.timers, self.sources)?;
        writeln!(f, "{}", self.limits)?;
        let (slow, blocked) = (self.slow_polls, self.blocked_polls);
        writeln!(f, "slow polls: {slow}; polls that have blocked the last free worker: {blocked}")?;
        let slow_polls = AlikePolls::groups(&self.last_slow_polls);
        slow_polls.iter().try_for_each(|alike| writeln!(f, "  {alike}"))?;
        for (name, times) in self.histograms().filter(|(_, times)| times.total() != 0) {
            let (what, note) = match name {
                "poll_times" => ("polls take", ""),
                _ => ("ready tasks wait", SAMPLE),
            };
            let [half, most, all] = [0.5, 0.99, 1.0].map(|share| times.quantile(share));
            writeln!(
                f,
                "half of the {what} up to {half}, 99 % up to {most}, the longest up to {all}{note}"
            )?;
        }
        self.workers.iter().try_for_each(|worker| writeln!(f, "  {worker}"))?;
        for task in self.polled_elsewhere.iter().take(SHOWN_TASKS) {
            writeln!(f, "  polled elsewhere: {task}")?;
        }
        write_left(f, self.polled_elsewhere.len(), SHOWN_TASKS, "polled elsewhere")?;
        self.fmt_tasks(f)?;
        self.fmt_queues(f)?;
        self.fmt_sockets(f)?;
        self.fmt_pool(f)?;
        self.trees.iter().try_for_each(|tree| write!(f, "\n{tree}"))
    }
}

/// What is said of the times for which tasks were ready.
const SAMPLE: &str = "; a sample of them if a worker makes more than 1,000 polls in a second";

impl Dump {
    /// What a dump without a finding does not rule out.
    pub(super) fn not_looked_at(&self) -> String {
        let left = match self.listed_tasks().saturating_sub(self.tasks.len()) {
            0 => String::new(),
            left => format!(", and what {left} more tasks wait for"),
        };
        format!(
            "not looked at: threads that are not liten's, what the futures in block_on wait for, waits for \
             locks and channels of other crates{left}"
        )
    }

    fn fmt_tasks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [running, ready, waiting] = TaskState::ALL.map(|state| self.count(state));
        let listed = running + ready + waiting;
        let new = self.new_tasks();
        writeln!(
            f,
            "\n{} tasks alive: {running} running, {ready} ready, {waiting} waiting, {new} in a queue that \
             have never waited",
            self.alive_tasks
        )?;
        for group in self.groups.iter().take(SHOWN_GROUPS) {
            writeln!(f, "  {group}")?;
        }
        write_left(f, self.groups.len(), SHOWN_GROUPS, "places")?;
        for task in self.tasks.iter().take(SHOWN_TASKS) {
            writeln!(f, "  {task}")?;
        }
        write_left(f, listed, SHOWN_TASKS, "tasks")
    }

    fn fmt_queues(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.queues.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nchannels and sets of tasks that were made since there is a page")?;
        for group in self.queues.iter().take(SHOWN_QUEUES) {
            writeln!(f, "  {group}")?;
        }
        write_left(f, self.queues.len(), SHOWN_QUEUES, "places")
    }

    fn fmt_sockets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sockets.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{} sockets and other sources", self.sources)?;
        if let Some(trouble) = &self.sockets_trouble {
            writeln!(f, "  what they lead to is not known: {}", trouble.escape_debug())?;
        }
        for socket in self.sockets.iter().take(SHOWN_SOCKETS) {
            writeln!(f, "  {socket}")?;
        }
        write_left(f, self.sources, SHOWN_SOCKETS, "sources")
    }

    fn fmt_pool(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolCounts { max_threads, threads, idle_threads, queued, .. } = self.pool.counts;
        writeln!(
            f,
            "\nblocking pool: {threads} threads of {max_threads}, {idle_threads} of them idle; {queued} \
             jobs wait"
        )?;
        for job in self.pool.jobs.iter().take(SHOWN_TASKS) {
            writeln!(f, "  {job}")?;
        }
        write_left(f, self.pool.jobs.len(), SHOWN_TASKS, "jobs")
    }
}

/// Says how many are not shown.
pub(super) fn write_left(
    f: &mut impl fmt::Write,
    all: usize,
    shown: usize,
    what: &str,
) -> fmt::Result {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        left => writeln!(f, "  and {left} {what} more"),
    }
}
