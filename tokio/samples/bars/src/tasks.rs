//! Tasks that are spawned, and tasks that yield.

use std::future::ready;
use std::time::Duration;
use tokio::task::{JoinHandle, yield_now};

const HUNDRED: usize = 100;

/// Spawns one task after the other and waits for each.
pub(crate) async fn spawn(count: usize) {
    for number in 0..count {
        assert_eq!(tokio::spawn(async move { number }).await.expect("it does not panic"), number);
    }
}

/// Spawns a hundred tasks and waits for all of them, again and again.
pub(crate) async fn spawn_hundred(count: usize) {
    for _ in 0..count.div_ceil(HUNDRED) {
        let tasks: Vec<JoinHandle<usize>> =
            (0..HUNDRED).map(|number| tokio::spawn(async move { number })).collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.expect("it does not panic"), number);
        }
    }
}

pub(crate) async fn yield_one(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

/// A hundred tasks share the yields.
pub(crate) async fn yield_hundred(count: usize) {
    let each = count.div_ceil(HUNDRED);
    let tasks: Vec<_> = (0..HUNDRED).map(|_| tokio::spawn(yield_one(each))).collect();
    for task in tasks {
        task.await.expect("it does not panic");
    }
}

/// A time limit around what is ready after one yield: a timer that is set and cancelled.
pub(crate) async fn timeout(count: usize) {
    for number in 0..count {
        let limited = tokio::time::timeout(Duration::from_secs(30), async {
            yield_now().await;
            ready(number).await
        });
        assert_eq!(limited.await.expect("the limit is far away"), number);
    }
}
