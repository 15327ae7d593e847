//! `#[liten::test(sim)]`.

use std::sync::Arc;
use std::time::Duration;

use liten::sync::Mutex;
use liten::time::{Instant, sleep};

#[liten::test(sim)]
async fn minutes_go_by_at_once() {
    let begun = Instant::now();
    sleep(Duration::from_secs(500)).await;
    assert!(begun.elapsed() >= Duration::from_secs(500));
}

#[liten::test(sim, seeds = 64, workers = 4)]
#[should_panic(expected = "the second task was first")]
async fn some_seed_lets_the_second_task_run_first() {
    let first = Arc::new(Mutex::new(None));
    let tasks: Vec<_> = (0..2)
        .map(|i| {
            let first = Arc::clone(&first);
            liten::spawn(async move {
                first.lock().await.get_or_insert(i);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*first.lock().await, Some(0), "the second task was first");
}

#[liten::test(sim, seeds = 5)]
#[should_panic(expected = "the main function failed")]
async fn an_error_fails_the_run() -> Result<(), String> {
    Err("no".to_owned())
}
