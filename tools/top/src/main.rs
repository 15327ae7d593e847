//! Shows what a running program on liten does, in a terminal. See the README.

mod address;
mod fetch;
mod picture;
mod screen;

use address::Address;
use serde_json::Value;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: liten-top [--once] ADDRESS
ADDRESS is what the program prints when it begins to serve its page, such as
http://127.0.0.1:9900/#TOKEN; with - it is read from the standard input.
--once prints one picture and ends.";

/// Between two pictures. Rates are those of this time.
const PERIOD: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (once, address) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["--once", address] | [address, "--once"] => (true, address),
        [address] => (false, address),
        _ => return refused(USAGE),
    };
    let address = match address {
        "-" => io::read_to_string(io::stdin()).map_err(|error| error.to_string()),
        address => Ok(address.to_owned()),
    };
    let address = match address.and_then(|text| Address::parse(&text)) {
        Ok(address) => address,
        Err(message) => return refused(&format!("liten-top: {message}\n{USAGE}")),
    };
    let shown = if once { show_once(&address) } else { show_on(&address) };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("liten-top: {message}");
            ExitCode::FAILURE
        }
    }
}

fn refused(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

/// What the program said, and when.
struct Sample {
    at: Instant,
    said: Value,
}

impl Sample {
    fn take(address: &Address) -> Result<Self, String> {
        let said = fetch::json(address)?;
        Ok(Self { at: Instant::now(), said })
    }
}

/// The lines of a picture of what `now` says. Rates are those since `before`.
fn lines(before: &Sample, now: &Sample) -> Vec<String> {
    picture::lines(&before.said, &now.said, now.at - before.at)
}

fn show_once(address: &Address) -> Result<(), String> {
    let before = Sample::take(address)?;
    thread::sleep(PERIOD);
    let lines = lines(&before, &Sample::take(address)?);
    print(&(lines.join("\n") + "\n"))
}

/// Until the program ends, or this one is ended.
fn show_on(address: &Address) -> Result<(), String> {
    let is_terminal = io::stdout().is_terminal();
    let mut before = Sample::take(address)?;
    loop {
        thread::sleep(PERIOD);
        let now = Sample::take(address)?;
        let lines = lines(&before, &now);
        print(&if is_terminal { screen::drawn(&lines) } else { lines.join("\n") + "\n\n" })?;
        before = now;
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(|error| format!("the picture cannot be printed: {error}"))
}
