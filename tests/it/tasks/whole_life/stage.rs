//! Executors whose threads can be held.
//!
//! A *room* is where a thread is held: it does there what the test sends in, until the test leaves. Workers
//! are held by as many tasks as there are workers, the local kinds by their root, the pool of one thread by a
//! job, and a poll by the future itself.

use super::life::{Life, Output};
use super::props::Props;
use super::{Deed, Whence};
use crate::support::guard::workers;
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::task::{JoinHandle, LocalExecutor};
use std::future::{Future, poll_fn};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// A guard against hanging, shorter than that of the whole test, so that a failure can say what was played.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

enum Order {
    Perform(Arc<Props>, Deed, Sender<()>),
    Spawn(Box<Life>, Sender<JoinHandle<Output>>),
}

/// The test's side.
pub(super) struct Room {
    orders: Sender<Order>,
    entered: Receiver<()>,
}

/// The side of the thread that is held.
pub(super) struct HeldThread {
    orders: Receiver<Order>,
    enter: Sender<()>,
}

impl Room {
    pub(super) fn new() -> (Self, HeldThread) {
        let (send, orders) = mpsc::channel();
        let (enter, entered) = mpsc::channel();
        (Self { orders: send, entered }, HeldThread { orders, enter })
    }

    pub(super) fn wait_for_entry(&self) {
        self.entered.recv_timeout(PATIENCE).expect("a thread comes in");
    }

    pub(super) fn perform(&self, props: &Arc<Props>, deed: Deed, whence: Whence) {
        if whence == Whence::Outside {
            return props.perform(deed);
        }
        let (done, is_done) = mpsc::channel();
        self.orders.send(Order::Perform(props.clone(), deed, done)).unwrap();
        is_done.recv().unwrap();
    }

    fn spawn(&self, life: Box<Life>) -> JoinHandle<Output> {
        let (give, join) = mpsc::channel();
        self.orders.send(Order::Spawn(life, give)).unwrap();
        join.recv().unwrap()
    }
}

impl HeldThread {
    pub(super) fn stay(self) {
        self.stay_and_spawn(|_| unreachable!("nothing asks for a task here"));
    }

