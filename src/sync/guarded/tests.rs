//! For Miri: what each guard reaches, and that nothing else reaches it meanwhile. All ways from one guard to
//! another are gone, and each of them outlives the last handle of its lock where it owns one.

use crate::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, broadcast, watch,
};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

type Data = (Vec<u8>, String);

fn data() -> Data {
    (vec![1, 2], String::from("a"))
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn guards_of_a_mutex_lead_on_to_its_parts() {
    let lock = Mutex::new(data());
    let mut part = MutexGuard::map(lock.try_lock().expect("unlocked"), |data| &mut data.0);
    part.push(3);
    // It waits while the part is reached, and gets the lock from it.
    let mut waits = pin!(lock.lock());
    assert!(poll(waits.as_mut()).is_pending());
    let part = MappedMutexGuard::map(part, |numbers| &mut numbers[..]);
    let none = MappedMutexGuard::try_map(part, |numbers| numbers.get_mut(9));
    let Err(mut part) = none else { panic!("there are three") };
    part[0] = 7;
    drop(part);
    let Poll::Ready(whole) = poll(waits) else { panic!("it was unlocked") };
    assert_eq!(whole.0, [7, 2, 3]);
    let Err(mut whole) = MutexGuard::try_map(whole, |_| None::<&mut u8>) else {
        panic!("it picks nothing");
    };
    whole.1.push('b');
    drop(whole);
    assert_eq!(lock.try_lock().expect("unlocked").1, "ab");
}

#[test]
fn guards_that_own_a_mutex_outlive_its_handles() {
    let lock = Arc::new(Mutex::new(data()));
    let whole = lock.clone().try_lock_owned().expect("unlocked");
    let part = OwnedMutexGuard::map(whole, |data| &mut data.1);
    drop(lock);
    let text = OwnedMappedMutexGuard::try_map(part, |text| Some(text.as_mut_str()));
    let Ok(mut text) = text else { panic!("it picks all") };
    text.make_ascii_uppercase();
    assert_eq!(&*text, "A");
}

#[test]
fn a_writer_that_becomes_a_reader_shares_what_it_reads() {
    let lock = RwLock::new(data());
    let mut whole = lock.try_write().expect("unlocked");
    whole.0.push(3);
    let mut waits = pin!(lock.read());
    assert!(poll(waits.as_mut()).is_pending());
    let Err(whole) = RwLockWriteGuard::try_downgrade_map(whole, |_| None::<&u8>) else {
        panic!("it picks nothing");
    };
    let part = RwLockWriteGuard::downgrade_map(whole, |data| &data.0);
    let Poll::Ready(other) = poll(waits) else { panic!("a reader lets it in") };
    let first = RwLockReadGuard::map(part, |numbers| &numbers[0]);
    assert_eq!((*first, other.0.len()), (1, 3));
    drop((first, other));
    let whole = RwLockWriteGuard::into_mapped(lock.try_write().expect("unlocked"));
    RwLockMappedWriteGuard::map(whole, |data| &mut data.1).push('b');
    assert_eq!(lock.try_read().expect("unlocked").1, "ab");
}

#[test]
fn guards_that_own_a_lock_outlive_its_handles() {
    let lock = Arc::new(RwLock::new(data()));
    let whole =
        OwnedRwLockWriteGuard::into_mapped(lock.clone().try_write_owned().expect("unlocked"));
    OwnedRwLockMappedWriteGuard::map(whole, |data| &mut data.0)[1] = 7;
    let whole = lock.clone().try_write_owned().expect("unlocked").downgrade();
    let other = lock.clone().try_read_owned().expect("shared");
    drop(lock);
    let number = OwnedRwLockReadGuard::map(whole, |data| &data.0[1]);
    assert_eq!(*number, other.0[1]);
    drop(other);
    assert_eq!(*number, 7);
}

/// Where tokio's do, too: a changed `use` is enough.
#[test]
fn what_may_cross_an_unwinding_with_tokios_may_with_these() {
    fn check<T: UnwindSafe + RefUnwindSafe>() {}
    fn shared<T: RefUnwindSafe>() {}
    shared::<(RwLockWriteGuard<'_, u8>, RwLockMappedWriteGuard<'_, u8>)>();
    check::<watch::Ref<'_, u8>>();
    check::<(broadcast::Sender<u8>, broadcast::Receiver<u8>, broadcast::WeakSender<u8>)>();
}
