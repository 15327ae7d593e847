//! Records a program for a second, and writes what its workers did for Firefox Profiler.
//!
//! ```sh
//! cargo run -p liten-fxprof --example profile -- profile.json
//! ```
//!
//! Then "Load a profile from file" in <https://profiler.firefox.com>.

use liten::runtime::Handle;
use liten::time::{Duration, Instant, interval, sleep};

#[liten::main]
async fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "profile.json".to_owned());
    let recording = Handle::current().record().expect("the runtime has workers");
    let quick = liten::spawn(tick(Duration::from_millis(5), Duration::from_micros(200)));
    let slow = liten::spawn(tick(Duration::from_millis(50), Duration::from_millis(10)));
    sleep(Duration::from_secs(1)).await;
    let trace = recording.stop();
    quick.abort();
    slow.abort();
    std::fs::write(&path, liten_fxprof::to_json(&trace))?;
    println!("{} events, {} lost, in {path}", trace.len(), trace.lost());
    Ok(())
}

/// Computes for `length` each `period`.
async fn tick(period: Duration, length: Duration) {
    let mut ticks = interval(period);
    loop {
        ticks.tick().await;
        let begin = Instant::now();
        while begin.elapsed() < length {
            std::hint::spin_loop();
        }
    }
}
