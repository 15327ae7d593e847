//! The house rules, as tests: each reads the sources and prints `file:line: reason` for every breach.
//!
//! What is allowed where stands in the tables below, and nowhere else. To add a row is a decision: it
//! comes with its reason, and the tests fail when nothing uses a permission any more. The rules
//! themselves are in `tidy/rules.rs`, `tidy/floors.rs`, `tidy/circles.rs` and, for the engine's head, in
//! `tidy/map.rs` and `tidy/words.rs`; `tidy/bites.rs` feeds rules a bad snippet, to prove that they can fail.

#[path = "tidy/bites.rs"]
mod bites;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/floors.rs"]
mod floors;
#[path = "tidy/map.rs"]
mod map;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/unsafe_index.rs"]
mod unsafe_index;
#[path = "tidy/words.rs"]
mod words;

use floors::Plan;
use rules::Confined;
use source::Source;
use std::fs::read_to_string;
use std::path::Path;

const FILE_LINES: usize = 700;
const FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 110;
/// How far above an atomic access the comment that argues for its ordering may end.
const ORDERING_REACH: usize = 8;

/// Arrows point down only: a module names modules on lower floors, or in its own room.
const HOUSE: Plan = Plan {
    floors: &[
        // Ground: knows nothing of async.
        ("engine::sync_shim", 0),
        ("engine::recycler", 0),
        ("engine::nanos", 0),
        ("engine::rng", 0),
        ("engine::slab", 0),
        ("engine::scoped", 0),
        ("engine::wakers", 0),
        ("engine::slice", 0),
        ("engine::thread_name", 0),
        ("engine::ended", 0),
        ("engine::abort", 0),
        ("impls", 0),
        ("primitive_kind", 0),
        ("short", 0),
        // What the system lets the process use.
        ("limits", 0),
        ("engine::tokio_note", 0),
        // Waiting and handing over.
        ("engine::park", 1),
        ("engine::queue", 1),
        // The parts of a runtime, which do not know each other but for the rows of `sideways`.
        ("engine::task", 2),
        ("engine::driver", 2),
        ("engine::blocking", 2),
        // What runs where, and when.
        ("engine::scheduler", 3),
        // One thread that waits for a host: what a runtime on wasm stands on.
        ("component", 3),
        // What is kept of the steps of a scheduler.
        ("observe", 4),
        // Assembly.
        ("runtime", 5),
        // Faces that others stand on: sources, clocks, tasks.
        ("io", 6),
        ("time", 6),
        ("task", 6),
        // Faces.
        ("net", 7),
        ("process", 7),
        ("signal", 7),
        ("fs", 7),
        ("hyper", 7),
        ("sync", 7),
        ("future", 7),
        ("combinators", 7),
        ("insight", 7),
        ("wasi", 7),
        // What makes runtimes for a program, and shows them.
        ("start", 8),
        // Pages about all of it, without code of its own.
        ("guide", 8),
    ],
    sideways: &[
        // The switch between std, loom and shuttle is the ground that the rest of the ground stands on.
        ("engine::scoped", "engine::sync_shim"),
        ("engine::recycler", "engine::sync_shim"),
        ("engine::wakers", "engine::sync_shim"),
        // A user's function that makes the name may panic.
        ("engine::thread_name", "engine::wakers"),
        // The macros for trait impls know nothing of the types that they are used for.
        ("engine::ended", "impls"),
        // The calls that share an open file queue up.
        ("fs", "sync"),
        // On systems without pidfds a signal tells of a child's end.
        ("process", "signal"),
        // A dump asks which task holds a lock.
        ("insight", "sync"),
        // A signal asks for what was recorded.
        ("insight", "signal"),
    ],
    doors: &[
        // A worker borrows the seat and knows nothing else of I/O and timers.
        (
            "engine::scheduler",
            "engine::driver",
            &[
                "engine::driver::COMMON_WAKES",
                "engine::driver::Driver",
                "engine::driver::SeatGuard",
            ],
        ),
    ],
};

