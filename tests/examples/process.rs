//! A built example as a process of its own: what it prints, how it ends, what it holds.
//!
//! Nothing here waits for ever, and a process that a failed test leaves behind is killed.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// After this a process hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Example {
    name: String,
    child: Child,
    output: Receiver<String>,
    pub(crate) errors: Receiver<String>,
}

/// Where cargo has put the example. It tells its tests the paths of binaries, but not of examples.
pub(crate) fn path(name: &str) -> PathBuf {
    // target/PROFILE/deps/TEST is where this runs, target/PROFILE/examples/NAME is what it wants.
    let test = env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("tests are built into target/PROFILE/deps");
    let path = profile.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "{} is missing. `cargo test` builds the examples before it runs the tests, but \
         `cargo test --test NAME` does not: run `cargo build --examples` first",
        path.display()
    );
    path
}

impl Example {
    /// Starts an example by a command that makes, or becomes, its process.
    pub(crate) fn start(name: &str, command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let output = lines(child.stdout.take().expect("it is piped"));
        let errors = lines(child.stderr.take().expect("it is piped"));
        Self { name: name.to_owned(), child, output, errors }
    }

    /// The next line on its standard output; `None` if none comes in time.
    pub(crate) fn line_within(&self, limit: Duration) -> Option<String> {
        self.output.recv_timeout(limit).ok()
    }

    /// The next line on its standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        let line = self.line_within(LIMIT);
        line.unwrap_or_else(|| panic!("{}: no line, but {:?}", self.name, self.said()))
    }

    /// The address on the first line of a server.
    #[track_caller]
    pub(crate) fn address(&self) -> SocketAddr {
        let line = self.line();
        let address = line.strip_prefix("listening on ").and_then(|text| text.parse().ok());
        address.unwrap_or_else(|| panic!("{}: the first line is {line:?}", self.name))
    }

    /// Waits for its end; returns whether it calls that a success, and the remaining lines of its output.
    #[track_caller]
    pub(crate) fn end(&mut self) -> (bool, Vec<String>) {
        let deadline = Instant::now() + LIMIT;
        let mut lines = Vec::new();
        // The channel is closed when the process closes its output, and it does that by ending.
        while let Some(line) = self.line_within(deadline.saturating_duration_since(Instant::now()))
        {
            lines.push(line);
        }
        assert!(
            Instant::now() < deadline,
            "{} did not end: {lines:?}, {:?}",
            self.name,
            self.said()
        );
        let status = self.child.wait().expect("it is our child");
        (status.success(), lines)
    }

    /// Waits for its end, which has to be a success, and returns the remaining lines of its output.
    #[track_caller]
    pub(crate) fn success(mut self) -> Vec<String> {
        let (success, lines) = self.end();
        assert!(success, "{} failed: {lines:?}, {:?}", self.name, self.said());
        lines
    }

    /// What it has written to its standard error, as far as the test has not taken it.
    pub(crate) fn said(&self) -> Vec<String> {
        self.errors.try_iter().collect()
    }

    #[cfg(unix)]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many descriptors it has open, without the clock that its runtime takes with its first timer.
    #[cfg(target_os = "linux")]
    pub(crate) fn descriptors(&self) -> usize {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", self.id())).expect("it is running");
        let is_clock = |path| {
            let target = std::fs::read_link(path).unwrap_or_default();
            target.to_string_lossy().contains("timerfd")
        };
        folder.filter(|entry| !entry.as_ref().is_ok_and(|entry| is_clock(entry.path()))).count()
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines on a thread of its own, so that waiting for one can be given up.
fn lines(source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(source).lines() {
            let Ok(line) = line else { return };
            // An error means that the test is over.
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits until something outside this process is as it should be.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn eventually(what: &str, reached: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !reached() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
