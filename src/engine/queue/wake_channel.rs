//! A worker's inbox for the tasks that other threads wake: an intrusive stack, taken whole.
//!
//! A send is one compare-and-swap and no allocation, because the link is part of the node. A batch (all
//! tasks that one round of the driver made ready) is linked privately and sent as one chain, for the
//! same price. A taker takes everything with one swap, so there is no ABA problem: no thread ever pops a
//! single node from the shared head. Taking reverses the chain, which makes the whole FIFO.
//!
//! Every thread may take. The worker itself does, thieves do, and a retiring worker empties it. A later
//! pusher finds the worker's slot inactive, and empties the channel itself.
//!
//! | shared head | means |
//! |---|---|
//! | null | empty; the next push is an *edge*: its pusher makes sure that a worker is awake |
//! | node | at least one node that was not taken; the pusher of the edge has woken a worker, or is about to |
//!
//! Safety of the links: a node is in at most one list, because its owner gives it away by value
//! ([`Linked::into_link`]) and gets it back by value. Between these two moments only the list touches the
//! link: the pusher before its successful CAS, the taker after its swap. The CAS is Release and the swap
//! Acquire on the same word, and a chain of pushes is a release sequence (each is an RMW), so the taker sees
//! every link written (models `two_pushers_and_one_taker`, `what_one_pusher_sends_comes_in_its_order`,
//! `owner_and_thief_never_share_an_item`).
#![allow(unsafe_code)]

use crate::engine::sync_shim::atomic::{AtomicPtr, Ordering};
use std::iter;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};

/// The part of a node that a list writes.
///
/// While the node is in no list, its owner may keep a *note* there: an odd number, which no address of a link
/// is. Any thread may read it at any time, and finds `None` while the node is in a list. That is why the link
/// is atomic; for the list alone it need not be.
#[derive(Debug)]
pub(crate) struct Link {
    next: AtomicPtr<Link>,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// The next node. For the list that the node is in.
    fn next(&self) -> *mut Link {
        // Ordering: Relaxed: what `push_chain` has released with the list's head, `take_all` has acquired.
        self.next.load(Ordering::Relaxed)
    }

    fn set_next(&self, next: *mut Link) {
        // Ordering: Relaxed: `push_chain` releases the links with the list's head.
        self.next.store(next, Ordering::Relaxed);
    }

    /// Leaves a note, or none, in the place of the one that is there. For the owner of the node.
    #[inline]
    pub(crate) fn set_note(&self, note: Option<NonZeroUsize>) {
        // Ordering: Release pairs with the Acquire in `note`: a thread that finds this note sees that the
        // task was polled, and so does not take it for one that was cold before and after (`State::mark`).
        self.next.store(pointer(note), Ordering::Release);
    }

