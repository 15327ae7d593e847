//! Structured concurrency instead of tasks: joins, races and groups of a crate that knows nothing of liten.

use component::scripted::ScriptedHost;
use component::witness::Counted;
use futures_concurrency::future::FutureGroup;
use futures_concurrency::prelude::*;
use futures_concurrency::stream::StreamGroup;
use futures_lite::StreamExt;
use futures_lite::stream;
use liten::wasi::{Host, Reactor, block_on};
use std::cell::Cell;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(10);

/// The children of a join have wakers of their own. Were only the root polled again, none of them would be.
#[test]
fn a_join_of_ten_polls_the_ready_child_only() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let polls = [const { AtomicUsize::new(0) }; 10];
    let children: Vec<_> = (0..10)
        .map(|i| {
            // In the order 7, 4, 1, 8, 5, …
            let turn = (i * 3 + 9) % 10 + 1;
            Counted::new(reactor.wait_for(host.clock(STEP * turn)), &polls[i as usize])
        })
        .collect();
    reactor.block_on(children.join());
    let polls: Vec<usize> = polls.iter().map(|p| p.load(Ordering::SeqCst)).collect();
    assert_eq!(polls, [2; 10], "once to register, once when ready");
    assert_eq!(host.lists(), (1..=10).rev().collect::<Vec<_>>());
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

/// Ten that are ready at once cost one call of the host.
#[test]
fn what_is_ready_together_is_woken_together() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let waits: Vec<_> = (0..10).map(|_| reactor.wait_for(host.clock(STEP))).collect();
    reactor.block_on(waits.join());
    assert_eq!((host.lists(), host.looks()), (vec![10], 0));
}

#[test]
fn joins_of_arrays_tuples_and_vectors_give_all_outputs() {
    block_on(|reactor| async move {
        let start = Instant::now();
        let after = async |n: u32| {
            reactor.wait_for(reactor.host().clock(STEP * n)).await;
            n
        };
        assert_eq!([after(2), after(1)].join().await, [2, 1]);
        assert_eq!((after(1), after(0)).join().await, (1, 0));
        assert_eq!(vec![after(0), after(1), after(0)].join().await, [0, 1, 0]);
        assert!(start.elapsed() >= 4 * STEP);
        assert_eq!(reactor.len(), 0);
    });
}

#[test]
fn the_losers_of_a_race_leave_nothing() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let winner = reactor.block_on(async {
        let after = async |n: u32| {
            reactor.wait_for(host.clock(STEP * n)).await;
            n
        };
        let winner = [after(3), after(1), after(2)].race().await;
        assert_eq!((reactor.len(), host.alive()), (0, 0));
        winner
    });
    assert_eq!((winner, host.now()), (1, STEP));
}

#[test]
fn an_error_ends_a_join_that_tries() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let result: Result<Vec<u32>, u32> = reactor.block_on(async {
        let after = async |n: u32| {
            reactor.wait_for(host.clock(STEP * n)).await;
            if n == 2 { Err(n) } else { Ok(n) }
        };
        vec![after(1), after(2), after(1_000)].try_join().await
    });
    assert_eq!((result, host.now(), host.alive()), (Err(2), 2 * STEP, 0));
}

/// A group grows while it is waited for: as much concurrency as with tasks, by futures that borrow.
#[test]
fn a_group_takes_what_comes_while_it_runs() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let count = Cell::new(0_u64);
    reactor.block_on(async {
        let after = async |n: u32| {
            reactor.wait_for(host.clock(STEP * n)).await;
            count.set(count.get() + 1);
            n
        };
        let mut group = FutureGroup::new();
        group.insert(Box::pin(after(10)));
        while let Some(n) = group.next().await {
            for _ in 0..n.min(3) {
                group.insert(Box::pin(after(n / 4)));
            }
        }
    });
    // 10 makes three of 2, which make two of 0 each.
    assert_eq!(count.get(), 1 + 3 + 6);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}

#[test]
fn streams_that_wait_are_grouped_and_merged() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let ticks = |period: u32, count: u32| {
        stream::unfold(0, {
            let (reactor, host) = (&reactor, &host);
            move |n| async move {
                if n == count {
                    return None;
                }
                reactor.wait_for(host.clock(STEP * period)).await;
                Some((period, n + 1))
            }
        })
    };
    let mut seen = Vec::new();
    reactor.block_on(async {
        let mut group = StreamGroup::new();
        group.insert(Box::pin(ticks(2, 3)));
        group.insert(Box::pin(ticks(5, 1)));
        while let Some(period) = group.next().await {
            seen.push(period);
        }
        let mut merged = pin!((ticks(1, 2), ticks(3, 1)).merge());
        while let Some(period) = merged.next().await {
            seen.push(period);
        }
    });
    assert_eq!(seen, [2, 2, 5, 2, 1, 1, 3]);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}
