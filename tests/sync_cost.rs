//! What channels, locks, tokens and trackers cost besides time: bytes and polls, beside tokio's, and
//! allocations, of which waiting makes none.
//!
//! A test binary of its own, because it replaces the allocator.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use liten::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, watch};
use liten::task::{CancellationToken, TaskTracker, yield_now};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Counts the bytes of each thread for itself, so that the tests may run at the same time.
struct Counting;

thread_local! {
    /// Blocks that this thread has ever asked for.
    static BLOCKS: Cell<usize> = const { Cell::new(0) };
    /// Bytes that this thread has asked for and not given back.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // At the end of a thread there is nothing to count in.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: hands every call on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        let _ = BLOCKS.try_with(|blocks| blocks.set(blocks.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More cells than a thread keeps of a size.
const MORE_THAN_KEPT: usize = 200;

/// The bytes of what `make` returns: its own, and what it has on the heap.
fn bytes<T>(make: impl Fn() -> T) -> usize {
    // What a thread needs once, like a thread-local or a static, is made here. liten keeps memory for the
    // next cells of a size: while these are alive, it has none left to give.
    let _kept: Vec<_> = (0..MORE_THAN_KEPT).map(|_| make()).collect();
    let before = LIVE.get();
    let made = black_box(make());
    let heap = LIVE.get() - before;
    size_of_val(&made) + usize::try_from(heap).expect("making something frees nothing")
}

/// Name and bytes of what is in such a module, new and empty.
///
/// But for `SetOnce`: it can be made with a value in a `const fn` without `unsafe`, for which it pays 8
/// bytes.
macro_rules! sizes {
    ($($module:ident)::+) => {{
        use $($module)::+ as sync;
        [
            ("bounded channel for one number", bytes(|| sync::mpsc::channel::<u64>(1))),
            ("bounded channel for many numbers", bytes(|| sync::mpsc::channel::<u64>(1_000))),
            ("unbounded channel", bytes(sync::mpsc::unbounded_channel::<u64>)),
            ("oneshot", bytes(sync::oneshot::channel::<u64>)),
            ("watch", bytes(|| sync::watch::channel(0_u64))),
            ("broadcast", bytes(|| sync::broadcast::channel::<u64>(16))),
            ("Mutex", bytes(|| sync::Mutex::new(()))),
            ("RwLock", bytes(|| sync::RwLock::new(()))),
            ("Semaphore", bytes(|| sync::Semaphore::new(1))),
            ("Notify", bytes(sync::Notify::new)),
            ("Barrier", bytes(|| sync::Barrier::new(2))),
            ("OnceCell", bytes(sync::OnceCell::<u64>::new)),
        ]
    }};
}

#[test]
fn nothing_empty_is_larger_than_tokios() {
    let (ours, theirs) = (sizes!(liten::sync), sizes!(tokio::sync));
    let rows = ours.iter().zip(&theirs);
    // A `watch` has a word more, by which a second borrow does not wait for ever.
    let more = |name: &str| if name == "watch" { size_of::<usize>() } else { 0 };
    let larger: Vec<_> = rows.filter(|(ours, theirs)| ours.1 > theirs.1 + more(ours.0)).collect();
    assert!(larger.is_empty(), "(ours, tokio's): {larger:#?}");
}

/// Counts its polls, and returns how many it has had.
struct Polls<F> {
    future: F,
    polls: usize,
}

impl<F: Future<Output = ()> + Unpin> Future for Polls<F> {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        self.polls += 1;
        let polls = self.polls;
        Pin::new(&mut self.future).poll(cx).map(|()| polls)
    }
}

async fn polls(future: impl Future<Output = ()> + Send) -> usize {
    Polls { future: pin!(future), polls: 0 }.await
}

/// So many operations, none of which has to wait.
const READY: usize = 100_000;

