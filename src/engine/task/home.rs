//! Where a task has run last, and what its last polls were like: sixteen bits in its header.
//!
//! The lower bits are the index of its *home*, the worker that ran it last. The upper two are its *record*,
//! which says whether its polls are long:
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
//! Only the thread that polls the task writes here, before the task goes cold or back to a queue. A thread
//! that wakes the task reads what that poll has left: the task's state word orders it. So a worker that times
//! no polls pays nothing: it stores its index if the field differs, and a record makes the field differ.

/// Of the home.
const BITS: u32 = 14;
const INDEX: u16 = (1 << BITS) - 1;
/// The record of a task that is long is no lower.
const LONG: u16 = 2;
const HIGHEST: u16 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(pub(super) u16);

impl Home {
    /// Of a task that has not been polled.
    pub(super) const NONE: Home = Home(INDEX);

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

    /// Whether the task's polls are long.
    #[inline]
    pub(crate) fn is_long(self) -> bool {
        self.0 >> BITS >= LONG
    }

    /// What is left by the next poll, which `worker` has timed.
    pub(crate) fn after_poll(self, worker: u16, was_long: bool) -> Self {
        debug_assert!(worker < INDEX);
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
    fn a_home_is_found_with_any_record() {
        assert_eq!(Home::NONE.worker(), None);
        assert_eq!((after(&[false]).index_if_plain(), after(&[false]).worker()), (7, Some(7)));
        for polls in [&[true] as &[bool], &[true; 2], &[true; 3]] {
            assert_eq!(after(polls).worker(), Some(7));
            assert!(after(polls).index_if_plain() > usize::from(INDEX));
        }
    }
}
