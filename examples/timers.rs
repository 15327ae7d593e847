//! Two timers of one second each, waited for at the same time.
//!
//! ```sh
//! cargo run --example timers
//! ```
//!
//! Both start at once and are done together, after one second and not after two:
//!
//! ```text
//! first: start
//! second: start
//! first: done
//! second: done
//! total: 1001 ms
//! ```

use liten::future::join;
use liten::time::{Duration, Instant, sleep};

#[liten::main]
async fn main() {
    let start = Instant::now();
    join!(timer("first"), timer("second"));
    println!("total: {} ms", start.elapsed().as_millis());
}

async fn timer(name: &str) {
    println!("{name}: start");
    sleep(Duration::from_secs(1)).await;
    println!("{name}: done");
}