    fn stay_and_spawn(self, spawn: impl Fn(Life) -> JoinHandle<Output>) {
        self.enter.send(()).unwrap();
        for order in self.orders {
            match order {
                Order::Perform(props, deed, done) => {
                    props.perform(deed);
                    drop(props);
                    done.send(()).unwrap();
                }
                Order::Spawn(life, give) => give.send(spawn(life.unbox())).unwrap(),
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Flavor {
    OneWorker,
    TwoWorkers,
    CurrentThread,
    LocalRuntime,
    LocalExecutor,
    Blocking,
}

impl Flavor {
    pub(super) const OF_FUTURES: &[Flavor] = &[
        Self::OneWorker,
        Self::TwoWorkers,
        Self::CurrentThread,
        Self::LocalRuntime,
        Self::LocalExecutor,
    ];

    pub(super) fn build(self) -> Stage {
        let executor = match self {
            Flavor::OneWorker => Executor::Workers(workers(1), 1),
            Flavor::TwoWorkers => Executor::Workers(workers(2), 2),
            Flavor::CurrentThread => Executor::Local(Local::start(current_thread)),
            Flavor::LocalRuntime => Executor::Local(Local::start(local_runtime)),
            Flavor::LocalExecutor => Executor::Local(Local::start(local_executor)),
            Flavor::Blocking => Executor::Pool(
                Builder::new_multi_thread()
                    .worker_threads(1)
                    .max_blocking_threads(1)
                    .build()
                    .unwrap(),
            ),
        };
        Stage { rooms: Vec::new(), executor }
    }
}

pub(super) struct Stage {
    /// One for each thread, while they are held. Before the executor, which cannot end until they are left.
    rooms: Vec<Room>,
    executor: Executor,
}

enum Executor {
    Workers(Runtime, usize),
    Pool(Runtime),
    Local(Local),
}

impl Stage {
    /// Returns when all threads are held, so that what they did before is done.
    pub(super) fn hold(&mut self) {
        if !self.rooms.is_empty() {
            return;
        }
        match &self.executor {
            Executor::Workers(runtime, count) => {
                for _ in 0..*count {
                    let (room, held) = Room::new();
                    drop(runtime.spawn(async move { held.stay_and_spawn(liten::spawn) }));
                    self.rooms.push(room);
                }
            }
            Executor::Pool(runtime) => {
                let (room, held) = Room::new();
                let spawn = |life: Life| liten::spawn_blocking(|| life.call());
                drop(runtime.spawn_blocking(move || held.stay_and_spawn(spawn)));
                self.rooms.push(room);
            }
            Executor::Local(local) => self.rooms.push(local.hold()),
        }
        self.rooms.iter().for_each(Room::wait_for_entry);
    }

    pub(super) fn release(&mut self) {
        self.rooms.clear();
    }

    /// While the threads are held.
    pub(super) fn perform(&self, props: &Arc<Props>, deed: Deed, whence: Whence) {
        self.rooms[0].perform(props, deed, whence);
    }

    pub(super) fn spawn(&self, life: Box<Life>, whence: Whence) -> JoinHandle<Output> {
        match (&self.executor, whence) {
            (Executor::Workers(runtime, _), Whence::Outside) => runtime.spawn(life.unbox()),
            (Executor::Pool(runtime), Whence::Outside) => {
                let life = life.unbox();
                runtime.spawn_blocking(|| life.call())
            }
            (Executor::Local(Local { handle: Some(handle), .. }), Whence::Outside) => {
                handle.spawn(life.unbox())
            }
            // Only its own thread gives a LocalExecutor anything.
            _ => self.rooms[0].spawn(life),
        }
    }

    /// Whether a task's polls come with a waker of its own. Blocking work has none.
    pub(super) fn has_wakers(&self) -> bool {
        !matches!(self.executor, Executor::Pool(_))
    }

    /// The end of an executor whose tasks have all ended: it must agree.
    pub(super) fn close(mut self) {
        self.release();
        match &self.executor {
            Executor::Workers(runtime, _) | Executor::Pool(runtime) => {
                runtime.block_until_completion();
                assert_eq!(runtime.metrics().num_alive_tasks(), 0);
                assert_eq!(runtime.metrics().num_cold_tasks(), 0);
            }
            Executor::Local(Local { handle: Some(handle), .. }) => {
                assert_eq!(handle.metrics().num_alive_tasks(), 0);
                assert_eq!(handle.metrics().num_cold_tasks(), 0);
            }
            Executor::Local(_) => {}
        }
    }
}

/// A thread with an executor that does not leave it.
struct Local {
    signal: Arc<RootSignal>,
    sender: Option<Sender<HeldThread>>,
    handle: Option<Handle>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Wakes the root, which looks for what to do then.
#[derive(Default)]
struct RootSignal(Mutex<Option<Waker>>);

impl Local {
    fn start(body: fn(Arc<RootSignal>, Receiver<HeldThread>, Sender<Option<Handle>>)) -> Self {
        let signal = Arc::new(RootSignal::default());
        let (sender, held_threads) = mpsc::channel();
        let (give, handle) = mpsc::channel();
        let thread = {
            let signal = signal.clone();
            thread::spawn(move || body(signal, held_threads, give))
        };
        let handle = handle.recv().unwrap();
        Self { signal, sender: Some(sender), handle, thread: Some(thread) }
    }

    fn hold(&self) -> Room {
        let (room, held) = Room::new();
        self.sender.as_ref().unwrap().send(held).unwrap();
        self.signal.wake();
        room
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.signal.wake();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

impl RootSignal {
    fn wake(&self) {
        let waker = self.0.lock().unwrap().clone();
        waker.iter().for_each(Waker::wake_by_ref);
    }

    /// The root of a local executor: stays in each room that it is sent to, and ends with the channel.
    fn root(
        &self,
        held_threads: Receiver<HeldThread>,
        spawn: impl Fn(Life) -> JoinHandle<Output>,
    ) -> impl Future<Output = ()> {
        poll_fn(move |cx| {
            *self.0.lock().unwrap() = Some(cx.waker().clone());
            loop {
                match held_threads.try_recv() {
                    Ok(held) => held.stay_and_spawn(&spawn),
                    Err(TryRecvError::Empty) => return Poll::Pending,
                    Err(TryRecvError::Disconnected) => return Poll::Ready(()),
                }
            }
        })
    }
}

fn current_thread(
    signal: Arc<RootSignal>,
    held_threads: Receiver<HeldThread>,
    give: Sender<Option<Handle>>,
) {
    let runtime = Builder::new_current_thread().build().unwrap();
    give.send(Some(runtime.handle().clone())).unwrap();
    runtime.block_on(signal.root(held_threads, liten::spawn));
}

fn local_runtime(
    signal: Arc<RootSignal>,
    held_threads: Receiver<HeldThread>,
    give: Sender<Option<Handle>>,
) {
    let runtime = LocalRuntime::new().unwrap();
    give.send(Some(runtime.handle().clone())).unwrap();
    runtime.block_on(signal.root(held_threads, liten::task::spawn_local));
}

fn local_executor(
    signal: Arc<RootSignal>,
    held_threads: Receiver<HeldThread>,
    give: Sender<Option<Handle>>,
) {
    let executor = LocalExecutor::new();
    give.send(None).unwrap();
    // The plain one, which has no thread and no poller, so that Miri can run it.
    smol::future::block_on(executor.run(signal.root(held_threads, |life| executor.spawn(life))));
}
