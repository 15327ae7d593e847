//! What the page shows: its pictures, which rows are in each, and why liten loses where it does.

use crate::find;
use crate::picture::Bar;
use crate::row::{OURS, Row, TOKIO};

/// Where the pictures go, below the folder of the page.
pub(crate) const FOLDER: &str = "benches/results";

/// One picture.
pub(crate) struct Picture {
    /// Name of its file.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What is measured, in a sentence or two below the picture.
    pub(crate) about: &'static str,
    /// Name of a row, which of its figures, and what the bars are called.
    rows: &'static [(&'static str, &'static str, &'static str)],
}

impl Picture {
    /// The bars of the rows that were measured.
    pub(crate) fn bars(&self, rows: &[Row]) -> Vec<Bar> {
        let bar = |(name, figure, label): &(&str, &str, &'static str)| {
            let row = find(rows, name, figure)?;
            let (ratio, tokio) = (row.ratio?, row.cost(TOKIO)?);
            let others = row.costs.iter().filter(|(name, _)| name != OURS && name != TOKIO);
            let others = others.map(|(name, cost)| (name.clone(), cost / tokio)).collect();
            Some(Bar { label, ratio, others })
        };
        self.rows.iter().filter_map(bar).collect()
    }
}

/// Rows that build programs first, or take long. They are measured only on demand.
const SLOW: [&str; 4] = ["build", "hello", "mixed_quota_1.0_8ms", "mixed_quota_1.5_8ms"];

