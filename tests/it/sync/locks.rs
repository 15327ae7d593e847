//! Locks and permits: what tokio's own tests do not ask.

use crate::support::guard::{guarded, workers};
use liten::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OnceCell, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit,
    RwLock, RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    TryAcquireError,
};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn they_are_no_larger_than_tokios() {
    use tokio::sync as tokios;
    assert!(size_of::<Semaphore>() <= size_of::<tokios::Semaphore>());
    assert!(size_of::<Mutex<()>>() <= size_of::<tokios::Mutex<()>>());
    assert!(size_of::<RwLock<()>>() <= size_of::<tokios::RwLock<()>>());
    assert!(size_of::<OnceCell<u64>>() <= size_of::<tokios::OnceCell<u64>>());
    assert!(size_of::<MutexGuard<'_, u8>>() <= size_of::<tokios::MutexGuard<'_, u8>>());
    assert!(size_of::<RwLockReadGuard<'_, u8>>() <= size_of::<tokios::RwLockReadGuard<'_, u8>>());
    assert!(size_of::<RwLockWriteGuard<'_, u8>>() <= size_of::<tokios::RwLockWriteGuard<'_, u8>>());
    let (ours, theirs) = (Mutex::new(()), tokios::Mutex::new(()));
    let (ours, theirs) = (size_of_val(&ours.lock()), size_of_val(&theirs.lock()));
    assert!(ours <= theirs, "{ours} bytes of the future, {theirs} of tokio's");
}

/// For each type, whether it is `Send` and `Sync`; the same lines with tokio's types.
#[test]
fn guards_are_sent_and_shared_as_tokios() {
    /// Says it of any type: an inherent function where the bound holds, before the trait's.
    struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
    trait No {
        const SEND: bool = false;
        const SYNC: bool = false;
    }
    impl<T: ?Sized> No for Probe<T> {}
    impl<T: ?Sized + Send> Probe<T> {
        const SEND: bool = true;
    }
    impl<T: ?Sized + Sync> Probe<T> {
        const SYNC: bool = true;
    }
    macro_rules! same {
        ($($name:ident<$($of:tt),*>;)*) => {
            $(
                type Ours = Probe<$name<$($of),*>>;
                type Theirs = Probe<tokio::sync::$name<$($of),*>>;
                assert_eq!((Ours::SEND, Ours::SYNC), (Theirs::SEND, Theirs::SYNC), stringify!($name));
            )*
        };
    }
    macro_rules! with {
        ($($data:ty),*) => { $({
            type Data = $data;
            { same! { Mutex<Data>; } }
            { same! { RwLock<Data>; } }
            { same! { OnceCell<Data>; } }
            { same! { MutexGuard<'static, Data>; } }
            { same! { MappedMutexGuard<'static, Data>; } }
            { same! { OwnedMutexGuard<Data>; } }
            { same! { OwnedMappedMutexGuard<Data, u8>; } }
            { same! { OwnedMappedMutexGuard<u8, Data>; } }
            { same! { RwLockReadGuard<'static, Data>; } }
            { same! { RwLockWriteGuard<'static, Data>; } }
            { same! { RwLockMappedWriteGuard<'static, Data>; } }
            { same! { OwnedRwLockReadGuard<Data, u8>; } }
            { same! { OwnedRwLockWriteGuard<Data>; } }
            { same! { OwnedRwLockMappedWriteGuard<Data, u8>; } }
        })* };
    }
    // Both, only `Send`, neither.
    with!(u32, Cell<u32>, *mut u32);
}

#[test]
fn permits_may_cross_an_unwinding() {
    fn check<T: UnwindSafe + RefUnwindSafe + Send + Sync + Unpin>() {}
    check::<Semaphore>();
    check::<SemaphorePermit<'_>>();
    check::<OwnedSemaphorePermit>();
}

#[test]
fn a_lock_held_by_a_task_that_panics_goes_to_the_next() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let lock = Arc::new(Mutex::new(1));
            let shared = Arc::new(RwLock::new(1));
            let panics = {
                let (lock, shared) = (lock.clone(), shared.clone());
                liten::spawn(async move {
                    let _guards = (lock.lock().await, shared.write().await);
                    liten::task::yield_now().await;
                    panic!("while it holds both");
                })
            };
            assert!(panics.await.unwrap_err().is_panic());
            assert_eq!((*lock.lock().await, *shared.read().await), (1, 1));
        });
    });
}

/// At the very moment it was given the lock.
#[test]
fn a_future_that_is_dropped_with_the_lock_in_hand_passes_it_on() {
    let lock = Mutex::new(());
    let guard = lock.try_lock().unwrap();
    let (mut first, mut second) = (Box::pin(lock.lock()), pin!(lock.lock()));
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    drop(guard);
    assert!(lock.try_lock().is_err(), "it is the first one's");
    drop(first);
    assert!(poll(second).is_ready());
    assert!(lock.try_lock().is_ok());
}

#[test]
fn readers_behind_a_writer_wait_and_then_come_together() {
    let lock = RwLock::new(());
    let reads = lock.try_read().unwrap();
    let mut writes = Box::pin(lock.write());
    assert!(poll(writes.as_mut()).is_pending());
    let (mut one, mut other) = (pin!(lock.read()), pin!(lock.read()));
    assert!(poll(one.as_mut()).is_pending());
    assert!(poll(other.as_mut()).is_pending());
    assert!(lock.try_read().is_err(), "it would overtake the writer");
    drop(reads);
    let Poll::Ready(guard) = poll(writes.as_mut()) else { panic!("it was first") };
    assert!(poll(one.as_mut()).is_pending());
    // The readers come in beside the one that has been the writer.
    let _guard = guard.downgrade();
    let guards = (poll(one), poll(other));
    assert!(guards.0.is_ready() && guards.1.is_ready());
}

#[test]
fn a_lock_is_handed_from_runtime_to_runtime_and_to_a_thread_without_one() {
    guarded(|| {
        let (one, other) = (workers(1), workers(1));
        let lock = Arc::new(Mutex::new(0));
        let count = |lock: Arc<Mutex<u32>>| async move {
            for _ in 0..500 {
                let mut guard = lock.lock().await;
                let before = *guard;
                liten::task::yield_now().await;
                *guard = before + 1;
            }
        };
        let tasks = (one.spawn(count(lock.clone())), other.spawn(count(lock.clone())));
        for _ in 0..500 {
            *lock.blocking_lock() += 1;
        }
        one.block_on(tasks.0).unwrap();
        other.block_on(tasks.1).unwrap();
        assert_eq!(*lock.blocking_lock(), 1500);
    });
}

/// A loop of locks that are always free lets a neighbour run.
#[test]
fn an_uncontended_lock_costs_budget() {
    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let lock = Arc::new(Mutex::new(false));
            let spins = {
                let lock = lock.clone();
                liten::spawn(async move { while !*lock.lock().await {} })
            };
            liten::spawn(async move { *lock.lock().await = true }).await.unwrap();
            spins.await.unwrap();
        });
    });
}

#[test]
fn the_cell_is_made_by_the_next_when_one_gives_up_or_panics() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let cell = Arc::new(OnceCell::new());
            let mut gives_up = Box::pin(cell.get_or_init(std::future::pending::<u32>));
            assert!(poll(gives_up.as_mut()).is_pending());
            assert!(cell.set(1).unwrap_err().is_initializing_err());
            let next = {
                let cell = cell.clone();
                liten::spawn(async move {
                    cell.get_or_init(|| async { panic!("while it makes the value") }).await;
                })
            };
            drop(gives_up);
            assert!(next.await.unwrap_err().is_panic());
            assert_eq!(cell.get_or_init(|| async { 7 }).await, &7);
            assert!(cell.set(1).unwrap_err().is_already_init_err());
        });
    });
}

