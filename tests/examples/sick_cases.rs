//! The sick programs: how each is started, and what insight is to say of it.

use crate::http::curl;
use crate::process::{self, Example, LIMIT};
use std::path::Path;
use std::process::Command;

/// What is to be found of one program.
pub(crate) struct Case {
    /// Of the file, and of the example behind `sick_`.
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// In the lines with these texts are the spawns that are to be named.
    spawns: &'static [&'static str],
    /// What the sentence says of the cause.
    pub(crate) cause: &'static [&'static str],
}

pub(crate) const BLOCKED_WORKER: Case = Case {
    name: "blocked_worker",
    kind: "blocked_worker",
    spawns: &["drop(liten::spawn(async move {"],
    // What a thread does is known on Linux only.
    cause: match cfg!(target_os = "linux") {
        true => &[
            "has been in one poll for ",
            " ms: task ",
            ", in the system call recvfrom(fd ",
            "socket:[",
        ],
        false => &["has been in one poll for ", " ms: task "],
    },
};

pub(crate) const DROPPED_WAKER: Case = Case {
    name: "dropped_waker",
    kind: "stuck_tasks",
    spawns: &["drop(liten::spawn(Answer(slot)));"],
    cause: &["proven: no waker", "(sick_dropped_waker::Answer)"],
};

pub(crate) const FULL_POOL: Case = Case {
    name: "full_pool",
    kind: "pool_full",
    spawns: &["drop(liten::spawn_blocking(query_a_slow_database));"],
    cause: &["all 4 threads of the blocking pool are busy, and ", " jobs wait, the first for "],
};

pub(crate) const JOIN_DEADLOCK: Case = Case {
    name: "join_deadlock",
    kind: "deadlock",
    spawns: &["let reader = liten::spawn(", "let writer = liten::spawn("],
    cause: &["2 tasks wait for each other: deadlock, proven: task ", " waits for task "],
};

pub(crate) const LOCK_DEADLOCK: Case = Case {
    name: "lock_deadlock",
    kind: "deadlock",
    spawns: &["transfer(&first.0[0]", "transfer(&second.0[1]"],
    cause: &[
        "2 tasks wait for each other: deadlock, proven",
        " waits for a Mutex ",
        " held by task ",
    ],
};

pub(crate) const SELF_WAKE_STORM: Case = Case {
    name: "self_wake_storm",
    kind: "busy_task",
    spawns: &["drop(liten::spawn(poll_fn(move |cx| {"],
    cause: &["times a second and never waits: suspected"],
};

#[cfg(target_os = "linux")]
pub(crate) const SILENT_PEER: Case = Case {
    name: "silent_peer",
    kind: "silent_peer",
    spawns: &["drop(liten::spawn(async move {"],
    cause: &[" s at least for 127.0.0.1:", " to send something, and for nothing else: suspected"],
};

pub(crate) const SPAWN_LEAK: Case = Case {
    name: "spawn_leak",
    kind: "growing_tasks",
    spawns: &["drop(liten::spawn(async move { shutdown.notified().await }));"],
    cause: &["become more and more, from ", "suspected leak"],
};

/// All of them.
pub(crate) const CASES: &[&Case] = &[
    &BLOCKED_WORKER,
    &DROPPED_WAKER,
    &FULL_POOL,
    &JOIN_DEADLOCK,
    &LOCK_DEADLOCK,
    &SELF_WAKE_STORM,
    #[cfg(target_os = "linux")]
    &SILENT_PEER,
    &SPAWN_LEAK,
];

impl Case {
    /// Each place as a sentence names it.
    pub(crate) fn places(&self) -> Vec<String> {
        let file = format!("examples/sick/{}.rs", self.name);
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Also from a package in a folder below.
        let path = path.ancestors().map(|folder| folder.join(&file)).find(|path| path.exists());
        let source = std::fs::read_to_string(path.expect("the source is there")).unwrap();
        let place = |spawn: &&str| {
            let line = source.lines().position(|line| line.contains(spawn));
            format!("{file}:{}:", line.unwrap_or_else(|| panic!("{spawn:?} is not there")) + 1)
        };
        self.spawns.iter().map(place).collect()
    }

    /// Whether this sentence names places and cause.
    pub(crate) fn is_said_by(&self, sentence: &str) -> bool {
        let sentence = sentence.replace('\\', "/");
        let says = |part: &str| sentence.contains(part);
        self.places().iter().all(|place| says(place)) && self.cause.iter().all(|cause| says(cause))
    }

    pub(crate) fn start(&self) -> Patient {
        let name = format!("sick_{}", self.name);
        let mut command = Command::new(process::path(&name));
        // Long enough for each test, which kills it.
        let example = Example::start(&name, command.arg("600").env_remove("LITEN_INSIGHT"));
        let line = example.errors.recv_timeout(LIMIT).expect("it says where its page is");
        let url = line.strip_prefix("insight on ").expect("it is the first line").to_owned();
        Patient { url, _example: example }
    }
}

/// A sick program that is running.
pub(crate) struct Patient {
    /// With the token.
    pub(crate) url: String,
    _example: Example,
}

impl Patient {
    /// What the page gives a program that has the token.
    pub(crate) fn get(&self, path: &str) -> String {
        let (address, token) = self.url.split_once("/#").expect("the token is behind the path");
        let header = format!("Authorization: Bearer {token}");
        curl(&["--fail", "--header", &header, &format!("{address}{path}")])
    }
}
