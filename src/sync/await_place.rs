//! The place in the source from which a task waits for a lock or a channel.
//!
//! The methods that wait take the place of their caller along. When their future has left its task waiting
//! and there is a page, a number that stands for the place goes into the task's
//! [note](crate::engine::task::waiting) of what it waits for. So the place is there for exactly as long as
//! the note, and the task is no larger for it.
//!
//! The receiver of a oneshot channel is a future itself and has no such method. Its place is the one where
//! the channel was made.
//!
//! The number of a place is its position in a hash table, which only grows. A place that finds no free entry
//! where it looks has no number, and is not told.
//!
//! Without a page this costs a future 8 bytes, which is a store, and one look at a flag in each poll that
//! does not end the wait: one instruction of a message, two of a permit, six of a lock. A oneshot channel is
//! 8 bytes larger.
//!
//! Rejected: to keep in each lock the place where it was made. Locks would be larger than tokio's, and of two
//! tasks that wait for one lock it would not be known where they do. Also rejected: a table with a place for
//! each task that waits. The end of a wait has to take the place out again, and the check whether there is
//! one cost a message 28 instructions without an observer.

use crate::engine::task::waiting::{MOST_PLACES, Note};
use crate::engine::task::waker::set_place;
use crate::runtime::gauges::is_followed;
use pin_project_lite::pin_project;
use std::future::Future;
use std::marker::PhantomPinned;
use std::num::NonZeroU16;
use std::panic::Location;
use std::pin::Pin;
use std::ptr;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

/// How many entries are looked at for a place.
const LOOKS: usize = 16;

type Entry = OnceLock<&'static Location<'static>>;

/// A place is at the number that stands for it, less one.
static PLACES: [Entry; MOST_PLACES] = [const { OnceLock::new() }; MOST_PLACES];

/// The number that stands for the place.
fn number(place: &'static Location<'static>) -> Option<NonZeroU16> {
    // The lines of one file lie near each other, and the multiplication brings them apart.
    let hash = (ptr::from_ref(place).addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let looks = (0..LOOKS).map(|look| (hash as usize + look) % MOST_PLACES);
    let is_own = |entry: &usize| ptr::eq(*PLACES[*entry].get_or_init(|| place), place);
    NonZeroU16::new(looks.into_iter().find(is_own)? as u16 + 1)
}

/// The place from which the task waits that has left this note, if that is known.
pub(crate) fn place(note: Note) -> Option<&'static Location<'static>> {
    PLACES[usize::from(note.place()?.get()) - 1].get().copied()
}

/// The task of `waker`, which is polled, has just left a note, and waits from that place.
#[inline]
pub(super) fn note_place(waker: &Waker, place: &'static Location<'static>) {
    if is_followed() {
        note(waker, place);
    }
}

#[cold]
fn note(waker: &Waker, place: &'static Location<'static>) {
    if let Some(number) = number(place) {
        set_place(waker, number);
    }
}

pin_project! {
    /// A future that notes from where it is awaited; made by [`awaited_here`].
    #[derive(Debug)]
    pub(super) struct Awaited<F> {
        #[pin]
        future: F,
        place: &'static Location<'static>,
        // As the future of an `async fn`, whatever `future` is: code must not come to rely on it.
        #[pin]
        _pinned: PhantomPinned,
    }
}

/// Returns `future`, which takes the place of the caller along. See [`awaited_at`].
#[inline]
#[track_caller]
pub(super) fn awaited_here<F: Future>(future: F) -> Awaited<F> {
    awaited_at(Location::caller(), future)
}

/// Returns `future`, which is awaited at that place. It has to set the note of its task in each poll that
/// does not end the wait, unless the budget is used up: otherwise the place would go into the note of what
/// was polled before. So it must not be one of the user's.
#[inline]
pub(super) fn awaited_at<F: Future>(place: &'static Location<'static>, future: F) -> Awaited<F> {
    Awaited { future, place, _pinned: PhantomPinned }
}

impl<F: Future> Future for Awaited<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let poll = this.future.poll(cx);
        if poll.is_pending() {
            note_place(cx.waker(), this.place);
        }
        poll
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::number;
    use std::collections::HashMap;
    use std::panic::Location;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn each_place_has_a_number_of_its_own() {
        let mut numbers = HashMap::new();
        for place in [here(), here(), here()] {
            let number = number(place).unwrap();
            assert_eq!(super::number(place), Some(number));
            assert_eq!(numbers.insert(number, place), None);
        }
    }
}