#[test]
fn permits_can_be_forgotten_merged_and_closed_while_held() {
    let semaphore = Arc::new(Semaphore::new(4));
    let mut held = semaphore.clone().try_acquire_many_owned(3).unwrap();
    let split = held.split(1).unwrap();
    assert!(held.split(3).is_none());
    split.forget();
    semaphore.close();
    drop(held);
    assert_eq!(semaphore.available_permits(), 3);
    assert!(semaphore.try_acquire().is_err());
}

#[test]
fn more_permits_than_there_are_are_waited_for() {
    let semaphore = Semaphore::new(4);
    assert!(matches!(semaphore.try_acquire_many(5), Err(TryAcquireError::NoPermits)));
    assert_eq!(semaphore.available_permits(), 4);
    let (mut five, mut most) =
        (pin!(semaphore.acquire_many(5)), Box::pin(semaphore.acquire_many(u32::MAX)));
    assert!(poll(five.as_mut()).is_pending());
    assert!(poll(most.as_mut()).is_pending());
    assert!(semaphore.try_acquire().is_err(), "it would overtake them");
    semaphore.add_permits(10);
    let Poll::Ready(Ok(permit)) = poll(five) else { panic!("there are as many now") };
    assert_eq!((permit.num_permits(), semaphore.available_permits()), (5, 0));
    // What it has collected comes back.
    drop(most);
    assert_eq!(semaphore.available_permits(), 9);
    drop(permit);
    assert_eq!(semaphore.available_permits(), 14);
}

