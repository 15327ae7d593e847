//! The note of what a cold task waits for, as its last poll has left it with the task.
//!
//! A future that has left the waker of its task where it waits leaves a [`Note`] of the place, too: in the
//! word of the header by which queues link tasks, and which is of no use while the task is polled or cold. So
//! a note takes no memory, and it is found without asking anything that the task waits for.
//!
//! | the task is | its link has |
//! |---|---|
//! | queued | the note of its last poll, or the link of a queue; readers ignore it, because it is not cold |
//! | polled | nothing at first, then the note that was left last |
//! | cold | that note |
//!
//! The note of a wait for a lock or a channel may also have a number that stands for a place in the source:
//! the one from which the task waits, or of a oneshot channel the one where it was made. That is no part of
//! what is waited for.
//!
//! A note has numbers in it and no pointers that are followed: a future may be moved to another task, or be
//! forgotten, and what it waits for may be gone. A note names one wait. A task that waits for several things
//! at once shows by the number of its wakers that there are others.
//!
//! What a note of a [`Wait::is_reliable`] says can be relied upon: as long as the task stays cold and the
//! note is there, the waker that it speaks of lies where it says. Code that takes it from there without
//! waking it [forgets](super::waker::clear_note) the note before (models
//! `a_dropped_handle_takes_the_note_along`,
//! `a_handle_that_another_task_polls_takes_the_note_along`,
//! `a_lock_future_that_is_dropped_takes_the_note_along`,
//! `a_lock_future_that_another_task_polls_takes_the_note_along`).

use super::origin::TaskId;
use crate::primitive_kind::PrimitiveKind;
use std::num::{NonZeroU16, NonZeroUsize};

/// Notes are odd: see [`Link`](crate::engine::queue::wake_channel::Link).
const ODD: u64 = 1;
const KIND_SHIFT: u32 = 1;
const NUMBER_SHIFT: u32 = 8;

/// An address has so many bits. The lowest ones, which are 0, are not in the note; above it is the place.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_SHIFT: u32 = 3;
const PLACE_SHIFT: u32 = NUMBER_SHIFT + ADDRESS_BITS - ADDRESS_SHIFT;
const PLACE: u64 = u64::MAX << PLACE_SHIFT;
/// How many places have a number; 0 is none.
pub(crate) const MOST_PLACES: usize = (1 << (u64::BITS - PLACE_SHIFT)) - 1;

/// A kind of thing that a task waits for, without saying which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The end of a task, whose id is the number.
    Join,
    /// Something of that kind, whose address is the number.
    Primitive(PrimitiveKind),
}

impl Wait {
    /// The kind of [`Wait::Join`]; below it are the primitives.
    const JOIN: usize = PrimitiveKind::ALL.len();

    fn kind(self) -> u64 {
        match self {
            Self::Join => Self::JOIN as u64,
            Self::Primitive(kind) => kind as u64,
        }
    }

    /// Whether such a note can be relied upon, as the header of this file says.
    fn is_reliable(self) -> bool {
        use PrimitiveKind::{Mutex, RwLock, RwLockWrite, Sender};
        matches!(self, Self::Join | Self::Primitive(Mutex | RwLock | RwLockWrite | Sender))
    }
}

/// One thing that a task waits for, as the word that lies in a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note(pub(super) NonZeroUsize);

impl Note {
    /// `None` where a word has no room for both, and if the address is not one of a word.
    #[inline]
    pub(crate) fn new(wait: Wait, number: u64) -> Option<Self> {
        let (bits, shift) = match wait {
            Wait::Join => (u64::BITS - NUMBER_SHIFT, 0),
            Wait::Primitive(_) => (ADDRESS_BITS, ADDRESS_SHIFT),
        };
        let fits = number >> bits == 0 && number & ((1 << shift) - 1) == 0;
        if usize::BITS < u64::BITS || !fits {
            return None;
        }
        let word = number >> shift << NUMBER_SHIFT | wait.kind() << KIND_SHIFT | ODD;
        NonZeroUsize::new(word as usize).map(Self)
    }

    fn bits(self) -> u64 {
        self.0.get() as u64
    }

    pub(crate) fn wait(self) -> Option<Wait> {
        let kind = self.bits() >> KIND_SHIFT & ((1 << (NUMBER_SHIFT - KIND_SHIFT)) - 1);
        match kind as usize {
            Wait::JOIN => Some(Wait::Join),
            kind => PrimitiveKind::ALL.get(kind).copied().map(Wait::Primitive),
        }
    }

    /// The task whose end is waited for.
    pub(crate) fn joined(self) -> Option<TaskId> {
        (self.wait() == Some(Wait::Join)).then(|| TaskId::from_bits(self.bits() >> NUMBER_SHIFT))?
    }

    /// The address of what is waited for. For [`Wait::Join`] it means nothing.
    pub(crate) fn address(self) -> usize {
        ((self.bits() & !PLACE) >> NUMBER_SHIFT << ADDRESS_SHIFT) as usize
    }

    /// The number that stands for a place in the source.
    pub(crate) fn place(self) -> Option<NonZeroU16> {
        match self.wait()? {
            Wait::Join => None,
            Wait::Primitive(_) => NonZeroU16::new((self.bits() >> PLACE_SHIFT) as u16),
        }
    }

    /// The same wait with that place, or without one. For [`Wait::Join`] the place is not told.
    pub(super) fn at(self, place: Option<NonZeroU16>) -> Self {
        let Some(Wait::Primitive(_)) = self.wait() else { return self };
        let place = place.map_or(0, |place| u64::from(place.get()) << PLACE_SHIFT);
        NonZeroUsize::new((self.bits() & !PLACE | place) as usize).map_or(self, Self)
    }

    pub(super) fn is_reliable(self) -> bool {
        self.wait().is_some_and(Wait::is_reliable)
    }
}

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{MOST_PLACES, Note, Wait};
    use crate::engine::task::TaskId;
    use crate::primitive_kind::PrimitiveKind;
    use std::num::NonZeroU16;

    #[test]
    fn a_note_says_what_was_written() {
        const ADDRESS: usize = 0x9a34_5678_9ab8;
        for kind in PrimitiveKind::ALL {
            let note = Note::new(Wait::Primitive(kind), ADDRESS as u64).unwrap();
            let said = (note.wait(), note.address(), note.joined());
            assert_eq!(said, (Some(Wait::Primitive(kind)), ADDRESS, None));
            assert_eq!(note.place(), None);
            for place in [1, MOST_PLACES as u16].map(NonZeroU16::new) {
                let placed = note.at(place);
                assert_eq!((placed.place(), placed.address()), (place, ADDRESS));
                assert_eq!((placed.wait(), placed.at(None)), (note.wait(), note));
            }
        }
        let no_address = [1 << 48, ADDRESS as u64 + 4];
        for number in no_address {
            assert_eq!(Note::new(Wait::Primitive(PrimitiveKind::Mutex), number), None);
        }
        let task = TaskId::next();
        let note = Note::new(Wait::Join, task.to_bits()).unwrap();
        let said = (note.wait(), note.joined(), note.place(), note.at(NonZeroU16::new(1)));
        assert_eq!(said, (Some(Wait::Join), Some(task), None, note));
        assert_eq!(Note::new(Wait::Join, 1 << 56), None);
    }
}
