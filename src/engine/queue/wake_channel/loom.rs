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
        let pushed = pushers.into_iter().map(|pusher| pusher.join().expect("no panic"));
        let edges = pushed.filter(|&pushed| pushed == Pushed::First).count();
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
        if channel.push(boxed(0)) == Pushed::First {
            taken += channel.take_all().count();
        }
        if other.join().expect("no panic") == Pushed::First {
            taken += channel.take_all().count();
        }
        assert_eq!(taken, 2);
    });
}

/// A node with a note is pushed, while another thread looks for the note: no link is taken for a note. And
/// a note that is forgotten after the push leaves the list whole.
///
/// Not forgotten at the same time: loom does not know that an exchange comes right after the value that it
/// has found, and lets it come after the push (see `clear_note`).
#[test]
fn a_note_and_a_link_are_not_mistaken_for_each_other() {
    ::loom::model(|| {
        let note = NonZeroUsize::new(0x1001).expect("not 0");
        let channel = WakeChannel::new();
        let (first, noted) = (boxed(0), boxed(1));
        let link = noted.link();
        link.set_note(Some(note));
        let looker = thread::spawn(move || assert!(link.note().is_none_or(|seen| seen == note)));
        assert_eq!(channel.push(first), Pushed::First);
        assert_eq!(channel.push(noted), Pushed::Further);
        link.replace_note(note, None);
        looker.join().expect("no panic");
        let taken: Vec<_> = channel.take_all().map(|taken| taken.0.value).collect();
        assert_eq!(taken, [0, 1]);
    });
}
