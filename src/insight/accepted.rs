//! Connections that the program has accepted: it listens at their own end's port, or name.
//!
//! Their number follows that of the clients, and a client may be silent for as long as it likes. So a program
//! whose connections become more, or on which nothing happens, need not be sick.

use super::socket_info::SocketInfo;
use super::sockets::{Address, LISTENS, OPEN};
use std::collections::HashSet;

/// What an accepted connection has from the socket that listened.
#[derive(PartialEq, Eq, Hash)]
enum Own<'a> {
    Port(u16),
    Name(&'a str),
}

/// With the kind of the socket.
fn own(socket: &SocketInfo) -> Option<(&'static str, Own<'_>)> {
    let own = match socket.local_address()? {
        Address::Network(address) => Own::Port(address.port()),
        Address::Name(name) => Own::Name(name),
    };
    Some((socket.kind()?, own))
}

/// The descriptors of those that are open at both ends.
pub(super) fn accepted(sockets: &[SocketInfo]) -> HashSet<i32> {
    let (listening, others): (Vec<_>, Vec<_>) =
        sockets.iter().partition(|socket| socket.state() == Some(LISTENS));
    let listening: HashSet<_> = listening.into_iter().filter_map(own).collect();
    let is_accepted = |socket: &&SocketInfo| {
        let is_open = socket.state().is_some_and(|state| OPEN.contains(&state));
        is_open && own(socket).is_some_and(|own| listening.contains(&own))
    };
    others.into_iter().filter(is_accepted).filter_map(SocketInfo::descriptor).collect()
}
