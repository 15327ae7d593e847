//! A guard of a `DashMap` that is held across an `.await` keeps its shard locked while the task waits.
//! Another task that wants the shard stops its whole thread, and with it perhaps the task that has the guard:
//! dashmap #79.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use tokio::time::sleep;

/// What a task does with the value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guard {
    /// Wrong: it stays locked while the task waits.
    HeldAcrossAwait,
    /// It is locked for the change alone.
    HeldForTheChange,
}

type Visits = Arc<DashMap<&'static str, u32>>;

/// There is one thread here. Where there are more, it takes more tasks to stop them all, and liten begins
/// further threads when its own are stopped.
///
/// # Panics
///
/// When a visit was not counted.
#[tokio::main(flavor = "current_thread")]
pub async fn run(guard: Guard) {
    let visits: Visits = Arc::new(DashMap::from_iter([("page", 0)]));
    let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(visit(visits.clone(), guard))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*visits.get("page").unwrap(), 4);
}

async fn visit(visits: Visits, guard: Guard) {
    if guard == Guard::HeldAcrossAwait {
        let mut count = visits.get_mut("page").unwrap();
        fetch().await;
        *count += 1;
    } else {
        fetch().await;
        *visits.get_mut("page").unwrap() += 1;
    }
}

/// Stands for a request to another server.
async fn fetch() {
    sleep(Duration::from_millis(10)).await;
}