/// Files of one room that use each other in a circle all the same. Each row has all files of its circle.
const CIRCLES: &[circles::Known] = &[
    (
        &["src/engine/scheduler/probe.rs", "src/engine/scheduler/shared.rs"],
        "a scheduler has a probe, which reads the scheduler when the watchdog reports a look",
    ),
    (
        &[
            "src/insight/dump.rs",
            "src/insight/finding.rs",
            "src/insight/finding/blocked_threads.rs",
        ],
        "findings follow from a dump, and the page's dump has those that several looks have shown",
    ),
    (
        &["src/engine/scheduler/lifecycle.rs", "src/engine/scheduler/watchdog.rs"],
        "threads start each other: a worker that leaves its park has the watchdog started, which starts \
         spare workers",
    ),
    (
        &["src/engine/scheduler/enqueue.rs", "src/engine/scheduler/worker.rs"],
        "a thread is known by its role, which may be a worker, and a worker queues its tasks",
    ),
    (
        &["src/fs/file.rs", "src/fs/open_options.rs"],
        "options open files, and files are opened with options",
    ),
    (
        &["src/net/linux.rs", "src/net/unix/stream.rs"],
        "what one system adds to a stream is beside it, and the kind of its address is asked there",
    ),
    (
        &["src/net/tcp/listener.rs", "src/net/tcp/socket.rs"],
        "a socket becomes a listener, and a listener is made by way of a socket",
    ),
    (
        &["src/net/unix/pipe.rs", "src/net/unix/pipe/end.rs"],
        "a pipe is its two ends, which share what the parent knows of pipes",
    ),
    (
        &["src/process/unix.rs", "src/process/unix/orphan.rs", "src/process/unix/reaper.rs"],
        "a child that is let go becomes an orphan, which is a child still, and one that is left to be \
         reaped",
    ),
    (
        &["src/runtime/handle.rs", "src/runtime/metrics.rs"],
        "a handle gives the numbers of its runtime, and they are read by way of a handle",
    ),
    (
        &["src/runtime/local.rs", "src/runtime/local/run.rs", "src/runtime/local_thread.rs"],
        "an executor knows whether it polls on this thread, and the thread knows which executor does; \
         `run` is a future of the executor that makes it",
    ),
    (
        &["src/sync/mutex.rs", "src/sync/mutex/guard.rs", "src/sync/mutex/mapped.rs"],
        "a mutex makes guards, and guards name their mutex",
    ),
    (
        &["src/sync/mpsc/bounded.rs", "src/sync/mpsc/permit.rs"],
        "a sender makes permits, and an owned permit gives its sender back",
    ),
    (&["src/sync/notify.rs", "src/sync/notify/notified.rs"], "a future of the type that makes it"),
    (
        &["src/sync/rwlock.rs", "src/sync/rwlock/read.rs", "src/sync/rwlock/write.rs"],
        "a lock makes guards, and guards name their lock",
    ),
    (
        &["src/sync/semaphore.rs", "src/sync/semaphore/permit.rs"],
        "a permit goes back to the semaphore that has given it",
    ),
    (
        &["src/sync/watch.rs", "src/sync/watch/receiver.rs"],
        "the two halves of one channel share its state",
    ),
];

