//! The channels and locks that are compared, behind traits, so that every body is written once.
//!
//! liten's and tokio's have the same names, so one macro is both sides' implementation.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use std::future::Future;

/// Channels for numbers.
pub(crate) trait Channels: 'static {
    type Sender: Clone + Send + Sync + 'static;
    type Receiver: Send + 'static;
    type OneSender: Send + 'static;
    type OneReceiver: Send + 'static;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);

    fn send(sender: &Self::Sender, message: usize) -> impl Future<Output = ()> + Send;

    /// `None`: all senders are gone.
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Option<usize>> + Send;

    /// A channel for one message.
    fn one() -> (Self::OneSender, Self::OneReceiver);

    fn send_one(sender: Self::OneSender, message: usize);

    fn recv_one(receiver: Self::OneReceiver) -> impl Future<Output = usize> + Send;
}

/// The channels that a program on the runtime uses.
pub(crate) trait Native: Runtime {
    type Channels: Channels;
}

impl Native for Liten {
    type Channels = Ours;
}

impl Native for Tokio {
    type Channels = Theirs;
}

impl Native for Smol {
    type Channels = Smols;
}

/// All that both liten and tokio have. A lock is held, and a permit kept, until `inside` has ended.
pub(crate) trait Family: Channels {
    type UnboundedSender: Clone + Send + Sync + 'static;
    type UnboundedReceiver: Send + 'static;
    type Mutex: Send + Sync + 'static;
    type RwLock: Send + Sync + 'static;
    type Semaphore: Send + Sync + 'static;
    type Watch: Send + Sync + 'static;
    type Watcher: Clone + Send + 'static;
    type Broadcast: Send + Sync + 'static;
    type Listener: Send + 'static;
    type Notify: Send + Sync + 'static;

    fn unbounded() -> (Self::UnboundedSender, Self::UnboundedReceiver);

    fn send_unbounded(sender: &Self::UnboundedSender, message: usize);

    /// `None`: all senders are gone.
    fn recv_unbounded(
        receiver: &mut Self::UnboundedReceiver,
    ) -> impl Future<Output = Option<usize>> + Send;

    fn mutex() -> Self::Mutex;