/// Parts of the names of the rows that are measured.
pub(crate) fn names(slow: bool) -> Vec<&'static str> {
    let rows = PICTURES.iter().flat_map(|picture| picture.rows).map(|&(name, _, _)| name);
    let mut names: Vec<_> = rows.filter(|name| slow || !SLOW.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Why liten is behind in a row, as measured. A loss without a line here is shown as not explained.
pub(crate) const REASONS: &[(&str, &str)] = &[
    ("tcp_echo", "The same system calls as on tokio; four fifths of the time are the kernel's."),
    ("udp_echo", "The same system calls as on tokio; four fifths of the time are the kernel's."),
    (
        "hello size",
        "insight, which is on by default, is 1.4 of 2.2 MB: its page, and what reads debug information for await trees. Without \
         the feature a program is a quarter larger than on tokio.",
    ),
    (
        "build",
        "liten is more code, and insight, which is on by default, doubles it: 65 s of processor time, 30 s without the feature, \
         17 s for tokio with `full`, on one machine.",
    ),
    (
        "mixed_",
        "Tasks that compute get less of the processors, because the others are served. Spare workers that serve them are \
         threads more (`threads`), which run beside the computing ones (`running`).",
    ),
];

pub(crate) const PICTURES: &[Picture] = &[
    Picture {
        name: "heavy_requests",
        title: "Light requests beside heavy ones that compute for 8 ms",
        about: "Four connections ask for 8 ms of computing again and again, 32 others send a light request each millisecond. \
                No handler yields. \"Requests\" is the time per light request, \"heavy\" that per heavy one.",
        rows: &[
            ("mixed_heavy_requests", "p50", "light requests, p50"),
            ("mixed_heavy_requests", "p99", "light requests, p99"),
            ("mixed_heavy_requests", "requests", "light requests, time per request"),
            ("mixed_heavy_requests", "heavy", "heavy requests, time per request"),
        ],
    },
    Picture {
        name: "computing_tasks",
        title: "Echo beside tasks that compute and yield",
        about: "Thirty-two paced connections, beside four tasks of the same runtime that compute for 1 or 8 ms in each poll and \
                then yield.",
        rows: &[
            ("mixed_1ms", "p50", "1 ms polls: echo, p50"),
            ("mixed_1ms", "p99", "1 ms polls: echo, p99"),
            ("mixed_1ms", "burners", "1 ms polls: computing, time per poll"),
            ("mixed_8ms", "p50", "8 ms polls: echo, p50"),
            ("mixed_8ms", "p99", "8 ms polls: echo, p99"),
            ("mixed_8ms", "burners", "8 ms polls: computing, time per poll"),
        ],
    },
    Picture {
        name: "quota",
        title: "Echo beside tasks that compute, with a CPU quota",
        about: "The same with polls of 8 ms, in a control group that grants 1.0 or 1.5 processors' time per 100 ms, as a container \
                has it; the load stays outside. liten starts as many workers as it would there, and so does tokio. Processor time \
                beyond the quota stops the whole process until the period ends.",
        rows: &[
            ("mixed_quota_1.0_8ms", "p50", "quota 1.0: echo, p50"),
            ("mixed_quota_1.0_8ms", "p99", "quota 1.0: echo, p99"),
            ("mixed_quota_1.0_8ms", "burners", "quota 1.0: computing, time per poll"),
            ("mixed_quota_1.5_8ms", "p50", "quota 1.5: echo, p50"),
            ("mixed_quota_1.5_8ms", "p99", "quota 1.5: echo, p99"),
            ("mixed_quota_1.5_8ms", "burners", "quota 1.5: computing, time per poll"),
        ],
    },
    Picture {
        name: "scheduler",
        title: "Spawns and wakes",
        about: "tokio's own scheduler benches with its parameters, and fork-join. Time per operation.",
        rows: &[
            ("spawn_many_local", "", "spawn 10,000, join all"),
            ("spawn_many_remote_idle", "", "the same from outside"),
            ("spawn_many_in_task", "", "the same from inside of a task"),
            ("yield_many", "", "yield"),
            ("ping_pong", "", "ping-pong over two one-shots"),
            ("chained_spawn", "", "chain of spawns"),
            ("fork_join", "", "fork-join, fib(18)"),
        ],
    },
    Picture {
        name: "channels",
        title: "Channels and locks",
        about: "liten's on liten beside tokio's on tokio. Time per message or per acquisition.",
        rows: &[
            ("channel_bounce", "", "two bounded channels, round trip"),
            ("sync_unbounded_4_to_1", "", "unbounded channel, 4 to 1"),
            ("sync_mpsc_16_to_1", "", "bounded channel, 16 to 1"),
            ("sync_oneshot", "", "one-shot"),
            ("sync_watch", "", "watch"),
            ("sync_broadcast", "", "broadcast"),
            ("sync_mutex", "", "mutex"),
            ("sync_rwlock", "", "read-write lock"),
            ("sync_semaphore", "", "semaphore"),
            ("sync_notify", "", "notify"),
        ],
    },
    Picture {
        name: "timers",
        title: "Timers",
        about: "Creating and dropping a sleep, ten thousand that end together, and how late a sleep ends.",
        rows: &[
            ("sleep_cancel_one_task", "", "create and drop, one task"),
            ("sleep_cancel_two_tasks", "", "create and drop, two tasks"),
            ("idle_timeout", "", "timeout that each message moves"),
            ("mass_expiry", "", "10,000 end together"),
            ("timers_lateness", "p50", "lateness, p50"),
            ("timers_lateness", "p99", "lateness, p99"),
            ("short_sleep_lateness", "", "lateness below 1 ms"),
        ],
    },
    Picture {
        name: "memory",
        title: "Resident memory",
        about: "Bytes per task, of a million that wait for ever or for a timer, and per connection that waits for a message.",
        rows: &[
            ("memory_connection", "", "idle connection"),
            ("memory_idle", "", "task that waits"),
            ("memory_sleeping", "", "task that sleeps"),
        ],
    },
    Picture {
        name: "echo",
        title: "Echo over TCP and UDP",
        about: "Messages of 64 bytes from another process, one in flight per connection. `epoll` is the same server by hand, on one \
                thread: the limit of what this kind of I/O can give. The runtimes differ little.",
        rows: &[
            ("tcp_echo_1", "", "1 connection, time"),
            ("tcp_echo_8", "", "8 connections, time"),
            ("tcp_echo_64", "", "64 connections, time"),
            ("tcp_echo_64", "cpu", "64 connections, processor"),
            ("tcp_echo_500", "", "500 connections, time"),
            ("tcp_echo_500", "cpu", "500 connections, processor"),
            ("udp_echo_16", "", "UDP, 16 in flight, time"),
            ("udp_relay", "", "UDP through two relays, time"),
            ("udp_relay", "cpu", "UDP through two relays, processor"),
        ],
    },
    Picture {
        name: "http",
        title: "hyper over HTTP/1.1",
        about: "The same service of hyper's. Time and processor time per request. The runtimes differ little here, too.",
        rows: &[
            ("http_64", "", "64 connections, time"),
            ("http_64", "cpu", "64 connections, processor"),
            ("http_500", "", "500 connections, time"),
            ("http_500", "cpu", "500 connections, processor"),
            ("connect", "", "connect, accept, close"),
        ],
    },
    Picture {
        name: "one_thread",
        title: "One thread",
        about: "Runtimes without worker threads.",
        rows: &[
            ("local_ping_pong", "", "ping-pong of tasks that are not Send"),
            ("local_spawn", "", "spawn and join"),
            ("local_foreign_wake", "", "wake from another thread"),
            ("local_connect", "", "connect, accept, close"),
        ],
    },
    Picture {
        name: "start",
        title: "Build, size and start",
        about: "A clean release build of the runtime alone; a stripped program whose first task prints a word, its size and the time \
                from its start to the first byte; a whole life of a runtime, with all threads joined.",
        rows: &[
            ("build", "", "clean release build"),
            ("hello", "size", "stripped program, size"),
            ("hello", "start", "start of a program, first byte"),
            ("local_start", "", "life of a runtime, one thread"),
            ("start_stop", "", "life of a runtime, two workers"),
        ],
    },
];