const UNSAFE: Confined = Confined {
    what: "`unsafe`",
    words: &["unsafe", "allow(unsafe_code)"],
    homes: &[
        ("src/engine/scoped.rs", "a thread-local that lends a reference for the length of a call"),
        ("src/engine/task/current.rs", "a place in the source, behind an atomic pointer"),
        ("src/engine/recycler.rs", "uninitialised memory, linked while it is free"),
        ("src/engine/wakers/wait_list.rs", "links inside the futures that wait"),
        ("src/sync/guarded", "data behind permits, and pointers into it"),
        ("src/sync/once_cell.rs", "a value that is written once, by the holder of a permit"),
        ("src/engine/queue/wake_channel.rs", "links inside the tasks"),
        ("src/engine/queue/local.rs", "makes a task again from its link"),
        ("src/engine/task/header.rs", "pointers to the header, each with its own rights"),
        ("src/engine/task/cell.rs", "the future, then its output, pinned in one allocation"),
        ("src/engine/task/waker.rs", "the waker's function tables"),
        (
            "src/engine/task/join.rs",
            "reads the output and leaves a waker where the task's word allows it",
        ),
        ("src/engine/task/registry.rs", "cancels tasks that it knows to be registered"),
        ("src/engine/scheduler/enqueue.rs", "promises that the scheduler outlives its tasks"),
        (
            "src/engine/driver/selector/still_closed.rs",
            "asks the system about a descriptor: two calls for which nix wants two more features, and \
             `poll`, for which it wants a borrowed descriptor",
        ),
        ("src/engine/slice.rs", "asks the system for short slices of the processor"),
        ("src/runtime/local.rs", "tasks that borrow, on the thread that owns them"),
        ("src/runtime/local/queue.rs", "half a queue that one thread alone reaches"),
        ("src/runtime/local/settled.rs", "tasks that stay on the thread on which they are made"),
        (
            "src/io/trait_families.rs",
            "buffers of tokio and hyper lend uninitialised memory, and take the count of bytes on trust",
        ),
        ("src/process/command/unix.rs", "passes on what the caller promises of `pre_exec`"),
        ("src/process/unix/pidfd.rs", "two calls that neither std nor nix has"),
        ("src/process/windows.rs", "waits for the handle of a process"),
        (
            "src/signal/unix/signals.rs",
            "promises that its handler does what a signal handler may do",
        ),
        (
            "src/signal/unix/source.rs",
            "promises that its handler does what a signal handler may do",
        ),
        ("src/signal/windows.rs", "installs the handler of the console's events"),
        ("src/runtime/scope.rs", "tasks that borrow from a caller that waits for them"),
        (
            "src/runtime/blocking_task.rs",
            "promises that what stands for a scheduler outlives the jobs",
        ),
        ("src/insight/await_tree/freed_memory.rs", "a call of the C library"),
        ("src/observe/simulation.rs", "calls a function of the simulation"),
        ("src/observe/simulation/root.rs", "the table of a waker that notes its clones"),
        ("src/insight/variable/privileges.rs", "a call of the C library"),
        ("src/insight/memory/allocator.rs", "an allocator is unsafe to implement"),
        ("src/insight/thread_stack/reply_slot.rs", "a value that two threads reach in turn"),
        (
            "src/insight/thread_stack/interruption.rs",
            "a signal handler, and the calls that install and send",
        ),
        ("src/combinators/select.rs", "futures in one tuple, pinned in the caller's frame"),
        ("src/combinators/join.rs", "the same"),
        (
            "src/sync/oneshot/cell.rs",
            "a value and two wakers, in memory that two halves free by a word",
        ),
        ("src/engine/sync_shim/coarse_clock.rs", "a call that nix makes twice as long"),
        ("src/engine/sync_shim/native/spin_mutex.rs", "the trait of a lock is unsafe to implement"),
    ],
};

const CLOCK: Confined = Confined {
    what: "a reading of the clock",
    words: &["Instant::now", "SystemTime::now", ".elapsed()", "clock::now"],
    homes: &[
        ("src/engine/sync_shim/plain.rs", "the one that is shipped; shuttle has another"),
        (
            "src/engine/sync_shim/native.rs",
            "how long a thread does nothing before it asks for a lock again",
        ),
        ("src/engine/driver", "the turn expires timers; a timer's first poll reads a fresh clock"),
        ("src/runtime/context.rs", "the system's clock, for a thread that is in no runtime"),
        ("src/runtime/block_on.rs", "how long a root slept, once per system call"),
        ("src/runtime/drive.rs", "how long the thread was busy, twice per sleep"),
        ("src/runtime/shutdown.rs", "how long a bounded shutdown has waited"),
        ("src/runtime/lost_lock.rs", "how long a lock is waited for that may be lost"),
        ("src/runtime/blocking_task.rs", "since when a job waits, and since when it runs"),
        ("src/engine/scheduler/lifecycle.rs", "when the system has had no thread to give"),
        ("src/observe", "when what is kept has happened, and when the next sample comes"),
        ("src/engine/scheduler/slots.rs", "how long a thread was busy, twice per sleep"),
        (
            "src/engine/scheduler/watchdog.rs",
            "how long workers have been in one poll, once per look",
        ),
        ("src/engine/scheduler/worker", "how long its tasks took, once per poll of the driver"),
        ("src/time", "deadlines relative to now"),
        ("src/hyper/timer.rs", "hyper asks its timer for the time"),
        ("src/component/native.rs", "a host's clock"),
        ("src/insight/thread_stack", "for how long a thread is waited for that is interrupted"),
        ("src/insight/facts.rs", "how long blocking work waits and runs, once per dump"),
        ("src/insight/cold.rs", "since when tasks wait, twice per dump while a page is open"),
        ("src/insight/server/picture.rs", "how old a picture is, once per request"),
        ("src/insight/await_tree.rs", "until when a dump waits for its trees"),
        ("src/insight/server/watch.rs", "when to look again, while requests come"),
        ("src/insight/server/lives.rs", "when the page was looked at last, once per request"),
        ("src/insight/flight_recorder/mailbox.rs", "how long ago the last snapshot was asked for"),
        ("src/insight/flight_recorder/observer.rs", "when a snapshot was made, by the calendar"),
    ],
};

