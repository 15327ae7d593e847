//! Threads that pass a turn round: each pass is a switch of threads.

use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// By a lock and a condition for each thread.
pub fn by_lock(threads: usize, turns: u64) {
    let turn = Arc::new((Mutex::new(0_u64), vec_of(threads, Condvar::new)));
    let all: Vec<_> = (0..threads)
        .map(|me| {
            let turn = turn.clone();
            thread::spawn(move || {
                let (now, changed) = &*turn;
                let mut now = now.lock().unwrap();
                loop {
                    while *now < turns && *now as usize % threads != me {
                        now = changed[me].wait(now).unwrap();
                    }
                    if *now >= turns {
                        break;
                    }
                    *now += 1;
                    changed[*now as usize % threads].notify_one();
                }
                changed.iter().for_each(Condvar::notify_all);
            })
        })
        .collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*turn.0.lock().unwrap(), turns);
}

/// By a channel from each thread to the next.
pub fn by_channel(threads: usize, turns: u64) {
    let (senders, receivers): (Vec<_>, Vec<_>) = vec_of(threads, channel).into_iter().unzip();
    senders[0].send(0).unwrap();
    let all: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(me, receiver)| {
            let next = senders[(me + 1) % threads].clone();
            thread::spawn(move || {
                while let Ok(turn) = receiver.recv() {
                    if turn >= turns {
                        let _ = next.send(turn);
                        return;
                    }
                    next.send(turn + 1).unwrap();
                }
            })
        })
        .collect();
    drop(senders);
    all.into_iter().for_each(|thread| thread.join().unwrap());
}

fn vec_of<T>(count: usize, make: impl Fn() -> T) -> Vec<T> {
    (0..count).map(|_| make()).collect()
}
