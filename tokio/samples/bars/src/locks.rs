//! Locks and permits, alone and with rivals.

use std::sync::Arc;
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::task::yield_now;

const RIVALS: usize = 16;
const PERMITS: usize = 4;

pub(crate) async fn mutex(count: usize) {
    let mutex = Mutex::new(0);
    for _ in 0..count {
        *mutex.lock().await += 1;
    }
    assert_eq!(mutex.into_inner(), count);
}

/// The rivals share the turns. Each keeps the lock over a yield, so that the others wait.
pub(crate) async fn mutex_rivals(count: usize) {
    let each = count.div_ceil(RIVALS);
    let mutex = Arc::new(Mutex::new(0));
    let rival = |mutex: Arc<Mutex<usize>>| async move {
        for _ in 0..each {
            let mut held = mutex.lock().await;
            yield_now().await;
            *held += 1;
        }
    };
    let rivals: Vec<_> = (0..RIVALS).map(|_| tokio::spawn(rival(mutex.clone()))).collect();
    for rival in rivals {
        rival.await.expect("it does not panic");
    }
    assert_eq!(*mutex.lock().await, each * RIVALS);
}

/// As [`mutex_rivals`], with some permits.
pub(crate) async fn semaphore(count: usize) {
    let each = count.div_ceil(RIVALS);
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let rival = |semaphore: Arc<Semaphore>| async move {
        for _ in 0..each {
            let permit = semaphore.acquire().await.expect("nothing closes it");
            yield_now().await;
            drop(permit);
        }
    };
    let rivals: Vec<_> = (0..RIVALS).map(|_| tokio::spawn(rival(semaphore.clone()))).collect();
    for rival in rivals {
        rival.await.expect("it does not panic");
    }
    assert_eq!(semaphore.available_permits(), PERMITS);
}

/// Two tasks notify each other.
pub(crate) async fn notify(count: usize) {
    let [ping, pong] = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    let theirs = [ping.clone(), pong.clone()];
    let other = tokio::spawn(async move {
        for _ in 0..count {
            theirs[0].notified().await;
            theirs[1].notify_one();
        }
    });
    for _ in 0..count {
        ping.notify_one();
        pong.notified().await;
    }
    other.await.expect("it does not panic");
}
