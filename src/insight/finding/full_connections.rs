//! Connections to which a task has waited for long to write, while bytes that have come lie unread.
//!
//! If the other end does the same, neither goes on: each waits until the other one reads. Of another process
//! that cannot be seen, so it is a suspicion. Nothing is said of a connection that a task waits to read: it
//! takes what comes.

use super::Finding;
use crate::insight::dump::Dump;
use crate::insight::socket_info::SocketInfo;
use crate::insight::task_info::TaskInfo;
use crate::insight::waits::{READABLE, WRITABLE};
use std::collections::HashMap;
use std::time::Duration;

/// The shortest time of waiting, and without an event, for which a connection counts.
const LONG: Duration = Duration::from_secs(10);

/// The one whose task has waited longest.
pub(in crate::insight) fn full_connections(dump: &Dump) -> Option<Finding> {
    let full = |socket: &SocketInfo| {
        let quiet = socket.quiet_for().filter(|time| *time >= LONG)?;
        let unread = socket.received().filter(|bytes| *bytes > 0)?;
        let waits_to = |event| socket.tasks().iter().find(move |(_, waits)| *waits == event);
        let (writer, _) = waits_to(WRITABLE).filter(|_| waits_to(READABLE).is_none())?;
        Some((*writer, (quiet, unread, socket.peer()?)))
    };
    let full: HashMap<_, _> = dump.sockets().iter().filter_map(full).collect();
    // Writes for which there was room are no events, so the task may have waited for less.
    let waits = |task| -> Option<_> {
        let (quiet, unread, peer) = full.get(&TaskInfo::id(task))?;
        let waited = task.cold_for().filter(|time| *time >= LONG)?;
        Some((waited.min(*quiet), *unread, task, peer.clone()))
    };
    let all: Vec<_> = dump.tasks().iter().filter_map(waits).collect();
    let connections = all.len();
    let longest = all
        .into_iter()
        .max_by_key(|(duration, _, task, _)| (*duration, std::cmp::Reverse(task.id())));
    let (duration, unread, task, peer) = longest?;
    let (task, name) = (task.task(), task.shared_name().cloned());
    Some(Finding::FullConnection { task, name, peer, unread, duration, connections })
}
