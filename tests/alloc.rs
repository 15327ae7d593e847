//! The steady path does not allocate: a spawn costs one allocation at most, and none where the memory of an
//! earlier task is at hand; everything after it costs none.
//!
//! And whatever happens to a task, its memory comes back.
//!
//! A test binary of its own, because it replaces the allocator. The counters cover all threads, so its tests
//! run one at a time. On Linux only: elsewhere the locks of std and the poller have memory of their own.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

#[path = "alloc/bursts.rs"]
mod bursts;

use liten::insight::FlightRecorder;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream, UdpSocket};
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::sync::oneshot;
use liten::task::yield_now;
use liten::time::{self, Duration, Instant, sleep};
use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
/// Blocks that have been allocated and not given back.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// How large those are together.
static BYTES: AtomicUsize = AtomicUsize::new(0);

fn count() {
    if ON.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: hands every call on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        LIVE.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        BYTES.fetch_add(size, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Rounds that are counted together.
const ROUNDS: usize = 50;
/// Groups of rounds that are not counted, in which queues and tables grow to their size.
const WARM_UP: usize = 2;
/// Groups that are counted, at the most. The cheapest one counts, and one that costs nothing is the last: a
/// table that some thread first needs a little later is made once, and so is what a thread of the runtime
/// allocates while it starts, on a loaded machine during several of the first groups. Something that each
/// round costs shows up in all of them.
const COUNTED: usize = 200;

/// What has been measured: the operation, and how many allocations `ROUNDS` rounds of it cost.
#[derive(Default)]
struct Bill(Vec<(&'static str, usize)>);

impl Bill {
    /// Which rows are not as they should be, if so many allocations per spawn are right.
    fn wrong(self, place: &str, per_spawn: usize) -> Vec<String> {
        let most = |what: &str| if what.starts_with("spawn") { per_spawn * ROUNDS } else { 0 };
        let wrong = self.0.into_iter().filter(|(what, cost)| *cost > most(what));
        wrong.map(|(what, cost)| format!("{place}: {what}: {cost}")).collect()
    }
}

fn start() {
    ALLOCATIONS.store(0, Ordering::SeqCst);
    ON.store(true, Ordering::SeqCst);
}

fn stop() -> usize {
    ON.store(false, Ordering::SeqCst);
    ALLOCATIONS.load(Ordering::SeqCst)
}

/// Puts the cost of an operation on the bill. A macro, because the compiler cannot see yet that the future of
/// a function that takes an async closure is `Send`.
macro_rules! measure {
    ($bill:ident, $what:expr, $operation:expr) => {{
        let mut cheapest = usize::MAX;
        for group in 0..WARM_UP + COUNTED {
            start();
            for _ in 0..ROUNDS {
                $operation;
            }
            let cost = stop();
            if group >= WARM_UP {
                cheapest = cheapest.min(cost);
            }
            if cheapest == 0 {
                break;
            }
        }
        $bill.0.push(($what, cheapest));
    }};
}

/// A turn of conversation between two tasks, or a task and a thread: which one has the ball, and which one
/// waits for it.
#[derive(Default)]
struct Ball {
    place: AtomicUsize,
    wakers: [Mutex<Option<Waker>>; 2],
}

impl Ball {
    async fn take(&self, player: usize) {
        poll_fn(|cx| {
            if self.place.load(Ordering::SeqCst) == player {
                return Poll::Ready(());
            }
            *self.wakers[player].lock().unwrap() = Some(cx.waker().clone());
            match self.place.load(Ordering::SeqCst) == player {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    fn pass(&self, to: usize) {
        self.place.store(to, Ordering::SeqCst);
        let waker = self.wakers[to].lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

async fn tasks(bill: &mut Bill) {
    measure!(bill, "yield", yield_now().await);
    measure!(bill, "wake itself", {
        let mut first = true;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            let clone = cx.waker().clone();
            clone.wake();
            if std::mem::replace(&mut first, false) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    });

    let ball = Arc::new(Ball::default());
    let theirs = Arc::clone(&ball);
    let other = liten::spawn(async move {
        loop {
            theirs.take(1).await;
            theirs.pass(0);
        }
    });
    measure!(bill, "wake another task and be woken by it", {
        ball.pass(1);
        ball.take(0).await;
    });
    other.abort();

    let ball = Arc::new(Ball::default());
    let theirs = Arc::clone(&ball);
    let thread = std::thread::spawn(move || {
        loop {
            match theirs.place.load(Ordering::SeqCst) {
                1 => theirs.pass(0),
                0 => std::thread::yield_now(),
                _ => return,
            }
        }
    });
    measure!(bill, "be woken by a foreign thread", {
        ball.pass(1);
        ball.take(0).await;
    });
    ball.place.store(2, Ordering::SeqCst);
    thread.join().unwrap();

    measure!(bill, "spawn and join", liten::spawn(async {}).await.unwrap());
    measure!(bill, "spawn and join a task that waits", {
        liten::spawn(async { sleep(Duration::from_micros(10)).await }).await.unwrap();
    });
}

async fn timers(bill: &mut Bill) {
    let far = Duration::from_secs(100_000);
    measure!(bill, "a sleep that is dropped", {
        let mut sleep = sleep(far);
        poll_fn(|cx| {
            assert!(Pin::new(&mut sleep).poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    });
    measure!(bill, "a sleep", sleep(Duration::from_micros(10)).await);
    let mut one = sleep(far);
    measure!(bill, "a sleep that is reset", {
        Pin::new(&mut one).reset(Instant::now() + Duration::from_micros(10));
        (&mut one).await;
    });
    measure!(bill, "a timeout", time::timeout(far, yield_now()).await.unwrap());
    let mut interval = time::interval(Duration::from_micros(50));
    measure!(bill, "a tick", interval.tick().await);
}

async fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

async fn sockets(bill: &mut Bill) {
    let mut buf = [0; 64];
    let (mut client, mut server) = streams().await;
    let echo = liten::spawn(async move {
        let mut buf = [0; 64];
        while server.read_exact(&mut buf).await.is_ok() {
            server.write_all(&buf).await.unwrap();
        }
    });
    measure!(bill, "a message and its echo over TCP", {
        client.write_all(&[7; 64]).await.unwrap();
        client.read_exact(&mut buf).await.unwrap();
    });
    drop(client);
    echo.await.unwrap();

    let (mut client, mut server) = streams().await;
    measure!(bill, "a message over TCP within one task", {
        client.write_all(&[7; 64]).await.unwrap();
        server.read_exact(&mut buf).await.unwrap();
    });

    let one = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let two = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = two.local_addr().unwrap();
    measure!(bill, "a datagram", {
        one.send_to(&[7; 64], address).await.unwrap();
        assert_eq!(two.recv_from(&mut buf).await.unwrap().0, 64);
    });
}

async fn everything() -> Bill {
    let mut bill = Bill::default();
    tasks(&mut bill).await;
    timers(&mut bill).await;
    sockets(&mut bill).await;
    bill
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).build().unwrap()
}

/// Jobs of the blocking pool: the task, and nothing else once a thread is there.
async fn jobs() -> Bill {
    let mut bill = Bill::default();
    measure!(bill, "spawn blocking work", liten::spawn_blocking(|| {}).await.unwrap());
    bill
}

#[test]
fn after_the_spawn_nothing_allocates() {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    for workers in [1, 2] {
        let runtime = runtime(workers);
        let place = |what: &str| format!("{what}, {workers} worker(s)");
        // Where one thread makes the tasks and another one ends them, the memory may be on its way back.
        let per_spawn = usize::from(workers > 1);
        let bill = runtime.block_on(runtime.spawn(everything())).unwrap();
        wrong.extend(bill.wrong(&place("task"), per_spawn));
        wrong.extend(runtime.block_on(everything()).wrong(&place("root"), 1));
        let bill = runtime.block_on(runtime.spawn(jobs())).unwrap();
        wrong.extend(bill.wrong(&place("task"), 1));
    }
    let local = LocalRuntime::new().unwrap();
    let bill = local.block_on(local.spawn_local(everything())).unwrap();
    wrong.extend(bill.wrong("local task", 0));
    wrong.extend(local.block_on(everything()).wrong("local root", 0));
    assert!(wrong.is_empty(), "allocations in {ROUNDS} rounds:\n{}", wrong.join("\n"));
}

/// How many blocks are left over from `rounds` calls, after some calls that do not count.
fn left_over(rounds: usize, mut call: impl FnMut()) -> usize {
    (0..rounds / 4).for_each(|_| call());
    let before = LIVE.load(Ordering::SeqCst);
    (0..rounds).for_each(|_| call());
    LIVE.load(Ordering::SeqCst).saturating_sub(before)
}

/// A task of each fate.
fn spawn_all_kinds(runtime: &Runtime, kept: &mut Vec<Waker>) {
    let text = || String::from("a block that belongs to the task");
    // Joined, detached, and with an output that no task takes.
    runtime.block_on(runtime.spawn(async move { text() })).unwrap();
    drop(runtime.spawn(async move { text() }));
    drop(runtime.spawn(async move {
        let text = text();
        yield_now().await;
        text
    }));
    // Panicked, in the poll and in the destructor.
    let panics = runtime.spawn(async move {
        let _text = text();
        std::panic::resume_unwind(Box::new(text()));
    });
    assert!(runtime.block_on(panics).is_err());
    drop(runtime.spawn(async move { std::panic::resume_unwind(Box::new(text())) }));
    // Aborted, before and after it was polled.
    for polled in [false, true] {
        let task = runtime.spawn(async move {
            let _text = text();
            std::future::pending::<()>().await;
        });
        if polled {
            runtime.block_on(yield_now());
        }
        task.abort();
        drop(runtime.block_on(task));
    }
    // Survived by its waker, which is woken too late.
    let sender = Arc::new(Mutex::new(None));
    let (fill, text) = (Arc::clone(&sender), text());
    let task = runtime.spawn(poll_fn(move |cx| {
        let _kept = &text;
        *fill.lock().unwrap() = Some(cx.waker().clone());
        Poll::Ready(())
    }));
    runtime.block_on(task).unwrap();
    kept.extend(sender.lock().unwrap().take());
    if kept.len() == 10 {
        kept.drain(..).for_each(Waker::wake);
    }
}

#[test]
fn the_memory_of_every_task_comes_back() {
    let _alone = ALONE.lock();
    let runtime = runtime(2);
    let mut kept = Vec::new();
    let mut rounds = 0;
    let mut tasks = || {
        left_over(1_000, || {
            spawn_all_kinds(&runtime, &mut kept);
            rounds += 1;
            // Also in the rounds after which the blocks are counted: a task that nothing waits for may be
            // late.
            if rounds % 50 == 0 {
                runtime.block_until_completion();
            }
        })
    };
    // Nothing per round. Some blocks may be underway between threads, or wait for the queues' collector, and
    // more of them if the machine is busy: what leaks is there each time.
    let mut all = Vec::new();
    while all.last().is_none_or(|&left| left >= 250) {
        assert!(all.len() < 20, "{all:?} blocks of 1000 rounds each");
        all.push(tasks());
    }
}

#[test]
fn the_memory_of_every_runtime_comes_back() {
    let _alone = ALONE.lock();
    let runtimes = left_over(200, || {
        let runtime = runtime(2);
        for _ in 0..10 {
            drop(runtime.spawn(async { sleep(Duration::from_secs(100_000)).await }));
            drop(runtime.spawn(std::future::pending::<()>()));
        }
        runtime.block_on(async {
            drop(streams().await);
            liten::spawn_blocking(|| {}).await.unwrap();
        });
        drop(runtime);
        let local = LocalRuntime::new().unwrap();
        drop(local.spawn_local(std::future::pending::<()>()));
        local.block_on(yield_now());
    });
    assert!(runtimes < 100, "{runtimes} blocks of 200 runtimes");
}

/// As `Handle::record` says.
const RECORDING: usize = 9 << 20;

/// What a recorder needs besides: a thread, with what it waits with.
const RECORDER: usize = 1 << 19;

/// How often each of the tasks yields. Four tasks make 80,000 events at a time, and two workers keep 65,536.
const YIELDS: usize = 20_000;

fn make_events(runtime: &Runtime) {
    let yields = || async {
        for _ in 0..YIELDS {
            yield_now().await;
        }
    };
    let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(yields())).collect();
    tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
}

fn use_workers(runtime: &Runtime, count: usize) {
    runtime.handle().set_worker_threads(count).unwrap();
    make_events(runtime);
}

/// The rings are filled many times over, snapshots are made, and workers come and go meanwhile: more than
/// there is room for, so that some get less, or nothing. Returns how many bytes that needs in the beginning,
/// and at the most in each of three rounds.
fn memory_of_a_recording() -> (usize, [usize; 3]) {
    const MANY: usize = 24;
    let runtime = runtime(2);
    // What workers need, and the threads' free memory, is not a recording's.
    use_workers(&runtime, MANY);
    use_workers(&runtime, 2);
    let before = BYTES.load(Ordering::SeqCst);
    let bytes = || BYTES.load(Ordering::SeqCst).saturating_sub(before);
    let recorder = FlightRecorder::builder()
        .min_interval(Duration::ZERO)
        .to_fn(|snapshot| assert!(snapshot.trace().lost() > 0))
        .start(runtime.handle())
        .unwrap();
    use_workers(&runtime, 2);
    let (first, mut most, mut requests) = (bytes(), [0; 3], 0);
    for most in &mut most {
        for count in [2, MANY] {
            use_workers(&runtime, count);
            assert!(recorder.request());
            requests += 1;
            while recorder.kept() + recorder.failed() < requests {
                std::thread::yield_now();
            }
            *most = bytes().max(*most);
        }
    }
    assert_eq!(recorder.failed(), 0);
    (first, most)
}

/// The threads have other memory, too, and some of it may be underway between them if the machine is busy:
/// then once more.
#[test]
fn the_memory_of_a_recording_is_bounded() {
    let _alone = ALONE.lock();
    let is_bounded = |(first, most): &(usize, [usize; 3])| {
        // Two rings of a megabyte, and one for others.
        *first > 1 << 20
            && most.iter().all(|most| *most <= RECORDING + RECORDER)
            // A ring for each slot is there from the first round on.
            && most[2] <= most[1] + RECORDER
    };
    let mut all = Vec::new();
    while !all.last().is_some_and(is_bounded) {
        assert!(all.len() < 20, "{all:?}");
        all.push(memory_of_a_recording());
    }
}

type Half = Box<dyn FnOnce() + Send>;

/// A channel's ends, as calls: with wakers in it or without, in the different ways to end it.
fn ends_of_a_channel(case: usize) -> (Half, Half) {
    let (mut sender, mut receiver) = oneshot::channel();
    let mut cx = Context::from_waker(Waker::noop());
    if case & 1 != 0 {
        assert!(Pin::new(&mut receiver).poll(&mut cx).is_pending());
    }
    if case & 2 != 0 {
        assert!(sender.poll_closed(&mut cx).is_pending());
    }
    let sends: Half = match case & 4 {
        0 => Box::new(move || drop(sender.send(Box::new(1)))),
        _ => Box::new(move || drop(sender)),
    };
    let receives: Half = match case >> 3 {
        0 => Box::new(move || drop(receiver)),
        1 => Box::new(move || drop(receiver.try_recv())),
        2 => Box::new(move || receiver.close()),
        _ => Box::new(move || {
            receiver.close();
            drop(receiver.try_recv());
        }),
    };
    (sends, receives)
}

const CASES: usize = 32;

/// How many blocks a channel costs, in the mean of a thousand that are there at the same time: the threads of
/// the test harness allocate now and then, too.
fn blocks_per_channel<T>() -> f64 {
    const CHANNELS: usize = 1_000;
    let mut channels = Vec::with_capacity(CHANNELS);
    start();
    channels.extend((0..CHANNELS).map(|_| oneshot::channel::<T>()));
    stop() as f64 / CHANNELS as f64
}

/// A channel for one value is at most one new block, which comes back whichever end comes first, and however.
#[test]
fn the_memory_of_a_channel_for_one_value_comes_back() {
    let _alone = ALONE.lock();
    // Fewer if the recycler has kept some.
    assert!(blocks_per_channel::<u64>() < 1.5);
    // More than the recycler keeps is a block of its own.
    let large = blocks_per_channel::<[u64; 100]>();
    assert!((1.0..1.5).contains(&large), "{large}");
    for case in 0..CASES {
        let in_order = || {
            let (first, second) = ends_of_a_channel(case);
            first();
            second();
            let (second, first) = ends_of_a_channel(case);
            first();
            second();
        };
        let left = left_over(100, in_order);
        // Nothing per round; the threads of the other tests may come and go.
        assert!(left < 100, "case {case}: {left} blocks of 100 rounds");
    }
}

/// The same where both ends come at once. The threads tell each other by spinning, so that they do.
#[test]
fn the_memory_of_a_channel_comes_back_from_every_race() {
    let _alone = ALONE.lock();
    let (hand, taken) = std::sync::mpsc::sync_channel::<Half>(1);
    let turn = Arc::new(AtomicUsize::new(0));
    let theirs = turn.clone();
    let thread = std::thread::spawn(move || {
        for half in taken {
            theirs.fetch_add(1, Ordering::SeqCst);
            half();
            theirs.fetch_add(1, Ordering::SeqCst);
        }
    });
    let reaches = |count: usize| {
        while turn.load(Ordering::SeqCst) < count {
            std::thread::yield_now();
        }
    };
    let mut round = 0;
    let left = left_over(20_000, || {
        let (sends, receives) = ends_of_a_channel(round % CASES);
        let (here, there) =
            if round / CASES % 2 == 0 { (sends, receives) } else { (receives, sends) };
        hand.send(there).unwrap();
        reaches(2 * round + 1);
        here();
        reaches(2 * round + 2);
        round += 1;
    });
    // The recycler keeps up to 64 blocks for each thread. One case in which a block is lost would lose 625.
    assert!(left < 200, "{left} blocks of 20000 rounds");
    drop(hand);
    thread.join().unwrap();
}
