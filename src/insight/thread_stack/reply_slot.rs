//! A mailbox with one place, by which a thread asks another one for data.
//!
//! The thread is asked by a signal, and answers in the handler. So it never waits, and it takes no lock: one
//! word says whose turn it is.
//!
//! | the word | means | changed to | by |
//! |---|---|---|---|
//! | [`IDLE`] | nothing is asked, or the question was withdrawn | the thread's number | the one that asks |
//! | a number | this thread is asked | [`WRITING`] | this thread |
//! | | | `IDLE` | the one that asks, and has waited for too long |
//! | `WRITING` | the thread writes its answer | [`WRITTEN`] | this thread |
//! | `WRITTEN` | the answer is there | `IDLE` | the one that has asked |
//! | | | the next thread's number | the one that asks next, if the last has not waited |
//!
//! The value belongs to the thread that asks while the word is `IDLE` or `WRITTEN`, and to the one that
//! answers while it is `WRITING`. Those that ask hold a lock, so there is one of them at a time. A question
//! that is withdrawn too late finds `WRITING`: then no question is asked until the thread has written. A
//! signal may come late, for a question that was withdrawn. It finds another word than its thread's number,
//! or the next question to the same thread, which it answers.

#![allow(unsafe_code)]

use crate::engine::sync_shim::UnsafeCell;
use crate::engine::sync_shim::atomic::{AtomicU32, Ordering};

/// No thread has this number.
const IDLE: u32 = 0;
/// Linux has threads up to 2²².
const WRITING: u32 = u32::MAX - 1;
const WRITTEN: u32 = u32::MAX;

pub(super) struct ReplySlot<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, as the table above says.
unsafe impl<T: Send> Sync for ReplySlot<T> {}

/// The right to ask. There must be one for each slot, and it is kept under a lock.
pub(super) struct Asker<'slot, T>(&'slot ReplySlot<T>);

impl<T> ReplySlot<T> {
    pub(super) fn new(value: T) -> Self {
        Self { word: AtomicU32::new(IDLE), value: UnsafeCell::new(value) }
    }

    /// Returns the end that asks.
    ///
    /// # Safety
    ///
    /// It is called once for each slot.
    pub(super) unsafe fn asker(&self) -> Asker<'_, T> {
        Asker(self)
    }

    /// Answers, if `thread`, which calls this, is asked. Does nothing else than a signal handler may do, if
    /// `write` does not.
    pub(super) fn answer(&self, thread: u32, write: impl FnOnce(&mut T)) {
        // Ordering: Acquire, so that what was prepared for this question is seen, and the last answer is no
        // longer read. Relaxed: nothing is read.
        let is_asked =
            self.word.compare_exchange(thread, WRITING, Ordering::Acquire, Ordering::Relaxed);
        if is_asked.is_ok() {
            // SAFETY: the word is `WRITING`, and this thread has made it so.
            self.value.with_mut(|value| write(unsafe { &mut *value }));
            // Ordering: Release, for the one that reads the answer.
            self.word.store(WRITTEN, Ordering::Release);
        }
    }
}

impl<T> Asker<'_, T> {
    /// Asks a thread, after `prepare`. `false`: the last one that was asked still writes.
    pub(super) fn ask(&mut self, thread: u32, prepare: impl FnOnce(&mut T)) -> bool {
        // Ordering: Acquire pairs with the Release of `WRITTEN` in `answer`, whose value is overwritten here.
        let asked = match self.0.word.load(Ordering::Acquire) {
            IDLE | WRITTEN => None,
            thread => Some(thread),
        };
        // Only after a panic between a question and its end.
        if asked.is_some_and(|thread| thread == WRITING || !self.withdraw(thread)) {
            return false;
        }
        // SAFETY: nothing is asked, so no thread answers, and none but this one asks.
        self.0.value.with_mut(|value| prepare(unsafe { &mut *value }));
        // Ordering: Release, for the thread that answers.
        self.0.word.store(thread, Ordering::Release);
        true
    }

    /// Returns what `read` makes of the answer, if it is there.
    pub(super) fn take<R>(&mut self, read: impl FnOnce(&T) -> R) -> Option<R> {
        // Ordering: Acquire, after what the thread has written.
        if self.0.word.load(Ordering::Acquire) != WRITTEN {
            return None;
        }
        // SAFETY: the thread has written, and none is asked.
        let read = self.0.value.with(|value| read(unsafe { &*value }));
        // Ordering: Relaxed, because the next question is asked by this thread or under the same lock.
        self.0.word.store(IDLE, Ordering::Relaxed);
        Some(read)
    }

    /// Takes the question back. `false`: the thread writes, or has written.
    pub(super) fn withdraw(&mut self, thread: u32) -> bool {
        // Ordering: Relaxed: nothing was written, and nothing is read.
        let word = &self.0.word;
        word.compare_exchange(thread, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, liten_loom))]
mod loom {
    use super::ReplySlot;
    use ::loom::thread;
    use std::sync::Arc;

    /// Two threads are asked in turn, and the first question may be withdrawn. Whatever is taken is of the
    /// thread that was asked last, and what was prepared for it.
    #[test]
    fn an_answer_is_of_the_thread_that_was_asked() {
        ::loom::model(|| {
            let slot = Arc::new(ReplySlot::new((0, 0)));
            let answers = |thread| {
                let slot = slot.clone();
                thread::spawn(move || slot.answer(thread, |value| value.1 = thread + value.0))
            };
            let threads = [answers(1), answers(2)];
            // SAFETY: called once.
            let mut asker = unsafe { slot.asker() };
            for (thread, prepared) in [(1, 10), (2, 20)] {
                if asker.ask(thread, |value| *value = (prepared, 0)) {
                    thread::yield_now();
                    let answer = asker.take(|value| *value).or_else(|| {
                        let is_answered = !asker.withdraw(thread);
                        is_answered.then(|| asker.take(|value| *value)).flatten()
                    });
                    assert!(answer.is_none_or(|it| it == (prepared, prepared + thread)));
                }
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
