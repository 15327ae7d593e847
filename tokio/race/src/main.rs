//! Compares the program in `samples/bars` on the package named tokio over liten with the same program on
//! tokio: `race REAL FACE [ROW...]`, where REAL and FACE are the two binaries and ROW is a part of a row's
//! name.
//!
//! Both processes live side by side and work in turns, some tens of milliseconds each; the one whose turn it
//! is not waits for its next command. Each round gives one ratio, and the table shows the medians. Times are
//! not shown: they say more about the machine than about the two.
//!
//! The ratios are printed and not judged. What is judged is how often a future is polled that is always
//! ready: as often as on tokio.

mod contestant;
mod network;
mod polls;
mod rounds;
#[path = "../../../benches/versus/statistics.rs"]
mod statistics;

use contestant::Contestant;
use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: bash tokio/checks/bars [ROW...]";
/// With the numbers of operations that are measured first.
const WORK: [(&str, usize); 14] = [
    ("spawn", 10_000),
    ("spawn_100", 10_000),
    ("yield", 10_000),
    ("yield_100", 10_000),
    ("timeout", 10_000),
    ("mpsc_1_to_1", 10_000),
    ("mpsc_16_to_1", 10_000),
    ("oneshot", 1_000),
    ("watch", 1_000),
    ("mutex", 10_000),
    ("mutex_rivals", 1_000),
    ("semaphore", 1_000),
    ("notify", 1_000),
    ("connect", 100),
];

fn main() -> ExitCode {
    if network::is_load_generator() {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [real, face, wanted @ ..] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let compared = Contestant::start(real)
        .and_then(|real| Ok([Contestant::start(face)?, real]))
        .and_then(|mut pair| compare(&mut pair, wanted));
    match compared {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is wanted: everything, if no row is named. Returns whether the polls are tokio's.
fn compare(pair: &mut [Contestant; 2], wanted: &[String]) -> Result<bool, String> {
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(&**part));
    let mut rows = 0;
    let mut show = |name: &str, ratios: rounds::Ratios| {
        if rows == 0 {
            println!(
                "liten's tokio / tokio, medians of the rounds (lowest to highest); below 1 liten's is ahead"
            );
        }
        rows += 1;
        println!("{name:<14} {ratios}");
    };
    for (name, count) in WORK.into_iter().filter(|(name, _)| is_wanted(name)) {
        show(name, rounds::work(pair, name, count)?);
    }
    for row in network::ROWS.iter().filter(|row| is_wanted(row.name)) {
        show(row.name, network::run(pair, row)?);
    }
    let counted: Vec<&str> =
        polls::NAMES.into_iter().filter(|name| is_wanted(&polls::row(name))).collect();
    if rows == 0 && counted.is_empty() {
        return Err(format!("no row has one of these words in its name: {wanted:?}"));
    }
    polls::compare(pair, &counted)
}
