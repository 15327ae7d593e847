//! One round: each test of a suite, in a process of its own.

use crate::suite::{Program, Suite};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// After so long a test hangs. The longest takes 20 seconds on a busy machine.
const LONGEST: Duration = Duration::from_secs(90);
/// Between two looks at a test lie 5 ms, and on a busy machine up to this much.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
const TRIES: usize = 3;

/// How a test has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Passed,
    Failed,
    Hung,
}

/// How all tests of a suite have ended.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) ends: BTreeMap<String, End>,
    pub(crate) broken: BTreeSet<String>,
}

impl Round {
    /// Adds another suite's.
    pub(crate) fn add(&mut self, other: Self) {
        self.ends.extend(other.ends);
        self.broken.extend(other.broken);
    }
}

/// Runs all tests, as many at a time as there are processors. What a failed one wrote lies in the folder
/// `logs`.
pub(crate) fn run(suite: &Suite) -> Result<Round, String> {
    let logs = suite.folder.join("logs");
    // Those of the last run would be mistaken for this one's.
    let _ = std::fs::remove_dir_all(&logs);
    std::fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let mut tests = Vec::new();
    for program in &suite.programs {
        tests.extend(names(&program.binary)?.into_iter().map(|name| (program, name)));
    }
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        // Ordering: Relaxed; the number says which test is next, and nothing else hangs on it.
        while let Some((program, name)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let test = format!("{}{name}", program.prefix);
            let log = logs.join(test.replace("::", "-"));
            let end = try_often(&suite.folder, program, name, &log)
                .map_err(|error| format!("{test} could not be run: {error}"))?;
            if end != End::Passed {
                eprintln!("on {}: {test} {}", suite.name, format!("{end:?}").to_lowercase());
            }
            ends.lock().expect("no thread panics while it holds the lock").insert(test, end);
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let results: Vec<Result<(), String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no test panics here")).collect()
    });
    results.into_iter().collect::<Result<Vec<()>, String>>()?;
    let ends = ends.into_inner().expect("no thread panics while it holds the lock");
    Ok(Round { ends, broken: suite.broken.clone() })
}

/// The tests of a binary, without those that their authors ignore.
fn names(binary: &Path) -> Result<Vec<String>, String> {
    let list = |which: &[&str]| {
        let output = Command::new(binary).args(["--list", "--format=terse"]).args(which).output();
        let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok::<BTreeSet<String>, String>(names.map(ToOwned::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.difference(&ignored).cloned().collect())
}

fn try_often(folder: &Path, program: &Program, test: &str, log: &Path) -> io::Result<End> {
    for left in (0..TRIES).rev() {
        let end = try_once(folder, program, test, log)?;
        if end == End::Passed {
            std::fs::remove_file(log)?;
            return Ok(end);
        }
        if left == 0 || end == End::Hung {
            return Ok(end);
        }
    }
    unreachable!("the last try returns")
}

fn try_once(folder: &Path, program: &Program, test: &str, log: &Path) -> io::Result<End> {
    let log = File::create(log)?;
    let child = Command::new(&program.binary)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        // Some read the manifest of the package that they belong to.
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    end_of(child, LONGEST)
}

/// Waits for so long at most, and then ends the process. Time in which this program did not run, because the
/// machine slept for instance, does not count: the test did not run either.
fn end_of(mut child: Child, longest: Duration) -> io::Result<End> {
    let (mut waited, mut looked) = (Duration::ZERO, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Passed } else { End::Failed });
        }
        let before = std::mem::replace(&mut looked, Instant::now());
        waited += (looked - before).min(LONGEST_LOOK);
        if waited > longest {
            child.kill()?;
            child.wait()?;
            return Ok(End::Hung);
        }
        // The standard library waits for a child without limit only.
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::{End, LONGEST, end_of};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// A shell that reads a pipe, whose other end stays open: it ends by a signal alone.
    #[test]
    fn a_test_that_hangs_is_ended_and_reported() {
        let mut child = Command::new("sh")
            .args(["-c", "echo begun; read -r line"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let (_open, mut output) = (child.stdin.take(), child.stdout.take().expect("piped"));
        assert_eq!(end_of(child, Duration::ZERO).expect("it can be ended"), End::Hung);
        // The end of its output: the process is gone.
        std::io::copy(&mut output, &mut std::io::sink()).expect("the pipe can be read");
    }

    #[test]
    fn a_test_that_ends_is_reported_as_it_ended() {
        for (script, end) in [("exit 0", End::Passed), ("exit 1", End::Failed)] {
            let child = Command::new("sh").args(["-c", script]).spawn().expect("there is a shell");
            assert_eq!(end_of(child, LONGEST).expect("it can be waited for"), end);
        }
    }
}
