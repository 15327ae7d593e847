//! Connections that lie at a listener because the task that accepts them waits for something else, seen by
//! several looks.
//!
//! A look finds which task waits for a listener. From then on that is the one that accepts there. If no task
//! waits for it any more, and connections have come, clients wait. That is so for a moment whenever some come
//! at once, and is told if it was so at each look for [`LONG`], and the task has waited for something else
//! for as long. Only Linux says how many connections lie at a listener, and only of TCP.

use super::Finding;
use super::long_waits::{LONG, what_does};
use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::socket_info::SocketInfo;
use crate::insight::sockets::LISTENS;
use crate::insight::task_info::TaskInfo;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What is known of one listener.
#[derive(Default)]
struct Listener {
    /// The task that has waited for it last.
    accepts: Option<TaskId>,
    /// Since when connections lie there and no task waits for it.
    since: Option<Instant>,
}

/// The looks at the listeners of one runtime, by descriptor and the number of the socket in the system.
#[derive(Default)]
pub(in crate::insight) struct Unaccepted {
    listeners: HashMap<(i32, Option<u64>), Listener>,
}

impl Unaccepted {
    /// Takes a look at all listeners that there are now.
    pub(in crate::insight) fn look(&mut self, now: Instant, dump: &Dump) {
        let mut before = std::mem::take(&mut self.listeners);
        for socket in dump.sockets().iter().filter(|socket| socket.state() == Some(LISTENS)) {
            let Some(key) = socket.key() else { continue };
            let before = before.remove(&key).unwrap_or_default();
            let waits = socket.tasks().first().map(|(task, _)| *task);
            let lie = waits.is_none() && socket.received().is_some_and(|waiting| waiting > 0);
            let since = lie.then(|| before.since.unwrap_or(now));
            self.listeners.insert(key, Listener { accepts: waits.or(before.accepts), since });
        }
    }

    /// Those of which it is known which task accepts there, and that it waits.
    pub(in crate::insight) fn findings(&self, now: Instant, dump: &Dump) -> Vec<Finding> {
        let found = |(listener, duration, socket): (&Listener, Duration, &SocketInfo)| {
            let waits = |task: &TaskInfo| task.cold_for().is_some_and(|time| time >= LONG);
            let task = dump.tasks().iter().find(|task| Some(task.id()) == listener.accepts)?;
            let (named, does) = what_does(dump, &HashMap::new(), task.id());
            let (task, name) = named.filter(|_| waits(task))?;
            let (local, connections) = (socket.local()?, socket.received()?);
            Some(Finding::UnacceptedConnections { local, connections, duration, task, name, does })
        };
        self.full(now, dump).filter_map(found).collect()
    }

    /// What is said of the others. A server that always has more connections than it can accept looks like
    /// them.
    pub(in crate::insight) fn notable(&self, now: Instant, dump: &Dump) -> Vec<String> {
        let is_unknown = |(listener, ..): &(&Listener, _, _)| listener.accepts.is_none();
        let said = |(_, duration, socket): (&Listener, Duration, &SocketInfo)| {
            let lie = lie(socket.received()?, &socket.local()?, duration);
            Some(format!("{lie}, and at no look a task has waited for them"))
        };
        self.full(now, dump).filter(is_unknown).filter_map(said).collect()
    }

    /// The listeners at which connections have lain for long.
    fn full<'a>(
        &'a self,
        now: Instant,
        dump: &'a Dump,
    ) -> impl Iterator<Item = (&'a Listener, Duration, &'a SocketInfo)> {
        dump.sockets().iter().filter_map(move |socket| {
            let listener = self.listeners.get(&socket.key()?)?;
            let duration = now.saturating_duration_since(listener.since?);
            (duration >= LONG).then_some((listener, duration, socket))
        })
    }
}

/// What is said of connections at a listener.
pub(super) fn lie(connections: u64, local: &str, duration: Duration) -> String {
    let begin = match connections {
        1 => "1 connection has not been accepted".to_owned(),
        more => format!("{more} connections have not been accepted"),
    };
    format!("{begin} at {local} for {} s at least", duration.as_secs())
}