/// A waiting task gets the permits that fit, and those that are there stay.
#[test]
fn more_permits_than_there_can_be_are_refused() {
    const MOST: usize = Semaphore::MAX_PERMITS;
    let refused = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    for count in [MOST + 1, 1 << (usize::BITS - 1), usize::MAX] {
        refused(&|| _ = Semaphore::new(count));
        refused(&|| _ = Semaphore::const_new(count));
        let semaphore = Semaphore::new(3);
        refused(&|| semaphore.add_permits(count));
        assert_eq!(semaphore.available_permits(), 3);
        let mut waits = pin!(semaphore.acquire_many(5));
        assert!(poll(waits.as_mut()).is_pending());
        // Two of them are for the future, and the others are too many, or one too few to be so.
        if count > MOST + 2 {
            refused(&|| semaphore.add_permits(count));
            assert_eq!(semaphore.available_permits(), 0);
            assert!(poll(waits).is_ready());
            semaphore.add_permits(1);
            assert_eq!(semaphore.available_permits(), 6);
        }
    }
    let full = Semaphore::new(MOST);
    refused(&|| full.add_permits(1));
    assert_eq!((full.forget_permits(usize::MAX), full.available_permits()), (MOST, 0));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Acquire(u32),
    Poll(usize),
    /// A future or what it has acquired.
    Drop(usize),
    Try(u32),
    Add(usize),
    Forget(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..5u32).prop_map(Step::Acquire),
        any::<usize>().prop_map(Step::Poll),
        any::<usize>().prop_map(Step::Drop),
        (0..5u32).prop_map(Step::Try),
        (0..4usize).prop_map(Step::Add),
        (0..4usize).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..60)
}

/// The plain model: free permits, and what each of those in the line still lacks.
#[derive(Debug, Default)]
struct Model {
    free: usize,
    line: VecDeque<(usize, usize)>,
}

impl Model {
    /// Takes from what is free, for the first in the line.
    fn settle(&mut self) {
        while let Some((_, lacks)) = self.line.front_mut() {
            let taken = self.free.min(*lacks);
            self.free -= taken;
            *lacks -= taken;
            if *lacks > 0 {
                return;
            }
            self.line.pop_front();
        }
    }

    fn lacks(&self, number: usize) -> usize {
        self.line.iter().find(|(place, _)| *place == number).map_or(0, |(_, lacks)| *lacks)
    }
}

type Waiting = Pin<Box<dyn Future<Output = OwnedSemaphorePermit>>>;

enum Slot {
    New(Waiting),
    Waits(Waiting),
    Has(#[allow(dead_code)] OwnedSemaphorePermit),
}

/// Polls a future that the model knows at this place of its line.
fn poll_beside(mut waiting: Waiting, model: &Model, number: usize) -> Slot {
    match poll(waiting.as_mut()) {
        Poll::Ready(permit) => {
            assert_eq!(model.lacks(number), 0);
            Slot::Has(permit)
        }
        Poll::Pending => {
            assert!(model.lacks(number) > 0);
            Slot::Waits(waiting)
        }
    }
}

proptest! {
    #[test]
    fn a_semaphore_does_what_its_model_does(steps in steps(), start in 0..4usize) {
        let semaphore = Arc::new(Semaphore::new(start));
        let mut model = Model { free: start, ..Model::default() };
        // With the number of permits that each wants.
        let mut slots: Vec<Option<(Slot, usize)>> = Vec::new();
        for step in steps {
            match step {
                Step::Acquire(count) => {
                    let semaphore = semaphore.clone();
                    let waiting: Waiting = Box::pin(async move {
                        semaphore.acquire_many_owned(count).await.expect("open")
                    });
                    slots.push(Some((Slot::New(waiting), count as usize)));
                }
                Step::Poll(number) if !slots.is_empty() => {
                    let number = number % slots.len();
                    let Some((slot, count)) = slots[number].take() else { continue };
                    let slot = match slot {
                        Slot::New(waiting) => {
                            // One that wants none does not wait.
                            if count > 0 {
                                model.line.push_back((number, count));
                                model.settle();
                            }
                            poll_beside(waiting, &model, number)
                        }
                        Slot::Waits(waiting) => poll_beside(waiting, &model, number),
                        has @ Slot::Has(_) => has,
                    };
                    slots[number] = Some((slot, count));
                }
                Step::Drop(number) if !slots.is_empty() => {
                    let number = number % slots.len();
                    let Some((slot, count)) = slots[number].take() else { continue };
                    if !matches!(slot, Slot::New(_)) {
                        model.free += count - model.lacks(number);
                        model.line.retain(|(place, _)| *place != number);
                        model.settle();
                    }
                    drop(slot);
                }
                Step::Try(count) => {
                    let permit = semaphore.try_acquire_many(count);
                    prop_assert_eq!(permit.is_ok(), model.free >= count as usize);
                }
                Step::Add(count) => {
                    semaphore.add_permits(count);
                    model.free += count;
                    model.settle();
                }
                Step::Forget(count) => {
                    let forgotten = semaphore.forget_permits(count);
                    prop_assert_eq!(forgotten, model.free.min(count));
                    model.free -= forgotten;
                }
                Step::Poll(_) | Step::Drop(_) => {}
            }
            prop_assert_eq!(semaphore.available_permits(), model.free);
        }
    }
}