    /// Leaves another note, or none, in the place of `note` if that is there; returns whether it was. For any
    /// thread.
    pub(crate) fn replace_note(&self, note: NonZeroUsize, by: Option<NonZeroUsize>) -> bool {
        let [note, by] = [Some(note), by].map(pointer);
        // Ordering: Release as in `set_note`; a caller that takes the note away publishes that with what it
        // does next. A list's link is never equal to a note, and so it stays (model
        // `a_note_and_a_link_are_not_mistaken_for_each_other`). Nor can this overwrite a link that comes at
        // the same time: an exchange that finds the note is the next change after it, so the link comes
        // later. Relaxed on failure, nothing is read then.
        self.next.compare_exchange(note, by, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The note that is there. For any thread.
    pub(crate) fn note(&self) -> Option<NonZeroUsize> {
        // Ordering: Acquire, as `set_note` says.
        NonZeroUsize::new(self.next.load(Ordering::Acquire).addr())
            .filter(|note| note.get() % 2 == 1)
    }
}

/// The note as a link has it.
fn pointer(note: Option<NonZeroUsize>) -> *mut Link {
    debug_assert!(note.is_none_or(|note| note.get() % 2 == 1));
    note.map_or(ptr::null_mut(), |note| ptr::without_provenance_mut(note.get()))
}

/// A value that carries its own [`Link`].
///
/// # Safety
///
/// `into_link` returns a pointer to a link that stays valid, and whose pointer nothing else writes, until
/// the value has been made again by `from_link`. Other threads may read a link at any time, and take a note
/// out of it: they tell notes from pointers, and never change a pointer.
pub(crate) unsafe trait Linked: Sized {
    /// Gives the value away as a pointer to its link.
    fn into_link(self) -> NonNull<Link>;

    /// Makes the value again.
    ///
    /// # Safety
    ///
    /// `link` comes from `into_link`, and is used once.
    unsafe fn from_link(link: NonNull<Link>) -> Self;
}

/// A list that is being linked by one thread, newest first.
pub(crate) struct Chain<T: Linked> {
    /// Newest and oldest node.
    ends: Option<(NonNull<Link>, NonNull<Link>)>,
    owns: PhantomData<T>,
}

impl<T: Linked> Chain<T> {
    pub(crate) fn new() -> Self {
        Self { ends: None, owns: PhantomData }
    }

    pub(crate) fn push(&mut self, item: T) {
        let node = item.into_link();
        let (next, oldest) = match self.ends {
            Some((newest, oldest)) => (newest.as_ptr(), oldest),
            None => (ptr::null_mut(), node),
        };
        // SAFETY: we own `node` from `into_link` on, so it is alive.
        unsafe { node.as_ref() }.set_next(next);
        self.ends = Some((node, oldest));
    }
}

/// The state in which a push has found the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the pusher of the first item has to wake a worker, or it may never be taken"]
pub(crate) enum Pushed {
    /// Nothing: the pusher has to wake a worker.
    First,
    /// Other items, so their first pusher wakes a worker for these as well. Or nothing was pushed.
    Further,
}

/// The shared inbox.
#[derive(Debug)]
pub(crate) struct WakeChannel<T: Linked> {
    head: AtomicPtr<Link>,
    owns: PhantomData<T>,
}

// SAFETY: the channel moves `T`s from thread to thread and never hands out a shared reference to one.
unsafe impl<T: Linked + Send> Send for WakeChannel<T> {}
// SAFETY: as above; all shared state is the atomic head.
unsafe impl<T: Linked + Send> Sync for WakeChannel<T> {}

impl<T: Linked> WakeChannel<T> {
    pub(crate) fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// Sends one item.
    pub(crate) fn push(&self, item: T) -> Pushed {
        let mut chain = Chain::new();
        chain.push(item);
        self.push_chain(chain)
    }

    /// Sends a chain as one batch. An empty chain sends nothing.
    pub(crate) fn push_chain(&self, chain: Chain<T>) -> Pushed {
        let Some((newest, oldest)) = chain.ends else {
            return Pushed::Further;
        };
        // Ordering: Relaxed, the value is only a guess that the CAS verifies.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the chain is still ours: no thread has seen its nodes before the CAS below succeeds.
            unsafe { oldest.as_ref() }.set_next(head);
            // Ordering: Release publishes the links (and what the waker's caller did before) to the
            // taker's Acquire swap. Relaxed on failure: nothing is read through `head` here.
            let sent = self.head.compare_exchange_weak(
                head,
                newest.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match sent {
                Ok(_) if head.is_null() => return Pushed::First,
                Ok(_) => return Pushed::Further,
                Err(current) => head = current,
            }
        }
    }

    /// Takes everything that is there, oldest first. The caller takes all of it from the iterator: what is
    /// left there is lost.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = T> + use<T> {
        let mut node: *mut Link = ptr::null_mut();
        if !self.is_empty() {
            // Ordering: Acquire pairs with the Release CAS of every push in the release sequence that ends
            // at this value.
            node = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        }
        let mut reversed: *mut Link = ptr::null_mut();
        while let Some(link) = NonNull::new(node) {
            // SAFETY: the swap made the whole list ours; each node is alive until `from_link` takes it back.
            let taken = unsafe { link.as_ref() };
            node = taken.next();
            taken.set_next(reversed);
            reversed = link.as_ptr();
        }
        iter::from_fn(move || {
            let link = NonNull::new(reversed)?;
            // SAFETY: every node of the list is ours; the link is read before the node is given back.
            unsafe {
                reversed = link.as_ref().next();
                Some(T::from_link(link))
            }
        })
    }

    /// Whether nothing is there at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed. A caller that is about to park has executed a SeqCst fence after announcing
        // itself, which orders this load (scheduler.rs, "No wake is lost"); every other caller only
        // saves itself a useless swap.
        self.head.load(Ordering::Relaxed).is_null()
    }
}

#[cfg(all(test, liten_loom))]
mod loom;

#[cfg(all(test, not(liten_shuttle)))]
mod node {
    //! A boxed number as the simplest thing with a link.
    use super::{Link, Linked};
    use std::ptr::NonNull;

    #[repr(C)]
    pub(super) struct Node {
        link: Link,
        pub(super) value: usize,
    }

    pub(super) struct Boxed(pub(super) Box<Node>);

    impl Boxed {
        /// Valid as long as the node, wherever that goes.
        #[cfg(liten_loom)]
        pub(super) fn link(&self) -> &'static Link {
            let link: *const Link = &self.0.link;
            // SAFETY: not safe at all: that the node lives long enough is what a model has to see to.
            unsafe { &*link }
        }
    }

    pub(super) fn boxed(value: usize) -> Boxed {
        Boxed(Box::new(Node { link: Link::new(), value }))
    }

    // SAFETY: the box is leaked by `into_link` and made again by `from_link`; `link` is the first field
    // of a repr(C) struct.
    unsafe impl Linked for Boxed {
        fn into_link(self) -> NonNull<Link> {
            NonNull::from(Box::leak(self.0)).cast()
        }

        unsafe fn from_link(link: NonNull<Link>) -> Self {
            // SAFETY: the caller's promise: `link` is the start of the leaked box.
            Boxed(unsafe { Box::from_raw(link.cast::<Node>().as_ptr()) })
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::node::boxed;
    use super::*;

    #[test]
    fn comes_out_in_the_order_in_which_it_went_in() {
        let channel = WakeChannel::new();
        assert_eq!(channel.push(boxed(0)), Pushed::First);
        assert_eq!(channel.push(boxed(1)), Pushed::Further);
        let mut chain = Chain::new();
        chain.push(boxed(2));
        chain.push(boxed(3));
        assert_eq!(channel.push_chain(chain), Pushed::Further);
        assert_eq!(channel.push_chain(Chain::new()), Pushed::Further, "it is empty");
        let taken: Vec<_> = channel.take_all().map(|b| b.0.value).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        assert!(channel.is_empty());
        assert_eq!(channel.push(boxed(4)), Pushed::First, "after take_all");
        assert_eq!(channel.take_all().count(), 1);
    }
}
