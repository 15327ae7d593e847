//! What a process knows of itself: its threads, their sleep and their CPU time, its descriptors; and tests
//! that need a process of their own.

#[cfg(target_os = "linux")]
use std::io::Read;
use std::process::{Command, Stdio};

/// Runs `body` in a process in which nothing else runs, and fails if that process does. `test` is the full
/// name of the calling test.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    alone_with(test, &[], body);
}

/// As [`alone`], with environment variables.
pub(crate) fn alone_with(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if is_child() {
        return body();
    }
    let output = child(test, variables).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "there is no test called {test}:\n{text}");
}

/// Marks the process that [`alone`] has started.
const CHILD: &str = "LITEN_TEST_CHILD";

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The command that runs one test of this binary in a process of its own.
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(CHILD, "1").env_remove("LITEN_WORKER_THREADS");
    command.env_remove("LITEN_MAX_SPARE_WORKERS").envs(variables.iter().copied());
    command.stdin(Stdio::null());
    command
}

/// The threads of this process, by name; Linux tells the first 15 characters.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// How often it went to sleep.
    pub(crate) sleeps: u64,
    /// Nanoseconds on a CPU.
    pub(crate) cpu: u64,
}

/// How many calls of `read` and `write` and their kin a thread of this process has made, those on sockets
/// (`recv`, `send`) not counted.
#[cfg(target_os = "linux")]
pub(crate) fn reads_and_writes(thread: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/io")).unwrap();
    let number = |name| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse().unwrap()
    };
    number("syscr:") + number("syscw:")
}

/// The threads whose name begins with `prefix`, in the order of their making.
#[cfg(target_os = "linux")]
pub(crate) fn threads(prefix: &str) -> Vec<Thread> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = entry.unwrap().path();
        // A thread may end while it is looked at.
        let read = |file: &str| {
            let mut text = String::new();
            let mut file = std::fs::File::open(path.join(file)).ok()?;
            file.read_to_string(&mut text).ok()?;
            Some(text)
        };
        let (Some(name), Some(status), Some(times)) =
            (read("comm"), read("status"), read("schedstat"))
        else {
            continue;
        };
        if !name.starts_with(prefix) {
            continue;
        }
        let sleeps = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        threads.push(Thread {
            id: path.file_name().unwrap().to_str().unwrap().parse().unwrap(),
            name: name.trim_end().to_owned(),
            sleeps: sleeps.unwrap().trim().parse().unwrap(),
            cpu: times.split(' ').next().unwrap().parse().unwrap(),
        });
    }
    threads.sort_by_key(|thread| thread.id);
    threads
}

/// Waits until so many threads have a name that begins with `prefix`: the system shows a thread for a moment
/// after it has been joined.
#[cfg(target_os = "linux")]
pub(crate) fn until_threads_are(prefix: &str, count: usize) {
    super::guard::until(|| threads(prefix).len() == count);
}

/// The names of the threads whose name begins with `prefix`, sorted.
#[cfg(target_os = "linux")]
pub(crate) fn thread_names(prefix: &str) -> Vec<String> {
    let mut names: Vec<_> = threads(prefix).into_iter().map(|thread| thread.name).collect();
    names.sort();
    names
}

/// How many descriptors this process has open.
#[cfg(target_os = "linux")]
pub(crate) fn descriptors() -> usize {
    // One of them is the directory that is being read.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// How many clocks this process has. A driver takes one, which is a descriptor, when it first sleeps with a
/// deadline.
#[cfg(target_os = "linux")]
pub(crate) fn clocks() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.ends_with("anon_inode:[timerfd]")).count()
}

/// Lets time pass until there are so many clocks, that of the runtime among them: a test that counts
/// descriptors before and after has it in both counts.
#[cfg(target_os = "linux")]
pub(crate) async fn have_clocks(count: usize) {
    while clocks() < count {
        liten::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// How many bytes of memory this process has.
#[cfg(target_os = "linux")]
pub(crate) fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
