//! What clients asked for and what they were told, and whether one object could have said it.

mod order;

use std::error::Error;
use std::fmt::{self, Debug, Write as _};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::network::Nanos;
use crate::properties::is_running;
use crate::world::{Inside, lock};

/// The object that a service pretends to be, as one thread would see it: the model of a
/// [`History`].
///
/// # Examples
///
/// ```
/// use liten_sim::Model;
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Register(u32);
///
/// #[derive(Clone, Debug)]
/// enum Operation {
///     Read,
///     Write(u32),
/// }
///
/// impl Model for Register {
///     type Operation = Operation;
///     type Output = Option<u32>;
///
///     fn apply(&mut self, operation: &Operation) -> Option<u32> {
///         match operation {
///             Operation::Read => Some(self.0),
///             Operation::Write(value) => {
///                 self.0 = *value;
///                 None
///             }
///         }
///     }
/// }
/// ```
pub trait Model: Clone + Eq + Hash + Debug {
    /// What a client asks for, with its arguments.
    type Operation: Clone + Debug;
    /// What it is told.
    type Output: Clone + Debug + PartialEq;

    /// Does the operation, and returns what the client is to be told.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Output;
}

/// What clients of all hosts asked for and were told, and when.
///
/// The history is *linearizable* if there is an order of all operations that a single object could
/// have done one by one, in which no operation stands before one that had ended when it began. An
/// operation whose answer no client got may have been done at any later time, or not at all.
///
/// A history that [`Sim::history`](crate::Sim::history) makes is checked at the end of the run.
/// [`check`](Self::check) looks at once. To look takes longer the more operations are under way at
/// one time; a history for each key of a map is better than one for the map.
///
/// # Examples
///
/// ```
/// use liten_sim::{History, Model};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Counter(u32);
///
/// impl Model for Counter {
///     type Operation = u32;
///     type Output = u32;
///
///     fn apply(&mut self, added: &u32) -> u32 {
///         self.0 += added;
///         self.0
///     }
/// }
///
/// let history = History::new("counter", Counter(0));
/// let one = history.call("one", 1);
/// let two = history.call("two", 1);
/// // The later call may be done first.
/// two.returned(1);
/// one.returned(2);
/// assert!(history.check().is_ok());
///
/// // Both are done already.
/// history.call("three", 1).returned(1);
/// assert!(history.check().is_err());
/// ```
pub struct History<M: Model>(Arc<Shared<M>>);

struct Shared<M: Model> {
    name: String,
    initial: M,
    calls: Mutex<Calls<M>>,
}

struct Calls<M: Model> {
    /// `None` for one that certainly did nothing.
    all: Vec<Option<Call<M>>>,
    /// How many calls and answers there were: their order.
    events: usize,
}

#[derive(Clone)]
struct Call<M: Model> {
    client: String,
    operation: M::Operation,
    begun: Moment,
    ended: Option<(Moment, M::Output)>,
}

/// One moment of a history.
#[derive(Clone, Copy)]
struct Moment {
    /// Virtual time alone does not tell which of two came first.
    event: usize,
    time: Nanos,
}

/// An operation whose answer is still to come. Dropped, it stays one: it is not known whether
/// it was done.
#[must_use = "an operation without an answer may have been done or not"]
pub struct Pending<M: Model> {
    history: History<M>,
    place: usize,
}

impl<M: Model> Clone for History<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Model> Debug for History<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl<M: Model> Debug for Pending<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("history", &self.history).finish_non_exhaustive()
    }
}

impl<M: Model> History<M> {
    /// An empty history of an object that is `initial` at first. Reports name it.
    pub fn new(name: &str, initial: M) -> Self {
        let calls = Mutex::new(Calls { all: Vec::new(), events: 0 });
        Self(Arc::new(Shared { name: name.to_owned(), initial, calls }))
    }

    /// Notes that a client asks for something.
    pub fn call(&self, client: &str, operation: M::Operation) -> Pending<M> {
        let place = self.with_calls(|calls, begun| {
            let client = client.to_owned();
            calls.all.push(Some(Call { client, operation, begun, ended: None }));
            calls.all.len() - 1
        });
        Pending { history: self.clone(), place }
    }

    /// Says whether the history up to now is linearizable.
    ///
    /// # Errors
    ///
    /// When it is not. The error says which answer no order explains, and what was asked for before
    /// it and beside it.
    pub fn check(&self) -> Result<(), NotLinearizable> {
        let calls = self.with_calls(|calls, _| calls.all.iter().flatten().cloned().collect());
        order::check(&self.0.initial, calls).map_err(|calls| self.told(&calls))
    }

    /// Changes the calls at this moment, as no part of the run: no other thread gets the turn while
    /// one has the lock, and a crash does not end one there.
    fn with_calls<T>(&self, change: impl FnOnce(&mut Calls<M>, Moment) -> T) -> T {
        let time = if is_running() { lock().now } else { 0 };
        let _inside = Inside::new();
        let mut calls: MutexGuard<'_, Calls<M>> =
            self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.events += 1;
        let event = calls.events;
        change(&mut calls, Moment { event, time })
    }

    /// What the user reads of `calls`, of which the last answer has no place in any order.
    fn told(&self, calls: &[Call<M>]) -> NotLinearizable {
        let mut text = format!("the history of `{}` is not linearizable", self.0.name);
        let last = calls.iter().filter_map(|call| Some((call.ended.as_ref()?.0.event, call)));
        if let Some((_, last)) = last.max_by_key(|(event, _)| *event) {
            let _ = write!(text, "\nno order explains {}", last.told());
            text.push_str("\nbefore it and beside it:");
            let others: Vec<_> =
                calls.iter().filter(|call| call.begun.event != last.begun.event).collect();
            if others.len() > SHOWN {
                let _ = write!(text, "\n  {} more", others.len() - SHOWN);
            }
            for other in &others[others.len().saturating_sub(SHOWN)..] {
                let _ = write!(text, "\n  {}", other.told());
            }
        }
        NotLinearizable(text)
    }
}

/// How many operations a report shows beside the one that has no place.
const SHOWN: usize = 20;

impl<M: Model> Call<M> {
    fn told(&self) -> String {
        let time = |moment: Moment| Duration::from_nanos(moment.time).as_secs_f64();
        let Self { client, operation, begun, .. } = self;
        let begun = time(*begun);
        match &self.ended {
            Some((ended, output)) => {
                let ended = time(*ended);
                format!("{client}: {operation:?} → {output:?}, {begun:.6} s to {ended:.6} s")
            }
            None => format!("{client}: {operation:?}, from {begun:.6} s, without an answer"),
        }
    }
}

impl<M: Model> Pending<M> {
    /// Notes what the client was told.
    pub fn returned(self, output: M::Output) {
        self.history.with_calls(|calls, ended| {
            if let Some(call) = &mut calls.all[self.place] {
                call.ended = Some((ended, output));
            }
        });
    }

    /// Notes that the operation was not done, and never will be. A timeout is no proof of that: then
    /// drop this instead.
    pub fn not_done(self) {
        self.history.with_calls(|calls, _| calls.all[self.place] = None);
    }
}

/// Why no single object could have given the answers of a history.
#[derive(Clone, PartialEq, Eq)]
pub struct NotLinearizable(String);

impl fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// What `unwrap` prints has line ends in it.
impl Debug for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotLinearizable {}

#[cfg(test)]
mod tests;
