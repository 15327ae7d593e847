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
use std::num::NonZeroUsize;

/// Notes are odd: see [`Link`](crate::engine::queue::wake_channel::Link).
const ODD: usize = 1;
const KIND_SHIFT: u32 = 1;
const NUMBER_SHIFT: u32 = 8;

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

    fn kind(self) -> usize {
        match self {
            Self::Join => Self::JOIN,
            Self::Primitive(kind) => kind as usize,
        }
    }

    /// Whether such a note can be relied upon, as the header of this file says.
    fn is_reliable(self) -> bool {
        use PrimitiveKind::{Mutex, RwLock, RwLockWrite, Sender};
        matches!(self, Self::Join | Self::Primitive(Mutex | RwLock | RwLockWrite | Sender))
    }
}

/// One thing that a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note(NonZeroUsize);

impl Note {
    /// `None` where a word has no room for both.
    #[inline]
    pub(crate) fn new(wait: Wait, number: u64) -> Option<Self> {
        if usize::BITS < u64::BITS || number >> (u64::BITS - NUMBER_SHIFT) != 0 {
            return None;
        }
        let word = (number as usize) << NUMBER_SHIFT | wait.kind() << KIND_SHIFT | ODD;
        NonZeroUsize::new(word).map(Self)
    }

    pub(super) fn from_word(word: NonZeroUsize) -> Self {
        Self(word)
    }

    pub(super) fn to_word(self) -> NonZeroUsize {
        self.0
    }

    pub(crate) fn wait(self) -> Option<Wait> {
        let kind = self.0.get() >> KIND_SHIFT & ((1 << (NUMBER_SHIFT - KIND_SHIFT)) - 1);
        match kind {
            Wait::JOIN => Some(Wait::Join),
            _ => PrimitiveKind::ALL.get(kind).copied().map(Wait::Primitive),
        }
    }

    /// The task whose end is waited for.
    pub(crate) fn joined(self) -> Option<TaskId> {
        (self.wait() == Some(Wait::Join)).then(|| TaskId::from_bits(self.number()))?
    }

    /// The address of what is waited for. For [`Wait::Join`] it means nothing.
    pub(crate) fn address(self) -> usize {
        self.0.get() >> NUMBER_SHIFT
    }

    fn number(self) -> u64 {
        self.address() as u64
    }

    pub(super) fn is_reliable(self) -> bool {
        self.wait().is_some_and(Wait::is_reliable)
    }
}

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{Note, Wait};
    use crate::primitive_kind::PrimitiveKind;

    #[test]
    fn a_note_says_what_was_written() {
        for wait in PrimitiveKind::ALL.map(Wait::Primitive).into_iter().chain([Wait::Join]) {
            let note = Note::new(wait, 0x00ff_1234_5678_9abc).unwrap();
            assert_eq!((note.wait(), note.number()), (Some(wait), 0x00ff_1234_5678_9abc));
        }
        assert_eq!(Note::new(Wait::Join, 1 << 56), None);
    }
}