/// Name and polls of a task that does so many operations of each kind.
macro_rules! polls_when_ready {
    ($($module:ident)::+) => {{
        use $($module)::+ as sync;
        let mut table = Vec::new();
        table.push(("send and receive", polls(async {
            let (sender, mut receiver) = sync::mpsc::channel(1);
            for number in 0..READY {
                sender.send(number).await.unwrap();
                assert_eq!(receiver.recv().await, Some(number));
            }
        }).await));
        table.push(("receive from an unbounded channel", polls(async {
            let (sender, mut receiver) = sync::mpsc::unbounded_channel();
            for number in 0..READY {
                sender.send(number).unwrap();
                assert_eq!(receiver.recv().await, Some(number));
            }
        }).await));
        table.push(("receive one", polls(async {
            for number in 0..READY {
                let (sender, receiver) = sync::oneshot::channel();
                sender.send(number).unwrap();
                assert_eq!(receiver.await, Ok(number));
            }
        }).await));
        table.push(("see a change", polls(async {
            let (sender, mut receiver) = sync::watch::channel(0);
            for number in 1..=READY {
                sender.send(number).unwrap();
                receiver.changed().await.unwrap();
                assert_eq!(*receiver.borrow_and_update(), number);
            }
        }).await));
        table.push(("hear a broadcast", polls(async {
            let (sender, mut receiver) = sync::broadcast::channel(1);
            for number in 0..READY {
                sender.send(number).unwrap();
                assert_eq!(receiver.recv().await, Ok(number));
            }
        }).await));
        table.push(("receive many", polls(async {
            let (sender, mut receiver) = sync::mpsc::channel(1);
            let mut all = Vec::with_capacity(READY);
            for number in 0..READY {
                sender.reserve().await.unwrap().send(number);
                assert_eq!(receiver.recv_many(&mut all, 2).await, 1);
            }
        }).await));
        table.push(("be refused by a closed channel", polls(async {
            let (sender, receiver) = sync::mpsc::channel(1);
            drop(receiver);
            for number in 0..READY {
                assert!(sender.send(number).await.is_err());
            }
        }).await));
        table.push(("receive from a channel that has ended", polls(async {
            let (sender, mut receiver) = sync::mpsc::channel::<u8>(1);
            drop(sender);
            for _ in 0..READY {
                assert_eq!(receiver.recv().await, None);
            }
        }).await));
        table.push(("be told of the end of a channel", polls(async {
            let (sender, receiver) = sync::mpsc::channel::<u8>(1);
            drop(receiver);
            for _ in 0..READY {
                sender.closed().await;
            }
        }).await));
        table.push(("be told that one is no longer waited for", polls(async {
            for _ in 0..READY {
                let (mut sender, receiver) = sync::oneshot::channel::<u8>();
                drop(receiver);
                sender.closed().await;
            }
        }).await));
        table.push(("see the value that is wanted", polls(async {
            let (_sender, mut receiver) = sync::watch::channel(0);
            for _ in 0..READY {
                assert!(receiver.wait_for(|number| *number == 0).await.is_ok());
            }
        }).await));
        table.push(("see that a watch has ended", polls(async {
            let (sender, mut receiver) = sync::watch::channel(0);
            drop(sender);
            for _ in 0..READY {
                assert!(receiver.changed().await.is_err());
            }
        }).await));
        table.push(("be told that nothing watches", polls(async {
            let (sender, receiver) = sync::watch::channel(0);
            drop(receiver);
            for _ in 0..READY {
                sender.closed().await;
            }
        }).await));
        table.push(("miss a broadcast", polls(async {
            let (sender, mut receiver) = sync::broadcast::channel(1);
            for number in 0..READY {
                sender.send(number).unwrap();
                sender.send(number).unwrap();
                assert!(receiver.recv().await.is_err());
                assert!(receiver.try_recv().is_ok());
            }
        }).await));
        table.push(("be notified", polls(async {
            let notify = sync::Notify::new();
            for _ in 0..READY {
                notify.notify_one();
                notify.notified().await;
            }
        }).await));
        table.push(("meet", polls(async {
            let barrier = sync::Barrier::new(1);
            for _ in 0..READY {
                assert!(barrier.wait().await.is_leader());
            }
        }).await));
        table.push(("look at what is set once", polls(async {
            let (cell, once) = (sync::OnceCell::new(), sync::SetOnce::new());
            once.set(1).unwrap();
            for _ in 0..READY {
                assert_eq!(cell.get_or_init(async || 1).await, once.wait().await);
            }
        }).await));
        table.push(("lock", polls(async {
            let mutex = sync::Mutex::new(0);
            for _ in 0..READY {
                *mutex.lock().await += 1;
            }
        }).await));
        table.push(("read", polls(async {
            let lock = sync::RwLock::new(0);
            for _ in 0..READY {
                assert_eq!(*lock.read().await, 0);
            }
        }).await));
        table.push(("write", polls(async {
            let lock = sync::RwLock::new(0);
            for _ in 0..READY {
                *lock.write().await += 1;
            }
        }).await));
        table.push(("acquire", polls(async {
            let semaphore = sync::Semaphore::new(1);
            for _ in 0..READY {
                drop(semaphore.acquire().await.unwrap());
            }
        }).await));
        table.push(("be refused by a closed semaphore", polls(async {
            let semaphore = sync::Semaphore::new(1);
            semaphore.close();
            for _ in 0..READY {
                assert!(semaphore.acquire().await.is_err());
            }
        }).await));
        table
    }};
}

#[test]
fn tasks_that_never_wait_are_polled_as_often_as_tokios() {
    let liten = liten::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let ours = liten.block_on(liten.spawn(async { polls_when_ready!(liten::sync) })).unwrap();
    let theirs = tokio.block_on(tokio.spawn(async { polls_when_ready!(tokio::sync) })).unwrap();
    let rows = ours.iter().zip(&theirs);
    let others: Vec<_> = rows.filter(|(ours, theirs)| ours.1.abs_diff(theirs.1) > 1).collect();
    assert!(others.is_empty(), "(ours, tokio's) in {READY}: {others:#?}");
}

