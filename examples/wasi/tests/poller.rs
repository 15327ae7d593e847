//! The lowest building block: pollables under keys, and one call that blocks.

use component::scripted::ScriptedHost;
use liten::wasi::{EventKey, Host, Poller, SystemHost};
use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// An operation hands out what says when it is worth going on; the host answers with positions, and the task
/// that is named finds that it can go on.
#[test]
fn ready_positions_become_the_keys_of_their_operations() {
    let host = ScriptedHost::new();
    let poller = Poller::new(host.clone());
    let operations: Vec<_> = (0..5).map(|_| host.signal()).collect();
    let (pollables, signals): (Vec<_>, Vec<_>) = operations.into_iter().unzip();
    let keys: Vec<EventKey> = pollables.into_iter().map(|p| poller.insert(p)).collect();
    // The positions are no longer those of the keys.
    poller.remove(keys[0]);
    let (second, fourth) = (signals[1].clone(), signals[3].clone());
    host.while_blocked(move || {
        second.set();
        fourth.set();
    });
    let ready: HashSet<EventKey> = poller.block_until().into_iter().collect();
    assert_eq!(ready, HashSet::from([keys[1], keys[3]]));
    for key in ready {
        assert!(host.ready(&poller.get(key).unwrap()), "what is reported is ready");
    }
    assert_eq!(host.lists(), [4], "one call of the host for all");
}

/// Takes pollables out as they become ready, until none is left; returns their order.
fn drain<H: Host>(poller: &Poller<H>) -> Vec<EventKey> {
    let mut order = Vec::new();
    while !poller.is_empty() {
        for key in poller.block_until() {
            assert!(poller.remove(key).is_some());
            order.push(key);
        }
    }
    order
}

#[test]
fn three_clocks_come_in_the_order_in_which_they_are_due() {
    let poller = Poller::new(ScriptedHost::new());
    let clock = |ms| poller.insert(poller.host().clock(Duration::from_millis(ms)));
    let keys = [clock(30), clock(10), clock(20)];
    assert_eq!(drain(&poller), [keys[1], keys[2], keys[0]]);
    assert_eq!(poller.host().lists(), [3, 2, 1]);
}

/// The first first: on a machine that is busy, several may be due at once.
#[test]
fn three_clocks_of_the_system_come_in_the_order_in_which_they_are_due() {
    let poller = Poller::new(SystemHost::new());
    let start = Instant::now();
    let clock = |ms| poller.insert(poller.host().clock(Duration::from_millis(ms)));
    let keys = [clock(10), clock(20), clock(30)];
    assert_eq!(drain(&poller), keys);
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_key_finds_its_pollable_until_it_is_removed() {
    let host = ScriptedHost::new();
    let poller = Poller::new(host.clone());
    let first = poller.insert(host.signal().0);
    let second = poller.insert(host.signal().0);
    assert_eq!(poller.len(), 2);
    assert!(poller.get(first).is_some());
    assert!(poller.remove(first).is_some());
    assert!(poller.remove(first).is_none(), "the second time there is nothing");
    assert!(poller.get(first).is_none());
    let third = poller.insert(host.signal().0);
    assert_ne!(third, first, "the slot is used again, the key is not");
    assert!(poller.remove(first).is_none());
    assert!(poller.remove(second).is_some() && poller.remove(third).is_some());
    assert!(poller.is_empty());
    assert_eq!(host.alive(), 0);
}

#[test]
fn a_pollable_may_be_in_it_twice() {
    let host = ScriptedHost::new();
    let poller = Poller::new(host.clone());
    let (pollable, signal) = host.signal();
    let pollable = Rc::new(pollable);
    let keys = [poller.insert(pollable.clone()), poller.insert(pollable.clone())];
    host.while_blocked(move || signal.set());
    assert_eq!(poller.block_until(), keys);
    keys.iter().for_each(|&key| drop(poller.remove(key)));
    assert_eq!(host.alive(), 1, "ours");
    drop(pollable);
    assert_eq!(host.alive(), 0);
}

/// WASI traps on an empty list; so does the scripted host.
#[test]
fn without_pollables_the_host_is_not_asked() {
    let host = ScriptedHost::new();
    let poller = Poller::new(host.clone());
    assert_eq!(poller.block_until(), []);
    assert_eq!(host.lists(), []);
}

/// A pollable that goes while the host has it in its list is neither freed under the host's hands nor
/// reported.
#[test]
fn a_pollable_that_is_removed_while_the_host_blocks_is_not_reported() {
    let host = ScriptedHost::new();
    let poller = Rc::new(Poller::new(host.clone()));
    let (gone, gone_signal) = host.signal();
    let (stays, stays_signal) = host.signal();
    let gone = poller.insert(gone);
    let stays = poller.insert(stays);
    let (inside, counts) = (poller.clone(), host.clone());
    host.while_blocked(move || {
        drop(inside.remove(gone));
        assert_eq!(counts.alive(), 2, "the host still has it");
        gone_signal.set();
        stays_signal.set();
    });
    assert_eq!(poller.block_until(), [stays]);
    assert_eq!(host.alive(), 1, "the snapshot keeps nothing");
}

#[test]
fn positions_that_do_not_exist_or_come_twice_are_ignored() {
    let host = ScriptedHost::new();
    let poller = Poller::new(host.clone());
    let keys: Vec<_> = (0..3).map(|_| poller.insert(host.signal().0)).collect();
    host.answer(&[7, 1, 1, u32::MAX, 3, 1]);
    assert_eq!(poller.block_until(), [keys[1]]);
}
