//! Blocking work that comes faster than the threads of the pool can do it.
//!
//! ```sh
//! cargo run --example sick_full_pool
//! ```
//!
//! The page says that all threads of the pool are busy, how many jobs wait and for how long, and where the
//! oldest job was spawned. The cure is fewer jobs (one that reads ten files), a semaphore before them, or a
//! thread of its own for what lasts; at last `max_blocking_threads`.

mod ward;

use liten::time::interval;
use std::io;
use std::time::Duration;

fn main() -> io::Result<()> {
    ward::run(ward::settings().max_blocking_threads(4), || {
        drop(liten::spawn(async {
            let mut requests = interval(Duration::from_millis(100));
            loop {
                requests.tick().await;
                drop(liten::spawn_blocking(query_a_slow_database));
            }
        }));
        Ok(())
    })
}

fn query_a_slow_database() {
    std::thread::sleep(Duration::from_secs(3600));
}