/// Rounds that are not counted, in which queues grow to their size.
const WARM_UP: usize = 100;
const ROUNDS: usize = 1_000;

/// How many blocks two tasks on this thread ask for while they do these things over and over.
async fn blocks(
    mut one: impl AsyncFnMut() + 'static,
    mut other: impl AsyncFnMut() + 'static,
) -> usize {
    let other = liten::task::spawn_local(async move {
        for _ in 0..WARM_UP + ROUNDS {
            other().await;
        }
    });
    let one = liten::task::spawn_local(async move {
        for _ in 0..WARM_UP {
            one().await;
        }
        let before = BLOCKS.get();
        for _ in 0..ROUNDS {
            one().await;
        }
        BLOCKS.get() - before
    });
    let blocks = one.await.unwrap();
    other.await.unwrap();
    blocks
}

/// Two tasks that answer each other. Each half of a pair is given to one of them.
async fn blocks_of_messages() -> Vec<(&'static str, usize)> {
    let ((to, mut asked), (fro, mut answered)) = (mpsc::channel(1), mpsc::channel(1));
    let client = async move || {
        to.send(0).await.unwrap();
        answered.recv().await.unwrap();
    };
    let server = async move || fro.send(asked.recv().await.unwrap()).await.unwrap();
    let mpsc = blocks(client, server).await;
    let ((to, mut asked), (fro, mut answered)) = (watch::channel(0), watch::channel(0));
    let client = async move || {
        to.send(0).unwrap();
        answered.changed().await.unwrap();
    };
    let server = async move || {
        asked.changed().await.unwrap();
        fro.send(0).unwrap();
    };
    let watch = blocks(client, server).await;
    let ((to, mut asked), (fro, mut answered)) = (broadcast::channel(1), broadcast::channel(1));
    let client = async move || {
        to.send(0).unwrap();
        answered.recv().await.unwrap();
    };
    let server = async move || {
        fro.send(asked.recv().await.unwrap()).unwrap();
    };
    let broadcast = blocks(client, server).await;
    let bells = [(); 2].map(|()| Arc::new(Notify::new()));
    let [to, fro] = bells.clone();
    let client = async move || {
        to.notify_one();
        fro.notified().await;
    };
    let [to, fro] = bells;
    let server = async move || {
        to.notified().await;
        fro.notify_one();
    };
    let notify = blocks(client, server).await;
    vec![("mpsc", mpsc), ("watch", watch), ("broadcast", broadcast), ("Notify", notify)]
}

/// Two tasks, one of which always waits until the other one has let go.
async fn blocks_of_locks() -> Vec<(&'static str, usize)> {
    let lock = Arc::new(Mutex::new(()));
    let rival = |lock: Arc<Mutex<()>>| {
        async move || {
            let _held = lock.lock().await;
            yield_now().await;
        }
    };
    let mutex = blocks(rival(lock.clone()), rival(lock)).await;
    let lock = Arc::new(RwLock::new(()));
    let (mine, its) = (lock.clone(), lock);
    let writer = async move || {
        let _held = mine.write().await;
        yield_now().await;
    };
    let reader = async move || {
        let _held = its.read().await;
        yield_now().await;
    };
    let rwlock = blocks(writer, reader).await;
    let semaphore = Arc::new(Semaphore::new(1));
    let rival = |semaphore: Arc<Semaphore>| {
        async move || {
            let _kept = semaphore.acquire().await.unwrap();
            yield_now().await;
        }
    };
    let permits = blocks(rival(semaphore.clone()), rival(semaphore)).await;
    vec![("Mutex", mutex), ("RwLock", rwlock), ("Semaphore", permits)]
}

/// Polls `future`, which is not ready, and drops it.
async fn begin(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// What the first wait for a new token or tracker asks for, beside what the token or tracker itself does.
async fn blocks_of_ends() -> Vec<(&'static str, usize)> {
    let alone = blocks(async || drop(CancellationToken::new()), async || {}).await;
    let waits = async || begin(CancellationToken::new().cancelled()).await;
    let token = blocks(waits, async || {}).await - alone;
    let alone = blocks(async || drop(TaskTracker::new()), async || {}).await;
    let waits = async || begin(TaskTracker::new().wait()).await;
    let tracker = blocks(waits, async || {}).await - alone;
    vec![("CancellationToken", token), ("TaskTracker", tracker)]
}

#[test]
fn waiting_does_not_allocate() {
    let runtime = liten::runtime::LocalRuntime::new().unwrap();
    let mut table = runtime.block_on(blocks_of_messages());
    table.extend(runtime.block_on(blocks_of_locks()));
    table.extend(runtime.block_on(blocks_of_ends()));
    // What is made once may be made late. What each wait costs shows up in each round, and what each block of
    // messages costs in each thirtieth.
    table.retain(|row| row.1 >= ROUNDS / 100);
    assert!(table.is_empty(), "blocks in {ROUNDS} rounds: {table:?}");
}