const THREADS: Confined = Confined {
    what: "the start of a thread",
    words: &["thread::spawn", "thread::Builder", "thread::scope"],
    homes: &[
        ("src/engine/blocking.rs", "the pool for blocking calls"),
        ("src/engine/scheduler/threads.rs", "workers come and go"),
        ("src/io/stdin.rs", "reads a terminal, which may last for ever"),
        ("src/runtime/tokio_context.rs", "a trial, before tokio panics over the lack of one"),
        ("src/insight/await_tree/symbols.rs", "gives memory back after some seconds"),
        ("src/insight/blocked_call.rs", "reads names, under locks that a blocked thread may hold"),
        ("src/process/windows.rs", "waits for a child, which nothing can interrupt"),
        ("src/process/unix/reaper.rs", "waits for children whose runtime has ended"),
        (
            "src/insight/own_thread.rs",
            "the page and the flight recorder work while every worker is stuck",
        ),
    ],
};

const THREAD_LOCALS: Confined = Confined {
    what: "`thread_local!`",
    words: &["thread_local!", "modelled_thread_local!"],
    homes: &[
        ("src/runtime/context.rs", "the current runtime"),
        ("src/runtime/block_on.rs", "which runtime made this thread, and whether it polls a root"),
        ("src/runtime/watched.rs", "what observers see of this thread's calls of `block_on`"),
        ("src/runtime/blocking_task.rs", "the system's number of the thread"),
        ("src/runtime/tokio_context.rs", "whether this thread is the helper's"),
        ("src/runtime/local_thread.rs", "the current local runtime, and whether it is polling"),
        ("src/runtime/local/queue.rs", "the queue whose own half this thread may touch"),
        ("src/engine/scheduler/enqueue.rs", "what this thread is to the scheduler"),
        ("src/engine/scheduler/here.rs", "the current runtime's scheduler, as an address"),
        ("src/engine/task/current.rs", "the task being polled, and what is left of its turn"),
        ("src/task/local_key.rs", "one slot per task-local key"),
        ("src/insight/await_tree/traced.rs", "what a traced poll on this thread notes"),
        ("src/insight/memory/samples.rs", "what a thread has left until its next sample"),
        ("src/engine/task/budget.rs", "what leaves call instead of their operations in a trace"),
        ("src/engine/task/origin.rs", "a range of ids per thread"),
        ("src/engine/recycler.rs", "the memory that each thread keeps"),
        ("src/engine/slice.rs", "what the thread has asked the system for"),
        ("src/combinators/select.rs", "the random numbers of code that may run on any thread"),
        ("src/engine/blocking.rs", "when a thread of the pool is through with its thread-locals"),
        ("src/component/current.rs", "the current reactor"),
    ],
};

const MIO: Confined = Confined {
    what: "mio",
    words: &["mio"],
    homes: &[
        ("src/engine/driver", "the poller and its registrations"),
        ("src/io", "any source that mio can poll"),
        ("src/net", "mio's sockets"),
        ("src/process/unix/pipe.rs", "mio's pipes"),
        ("src/process/unix/reaper.rs", "a poller for processes whose runtime has ended"),
        ("src/insight/server", "its sockets, without all that `net` brings along"),
    ],
};

