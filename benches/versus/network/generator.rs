//! The load generator as seen by the process that serves.

use super::load::{Command, Load, Report, VARIABLE};
use std::io::{BufRead, BufReader, Write};
use std::process::{self, Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// Names the processors that the load generator may run on, as `taskset` wants them. On a machine with many,
/// those of the server and those of the load are kept apart: the server's are given to `taskset` with the
/// whole bench.
const LOAD_CPUS: &str = "LITEN_LOAD_CPUS";

/// A load generator, running. Dropping it closes its connections and ends it.
pub(crate) struct Generator {
    process: Child,
    /// `None` once it has been told to end.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Generator {
    pub(crate) fn start(load: Load) -> Self {
        let program = std::env::current_exe().expect("a running program has a path");
        let mut command = match std::env::var_os(LOAD_CPUS) {
            Some(cpus) => {
                let mut command = process::Command::new("taskset");
                command.arg("--cpu-list").arg(cpus).arg(program);
                command
            }
            None => process::Command::new(program),
        };
        command.env(VARIABLE, load.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("processes can be started");
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it is a pipe"));
        Self { process, commands, answers }
    }

    pub(crate) fn connect(&mut self) {
        self.tell(Command::Connect);
    }

    pub(crate) fn run(&mut self, slice: Duration) -> Report {
        self.begin(slice);
        self.end()
    }

    /// As [`run`](Self::run), without waiting for the report: [`end`](Self::end) does that.
    pub(crate) fn begin(&mut self, slice: Duration) {
        self.send(Command::Run(slice));
    }

    pub(crate) fn end(&mut self) -> Report {
        self.answer().parse().expect("a report is due")
    }

    pub(crate) fn close(&mut self) {
        self.tell(Command::Close);
    }

    /// Returns the answer. The process bounds the time itself: it ends when the server falls silent.
    fn tell(&mut self, command: Command) -> String {
        self.send(command);
        self.answer()
    }

    fn send(&mut self, command: Command) {
        let commands = self.commands.as_mut().expect("still running");
        writeln!(commands, "{command}").expect("the load generator lives");
    }

    fn answer(&mut self) -> String {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the load generator lives");
        assert!(answer.ends_with('\n'), "the load generator has ended");
        answer
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        drop(self.commands.take());
        // How it ends does not matter any more.
        let _ = self.process.wait();
    }
}
