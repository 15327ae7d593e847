//! What the test holds of a task: its handles, its waker, and a waker for the task that awaits it.

use super::Deed;
use super::life::{Output, Witness};
use super::model::{Ending, IN_OUTPUT};
use crate::support::probe::{Calls, poll_with};
use liten::task::{AbortHandle, JoinError, JoinHandle};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

pub(super) struct Props {
    pub(super) witness: Arc<Witness>,
    join: Mutex<Option<JoinHandle<Output>>>,
    abort: Mutex<Option<AbortHandle>>,
    joiner: Arc<Calls>,
    joiner_waker: Waker,
    told: Mutex<Option<Ending>>,
}

impl Props {
    pub(super) fn new(
        join: JoinHandle<Output>,
        has_abort_handle: bool,
        witness: Arc<Witness>,
    ) -> Self {
        let (joiner, joiner_waker) = Calls::new();
        Self {
            abort: Mutex::new(has_abort_handle.then(|| join.abort_handle())),
            join: Mutex::new(Some(join)),
            witness,
            joiner,
            joiner_waker,
            told: Mutex::new(None),
        }
    }

    pub(super) fn perform(&self, deed: Deed) {
        match deed {
            Deed::Wake => self.witness.waker().iter().for_each(Waker::wake_by_ref),
            Deed::WakeByValue => self.witness.take_waker().into_iter().for_each(Waker::wake),
            Deed::DropWaker => drop(self.witness.take_waker()),
            Deed::Abort => match (&*self.abort.lock().unwrap(), &*self.join.lock().unwrap()) {
                (Some(abort), _) => abort.abort(),
                (None, Some(join)) => join.abort(),
                (None, None) => {}
            },
            Deed::PollJoin => self.poll_join(),
            Deed::DropJoin => drop(self.join.lock().unwrap().take()),
            Deed::DropAbort => drop(self.abort.lock().unwrap().take()),
        }
    }

    fn poll_join(&self) {
        let mut join = self.join.lock().unwrap();
        let mut told = self.told.lock().unwrap();
        // Once it has told, asking again is a mistake that panics.
        let Some(join) = join.as_mut().filter(|_| told.is_none()) else { return };
        if let Poll::Ready(result) = poll_with(join, &self.joiner_waker) {
            *told = Some(ending(result));
        }
    }

    pub(super) fn told(&self) -> Option<Ending> {
        *self.told.lock().unwrap()
    }

    /// What the handles say; they must agree.
    pub(super) fn is_finished(&self) -> Option<bool> {
        let by_join = self.join.lock().unwrap().as_ref().map(JoinHandle::is_finished);
        let by_abort = self.abort.lock().unwrap().as_ref().map(AbortHandle::is_finished);
        if let (Some(one), Some(other)) = (by_join, by_abort) {
            assert_eq!(one, other);
        }
        by_join.or(by_abort)
    }

    pub(super) fn joiner_woken(&self) -> usize {
        self.joiner.get()
    }

    /// Drops all but the one that the JoinHandle's waker wakes.
    pub(super) fn into_joiner(self) -> Arc<Calls> {
        self.joiner
    }
}

fn ending(result: Result<Output, JoinError>) -> Ending {
    match result {
        Ok(output) => {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(output))) {
                assert_eq!(payload.downcast_ref(), Some(&IN_OUTPUT));
            }
            Ending::Value
        }
        Err(error) if error.is_cancelled() => {
            assert!(!error.is_panic());
            Ending::Cancelled
        }
        Err(error) => {
            Ending::Panic(error.into_panic().downcast_ref::<&str>().expect("one of ours"))
        }
    }
}
