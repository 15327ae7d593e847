//! A register on two hosts: clients write to the first and read from both.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::thread::{self, sleep};
use std::time::Duration;

use liten_sim::{History, Model, Sim, check};

use crate::reports::{report, says};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Register(u8);

#[derive(Clone, Debug)]
enum Operation {
    Read,
    Write(u8),
}

impl Model for Register {
    type Operation = Operation;
    /// What is in the register then.
    type Output = u8;

    fn apply(&mut self, operation: &Operation) -> u8 {
        if let Operation::Write(value) = operation {
            self.0 = *value;
        }
        self.0
    }
}

/// One question and its answer. Zero asks for the value, everything else is written.
fn ask(host: &str, value: u8) -> std::io::Result<u8> {
    let mut stream = TcpStream::connect((host, 80))?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    stream.write_all(&[value])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    Ok(answer[0])
}

/// Keeps the register. `copy` is the host that is told of each value, and `waits` says whether a
/// write is acknowledged only when it has been told.
fn serve(copy: Option<&'static str>, waits: bool) {
    let listener = TcpListener::bind("0.0.0.0:80").unwrap();
    let value = Arc::new(AtomicU8::new(0));
    for stream in listener.incoming() {
        let (mut stream, value) = (stream.unwrap(), value.clone());
        thread::spawn(move || {
            let mut asked = [0];
            if stream.read_exact(&mut asked).is_err() {
                return;
            }
            let [asked] = asked;
            let tell_copy = || copy.map(|copy| ask(copy, asked));
            if asked != 0 {
                if waits && tell_copy().is_some_and(|told| told.is_err()) {
                    return;
                }
                value.store(asked, SeqCst);
            }
            let _ = stream.write_all(&[value.load(SeqCst)]);
            if asked != 0 && !waits {
                let _ = tell_copy();
            }
        });
    }
}

/// A writer and a reader, of which the reader asks the copy.
fn use_register(sim: Sim, history: &History<Register>) {
    let writes = history.clone();
    sim.client("writer", move || {
        for value in 1..=5 {
            let asked = writes.call("writer", Operation::Write(value));
            if let Ok(answer) = ask("first", value) {
                asked.returned(answer);
            }
        }
    });
    let reads = history.clone();
    sim.client("reader", move || {
        for _ in 0..10 {
            let asked = reads.call("reader", Operation::Read);
            if let Ok(answer) = ask("copy", 0) {
                asked.returned(answer);
            }
        }
    });
}

#[test]
fn a_write_that_is_acknowledged_before_it_is_copied_is_found() {
    let said = report(|| {
        check(50, |sim| {
            sim.host("first", || serve(Some("copy"), false));
            sim.host("copy", || serve(None, true));
            sleep(Duration::from_millis(10));
            let history = sim.history("register", Register(0));
            use_register(sim, &history);
        });
    });
    says(
        &said,
        &[
            "host scenario",
            "the history of `register` is not linearizable\n",
            "no order explains reader: Read → ",
            "writer: Write(1) → 1, 0.0",
        ],
    );
}

#[test]
fn a_write_that_is_copied_first_is_in_order() {
    check(50, |sim| {
        sim.host("first", || serve(Some("copy"), true));
        sim.host("copy", || serve(None, true));
        sleep(Duration::from_millis(10));
        let history = sim.history("register", Register(0));
        use_register(sim, &history);
        // A crash leaves writes of which it is not known whether they were done.
        sleep(Duration::from_micros(sim.random_below(20_000)));
        sim.crash("first");
        sim.restart("first");
        sleep(Duration::from_millis(50));
        assert!(history.check().is_ok());
    });
}
