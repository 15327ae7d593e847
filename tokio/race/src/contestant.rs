//! One of the two processes.

use nix::time::ClockId;
use nix::unistd::Pid;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::thread::sleep;
use std::time::Duration;

/// A process that has used less than this in `PAUSE` is at rest.
const REST: Duration = Duration::from_micros(500);
const PAUSE: Duration = Duration::from_millis(10);
const MOST_PAUSES: usize = 100;

/// The program, running. Dropping it ends it.
pub(crate) struct Contestant {
    process: Child,
    /// `None` once it has been told to end.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    clock: ClockId,
}

impl Contestant {
    pub(crate) fn start(binary: &str) -> Result<Self, String> {
        let mut command = Command::new(binary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process =
            command.spawn().map_err(|error| format!("{binary} does not start: {error}"))?;
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it is a pipe"));
        let id = Pid::from_raw(process.id().try_into().expect("the system counts them in an i32"));
        let clock = ClockId::pid_cpu_clock_id(id)
            .map_err(|error| format!("the system tells no time of a process: {error}"))?;
        Ok(Self { process, commands, answers, clock })
    }

    /// Returns the answer to a command.
    pub(crate) fn ask<T: FromStr>(&mut self, command: impl Display) -> Result<T, String> {
        let commands = self.commands.as_mut().expect("it is told to end by the drop");
        let mut answer = String::new();
        let asked =
            writeln!(commands, "{command}").and_then(|()| self.answers.read_line(&mut answer));
        asked.map_err(|error| format!("the program does not take `{command}`: {error}"))?;
        let value = answer.trim_end().parse();
        value.map_err(|_| format!("the program answers `{command}` with {answer:?}"))
    }

    /// How much time of the processors the process has used.
    pub(crate) fn processor_time(&self) -> Result<Duration, String> {
        let time = self.clock.now().map_err(|error| format!("the program has ended: {error}"))?;
        Ok(time.into())
    }

    /// Waits until the process does nothing, so that the end of its turn does not fall into the other's.
    pub(crate) fn settle(&self) -> Result<(), String> {
        for _ in 0..MOST_PAUSES {
            let before = self.processor_time()?;
            sleep(PAUSE);
            if self.processor_time()? - before < REST {
                return Ok(());
            }
        }
        Err("the program does not come to rest after its clients have gone".to_owned())
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        drop(self.commands.take());
        // How it ends does not matter.
        let _ = self.process.wait();
    }
}
