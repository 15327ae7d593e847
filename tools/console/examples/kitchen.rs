//! A program to look at with tokio-console: tasks that wait, that compute, that come and go, and one that waits for
//! ever.
//!
//! ```sh
//! cargo run -p liten-console --example kitchen                  # 127.0.0.1:6669, or the address given
//! tokio-console                                                 # in another terminal
//! ```
//!
//! It runs until it is interrupted.

use liten::sync::mpsc;
use liten::task::Builder;
use liten::time::{Duration, Instant, interval, sleep};
use std::future::pending;
use std::hint::spin_loop;

#[liten::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:6669".to_owned());
    let console = liten_console::serve(address)?;
    println!("tokio-console http://{}", console.local_addr());
    let (orders, dishes) = mpsc::channel(8);
    drop(Builder::new().name("waiter").spawn(wait_at_table(orders))?);
    drop(Builder::new().name("cook").spawn(cook(dishes))?);
    drop(Builder::new().name("grinder").spawn(grind())?);
    drop(Builder::new().name("sleeping beauty").spawn(pending::<()>())?);
    pending().await
}

/// An order each 20 ms.
async fn wait_at_table(orders: mpsc::Sender<u32>) {
    let mut ticks = interval(Duration::from_millis(20));
    for order in 0.. {
        ticks.tick().await;
        if orders.send(order).await.is_err() {
            return;
        }
    }
}

/// A task for each order.
async fn cook(mut orders: mpsc::Receiver<u32>) {
    while let Some(order) = orders.recv().await {
        drop(liten::spawn(sleep(Duration::from_millis(u64::from(order % 500)))));
    }
}

/// Computes for half of the time.
async fn grind() {
    loop {
        sleep(Duration::from_millis(5)).await;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(5) {
            spin_loop();
        }
    }
}
