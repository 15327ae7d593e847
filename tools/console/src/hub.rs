//! Where the watching clients and what they are shown come together.

use console_api::instrument::{State, Temporality, Update};
use console_api::tasks::TaskDetails;
use liten::sync::Notify;
use liten::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many messages may wait for a client to read them. A client that lets more pile up has lost some, so its
/// stream ends; `tokio-console` then connects again, and gets the whole.
const MOST_WAITING: usize = 64;

pub(crate) struct Hub {
    watchers: Mutex<Watchers>,
    /// A client has come that watches the tasks.
    came: Notify,
}

#[derive(Default)]
struct Watchers {
    /// The clients that have not been told of any task yet.
    newcomers: Vec<Sender<Update>>,
    informed: Vec<Sender<Update>>,
    details: Vec<(u64, Sender<TaskDetails>)>,
    states: Vec<Sender<State>>,
    is_paused: bool,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { watchers: Mutex::default(), came: Notify::new() }
    }

    fn watchers(&self) -> MutexGuard<'_, Watchers> {
        // No step under the lock leaves half of its work behind.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch_updates(&self) -> Receiver<Update> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        self.watchers().newcomers.push(sender);
        self.came.notify_one();
        receiver
    }

    pub(crate) fn watch_details(&self, task: u64) -> Receiver<TaskDetails> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let mut watchers = self.watchers();
        watchers.details.retain(|(_, sender)| !sender.is_closed());
        watchers.details.push((task, sender));
        receiver
    }

    pub(crate) fn watch_state(&self) -> Receiver<State> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let mut watchers = self.watchers();
        watchers.states.push(sender);
        watchers.tell_state();
        receiver
    }

    pub(crate) fn pause(&self, is_paused: bool) {
        let mut watchers = self.watchers();
        watchers.is_paused = is_paused;
        watchers.tell_state();
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.watchers().is_paused
    }

    /// Waits until a client watches the tasks.
    pub(crate) async fn watched(&self) {
        while !self.is_watched() {
            self.came.notified().await;
        }
    }

    /// Whether some watch the tasks. When the last has left, nothing is paused any more.
    pub(crate) fn is_watched(&self) -> bool {
        let mut watchers = self.watchers();
        let Watchers { newcomers, informed, .. } = &mut *watchers;
        newcomers.retain(|sender| !sender.is_closed());
        informed.retain(|sender| !sender.is_closed());
        let is_watched = !(newcomers.is_empty() && informed.is_empty());
        watchers.is_paused &= is_watched;
        is_watched
    }

    pub(crate) fn has_newcomers(&self) -> bool {
        !self.watchers().newcomers.is_empty()
    }

    /// Sends `changes` to clients that have been told of the tasks before, and `everything` to the others.
    pub(crate) fn publish(&self, changes: &[Update], everything: Option<&[Update]>) {
        let mut watchers = self.watchers();
        watchers.informed.retain(|sender| send_all(sender, changes));
        if let Some(everything) = everything {
            let newcomers = std::mem::take(&mut watchers.newcomers);
            let informed = newcomers.into_iter().filter(|sender| send_all(sender, everything));
            watchers.informed.extend(informed);
        }
    }

    /// Sends `details` of the tasks that are watched one by one; where there are none, the stream ends.
    pub(crate) fn publish_details(&self, mut details: impl FnMut(u64) -> Option<TaskDetails>) {
        self.watchers().details.retain(|(task, sender)| {
            !sender.is_closed()
                && details(*task).is_some_and(|details| sender.try_send(details).is_ok())
        });
    }
}

impl Watchers {
    fn tell_state(&mut self) {
        let temporality = if self.is_paused { Temporality::Paused } else { Temporality::Live };
        self.states
            .retain(|sender| sender.try_send(State { temporality: temporality.into() }).is_ok());
    }
}

fn send_all(sender: &Sender<Update>, updates: &[Update]) -> bool {
    updates.iter().all(|update| sender.try_send(update.clone()).is_ok())
}
