//! Where a task has run last, what its last polls were like, and its class: sixteen bits in its header.
//!
//! The lower bits are the index of its *home*, the worker that ran it last. The upper three say whether the
//! task is *long*. A task of class `Latency` never is, and one of class `Bulk` always. For all others they
//! are the *record*:
//!
//! | a poll | the record afterwards |
//! |---|---|
//! | that was long | one more, at most 3 |
//! | that was short | one less, at least 0 |
//! | that was not timed | 0 |
//!
//! From 2 on the task is *long*. One poll does not make it so, because a poll also seems to be long when the
//! system has let other threads run meanwhile.
//!
//! A record is part of a home without a class only, so `Class::Normal` needs no bits.
//!
//! Only the thread that polls the task writes here, before the task goes cold or back to a queue. A thread
//! that wakes the task reads what that poll has left: the task's state word orders it. So a worker that times
//! no polls pays nothing: it stores its index if the field differs, and a record makes the field differ.

use super::class::Class;

/// Of the home.
const BITS: u32 = 13;
const INDEX: u16 = (1 << BITS) - 1;
/// The record of a task that is long is no lower.
const LONG: u16 = 2;
const HIGHEST: u16 = 3;
/// Set in the homes of tasks of a class.
const CLASSED: u16 = 1 << 15;
/// In place of a record.
const BULK: u16 = 4;
const LATENCY: u16 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(pub(super) u16);

impl Home {
    /// Of a task that has not been polled.
    pub(super) const NONE: Home = Home(INDEX);

    /// Of a task of that class that has not been polled.
    pub(crate) const fn of_class(class: Class) -> Self {
        match class {
            Class::Normal => Self::NONE,
            Class::Bulk => Self(INDEX | BULK << BITS),
            Class::Latency => Self(INDEX | LATENCY << BITS),
        }
    }

    /// The index of a thread that runs tasks and is no worker, and above those of all workers.
    pub(crate) const NO_WORKER: u16 = INDEX;

    /// The raw bits: the worker's index if the task has no record and has run; otherwise larger than any
    /// index. One comparison decides.
    #[inline]
    pub(crate) fn index_if_plain(self) -> usize {
        usize::from(self.0)
    }

    /// The worker that ran the task last.
    pub(crate) fn worker(self) -> Option<usize> {
        let index = self.0 & INDEX;
        (index != INDEX).then_some(usize::from(index))
    }

    /// Whether the task's polls are long, or count as such.
    #[inline]
    pub(crate) fn is_long(self) -> bool {
        (LONG..=BULK).contains(&(self.0 >> BITS))
    }

    /// Whether the task is long by its class.
    #[inline]
    pub(crate) fn is_bulk(self) -> bool {
        self.0 >> BITS == BULK
    }

    /// Whether the task is of another class than `Normal`.
    #[inline]
    pub(super) fn has_class(self) -> bool {
        self.0 & CLASSED != 0
    }

    pub(crate) fn class(self) -> Class {
        match self.0 >> BITS {
            BULK => Class::Bulk,
            LATENCY => Class::Latency,
            _ => Class::Normal,
        }
    }

    /// What is left by the next poll, by `worker`, if that is not timed.
    pub(super) fn moved(self, worker: u16) -> Self {
        if self.has_class() { Self(self.0 & !INDEX | worker) } else { Self(worker) }
    }

    /// What is left by the next poll, which `worker` has timed.
    pub(crate) fn after_poll(self, worker: u16, was_long: bool) -> Self {
        debug_assert!(worker < INDEX);
        if self.has_class() {
            return self.moved(worker);
        }
        let record = self.0 >> BITS;
        let record = if was_long { HIGHEST.min(record + 1) } else { record.saturating_sub(1) };
        Home(worker | record << BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(polls: &[bool]) -> Home {
        polls.iter().fold(Home::NONE, |home, &was_long| home.after_poll(7, was_long))
    }

    #[test]
    fn a_task_is_long_when_two_more_of_its_polls_were_long_than_short() {
        for (polls, is_long) in [
            (&[] as &[bool], false),
            (&[true], false),
            (&[true, false, true], false),
            (&[true, true], true),
            (&[false, false, true, true], true),
            (&[true, true, false], false),
            (&[true, true, true, false], true),
            (&[true, true, true, true, true, false, false], false),
            (&[true, true, true, false, true, false, true, false], true),
        ] {
            assert_eq!(after(polls).is_long(), is_long, "{polls:?}");
        }
    }

    #[test]
    fn a_class_outlives_all_polls() {
        for (class, is_long) in [(Class::Bulk, true), (Class::Latency, false)] {
            let new = Home::of_class(class);
            assert_eq!((new.worker(), new.class(), new.is_long()), (None, class, is_long));
            for polls in [&[] as &[bool], &[false], &[true; 3], &[true, false]] {
                let home = polls.iter().fold(new.moved(3), |home, &long| home.after_poll(7, long));
                let place = if polls.is_empty() { 3 } else { 7 };
                assert_eq!((home.worker(), home.class()), (Some(place), class));
                assert_eq!((home.is_long(), home.is_bulk()), (is_long, is_long));
                assert!(home.index_if_plain() > usize::from(INDEX));
            }
        }
        assert_eq!(Home::of_class(Class::Normal), Home::NONE);
        assert_eq!(after(&[true; 3]).moved(5), Home(5));
    }

    #[test]
    fn a_home_is_found_with_any_record() {
        assert_eq!(Home::NONE.worker(), None);
        assert_eq!((after(&[false]).index_if_plain(), after(&[false]).worker()), (7, Some(7)));
        for polls in [&[true] as &[bool], &[true; 2], &[true; 3]] {
            assert_eq!(after(polls).worker(), Some(7));
            assert!(after(polls).index_if_plain() > usize::from(INDEX));
        }
    }
}