    fn lock(
        mutex: &Self::Mutex,
        inside: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = ()> + Send;

    fn rw_lock() -> Self::RwLock;

    fn read(
        lock: &Self::RwLock,
        inside: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = ()> + Send;

    fn write(
        lock: &Self::RwLock,
        inside: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = ()> + Send;

    fn semaphore(permits: usize) -> Self::Semaphore;

    fn acquire(
        semaphore: &Self::Semaphore,
        inside: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = ()> + Send;

    fn watch() -> (Self::Watch, Self::Watcher);

    fn publish(watch: &Self::Watch, message: usize);

    /// Waits for a message that this watcher has not seen.
    fn changed(watcher: &mut Self::Watcher) -> impl Future<Output = usize> + Send;

    fn broadcast(capacity: usize) -> Self::Broadcast;

    fn listen(broadcast: &Self::Broadcast) -> Self::Listener;

    fn tell(broadcast: &Self::Broadcast, message: usize);

    fn hear(listener: &mut Self::Listener) -> impl Future<Output = usize> + Send;

    fn notify() -> Self::Notify;

    fn notify_waiters(notify: &Self::Notify);

    /// Is notified so many times, and calls `ready` whenever the next notification would be noticed: at the
    /// beginning, and after each but the last one. After the last one it calls it, too.
    fn notified(
        notify: &Self::Notify,
        times: usize,
        ready: impl Fn() + Send,
    ) -> impl Future<Output = ()> + Send;
}

/// Implements both traits for `$name` with the channels and locks of that module.
macro_rules! family {
    ($name:ident, $($module:ident)::+) => {
        impl Channels for $name {
            type Sender = $($module)::+::mpsc::Sender<usize>;
            type Receiver = $($module)::+::mpsc::Receiver<usize>;
            type OneSender = $($module)::+::oneshot::Sender<usize>;
            type OneReceiver = $($module)::+::oneshot::Receiver<usize>;

            fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
                $($module)::+::mpsc::channel(capacity)
            }

            async fn send(sender: &Self::Sender, message: usize) {
                sender.send(message).await.expect("the receiver lives");
            }

            async fn recv(receiver: &mut Self::Receiver) -> Option<usize> {
                receiver.recv().await
            }

            fn one() -> (Self::OneSender, Self::OneReceiver) {
                $($module)::+::oneshot::channel()
            }

            fn send_one(sender: Self::OneSender, message: usize) {
                sender.send(message).expect("the receiver lives");
            }

            async fn recv_one(receiver: Self::OneReceiver) -> usize {
                receiver.await.expect("the sender sends")
            }
        }

        impl Family for $name {
            type UnboundedSender = $($module)::+::mpsc::UnboundedSender<usize>;
            type UnboundedReceiver = $($module)::+::mpsc::UnboundedReceiver<usize>;
            type Mutex = $($module)::+::Mutex<()>;
            type RwLock = $($module)::+::RwLock<()>;
            type Semaphore = $($module)::+::Semaphore;
            type Watch = $($module)::+::watch::Sender<usize>;
            type Watcher = $($module)::+::watch::Receiver<usize>;
            type Broadcast = $($module)::+::broadcast::Sender<usize>;
            type Listener = $($module)::+::broadcast::Receiver<usize>;
            type Notify = $($module)::+::Notify;

            fn unbounded() -> (Self::UnboundedSender, Self::UnboundedReceiver) {
                $($module)::+::mpsc::unbounded_channel()
            }

            fn send_unbounded(sender: &Self::UnboundedSender, message: usize) {
                sender.send(message).expect("the receiver lives");
            }

            async fn recv_unbounded(receiver: &mut Self::UnboundedReceiver) -> Option<usize> {
                receiver.recv().await
            }

            fn mutex() -> Self::Mutex {
                $($module)::+::Mutex::new(())
            }

            async fn lock(mutex: &Self::Mutex, inside: impl Future<Output = ()> + Send) {
                let _held = mutex.lock().await;
                inside.await;
            }

            fn rw_lock() -> Self::RwLock {
                $($module)::+::RwLock::new(())
            }

            async fn read(lock: &Self::RwLock, inside: impl Future<Output = ()> + Send) {
                let _held = lock.read().await;
                inside.await;
            }

            async fn write(lock: &Self::RwLock, inside: impl Future<Output = ()> + Send) {
                let _held = lock.write().await;
                inside.await;
            }

            fn semaphore(permits: usize) -> Self::Semaphore {
                $($module)::+::Semaphore::new(permits)
            }

            async fn acquire(
                semaphore: &Self::Semaphore,
                inside: impl Future<Output = ()> + Send,
            ) {
                let _kept = semaphore.acquire().await.expect("it stays open");
                inside.await;
            }

            fn watch() -> (Self::Watch, Self::Watcher) {
                $($module)::+::watch::channel(0)
            }

            fn publish(watch: &Self::Watch, message: usize) {
                watch.send(message).expect("the watchers live");
            }

            async fn changed(watcher: &mut Self::Watcher) -> usize {
                watcher.changed().await.expect("the sender lives");
                *watcher.borrow_and_update()
            }

            fn broadcast(capacity: usize) -> Self::Broadcast {
                $($module)::+::broadcast::Sender::new(capacity)
            }

            fn listen(broadcast: &Self::Broadcast) -> Self::Listener {
                broadcast.subscribe()
            }

            fn tell(broadcast: &Self::Broadcast, message: usize) {
                broadcast.send(message).expect("the listeners live");
            }

            async fn hear(listener: &mut Self::Listener) -> usize {
                listener.recv().await.expect("the sender lives and waits for the listeners")
            }

            fn notify() -> Self::Notify {
                $($module)::+::Notify::new()
            }

            fn notify_waiters(notify: &Self::Notify) {
                notify.notify_waiters();
            }

            async fn notified(notify: &Self::Notify, times: usize, ready: impl Fn() + Send) {
                let mut next = std::pin::pin!(notify.notified());
                for _ in 0..times {
                    next.as_mut().enable();
                    ready();
                    next.as_mut().await;
                    next.set(notify.notified());
                }
                ready();
            }
        }
    };
}

/// liten's.
pub(crate) struct Ours;

/// tokio's, which work on any runtime.
pub(crate) struct Theirs;

/// smol's, which has no channel for one message.
pub(crate) struct Smols;

family!(Ours, liten::sync);
family!(Theirs, tokio::sync);

impl Channels for Smols {
    type Sender = smol::channel::Sender<usize>;
    type Receiver = smol::channel::Receiver<usize>;
    type OneSender = smol::channel::Sender<usize>;
    type OneReceiver = smol::channel::Receiver<usize>;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
        smol::channel::bounded(capacity)
    }

    async fn send(sender: &Self::Sender, message: usize) {
        sender.send(message).await.expect("the receiver lives");
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<usize> {
        receiver.recv().await.ok()
    }

    fn one() -> (Self::OneSender, Self::OneReceiver) {
        smol::channel::bounded(1)
    }

    fn send_one(sender: Self::OneSender, message: usize) {
        sender.try_send(message).expect("the receiver lives, and there is room for one");
    }

    async fn recv_one(receiver: Self::OneReceiver) -> usize {
        receiver.recv().await.expect("the sender sends")
    }
}
