//! Connections that lie at a listener because the tasks that accept them wait for something else, seen by
//! several looks.
//!
//! A look finds which tasks wait for a listener. From then on those are the ones that accept there. If no
//! task waits for it any more, and connections have come, clients wait. That is so for a moment whenever some
//! come at once. It is told if it was so at [`FEWEST`] looks in a row and for [`LONG`], and all of these
//! tasks that live have waited for something else for as long. Only Linux says how many connections lie at a
//! listener, and only of TCP. A future in `block_on` that accepts is not known.
//!
//! A task that waits for a permit only has as many connections as it allows itself: `long_waits.rs` tells of
//! the permits.

use super::Finding;
use super::long_waits::{LONG, what_does};
use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::socket_info::SocketInfo;
use crate::insight::sockets::LISTENS;
use crate::insight::task_info::TaskInfo;
use crate::insight::wait::Wait;
use crate::primitive_kind::PrimitiveKind;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The fewest looks in a row at which they have lain there.
const FEWEST: usize = 4;

/// So many tasks that accept at one listener are known at most. Of one with more, nothing is told.
const MOST_TASKS: usize = 64;

/// What is known of one listener.
#[derive(Default)]
struct Listener {
    /// The tasks that have waited for it.
    accept: Vec<TaskId>,
    /// Since when connections lie there and no task waits for it, and at how many looks.
    since: Option<(Instant, usize)>,
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
            let Listener { mut accept, since } = before.remove(&key).unwrap_or_default();
            for (task, _) in socket.tasks() {
                if accept.len() <= MOST_TASKS && !accept.contains(task) {
                    accept.push(*task);
                }
            }
            let lie = socket.tasks().is_empty() && socket.received().is_some_and(|all| all > 0);
            let (begin, looks) = since.unwrap_or((now, 0));
            let since = lie.then_some((begin, looks + 1));
            self.listeners.insert(key, Listener { accept, since });
        }
    }

    /// Takes the dump of the last look.
    pub(in crate::insight) fn findings(&self, now: Instant, dump: &Dump) -> Vec<Finding> {
        dump.sockets().iter().filter_map(|socket| self.finding(now, dump, socket)).collect()
    }

    fn finding(&self, now: Instant, dump: &Dump, socket: &SocketInfo) -> Option<Finding> {
        let listener = self.listeners.get(&socket.key()?)?;
        let (since, _) = listener.since.filter(|(_, looks)| *looks >= FEWEST)?;
        if listener.accept.len() > MOST_TASKS {
            return None;
        }
        let alive = dump.tasks().iter().filter(|task| listener.accept.contains(&task.id()));
        // One that has gone on since has perhaps accepted.
        let waited = |task: &TaskInfo| task.cold_for().filter(|_| !waits_for_permit(task));
        let shortest = alive.clone().map(waited).min()??;
        let duration = shortest.min(now.saturating_duration_since(since));
        let (named, does) = what_does(dump, &HashMap::new(), alive.clone().next()?.id());
        let (task, name) = named.filter(|_| duration >= LONG)?;
        let (local, connections) = (socket.local()?, socket.received()?);
        Some(Finding::UnacceptedConnections { local, connections, duration, task, name, does })
    }
}

fn waits_for_permit(task: &TaskInfo) -> bool {
    let is_permit =
        |wait: &Wait| matches!(wait, Wait::Primitive { kind: PrimitiveKind::Semaphore, .. });
    task.waits().iter().any(is_permit)
}

/// What is said of connections at a listener.
pub(super) fn lie(connections: u64, local: &str, duration: Duration) -> String {
    let begin = match connections {
        1 => "1 connection has not been accepted".to_owned(),
        more => format!("{more} connections have not been accepted"),
    };
    format!("{begin} at {local} for {} s at least", duration.as_secs())
}
