//! Connections that their peers have closed long ago, and the program has not.
//!
//! A client may close its side and go on to receive. So a connection counts only if no task waits for it, and
//! if nothing has happened on it for long. Many of them at one address are those that a server has accepted;
//! connections that a program has opened have an address each, and are not found.

use super::Finding;
use crate::insight::dump::Dump;
use crate::insight::socket_info::SocketInfo;
use crate::insight::sockets::CLOSED;
use std::collections::HashMap;
use std::time::Duration;

/// The shortest time without an event for which a connection counts.
const LONG: Duration = Duration::from_secs(20);

/// Fewer at one address are not told.
const FEWEST: usize = 8;

/// The address of the program's own at which there are most of them.
pub(in crate::insight) fn closed_peers(dump: &Dump) -> Option<Finding> {
    let is_closed = |socket: &&SocketInfo| {
        let is_long = socket.quiet_for().is_some_and(|time| time >= LONG);
        is_long && socket.state() == Some(CLOSED) && socket.tasks().is_empty()
    };
    let mut addresses: HashMap<String, (usize, Duration)> = HashMap::new();
    for socket in dump.sockets().iter().filter(is_closed) {
        let Some(local) = socket.local() else { continue };
        let (sockets, longest) = addresses.entry(local).or_default();
        *sockets += 1;
        *longest = socket.quiet_for().unwrap_or_default().max(*longest);
    }
    let most = addresses.into_iter().max_by(|(address, (sockets, _)), (other, (others, _))| {
        (sockets, other).cmp(&(others, address))
    });
    let (local, (sockets, duration)) = most.filter(|(_, (sockets, _))| *sockets >= FEWEST)?;
    Some(Finding::ClosedPeers { local, sockets, duration })
}