const CFG: Confined = Confined {
    what: "a `cfg` other than `cfg(test)`",
    words: &["cfg(", "cfg!(", "cfg_attr("],
    homes: &[
        ("src/lib.rs", "features gate whole modules, on one line each"),
        ("src/engine.rs", "so do systems"),
        ("src/engine/tokio_note.rs", "what messages end with under tokio's name"),
        ("src/runtime/tokio_words.rs", "whether the name is tokio's"),
        ("src/runtime/door.rs", "from which size on a future goes into a box"),
        ("src/engine/scheduler/policy.rs", "how much longer things take in a debug build"),
        ("src/engine/sync_shim/coarse_clock.rs", "Linux has such a clock"),
        ("src/engine/sync_shim/native.rs", "Linux tells the limits of a process"),
        ("src/engine/sync_shim.rs", "std, loom or shuttle; with threads or without"),
        ("src/task.rs", "what of tasks needs other threads, on a line each"),
        ("src/engine/queue.rs", "the queues between threads"),
        ("src/io/wasm.rs", "the traits of futures-io"),
        ("macros/src/expand.rs", "what it writes differs on wasm"),
        (
            "src/engine/recycler.rs",
            "off under Miri and on wasm; poisons what it takes back in models",
        ),
        ("src/sync/watch.rs", "one `Notify` for the models, which would take hours for eight"),
        ("src/observe/blocked.rs", "a warning where a collector listens"),
        ("src/engine/slice.rs", "slices of the processor on Linux, nothing elsewhere"),
        ("src/runtime/tokio_context.rs", "the helper runtime of tokio, or nothing"),
        ("src/runtime/builder.rs", "a setter for that"),
        ("src/observe/slow_polls/event.rs", "a warning where a collector listens"),
        ("src/start.rs", "a page where there is insight"),
        ("src/observe/thread_activity.rs", "what Linux says of a thread; elsewhere nothing"),
        ("src/observe/thread_activity/system_call.rs", "calls that only some processors know"),
        ("src/engine/scheduler/slots.rs", "as above"),
        ("src/insight/variable/privileges.rs", "only Unix has set-user-id files"),
        ("src/insight/memory/samples.rs", "where a thread-local is allocated, nothing is noted"),
        ("src/insight/thread_stack.rs", "stacks of threads on Linux and x86-64; elsewhere nothing"),
        ("src/insight/await_tree/freed_memory.rs", "what one C library keeps"),
        ("src/observe/simulation.rs", "only one C library is simulated"),
        ("src/limits/processor_time.rs", "a clock of Linux"),
        ("src/runtime/watched.rs", "without insight nothing looks at roots"),
        ("src/runtime/gauges.rs", "without insight nothing looks at gauges"),
        ("src/observe.rs", "without insight nothing keeps descriptors"),
        ("src/observe/spare_descriptors.rs", "descriptors on Unix, and how many there may be"),
        ("src/insight/flight_recorder.rs", "signals on Unix, where the module for them is on"),
        ("src/insight/flight_recorder/builder.rs", "the same"),
        (
            "src/insight/flight_recorder/folder.rs",
            "a file that no other user may read, on Unix; there is another way on Windows",
        ),
        ("src/runtime/context.rs", "threads that may be workers, or the one thread: a file each"),
        (
            "src/runtime/context/native.rs",
            "threads that wait in `poll` end with the runtime, on Unix",
        ),
        ("src/engine/slab.rs", "the width of a token on 32-bit machines"),
        ("src/sync/holders.rs", "a static cannot have the models' atomics"),
        (
            "src/engine/driver/selector.rs",
            "shuttle puts a bell in the place of the system's poller",
        ),
        ("src/engine/driver/alarm_clock.rs", "what ends a sleep in the poller, a file per kind"),
        ("src/engine/queue/local.rs", "loom sees locked queues in place of crossbeam's"),
        ("src/io.rs", "descriptors on Unix, handles on Windows; a line per family of traits"),
        (
            "src/net.rs",
            "what each system's sockets can do, a file per system; a line per family of traits",
        ),
        ("src/io/stdin.rs", "the descriptor itself, in a forked child"),
        (
            "src/io/interest.rs",
            "urgent data, which the poller tells apart on Linux and Android only",
        ),
        ("src/net/tcp.rs", "sockets of the system, or of a component's host"),
        ("src/net/bsd.rs", "the process of a peer, which Apple's systems alone know"),
        ("src/net/linux.rs", "where std has abstract addresses on Linux and on Android"),
        ("src/io/trait_families.rs", "tokio's traits and hyper's, a feature each; sockets"),
        ("src/net/trait_families.rs", "Unix sockets; tokio's traits and hyper's, a feature each"),
        ("src/net/futures_io.rs", "Unix streams and pipes beside TCP"),
        ("src/process.rs", "a file per system; what is idle without I/O traits"),
        ("src/process/command.rs", "what only one of the systems knows, a file per system"),
        ("src/process/stdio.rs", "descriptors on Unix; each family of I/O traits is a module"),
        ("src/process/unix.rs", "pidfd on Linux"),
        ("src/wasi.rs", "the host of the system; on wasm it has tasks and timers"),
        ("src/component.rs", "the host of the system, a file each"),
        ("src/engine/wakers/wait_list.rs", "the models have several rounds with few futures"),
        ("src/engine/task/budget.rs", "models turn less often"),
        ("src/runtime/latch.rs", "a thread that waits to read on Unix, and hears of the end"),
        ("src/net/wasm.rs", "the traits of futures-io"),
        ("src/guide.rs", "the page about a module that may be switched off"),
        ("src/signal.rs", "signals on Unix, events of the console on Windows"),
        ("src/signal/unix/kind.rs", "a signal that not every Unix has"),
        (
            "src/fs.rs",
            "what each system's files can do, a file per system; what is idle without I/O traits",
        ),
        ("src/fs/file.rs", "I/O traits, a file per family"),
    ],
};

