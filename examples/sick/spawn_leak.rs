//! A service that spawns a task for each request, and these tasks never end.
//!
//! ```sh
//! cargo run --example sick_spawn_leak
//! ```
//!
//! After some ten seconds the page says that the tasks of one place become more and more. The cure is what
//! ends each of them with its request: here a `JoinSet` that is dropped, or an `abort`.

mod ward;

use liten::sync::Notify;
use liten::time::interval;
use std::io;
use std::sync::Arc;
use std::time::Duration;

fn main() -> io::Result<()> {
    ward::run(&mut ward::settings(), || {
        let shutdown = Arc::new(Notify::new());
        drop(liten::spawn(async move {
            let mut requests = interval(Duration::from_millis(20));
            loop {
                requests.tick().await;
                // Meant to stop the request when the service stops; it outlives the request.
                let shutdown = shutdown.clone();
                drop(liten::spawn(async move { shutdown.notified().await }));
            }
        }));
        Ok(())
    })
}
