//! What is always there: tasks, time, blocking work, both kinds of runtime.

use liten::runtime::LocalRuntime;
use liten::task::JoinSet;
use liten::time::{Duration, Instant, interval, sleep, timeout};
use std::rc::Rc;

#[test]
fn tasks_run_and_are_joined() {
    let sum = liten::block_on(async {
        let mut tasks = JoinSet::new();
        for number in 0..10_u32 {
            tasks.spawn(
                async move { liten::spawn_blocking(move || number * number).await.unwrap() },
            );
        }
        tasks.join_all().await.into_iter().sum::<u32>()
    });
    assert_eq!(sum, 285);
}

#[test]
fn timers_fire() {
    liten::block_on(async {
        let start = Instant::now();
        let mut ticks = interval(Duration::from_millis(2));
        for _ in 0..3 {
            ticks.tick().await;
        }
        assert!(start.elapsed() >= Duration::from_millis(4));
        timeout(Duration::from_millis(2), sleep(Duration::MAX)).await.unwrap_err();
    });
}

#[test]
fn channels_and_local_tasks_work() {
    let runtime = LocalRuntime::new().unwrap();
    let received = runtime.block_on(async {
        let (sender, mut receiver) = liten::sync::mpsc::channel(1);
        let word = Rc::new("word");
        let task = liten::task::spawn_local(async move { sender.send(word.len()).await.unwrap() });
        let received = receiver.recv().await.unwrap();
        task.await.unwrap();
        received
    });
    assert_eq!(received, 4);
}
