//! Two timers of one second each, waited for at the same time: in one task, then in a task each.
//!
//! ```sh
//! cargo run --example timers
//! ```
//!
//! Each time both start at once and are done together, after one second and not after two:
//!
//! ```text
//! first: start
//! second: start
//! first: done
//! second: done
//! in one task: 1001 ms
//! third: start
//! fourth: start
//! third: done
//! fourth: done
//! in two tasks: 1001 ms
//! ```
//!
//! Tasks run on any worker, and `join!` begins with another future each time, so two lines of a pair may
//! change places.

use liten::join;
use liten::time::{Duration, Instant, sleep};

#[liten::main]
async fn main() {
    let start = Instant::now();
    join!(timer("first"), timer("second"));
    println!("in one task: {} ms", start.elapsed().as_millis());

    let start = Instant::now();
    let tasks = ["third", "fourth"].map(|name| liten::spawn(timer(name)));
    for task in tasks {
        task.await.expect("a timer does not panic");
    }
    println!("in two tasks: {} ms", start.elapsed().as_millis());
}

async fn timer(name: &str) {
    println!("{name}: start");
    sleep(Duration::from_secs(1)).await;
    println!("{name}: done");
}