/// Made from the sources by [`unsafe_index`].
const UNSAFE_INDEX: &str = ".github/UNSAFE.md";

const CONFINED: &[&Confined] = &[&UNSAFE, &CLOCK, &THREADS, &THREAD_LOCALS, &MIO, &CFG];

/// A breach of a rule.
#[derive(Debug)]
pub(crate) struct Violation {
    place: String,
    reason: String,
}

/// A breach at `line`, counted from 0.
pub(crate) fn violation(source: &Source, line: usize, reason: impl Into<String>) -> Violation {
    Violation { place: format!("{}:{}", source.path, line + 1), reason: reason.into() }
}

/// Everything that is written by hand.
fn whole_tree() -> Vec<Source> {
    read(&[
        "src",
        "macros/src",
        "tracing",
        "tests",
        "examples",
        "benches",
        "tokio/diagnosis/src",
        "tokio/face/src",
        "tokio/packer/src",
        "tokio/race/src",
        "tokio/samples/bars/src",
        "tokio/samples/differs/src",
        "tokio/samples/grpc/src",
        "tokio/samples/notes/src",
        "tokio/samples/promises/src",
        "tokio/samples/unstable/src",
        "tokio/samples/web/src",
        "tokio/trial/src",
    ])
}

fn read(folders: &[&str]) -> Vec<Source> {
    let sources = source::read_tree(Path::new(env!("CARGO_MANIFEST_DIR")), folders);
    assert!(!sources.is_empty(), "found no sources, so the rules would pass without looking");
    sources
}

#[track_caller]
fn report(violations: impl IntoIterator<Item = Violation>) {
    let lines: Vec<String> =
        violations.into_iter().map(|v| format!("{}: {}", v.place, v.reason)).collect();
    assert!(lines.is_empty(), "{} breach(es):\n{}", lines.len(), lines.join("\n"));
}

#[track_caller]
fn check(sources: &[Source], rule: impl Fn(&Source) -> Vec<Violation>) {
    report(sources.iter().flat_map(rule));
}

#[test]
fn imports_point_down() {
    check(&read(&["src"]), |source| floors::check(source, &HOUSE));
}

#[test]
fn each_row_of_the_house_is_used() {
    assert_eq!(floors::unused(&read(&["src"]), &HOUSE), [""; 0], "no shipped code needs them");
}

#[test]
fn rooms_import_each_other_in_no_circle() {
    let arrows = read(&["src"]).iter().flat_map(floors::arrows).collect();
    assert_eq!(floors::circle(&arrows), [""; 0], "each imports the next, and the last the first");
}

#[test]
fn files_of_a_room_use_each_other_in_known_circles_only() {
    report(circles::check(&read(&["src"]), CIRCLES));
    for (files, reason) in CIRCLES {
        assert!(files.is_sorted() && !reason.is_empty(), "{files:?} in order, with a reason");
    }
}

