//! The test of tokio #7888, which passes on one worker and fails now and then on four.

use std::sync::Arc;

use tokio::join;
use tokio::sync::Mutex;

/// # Panics
///
/// When the second task takes the lock first.
#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
pub async fn main() {
    let counter = Arc::new(Mutex::new(0u32));

    let c1 = Arc::clone(&counter);
    let f1 = tokio::spawn(async move {
        let mut guard = c1.lock().await;
        if *guard == 0 {
            *guard += 1;
        }
    });

    let c2 = Arc::clone(&counter);
    let f2 = tokio::spawn(async move {
        let mut guard = c2.lock().await;
        if *guard == 1 {
            *guard += 1;
        }
    });

    let _ = join!(f1, f2);
    assert_eq!(*counter.lock().await, 2);
}
