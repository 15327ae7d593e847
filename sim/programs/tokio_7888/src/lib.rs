//! The test of tokio #7888, which passes on one worker and fails now and then on four.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::join;
use tokio::sync::Mutex;

/// Which of the edits the program has that have nothing to do with the mistake, and move its calls:
/// tasks before, between and behind the two, each with a line of output, or a line in the first.
/// 0 is the test as it was published.
pub static EDIT: AtomicU8 = AtomicU8::new(0);

/// # Panics
///
/// When the second task takes the lock first.
#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
pub async fn main() {
    // Relaxed: it is set before the program begins.
    let edit = EDIT.load(Ordering::Relaxed);
    let counter = Arc::new(Mutex::new(0u32));

    if edit == 1 {
        println!("before");
        tokio::spawn(async { tokio::task::yield_now().await });
    }
    let c1 = Arc::clone(&counter);
    let f1 = tokio::spawn(async move {
        if edit == 2 {
            println!("inside");
        }
        let mut guard = c1.lock().await;
        if *guard == 0 {
            *guard += 1;
        }
    });

    if edit == 3 {
        println!("between");
        tokio::spawn(async { tokio::time::sleep(Duration::from_millis(1)).await });
    }
    let c2 = Arc::clone(&counter);
    let f2 = tokio::spawn(async move {
        let mut guard = c2.lock().await;
        if *guard == 1 {
            *guard += 1;
        }
    });

    if edit == 4 {
        println!("behind");
        tokio::spawn(async { tokio::task::spawn_blocking(|| ()).await });
    }
    let _ = join!(f1, f2);
    assert_eq!(*counter.lock().await, 2);
}