#[test]
fn file_names_are_nouns() {
    check(&whole_tree(), rules::file_name);
}

#[test]
fn files_functions_and_lines_are_short() {
    check(&whole_tree(), |source| {
        let mut found = rules::file_length(source, FILE_LINES);
        found.extend(rules::function_length(source, FUNCTION_LINES));
        found.extend(rules::line_length(source, COLUMNS));
        found
    });
}

#[test]
fn each_unsafe_says_why_it_holds() {
    check(&whole_tree(), rules::safety_comments);
}

#[test]
fn the_index_of_unsafe_code_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(UNSAFE_INDEX);
    let Ok(kept) = read_to_string(&path) else {
        // The published package leaves it out.
        return;
    };
    let index = unsafe_index::render(&read(&["src"]));
    if std::env::var_os("LITEN_BLESS").is_some() {
        std::fs::write(&path, index).expect("writes the index");
        return;
    }
    let differs = kept.lines().zip(index.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept.replace("\r\n", "\n") == index,
        "{UNSAFE_INDEX} is not up to date, write it with `LITEN_BLESS=1 cargo test --test tidy`: {differs:?}"
    );
}

#[test]
fn each_ordering_is_argued() {
    check(&read(&["src"]), |source| rules::ordering_comments(source, ORDERING_REACH));
}

#[test]
fn nothing_is_left_behind() {
    check(&whole_tree(), rules::leftovers);
}

#[test]
fn the_oldest_compiler_understands_every_file() {
    check(&whole_tree(), rules::let_chains);
}

#[test]
fn every_file_names_the_same_oldest_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let msrv = env!("CARGO_PKG_RUST_VERSION");
    let lines = [
        ("Cargo.toml", format!("rust-version = \"{msrv}\"")),
        ("README.md", format!("Rust {msrv}")),
        (".github/workflows/ci.yml", format!("toolchain: \"{msrv}\"")),
    ];
    for (file, line) in lines {
        // The published package leaves some of them out.
        if let Ok(text) = read_to_string(root.join(file)) {
            assert!(
                text.contains(&line),
                "{file}: does not say `{line}`, but Cargo.toml does for the package"
            );
        }
    }
}

#[test]
fn every_example_is_listed_with_the_versions_it_runs_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The published package has not all of them.
    let texts = ["examples/README.md", "Cargo.lock"].map(|file| read_to_string(root.join(file)));
    let [Ok(list), Ok(lock)] = texts else { return };
    for folder in ["examples", "examples/real/examples"] {
        for entry in root.join(folder).read_dir().expect("it is a folder") {
            let path = entry.expect("it can be read").path();
            let is_example = path.extension().is_some_and(|extension| extension == "rs")
                || path.join("main.rs").exists();
            let name = path.file_stem().expect("it has a name").display();
            assert!(!is_example || list.contains(&format!("| [`{name}`](")), "{name} is missing");
        }
    }
    // A name in backquotes and a number after it.
    let pieces: Vec<&str> = list.split('`').collect();
    let mut versions = 0;
    for pair in pieces[1..].chunks_exact(2) {
        let (name, version) = (pair[0], pair[1].split([' ', ',', ';', '|']).nth(1));
        let Some(version) = version.filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        let locked = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&locked), "{name} {version} is not what Cargo.lock says");
        versions += 1;
    }
    assert!(versions > 20, "only {versions} versions have been compared");
}

#[test]
fn no_unwrap_in_shipped_code() {
    check(&read(&["src", "macros/src"]), rules::unwraps);
}

#[test]
fn confined_words_stay_at_home() {
    let sources = read(&["src", "macros/src"]);
    report(
        CONFINED
            .iter()
            .flat_map(|rule| sources.iter().flat_map(|source| rules::confined(source, rule))),
    );
}

#[test]
fn each_permission_is_used_and_given_once() {
    let sources = read(&["src", "macros/src"]);
    report(CONFINED.iter().flat_map(|rule| rules::unused_homes(&sources, rule)));
    report(CONFINED.iter().flat_map(|rule| rules::double_homes(rule)));
    for (home, reason) in CONFINED.iter().flat_map(|rule| rule.homes) {
        assert!(!reason.is_empty(), "{home} is listed without a reason");
    }
}
