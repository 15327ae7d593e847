//! How often a future is polled that does nothing but what is ready at once. The budget of a task makes it
//! yield every so many operations.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpsc, oneshot, watch,
};

/// Does that many operations and returns the number of polls.
pub(crate) async fn count(name: String, operations: usize) -> usize {
    let mut operations = pin!(ready_operations(&name, operations));
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        operations.as_mut().poll(cx)
    })
    .await;
    polls
}

fn ready_operations(name: &str, count: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    match name {
        "mpsc" => Box::pin(mpsc(count)),
        "mpsc_many" => Box::pin(mpsc_many(count)),
        "mpsc_unbounded" => Box::pin(mpsc_unbounded(count)),
        "oneshot" => Box::pin(oneshot(count)),
        "watch" => Box::pin(watch(count)),
        "watch_wait_for" => Box::pin(watch_wait_for(count)),
        "broadcast" => Box::pin(broadcast(count)),
        "semaphore" => Box::pin(semaphore(count)),
        "mutex" => Box::pin(mutex(count)),
        "rwlock_read" => Box::pin(rwlock_read(count)),
        "rwlock_write" => Box::pin(rwlock_write(count)),
        "notify" => Box::pin(notify(count)),
        "barrier" => Box::pin(barrier(count)),
        "once_cell" => Box::pin(once_cell(count)),
        "duplex" => Box::pin(duplex(count)),
        _ => panic!("there are no polls named {name}"),
    }
}

async fn mpsc(count: usize) {
    let (sender, mut receiver) = mpsc::channel(1);
    for message in 0..count {
        sender.send(message).await.expect("the receiver is here");
        assert_eq!(receiver.recv().await, Some(message));
    }
}

async fn mpsc_many(count: usize) {
    let (sender, mut receiver) = mpsc::channel(8);
    let mut received = Vec::new();
    for message in 0..count {
        sender.try_send(message).expect("the receiver takes each of them");
        received.clear();
        assert_eq!(receiver.recv_many(&mut received, 8).await, 1);
    }
}

async fn mpsc_unbounded(count: usize) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for message in 0..count {
        sender.send(message).expect("the receiver is here");
        assert_eq!(receiver.recv().await, Some(message));
    }
}

async fn oneshot(count: usize) {
    for message in 0..count {
        let (sender, receiver) = oneshot::channel();
        sender.send(message).expect("the receiver is here");
        assert_eq!(receiver.await, Ok(message));
    }
}

async fn watch(count: usize) {
    let (sender, mut receiver) = watch::channel(0);
    for message in 0..count {
        sender.send(message).expect("the receiver is here");
        receiver.changed().await.expect("the sender is here");
    }
}

async fn watch_wait_for(count: usize) {
    let (sender, mut receiver) = watch::channel(0);
    for message in 0..count {
        sender.send(message).expect("the receiver is here");
        receiver.wait_for(|seen| *seen == message).await.expect("the sender is here");
    }
}

async fn broadcast(count: usize) {
    let (sender, mut receiver) = broadcast::channel(4);
    for message in 0..count {
        sender.send(message).expect("the receiver is here");
        assert_eq!(receiver.recv().await, Ok(message));
    }
}

async fn semaphore(count: usize) {
    let semaphore = Semaphore::new(1);
    for _ in 0..count {
        drop(semaphore.acquire().await.expect("nothing closes it"));
    }
}

async fn mutex(count: usize) {
    let mutex = Mutex::new(0);
    for _ in 0..count {
        *mutex.lock().await += 1;
    }
    assert_eq!(mutex.into_inner(), count);
}

async fn rwlock_read(count: usize) {
    let lock = RwLock::new(());
    for _ in 0..count {
        drop(lock.read().await);
    }
}

async fn rwlock_write(count: usize) {
    let lock = RwLock::new(0);
    for _ in 0..count {
        *lock.write().await += 1;
    }
    assert_eq!(lock.into_inner(), count);
}

async fn notify(count: usize) {
    let notify = Notify::new();
    for _ in 0..count {
        notify.notify_one();
        notify.notified().await;
    }
}

async fn barrier(count: usize) {
    let barrier = Barrier::new(1);
    for _ in 0..count {
        assert!(barrier.wait().await.is_leader());
    }
}

async fn once_cell(count: usize) {
    for number in 0..count {
        let cell = OnceCell::new();
        assert_eq!(*cell.get_or_init(|| async move { number }).await, number);
    }
}

async fn duplex(count: usize) {
    let (mut near, mut far) = tokio::io::duplex(64);
    for _ in 0..count {
        near.write_u8(7).await.expect("the other end is here");
        assert_eq!(far.read_u8().await.expect("the other end is here"), 7);
    }
}
