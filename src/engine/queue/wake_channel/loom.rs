//! Models of the wake channel: nothing is lost, nothing comes twice, and every edge is seen by exactly
//! one pusher.

use super::node::boxed;
use super::*;
use crate::engine::sync_shim::{Arc, both_ways, thread};

/// Two pushers and the owner: all items arrive, once, and a pusher of each non-empty period saw the edge.
#[test]
fn two_pushers_and_one_taker() {
    ::loom::model(|| {
        let channel = Arc::new(WakeChannel::new());
        let pushers: Vec<_> = (0..2)
            .map(|i| {
                let channel = channel.clone();
                thread::spawn(move || channel.push(boxed(i)))
            })
            .collect();
        let mut got: Vec<_> = channel.take_all().map(|b| b.0.value).collect();
        let edges = pushers.into_iter().map(|p| p.join().expect("no panic")).filter(|&e| e).count();
        let early = got.len();
        got.extend(channel.take_all().map(|b| b.0.value));
        got.sort_unstable();
        assert_eq!(got, [0, 1]);
        // One take in between splits the pushes into at most two periods.
        assert!(edges == 1 || (edges == 2 && early == 1), "edges {edges}, taken early {early}");
    });
}

/// The owner and a thief take at the same time while a chain arrives: each item goes to exactly one of them.
#[test]
fn owner_and_thief_never_share_an_item() {
    ::loom::model(|| {
        let channel = Arc::new(WakeChannel::new());
        let pusher = {
            let channel = channel.clone();
            thread::spawn(move || {
                let mut chain = Chain::new();
                chain.push(boxed(0));
                chain.push(boxed(1));
                let _ = channel.push_chain(chain);
            })
        };
        let thief = {
            let channel = channel.clone();
            thread::spawn(move || channel.take_all().map(|b| b.0.value).collect::<Vec<_>>())
        };
        let mut got: Vec<_> = channel.take_all().map(|b| b.0.value).collect();
        pusher.join().expect("no panic");
        got.extend(thief.join().expect("no panic"));
        got.extend(channel.take_all().map(|b| b.0.value));
        got.sort_unstable();
        assert_eq!(got, [0, 1]);
    });
}

/// One thread sends twice while the owner takes: across both batches its items come in the order in which
/// they were sent.
#[test]
fn what_one_pusher_sends_comes_in_its_order() {
    both_ways(|way| {
        let channel = Arc::new(WakeChannel::new());
        let pusher = {
            let channel = channel.clone();
            thread::spawn(move || {
                let _ = channel.push(boxed(0));
                let mut chain = Chain::new();
                chain.push(boxed(1));
                chain.push(boxed(2));
                let _ = channel.push_chain(chain);
            })
        };
        way.here();
        let mut got: Vec<_> = channel.take_all().map(|b| b.0.value).collect();
        pusher.join().expect("no panic");
        got.extend(channel.take_all().map(|b| b.0.value));
        assert_eq!(got, [0, 1, 2]);
    });
}

/// A push beside another one, and a taker that has seen the edge. The second pusher wakes no thread, so
/// either the taker takes what it has pushed, or that push was an edge of its own.
#[test]
fn a_push_that_is_no_edge_is_taken_with_the_one_before_it() {
    both_ways(|way| {
        let channel = Arc::new(WakeChannel::new());
        let other = {
            let channel = channel.clone();
            thread::spawn(move || channel.push(boxed(1)))
        };
        let mut taken = 0;
        way.here();
        if channel.push(boxed(0)) {
            taken += channel.take_all().count();
        }
        if other.join().expect("no panic") {
            taken += channel.take_all().count();
        }
        assert_eq!(taken, 2);
    });
}

/// A note is taken away by another thread while its node is pushed: the list stays whole, the note is gone.
#[test]
fn a_note_that_is_forgotten_leaves_the_list_whole() {
    ::loom::model(|| {
        let channel = Arc::new(WakeChannel::new());
        let _edge = channel.push(boxed(0));
        let node = boxed(1);
        let note = NonZeroUsize::new(5).expect("odd");
        node.link().set_note(Some(note));
        let link = ptr::from_ref(node.link()).expose_provenance();
        let forgetful = thread::spawn(move || {
            // SAFETY: the node lives until this thread has been joined.
            let link = unsafe { &*ptr::with_exposed_provenance::<Link>(link) };
            link.forget_note(note);
            assert_ne!(link.note(), Some(note));
        });
        let _edge = channel.push(node);
        let taken: Vec<_> = channel.take_all().collect();
        forgetful.join().expect("no panic");
        assert_eq!(taken.iter().map(|node| node.0.value).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(taken[1].link().note(), None);
    });
}
